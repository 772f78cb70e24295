//! Files that are written past the page cache, so that a recorder of memory does not fill memory itself.

use super::error::RecordError;
use rustix::fs::{Advice, OFlags, fadvise, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// What direct I/O wants addresses, sizes and offsets to be multiples of: no device has larger blocks.
const ALIGNMENT: usize = 4096;

/// A buffer at an address that direct I/O takes.
#[derive(Debug)]
pub(crate) struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
}

impl AlignedBuffer {
    /// A buffer of `size` bytes, all of them in memory.
    pub(crate) fn new(size: usize) -> Self {
        // Written once, so that no page of it has to be faulted in later.
        let bytes = vec![1; size + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start, size }
    }

    /// The buffer.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.size]
    }
}

/// A file that is written from its start to its end.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    file: File,
    direct: bool,
    size: u64,
}

impl Store {
    /// Makes the file; it must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, RecordError> {
        let open = |flags: i32| OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(path);
        let direct = open(OFlags::DIRECT.bits() as i32).map(|file| (file, true));
        // Some file systems refuse direct I/O, and may have made the file before they did.
        let opened = direct.or_else(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::INVAL.raw_os_error() => {
                let _ = std::fs::remove_file(path);
                open(0).map(|file| (file, false))
            }
            _ => Err(error),
        });
        let (file, direct) = opened.map_err(RecordError::io(path, "making"))?;
        Ok(Self { path: path.to_path_buf(), file, direct, size: 0 })
    }

    /// Adds bytes. Direct I/O is used while pieces are whole blocks of an aligned buffer; a last piece may be shorter.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        let whole = bytes.len().is_multiple_of(ALIGNMENT) && (bytes.as_ptr() as usize).is_multiple_of(ALIGNMENT);
        if self.direct && !whole {
            self.leave_direct().map_err(RecordError::io(&self.path, "writing"))?;
        }
        let mut result = self.file.write_all(bytes);
        if self.direct && result.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::InvalidInput) {
            result = self.leave_direct().and_then(|()| self.file.write_all(bytes));
        }
        if let Err(error) = result {
            // Half a page is none.
            let _ = self.file.set_len(self.size);
            return Err(RecordError::io(&self.path, "writing")(error));
        }
        if !self.direct {
            // What is on disk by now need not stay in memory.
            let _ = fadvise(&self.file, 0, std::num::NonZeroU64::new(self.size), Advice::DontNeed);
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    fn leave_direct(&mut self) -> std::io::Result<()> {
        let flags = fcntl_getfl(&self.file)?;
        fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
        self.direct = false;
        Ok(())
    }
}

/// Copies a file of the kernel, which has no size, to a file of the recording; returns its size.
pub(crate) fn copy(from: &Path, to: &Path, buffer: &mut AlignedBuffer) -> Result<u64, RecordError> {
    use std::io::Read;
    let mut source = File::open(from).map_err(RecordError::io(from, "opening"))?;
    let mut store = Store::create(to)?;
    let buffer = buffer.bytes();
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match source.read(&mut buffer[filled..]).map_err(RecordError::io(from, "reading"))? {
                0 => break,
                bytes => filled += bytes,
            }
        }
        store.write(&buffer[..filled])?;
        if filled < buffer.len() {
            return Ok(store.size());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let mut buffer = AlignedBuffer::new(2 * ALIGNMENT);
        buffer.bytes().fill(7);
        let mut store = Store::create(&path).unwrap();
        store.write(buffer.bytes()).unwrap();
        store.write(&[8; 5]).unwrap();
        store.write(&[9; 3]).unwrap();
        assert_eq!(store.size(), 8200);
        let read = std::fs::read(&path).unwrap();
        assert_eq!((read.len(), read[8191], &read[8192..]), (8200, 7, &[8, 8, 8, 8, 8, 9, 9, 9][..]));
        assert!(Store::create(&path).is_err(), "a file is never replaced");
        let copied = directory.path().join("copied");
        assert_eq!(copy(&path, &copied, &mut buffer).unwrap(), 8200);
        assert_eq!(std::fs::read(&copied).unwrap(), read);
    }
}
