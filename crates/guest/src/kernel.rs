//! Modules and settings.

use crate::error::{Doing, GuestError};
use linux::vm::job::KernelSetting;
use rustix::io::Errno;
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

/// The kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The kernel's version line.
pub fn version() -> String {
    fs::read_to_string("/proc/version").map(|text| text.trim_end().to_owned()).unwrap_or_default()
}
