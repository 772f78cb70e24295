//! A kernel that can be booted: its image, its modules, and where it came from.

use super::cache::Cache;
use super::error::{At, VmError};
use super::job::ScratchFormat;
use super::modules::{Module, ModuleTree, NEEDED};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// A package that a kernel was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
}

/// Where a kernel came from; kept beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The packages, as the distribution's tools fetched and checked them; none for a kernel of the user's.
    pub packages: Vec<Package>,
}

/// A kernel that can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// Its modules; `None` if it has none that fraglab knows of.
    pub modules: Option<PathBuf>,
    /// Where it came from.
    pub provenance: Provenance,
}

/// Name of the image in the cache.
pub(super) const IMAGE: &str = "vmlinuz";
/// Name of the modules' directory in the cache.
pub(super) const MODULES: &str = "modules";
/// Name of the provenance in the cache.
pub(super) const PROVENANCE: &str = "kernel.json";

impl Kernel {
    /// A kernel of the user's.
    pub fn from_file(image: &Path, modules: Option<&Path>) -> Result<Kernel, VmError> {
        let real = image.canonicalize().at(image)?;
        let release = release_of(&real)?;
        let modules = match modules {
            Some(directory) => Some(modules_below(directory, &release)?),
            None => build_tree(&real),
        };
        Ok(Kernel { image: real, modules, provenance: Provenance { release, packages: Vec::new() } })
    }

    /// All kernels of the cache, oldest version first.
    pub fn cached(cache: &Cache) -> Result<Vec<Kernel>, VmError> {
        let directory = cache.directory("kernels")?;
        let mut kernels = Vec::new();
        for entry in fs::read_dir(&directory).at(&directory)? {
            kernels.extend(Kernel::in_cache(&entry.at(&directory)?.path()));
        }
        kernels.sort_by(|one, other| compare_versions(one.release(), other.release()));
        Ok(kernels)
    }

    /// The kernel in a directory of the cache; nothing if it isn't whole.
    pub(super) fn in_cache(directory: &Path) -> Option<Kernel> {
        let text = fs::read(directory.join(PROVENANCE)).ok()?;
        let provenance = serde_json::from_slice(&text).ok()?;
        Some(Kernel { image: directory.join(IMAGE), modules: Some(directory.join(MODULES)), provenance })
    }

    /// The release, as `uname -r` prints it.
    pub fn release(&self) -> &str {
        &self.provenance.release
    }

    /// The modules that a guest loads, in order. A kernel without a module directory is taken to have them built in; the
    /// guest says so if it hasn't.
    pub fn modules_in_load_order(&self, scratch: ScratchFormat) -> Result<Vec<Module>, VmError> {
        let more = (scratch != ScratchFormat::default()).then_some(scratch.name());
        let wanted: Vec<&str> = NEEDED.into_iter().chain(more).collect();
        match &self.modules {
            Some(directory) => ModuleTree::open(directory)?.in_load_order(&wanted, self.release()),
            None => Ok(Vec::new()),
        }
    }
}

/// SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path) -> Result<String, VmError> {
    let mut sum = Sha256::new();
    let bytes = fs::read(path).at(path)?;
    sum.update(&bytes);
    Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The release that a `bzImage` names itself: the boot protocol has its magic at 0x202 and, at 0x20e, the place of the
/// version string less 0x200 (`Documentation/arch/x86/boot.rst`).
fn release_of(image: &Path) -> Result<String, VmError> {
    let bytes = fs::read(image).at(image)?;
    let found = || {
        if bytes.get(0x202..0x206)? != b"HdrS" {
            return None;
        }
        let place = usize::from(u16::from_le_bytes(bytes.get(0x20e..0x210)?.try_into().ok()?)) + 0x200;
        let text = bytes.get(place..)?.split(|byte| *byte == 0).next()?;
        Some(std::str::from_utf8(text).ok()?.split_whitespace().next()?.to_owned())
    };
    found().ok_or_else(|| VmError::Damaged {
        path: image.to_owned(),
        problem: "not a bzImage for x86-64 (make bzImage writes arch/x86/boot/bzImage)".to_owned(),
    })
}

/// A modules directory as users name it: itself, or a root that `make modules_install` filled.
fn modules_below(directory: &Path, release: &str) -> Result<PathBuf, VmError> {
    let directory = directory.canonicalize().at(directory)?;
    let installed = ["lib/modules", "usr/lib/modules", "."].map(|base| directory.join(base).join(release));
    Ok(installed.into_iter().find(|path| path.is_dir()).unwrap_or(directory))
}

/// The build tree that an image lies in, at `arch/x86/boot`.
fn build_tree(image: &Path) -> Option<PathBuf> {
    let root = image.ancestors().nth(4)?;
    root.join("modules.builtin").is_file().then(|| root.to_owned())
}

/// Whether a release (`6.12.107+deb13-cloud-amd64`) is one of a version (`6.12`, `6.12.107`, or the release itself).
pub(super) fn is_of_version(release: &str, version: &str) -> bool {
    match release.strip_prefix(version) {
        Some(rest) => rest.is_empty() || rest.starts_with(['.', '+', '-', '~']),
        None => false,
    }
}

/// Orders versions by their numbers.
pub(super) fn compare_versions(one: &str, other: &str) -> std::cmp::Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(one).cmp(&numbers(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_covers_whole_numbers_only() {
        let release = "6.12.107+deb13-cloud-amd64";
        for version in ["6", "6.12", "6.12.107", "6.12.107+deb13", release] {
            assert!(is_of_version(release, version), "{version}");
        }
        for version in ["6.1", "6.12.10", "7", "6.12.107+deb1"] {
            assert!(!is_of_version(release, version), "{version}");
        }
        assert!(is_of_version("6.1.0-56-cloud-amd64", "6.1.0-56"));
    }

    #[test]
    fn versions_compare_by_number() {
        let mut versions = ["6.12.90+deb13.1", "6.2.9", "6.12.107+deb13", "6.12.90+deb13"];
        versions.sort_by(|one, other| compare_versions(one, other));
        assert_eq!(versions, ["6.2.9", "6.12.90+deb13", "6.12.90+deb13.1", "6.12.107+deb13"]);
    }

    #[test]
    fn a_bzimage_names_its_release() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("arch/x86/boot/bzImage");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x314].copy_from_slice(b"7.2.0-rc1+ (me@here)");
        fs::write(&path, &image).unwrap();
        let alone = Kernel::from_file(&path, None).unwrap();
        assert_eq!((alone.release(), &alone.modules), ("7.2.0-rc1+", &None));
        fs::write(directory.path().join("modules.builtin"), "").unwrap();
        assert!(Kernel::from_file(&path, None).unwrap().modules.is_some());
        fs::write(&path, b"#!").unwrap();
        assert!(Kernel::from_file(&path, None).unwrap_err().to_string().contains("not a bzImage"));
    }
}
