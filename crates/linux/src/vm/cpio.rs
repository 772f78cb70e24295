//! Writing a cpio archive in the `newc` format, the one that the kernel unpacks as initramfs.
//!
//! Layout after the kernel's documentation of the buffer format (`driver-api/early-userspace/buffer-format`): a header of
//! `070701` and thirteen fields of eight hexadecimal digits, the name with its final zero, and the contents, both padded to
//! four bytes; `TRAILER!!!` ends the archive.

use std::collections::BTreeSet;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive that grows in memory. Entries are owned by root and have no times: the same contents, the same bytes.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inode: u32,
    directories: BTreeSet<String>,
}

/// What describes an entry beside its name.
struct Entry<'a> {
    mode: u32,
    device: (u32, u32),
    contents: &'a [u8],
}

impl Archive {
    /// An empty archive.
    pub fn new() -> Archive {
        Archive::default()
    }

    /// Adds a directory, and those above it.
    pub fn directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        self.directories.insert(path.to_owned());
        self.entry(path, &Entry { mode: DIRECTORY | 0o755, device: (0, 0), contents: &[] });
    }

    /// Adds a file, and the directories above it.
    pub fn file(&mut self, path: &str, contents: &[u8], executable: bool) {
        let mode = REGULAR | if executable { 0o755 } else { 0o644 };
        self.placed(path, &Entry { mode, device: (0, 0), contents });
    }

    /// Adds a symbolic link, and the directories above it.
    pub fn symlink(&mut self, path: &str, target: &str) {
        self.placed(path, &Entry { mode: SYMLINK | 0o777, device: (0, 0), contents: target.as_bytes() });
    }

    /// Adds a character device, and the directories above it.
    pub fn character_device(&mut self, path: &str, major: u32, minor: u32) {
        self.placed(path, &Entry { mode: CHARACTER_DEVICE | 0o600, device: (major, minor), contents: &[] });
    }

    /// Ends the archive and gives its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.inode = u32::MAX;
        self.entry("TRAILER!!!", &Entry { mode: 0, device: (0, 0), contents: &[] });
        self.bytes
    }

    fn placed(&mut self, path: &str, entry: &Entry) {
        let path = path.trim_matches('/');
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        self.entry(path, entry);
    }

    fn entry(&mut self, name: &str, entry: &Entry) {
        self.inode = self.inode.wrapping_add(1);
        let (major, minor) = entry.device;
        let links = if entry.mode & DIRECTORY == DIRECTORY { 2 } else { 1 };
        let size = u32::try_from(entry.contents.len()).expect("an initramfs file is smaller than 4 GiB");
        let name_size = u32::try_from(name.len() + 1).expect("a name is short");
        // inode, mode, uid, gid, links, mtime, size, device (2), device it is (2), size of the name, checksum
        let fields = [self.inode, entry.mode, 0, 0, links, 0, size, 0, 0, major, minor, name_size, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(entry.contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn one_file_byte_by_byte() {
        let mut archive = Archive::new();
        archive.file("/init", b"abc", true);
        let bytes = archive.finish();
        let expected = concat!(
            "07070100000001000081ED",
            "00000000000000000000000100000000",
            "00000003",
            "00000000000000000000000000000000",
            "0000000500000000init\0\0abc\0",
        );
        assert_eq!(&bytes[..expected.len()], expected.as_bytes());
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn cpio_lists_what_was_added() {
        let mut archive = Archive::new();
        archive.directory("/proc");
        archive.file("/deep/down/file", &[1; 5], false);
        archive.file("/deep/down/other", &[], true);
        archive.symlink("/bin/sh", "busybox");
        let bytes = archive.finish();
        let child = Command::new("cpio").args(["-t", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            println!("SKIPPED: cpio is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let listed = String::from_utf8(output.stdout).unwrap();
        let expected = ["proc", "deep", "deep/down", "deep/down/file", "deep/down/other", "bin", "bin/sh"];
        assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_same_contents_give_the_same_bytes() {
        let build = || {
            let mut archive = Archive::new();
            archive.file("a/b", b"c", false);
            archive.character_device("dev/console", 5, 1);
            archive.finish()
        };
        assert_eq!(build(), build());
    }
}
