//! Finding the drives of the plan by their serial numbers.

use crate::error::{Doing, GuestError};
use linux::vm::job::Disk;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A drive appears within this time after its driver has loaded, or not at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// The device file of a drive.
pub fn find(disk: Disk) -> Result<PathBuf, GuestError> {
    let began = Instant::now();
    loop {
        if let Some(device) = with_serial(disk.serial())? {
            return Ok(device);
        }
        if began.elapsed() > PATIENCE {
            let missing = format!(
                "no drive with serial number {} appeared: the kernel lacks virtio_pci or virtio_blk, built in or as a module",
                disk.serial()
            );
            return Err(GuestError::new(missing));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn with_serial(serial: &str) -> Result<Option<PathBuf>, GuestError> {
    for entry in fs::read_dir("/sys/block").doing(|| "listing drives".to_owned())? {
        let entry = entry.doing(|| "listing drives".to_owned())?;
        let found = fs::read_to_string(entry.path().join("serial"));
        if found.is_ok_and(|found| found.trim() == serial) {
            let device = PathBuf::from("/dev").join(entry.file_name());
            return Ok(fs::exists(&device).unwrap_or(false).then_some(device));
        }
    }
    Ok(None)
}
