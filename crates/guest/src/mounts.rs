//! The file systems that a kernel offers.

use crate::error::{Doing, GuestError};
use rustix::mount::{MountFlags, mount};
use std::fs;

/// Type and place of what is mounted. tmpfs takes memory from the machine under test, so only what must be writable and is
/// small lies there.
const OFFERED: [(&str, &str); 5] =
    [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")];

/// Not every kernel has these; a job that needs one says so itself.
const OPTIONAL: [(&str, &str); 4] = [
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("devpts", "/dev/pts"),
];

/// Mounts all of them.
pub fn mount_all() -> Result<(), GuestError> {
    for (kind, place) in OFFERED {
        mount_one(kind, kind, place)?;
    }
    for (kind, place) in OPTIONAL {
        let _absent_in_this_kernel = mount_one(kind, kind, place);
    }
    Ok(())
}

/// Mounts one file system, making its directory.
pub fn mount_one(source: &str, kind: &str, place: &str) -> Result<(), GuestError> {
    fs::create_dir_all(place).doing(|| format!("creating {place}"))?;
    mount(source, place, kind, MountFlags::empty(), None).doing(|| format!("mounting {kind} from {source} on {place}"))
}
