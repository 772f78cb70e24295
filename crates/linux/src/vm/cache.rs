//! Where fetched kernels are kept.

use super::error::{At, VmError};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Overrides the place of the cache.
pub const VARIABLE: &str = "FRAGLAB_CACHE";

/// The directory that holds what fraglab has fetched.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's cache: `$FRAGLAB_CACHE`, else `$XDG_CACHE_HOME/fraglab`, else `~/.cache/fraglab`.
    pub fn of_user() -> Result<Cache, VmError> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set(VARIABLE)
            .or_else(|| set("XDG_CACHE_HOME").map(|base| base.join("fraglab")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/fraglab")))
            .ok_or_else(|| {
                VmError::Specification(format!("there is no place for a cache: set {VARIABLE} to a directory"))
            })?;
        Ok(Cache::at(&root))
    }

    /// A cache in a directory of the caller's.
    pub fn at(root: &Path) -> Cache {
        Cache { root: root.to_owned() }
    }

    /// A directory of the cache, which exists afterwards. It is an absolute path.
    pub fn directory(&self, name: &str) -> Result<PathBuf, VmError> {
        let path = self.root.join(name);
        fs::create_dir_all(&path).at(&path)?;
        path.canonicalize().at(&path)
    }

    /// A directory that goes with its owner, on the disk of the cache: images of drives may be too large for where
    /// temporary files are kept.
    pub fn temporary(&self) -> Result<tempfile::TempDir, VmError> {
        let directory = self.directory("runs")?;
        tempfile::tempdir_in(&directory).at(&directory)
    }
}
