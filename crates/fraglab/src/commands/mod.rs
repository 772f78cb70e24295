//! One module a command that every build has: arguments in, calls to the backend, text out.

pub mod compare;
pub mod cut;
pub mod export;
pub mod inspect;
pub mod map;
pub mod policies;
pub mod replay;
pub mod report;
pub mod validate;

use crate::backend::{self, Loaded};
use crate::failure::{Failure, warn};
use crate::progress::Progress;
use std::path::Path;

/// Loads a recording; says so if its kernel, or one of its settings, is not one that is modelled.
pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
    let progress = Progress::new(&format!("reading {}", path.display()));
    let loaded = backend::load(path)?;
    drop(progress);
    loaded.caveats.iter().for_each(|said| warn(said));
    Ok(loaded)
}
