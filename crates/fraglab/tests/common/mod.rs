//! What tests of several commands need.

use std::path::{Path, PathBuf};

/// The shipped recording, or nothing in a checkout without it.
pub fn demo() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo");
    if !path.is_dir() {
        eprintln!("SKIPPED: recordings/demo is not in this checkout");
        return None;
    }
    Some(path)
}
