//! Where unpacked files are kept, so that the next run need not unpack them again.
//!
//! A bounded cache in the system's directory for temporary files, and this user's alone. Nothing depends on it: without
//! it, or when it fails, a run only takes longer.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Files smaller than this unpack so fast that they are not worth a place.
const MIN_CACHED: u64 = 1 << 20;

/// What may lie there in all, in bytes; beyond it, what was not used for longest goes.
const CAPACITY: u64 = 2 << 30;

/// Whether anything is kept: anything but `on` means that nothing is.
const VARIABLE: &str = "FRAGLAB_UNPACKED";

/// Files unpacked before, by the contents that they were unpacked from.
pub(crate) struct UnpackedFiles {
    directory: PathBuf,
    capacity: u64,
}

impl UnpackedFiles {
    /// Those of the user that runs this program, unless they want none, and if there is a directory that only they can write to:
    /// on a shared machine, others must not be able to slip us recordings.
    #[cfg(unix)]
    pub(crate) fn of_this_user() -> Option<Self> {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        if std::env::var_os(VARIABLE).is_some_and(|value| value != "on") {
            return None;
        }
        let directory = std::env::temp_dir().join("fraglab-cache");
        // If it exists already, what counts is whose it is.
        let _ = fs::DirBuilder::new().mode(0o700).create(&directory);
        let metadata = fs::symlink_metadata(&directory).ok()?;
        let own = fs::metadata("/proc/self").ok()?.uid();
        let private = metadata.is_dir() && metadata.uid() == own && metadata.mode() & 0o077 == 0;
        private.then_some(Self { directory, capacity: CAPACITY })
    }

    #[cfg(not(unix))]
    pub(crate) fn of_this_user() -> Option<Self> {
        None
    }

    /// What `packed` unpacked to, if it is still there.
    pub(crate) fn get(&self, packed: &[u8]) -> Option<Vec<u8>> {
        let place = self.place(packed);
        let unpacked = fs::read(&place).ok()?;
        // Used just now: what is evicted goes by this time.
        let _ = File::options().append(true).open(&place).and_then(|file| file.set_modified(SystemTime::now()));
        Some(unpacked)
    }

    /// Keeps what `packed` unpacked to, if it is worth a place and fits.
    pub(crate) fn put(&self, packed: &[u8], unpacked: &[u8]) {
        let size = unpacked.len() as u64;
        if !(MIN_CACHED..=self.capacity).contains(&size) {
            return;
        }
        self.shrink_to(self.capacity - size);
        let place = self.place(packed);
        // Written aside and renamed, so that no other process sees half a file.
        let aside = place.with_extension(std::process::id().to_string());
        if fs::write(&aside, unpacked).and_then(|()| fs::rename(&aside, &place)).is_err() {
            let _ = fs::remove_file(&aside);
        }
    }

    fn place(&self, packed: &[u8]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        hasher.write(packed);
        self.directory.join(format!("{:016x}-{}", hasher.finish(), packed.len()))
    }

    /// Removes files, the longest unused first, until at most `bytes` are left.
    fn shrink_to(&self, bytes: u64) {
        let mut files: Vec<_> = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .filter_map(|entry| used_and_size(&entry.ok()?.path()))
            .collect();
        files.sort();
        let mut held: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if held <= bytes {
                break;
            }
            // Another process may have removed it; what it read of it, it keeps.
            let _ = fs::remove_file(path);
            held -= size;
        }
    }
}

fn used_and_size(path: &Path) -> Option<(SystemTime, u64, PathBuf)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(capacity: u64) -> (tempfile::TempDir, UnpackedFiles) {
        let directory = tempfile::tempdir().unwrap();
        let files = UnpackedFiles { directory: directory.path().to_owned(), capacity };
        (directory, files)
    }

    #[test]
    fn what_was_put_is_got_back_by_the_packed_contents() {
        let (_directory, files) = cache(4 << 20);
        let unpacked = vec![7; 1 << 20];
        files.put(b"packed", &unpacked);
        assert_eq!(files.get(b"packed"), Some(unpacked));
        assert_eq!(files.get(b"other!"), None);
    }

    #[test]
    fn small_files_and_those_beyond_all_room_are_not_kept() {
        let (directory, files) = cache(2 << 20);
        files.put(b"small", &[7; 1000]);
        files.put(b"large", &vec![7; 3 << 20]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_longest_unused_makes_room() {
        let (directory, files) = cache(3 << 20);
        let unpacked = vec![7; 1 << 20];
        for packed in [b"a", b"b", b"c"] {
            files.put(packed, &unpacked);
        }
        let long_ago = SystemTime::UNIX_EPOCH;
        for packed in [b"a", b"b"] {
            let file = File::options().append(true).open(files.place(packed)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
        assert!(files.get(b"a").is_some());
        files.put(b"d", &unpacked);
        let held = [b"a", b"b", b"c", b"d"].map(|packed| files.get(packed).is_some());
        assert_eq!(held, [true, false, true, true]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }
}
