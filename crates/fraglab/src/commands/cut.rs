//! `fraglab cut`: the beginning of a recording as a smaller one.

use crate::backend;
use crate::cli::CutArgs;
use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Cuts. An existing target is never overwritten, and what can't be cut whole leaves none: a directory with a trace would pass for a
/// recording.
pub fn run(args: &CutArgs) -> Result<(), Failure> {
    let target = &args.output;
    if target.exists() {
        return Err(Failure::Usage(format!("{} exists; name a new directory with -o", target.display())));
    }
    let no_name = || Failure::Usage(format!("{} cannot be the name of a directory", target.display()));
    let name = target.file_name().ok_or_else(no_name)?.to_string_lossy();
    let fresh = target.with_file_name(format!(".{name}.new-{}", std::process::id()));
    let cut = backend::cut(&args.recording, args.tick, &fresh).and_then(|()| put(&fresh, target));
    if cut.is_err() {
        // Why it failed is what matters; a hidden directory that stays does no harm.
        let _ = fs::remove_dir_all(&fresh);
    }
    cut
}

fn put(fresh: &Path, target: &Path) -> Result<(), Failure> {
    fs::rename(fresh, target).map_err(|error| Failure::Output(format!("{}: {error}", target.display())))
}
