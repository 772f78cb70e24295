//! What the guest finds when it boots: its init, the modules, the plan, and the files that the user sends.

use super::cpio::Archive;
use super::error::{At, VmError};
use super::job::{FILES_DIR, INIT, PLAN_PATH, Plan};
use super::modules::Module;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The shell and its tools, linked statically.
const BUSYBOX: &str = "busybox";

/// A file of the host's that the guest is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFile {
    /// On the host.
    pub host: PathBuf,
    /// In the guest, an absolute path.
    pub guest: String,
}

impl SentFile {
    /// A file that lies under its own name where the guest looks for programs.
    pub fn to_files(host: &Path) -> SentFile {
        let name = host.file_name().unwrap_or_default().to_string_lossy();
        SentFile { host: host.to_owned(), guest: format!("{FILES_DIR}/{name}") }
    }
}

/// What goes in beside the init.
#[derive(Debug)]
pub struct Contents<'a> {
    /// The init's file.
    pub init: &'a Path,
    /// Modules in the order in which they load.
    pub modules: &'a [Module],
    /// Files of the user's.
    pub files: &'a [SentFile],
    /// A statically linked busybox, if the job uses one.
    pub busybox: Option<&'a Path>,
}

/// Builds the archive. The paths of the modules are put into the plan.
pub fn build(contents: &Contents, mut plan: Plan) -> Result<Vec<u8>, VmError> {
    let mut archive = Archive::new();
    archive.character_device("/dev/console", 5, 1);
    archive.file(INIT, &fs::read(contents.init).at(contents.init)?, true);
    for module in contents.modules {
        let path = format!("/modules/{}.ko", module.name);
        archive.file(&path, &module.image, false);
        plan.modules.push(path);
    }
    for SentFile { host, guest } in contents.files {
        let executable = fs::metadata(host).at(host)?.permissions().mode() & 0o111 != 0;
        archive.file(guest, &fs::read(host).at(host)?, executable);
    }
    if let Some(busybox) = contents.busybox {
        add_busybox(&mut archive, busybox)?;
    }
    archive.file(PLAN_PATH, &serde_json::to_vec(&plan).expect("a plan is plain data"), false);
    Ok(archive.finish())
}

fn add_busybox(archive: &mut Archive, busybox: &Path) -> Result<(), VmError> {
    archive.file("/bin/busybox", &fs::read(busybox).at(busybox)?, true);
    let listing = Command::new(busybox).arg("--list").output().at(busybox)?;
    for applet in String::from_utf8_lossy(&listing.stdout).lines().filter(|applet| *applet != BUSYBOX) {
        archive.symlink(&format!("/bin/{applet}"), BUSYBOX);
    }
    Ok(())
}

/// The host's busybox if it is one that runs without libraries.
pub fn static_busybox() -> Option<PathBuf> {
    let path = in_path(BUSYBOX)?;
    is_static(&path).ok()?.then_some(path)
}

/// A program of the search path.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    // Ordinary users don't have these in their path, and mkfs.ext4 lies there.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Whether a file runs without an interpreter of dynamic libraries: an ELF file without `PT_INTERP`, or no ELF file.
pub fn is_static(path: &Path) -> Result<bool, VmError> {
    let bytes = fs::read(path).at(path)?;
    Ok(!has_interpreter(&bytes).unwrap_or(false))
}

/// Program headers of a 64-bit ELF file (`elf(5)`).
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    if bytes.get(..5)? != b"\x7fELF\x02" {
        return Some(false);
    }
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    let start = usize::try_from(u64::from_le_bytes(bytes.get(0x20..0x28)?.try_into().ok()?)).ok()?;
    let (size, count) = (half(0x36)?, half(0x38)?);
    for index in 0..count {
        let at = start.checked_add(index * size)?;
        let kind = u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?);
        if kind == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}
