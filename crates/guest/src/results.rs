//! What comes back: statistics of the kernel, its log, the report, and everything the task left.

use crate::error::{Doing, GuestError};
use linux::vm::job::{REPORT_FILE, RESULTS_DIR, Report};
use linux::vm::stream;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The kernel's own account of its memory. What a kernel lacks has no file.
const STATISTICS: [&str; 8] =
    ["vmstat", "buddyinfo", "pagetypeinfo", "zoneinfo", "meminfo", "slabinfo", "swaps", "cmdline"];

/// Copies the kernel's memory statistics into a directory of the results.
pub fn snapshot(tag: &str) -> Result<(), GuestError> {
    let directory = Path::new(RESULTS_DIR).join(tag);
    fs::create_dir_all(&directory).doing(|| format!("creating {}", directory.display()))?;
    for name in STATISTICS {
        if let Ok(text) = fs::read(Path::new("/proc").join(name)) {
            fs::write(directory.join(name), text).doing(|| format!("copying /proc/{name}"))?;
        }
    }
    Ok(())
}

/// Copies the kernel's log into the results.
pub fn kernel_log() -> Result<(), GuestError> {
    let doing = || "copying the kernel's log".to_owned();
    let kmsg = rustix::fs::open("/dev/kmsg", OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).doing(doing)?;
    let mut log = File::create(Path::new(RESULTS_DIR).join("kmsg")).doing(doing)?;
    let mut record = [0; 8192];
    // One read is one record; EPIPE says that some were overwritten meanwhile, EAGAIN that there are no more.
    loop {
        match rustix::io::read(&kmsg, &mut record) {
            Ok(length) => log.write_all(&record[..length]).doing(doing)?,
            Err(rustix::io::Errno::PIPE) => {}
            Err(_) => return Ok(()),
        }
    }
}

/// Writes the report among the results.
pub fn report(report: &Report) -> Result<(), GuestError> {
    let text = serde_json::to_vec_pretty(report).expect("a report is plain data");
    fs::write(Path::new(RESULTS_DIR).join(REPORT_FILE), text).doing(|| "writing the report".to_owned())
}

/// Sends the results out through a raw drive.
pub fn send(device: &Path) -> Result<(), GuestError> {
    let doing = || format!("sending the results through {}", device.display());
    let mut disk = File::options().write(true).open(device).doing(doing)?;
    stream::write(&mut disk, archive, |disk| disk.sync_all()).doing(doing)
}

fn archive(out: &mut dyn Write) -> io::Result<()> {
    let mut tar = tar::Builder::new(out);
    tar.follow_symlinks(false);
    tar.append_dir_all(".", RESULTS_DIR)?;
    tar.finish()
}
