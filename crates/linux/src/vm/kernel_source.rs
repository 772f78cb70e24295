//! Which kernel is wanted, and where is it found?

use super::cache::Cache;
use super::debian;
use super::error::VmError;
use super::kernel::Kernel;
use std::path::{Path, PathBuf};

/// Which kernel is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    /// One of Debian's, by version: `6.12` is the newest of 6.12, `6.12.107` or `6.1.0-56` is that one.
    Debian(String),
    /// A kernel image, and the directory of its modules.
    File {
        /// The `bzImage`.
        image: PathBuf,
        /// `lib/modules/RELEASE`, or a build tree; found by itself if the image lies in a build tree.
        modules: Option<PathBuf>,
    },
}

impl KernelSource {
    /// A path if it looks like one or is one, else a version.
    pub fn parse(text: &str, modules: Option<&Path>) -> KernelSource {
        let path = Path::new(text);
        if text.contains('/') || path.is_file() {
            KernelSource::File { image: path.to_owned(), modules: modules.map(Path::to_owned) }
        } else {
            KernelSource::Debian(text.to_owned())
        }
    }
}

impl Kernel {
    /// The kernel that a source names; fetched if it is Debian's and not in the cache. `say` hears what takes time.
    pub fn get(source: &KernelSource, cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<Kernel, VmError> {
        match source {
            KernelSource::Debian(version) => debian::kernel(cache, version, say),
            KernelSource::File { image, modules } => Kernel::from_file(image, modules.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_versions_are_told_apart() {
        assert_eq!(KernelSource::parse("6.12", None), KernelSource::Debian("6.12".to_owned()));
        assert!(matches!(KernelSource::parse("./bzImage", None), KernelSource::File { .. }));
    }
}
