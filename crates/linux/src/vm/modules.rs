//! Which modules the guest must load, in which order: from the modules' own `depends`, since a kernel package has no
//! `modules.dep` (`depmod` writes that at installation).

use super::error::{At, VmError};
use super::modinfo::{canonical, dependencies};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Without these there is no disk, and so no result.
pub const NEEDED: [&str; 3] = ["virtio_pci", "virtio_blk", "ext4"];

/// A module as it goes into the initramfs.
#[derive(Debug)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its ELF file, decompressed.
    pub image: Vec<u8>,
}

/// The modules of a kernel.
#[derive(Debug)]
pub struct ModuleTree {
    directory: PathBuf,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
}

impl ModuleTree {
    /// Looks through `lib/modules/RELEASE`, or a kernel's build tree.
    pub fn open(directory: &Path) -> Result<ModuleTree, VmError> {
        let mut files = BTreeMap::new();
        collect(directory, &mut files)?;
        let list = directory.join("modules.builtin");
        let built_in = match fs::read_to_string(&list) {
            Ok(text) => text.lines().filter_map(|line| name_of(Path::new(line))).collect(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error).at(&list),
        };
        Ok(ModuleTree { directory: directory.to_owned(), files, built_in })
    }

    /// The wanted modules and all they depend on, dependencies first; what is built in is left out.
    pub fn in_load_order(&self, wanted: &[&str], kernel: &str) -> Result<Vec<Module>, VmError> {
        let mut order = Order { tree: self, kernel, seen: BTreeSet::new(), loaded: Vec::new() };
        for name in wanted {
            order.visit(&canonical(name))?;
        }
        Ok(order.loaded)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, VmError> {
        let raw = fs::read(path).at(path)?;
        decompressed(&raw, path.extension().and_then(|extension| extension.to_str())).map_err(|error| {
            VmError::Damaged { path: path.to_owned(), problem: format!("cannot be unpacked ({error})") }
        })
    }
}

/// A module's ELF file, by the ending of its file's name.
fn decompressed(raw: &[u8], ending: Option<&str>) -> io::Result<Vec<u8>> {
    let mut image = Vec::new();
    match ending {
        Some("xz") => lzma_rust2::XzReader::new(raw, true).read_to_end(&mut image)?,
        Some("gz") => flate2::read::GzDecoder::new(raw).read_to_end(&mut image)?,
        Some("zst") => {
            ruzstd::decoding::StreamingDecoder::new(raw).map_err(io::Error::other)?.read_to_end(&mut image)?
        }
        _ => return Ok(raw.to_owned()),
    };
    Ok(image)
}

/// A walk along the dependencies.
struct Order<'a> {
    tree: &'a ModuleTree,
    kernel: &'a str,
    seen: BTreeSet<String>,
    loaded: Vec<Module>,
}

impl Order<'_> {
    fn visit(&mut self, name: &str) -> Result<(), VmError> {
        if !self.seen.insert(name.to_owned()) || self.tree.built_in.contains(name) {
            return Ok(());
        }
        let path = self.tree.files.get(name).ok_or_else(|| VmError::Driver {
            kernel: self.kernel.to_owned(),
            module: name.to_owned(),
            modules: Some(self.tree.directory.clone()),
        })?;
        let image = self.tree.read(path)?;
        let depends = dependencies(&image)
            .map_err(|problem| VmError::Damaged { path: path.clone(), problem: problem.to_owned() })?;
        for dependency in depends {
            self.visit(&dependency)?;
        }
        self.loaded.push(Module { name: name.to_owned(), image });
        Ok(())
    }
}

/// The module that a file holds, by its name.
fn name_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (name, ending) = file.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&ending).then(|| canonical(name))
}

fn collect(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), VmError> {
    for entry in fs::read_dir(directory).at(directory)? {
        let path = entry.at(directory)?.path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, files)?;
        } else if let Some(name) = name_of(&path) {
            files.insert(name, path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::modinfo::synthetic_module;
    use super::*;

    fn tree() -> (tempfile::TempDir, ModuleTree) {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, modinfo: &str| {
            let path = directory.path().join("kernel").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, synthetic_module(modinfo.as_bytes())).unwrap();
        };
        write("block/virtio_blk.ko", "depends=virtio,virtio_ring\0");
        write("virtio/virtio.ko", "depends=\0");
        write("virtio/virtio-ring.ko", "depends=virtio\0");
        write("broken/odd.ko", "depends=absent\0");
        fs::write(directory.path().join("modules.builtin"), "kernel/fs/ext4/ext4.ko\n").unwrap();
        let tree = ModuleTree::open(directory.path()).unwrap();
        (directory, tree)
    }

    fn names(modules: &[Module]) -> Vec<&str> {
        modules.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn dependencies_come_first_and_once() {
        let (_kept, tree) = tree();
        let modules = tree.in_load_order(&["virtio_blk", "virtio-ring", "ext4"], "6.1").unwrap();
        assert_eq!(names(&modules), ["virtio", "virtio_ring", "virtio_blk"]);
    }

    #[test]
    fn a_driver_that_is_nowhere_is_named() {
        let (_kept, tree) = tree();
        let error = tree.in_load_order(&["virtio_pci"], "6.1").unwrap_err().to_string();
        assert!(error.contains("6.1: virtio_pci is neither built in nor among the modules in"), "{error}");
        assert!(tree.in_load_order(&["odd"], "6.1").unwrap_err().to_string().contains("absent"));
    }

    #[test]
    fn packed_modules_are_unpacked() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"module").unwrap();
        assert_eq!(decompressed(&packed.finish().unwrap(), Some("gz")).unwrap(), b"module");
        let packed = ruzstd::encoding::compress_to_vec(&b"module"[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(decompressed(&packed, Some("zst")).unwrap(), b"module");
        assert!(decompressed(b"module", Some("xz")).is_err());
        assert_eq!(decompressed(b"module", Some("ko")).unwrap(), b"module");
    }

    #[test]
    fn file_names_of_modules() {
        assert_eq!(name_of(Path::new("a/virtio-rng.ko.xz")).as_deref(), Some("virtio_rng"));
        assert_eq!(name_of(Path::new("a/modules.order")), None);
        assert_eq!(name_of(Path::new("a/x.ko.sig")), None);
    }
}
