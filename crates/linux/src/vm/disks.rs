//! The drives of a guest: sparse files.

use super::error::{At, VmError};
use super::initramfs::in_path;
use super::job::{Disk, ScratchFormat};
use super::spec::Machine;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const MKFS_EXT4: Mkfs = Mkfs { program: "mkfs.ext4", package: "e2fsprogs", quietly: &["-q", "-F"] };
const MKFS_XFS: Mkfs = Mkfs { program: "mkfs.xfs", package: "xfsprogs", quietly: &["-q", "-f"] };

/// A program that formats.
struct Mkfs {
    program: &'static str,
    package: &'static str,
    quietly: &'static [&'static str],
}

/// Makes the drives that a machine has, in a directory.
pub fn create(machine: &Machine, directory: &Path) -> Result<Vec<(Disk, PathBuf)>, VmError> {
    let sizes = [
        (Disk::Scratch, machine.scratch_mib),
        (Disk::Swap, machine.swap_mib),
        (Disk::Results, machine.results_mib),
        (Disk::Out, machine.results_mib),
    ];
    let mut disks = Vec::new();
    for (disk, mib) in sizes.into_iter().filter(|(_, mib)| *mib > 0) {
        let path = directory.join(disk.serial());
        let file = File::create_new(&path).at_output(&path)?;
        file.set_len(u64::from(mib) << 20).at_output(&path)?;
        match disk {
            Disk::Scratch if machine.scratch_format == ScratchFormat::Xfs => {
                let directories = format!("size={}", machine.directory_block_kib << 10);
                let log = format!("size={}m", xfs_log_mib(mib));
                let options = ["-n", &directories, "-l", &log];
                // Since 5.19 mkfs.xfs refuses a log of less than 64 MiB unless it is told that nobody will ask for help.
                format(&MKFS_XFS, &path, &options)
                    .or_else(|_| format(&MKFS_XFS, &path, &[&["--unsupported"], &options[..]].concat()))?;
            }
            // With all tables in place: a kernel thread that fills them in later would be part of what is measured.
            Disk::Scratch => format(&MKFS_EXT4, &path, &["-E", "lazy_itable_init=0,lazy_journal_init=0"])?,
            // Nobody needs it after a crash: no journal thread beside the job.
            Disk::Results => {
                format(&MKFS_EXT4, &path, &["-E", "lazy_itable_init=0", "-O", "^has_journal", "-N", "65536"])?;
            }
            Disk::Swap | Disk::Out => {}
        }
        disks.push((disk, path));
    }
    Ok(disks)
}

/// The log that mkfs.xfs made until 2022: a 2048th of the disk, 10 MiB at least. Since then 64 MiB are the least, which on the small disks
/// of machines at scale would hold every inode.
fn xfs_log_mib(disk_mib: u32) -> u32 {
    (disk_mib / 2048).max(10)
}

fn format(mkfs: &Mkfs, image: &Path, options: &[&str]) -> Result<(), VmError> {
    let &Mkfs { program: name, package, quietly } = mkfs;
    let program = in_path(name).ok_or(VmError::Missing { program: name, package })?;
    let output = Command::new(&program).args(quietly).args(options).arg(image).output().at(&program)?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(VmError::Packages { what: format!("{name} {}", image.display()), output });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_log_is_as_large_as_of_old() {
        assert_eq!([300, 65536, 131_072].map(super::xfs_log_mib), [10, 32, 64]);
    }
}
