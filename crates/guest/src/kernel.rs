//! Modules and settings.

use crate::error::{Doing, GuestError};
use linux::vm::job::KernelSetting;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;

/// Loads a module and removes its file, whose pages would otherwise stay in memory for good.
pub fn load_module(path: &str) -> Result<(), GuestError> {
    let image = fs::read(path).doing(|| format!("reading module {path}"))?;
    match rustix::system::init_module(&image, c"") {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error).doing(|| format!("loading module {path}")),
    }
    fs::remove_file(path).doing(|| format!("removing {path}"))
}

/// Writes a setting. One that is absent or refused is an error: a run under other settings than those asked for is worse
/// than none.
pub fn apply(setting: &KernelSetting) -> Result<(), GuestError> {
    let KernelSetting { path, value } = setting;
    if !fs::exists(path).unwrap_or(false) {
        return Err(GuestError::new(format!("this kernel has no {path}")));
    }
    fs::write(path, value).doing(|| format!("writing {value} to {path}"))
}

/// What a result needs to get out, and where a kernel shows that it has it.
const DRIVERS: [(&str, &str); 2] =
    [("virtio_pci", "/sys/bus/pci/drivers/virtio-pci"), ("virtio_blk", "/sys/bus/virtio/drivers/virtio_blk")];

/// Names the driver that is missing, for kernels whose modules the host doesn't know.
pub fn check_drivers() -> Result<(), GuestError> {
    let file_systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let ext4 = file_systems.split_whitespace().any(|name| name == "ext4");
    let absent = |path: &str| !fs::exists(path).unwrap_or(false);
    let missing = DRIVERS.into_iter().filter(|(_, path)| absent(path)).map(|(name, _)| name);
    match missing.chain((!ext4).then_some("ext4")).next() {
        Some(name) => Err(GuestError::new(format!(
            "this kernel has no {name}: build it in, or as a module and name the modules' directory with --modules"
        ))),
        None => Ok(()),
    }
}

/// As many open files as the kernel allows: a workload's limits are its scenario's, not those of an init without a shell.
pub fn lift_limits() -> Result<(), GuestError> {
    let text = fs::read_to_string("/proc/sys/fs/nr_open").doing(|| "reading fs.nr_open".to_owned())?;
    let most = text.trim().parse().ok();
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })
        .doing(|| "raising the limit of open files".to_owned())
}

/// The kernel's taint flags.
pub fn taint() -> u64 {
    fs::read_to_string("/proc/sys/kernel/tainted").ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The kernel's version line.
pub fn version() -> String {
    fs::read_to_string("/proc/version").map(|text| text.trim_end().to_owned()).unwrap_or_default()
}
