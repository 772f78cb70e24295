//! Where results go, looked at before they are made.

use crate::failure::Failure;
use std::path::Path;

/// Whether a run directory can be written there. An older run in its place goes, and so would what lies in it and is read now: a
/// guest's recording lies in the run directory that it came with.
///
/// # Errors
/// [`Failure::Usage`] where something else is, or what is read; [`Failure::Output`] where no directory can be made.
pub fn check<'a>(target: &Path, read: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    report::check_place(target)?;
    let Ok(whole) = target.canonicalize() else { return Ok(()) };
    let within = |path: &&Path| path.canonicalize().is_ok_and(|path| path.starts_with(&whole));
    match read.into_iter().find(within) {
        Some(path) => Err(Failure::Usage(format!(
            "{} lies in {}, which would be replaced: name another directory with -o",
            path.display(),
            target.display()
        ))),
        None => Ok(()),
    }
}
