//! The scratch directory: files of a scenario by number.

use rustix::fs::{AtFlags, Mode, OFlags, fdatasync, mkdirat, openat, statat, unlinkat};
use rustix::io::{Errno, pread, pwrite};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::{Rc, Weak};
use workload::{FileId, PIECE};

/// The scratch directory as a process uses it.
pub struct Files {
    dir: OwnedFd,
    buffer: Vec<u8>,
    /// The file used last stays open: a file is often made and then written.
    open: Option<(FileId, Rc<OwnedFd>)>,
    /// Files that the process holds open, as long as it does.
    held: HashMap<FileId, Weak<OwnedFd>>,
}

impl Files {
    /// Uses this directory.
    ///
    /// # Errors
    /// If it can't be opened.
    pub fn in_dir(dir: &Path) -> std::io::Result<Files> {
        Ok(Files { dir: File::open(dir)?.into(), buffer: vec![0x5a; PIECE as usize], open: None, held: HashMap::new() })
    }

    /// Creates a file, or empties it.
    pub fn create(&mut self, file: FileId) -> Result<(), Errno> {
        let made = self.make(file, OFlags::TRUNC)?;
        self.open = Some((file, Rc::new(made)));
        Ok(())
    }

    /// Creates empty files in a directory of their own.
    pub fn create_many(&mut self, directory: u32, first: u32, count: u32) -> Result<(), Errno> {
        let dir = format!("many-{directory:08x}");
        if first == 0 {
            match mkdirat(&self.dir, &dir, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        for name in first..first.saturating_add(count) {
            openat(&self.dir, format!("{dir}/{name:040}"), flags, Mode::from_raw_mode(0o600))?;
        }
        Ok(())
    }

    /// Opens a file that the caller holds, making it if there is none.
    pub fn open_held(&mut self, file: FileId) -> Result<Rc<OwnedFd>, Errno> {
        let fd = Rc::new(self.make(file, OFlags::empty())?);
        self.held.insert(file, Rc::downgrade(&fd));
        Ok(fd)
    }

    fn make(&self, file: FileId, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CREATE;
        self.open_at(file, flags).or_else(|error| match error {
            Errno::NOENT => {
                // The first file of its directory. Another process may have been faster.
                let _ = mkdirat(&self.dir, dir_of(file), Mode::from_raw_mode(0o700));
                self.open_at(file, flags)
            }
            error => Err(error),
        })
    }

    /// Writes a range.
    pub fn write(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.keep_open(file)?;
        let Some((_, fd)) = &self.open else { return Err(Errno::BADF) };
        let end = offset.checked_add(bytes).ok_or(Errno::FBIG)?;
        let mut at = offset;
        while at < end {
            at += pwrite(fd, &self.buffer[..PIECE.min(end - at) as usize], at)? as u64;
        }
        Ok(())
    }

    /// Reads a range, as far as there is something.
    pub fn read(&mut self, file: FileId, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.keep_open(file)?;
        let Some((_, fd)) = &self.open else { return Err(Errno::BADF) };
        let end = offset.checked_add(bytes).ok_or(Errno::INVAL)?;
        let mut at = offset;
        while at < end {
            match pread(fd, &mut self.buffer[..PIECE.min(end - at) as usize], at)? {
                0 => break,
                read => at += read as u64,
            }
        }
        Ok(())
    }

    /// Brings a file's contents to the disk.
    pub fn sync(&mut self, file: FileId) -> Result<(), Errno> {
        self.keep_open(file)?;
        let Some((_, fd)) = &self.open else { return Err(Errno::BADF) };
        fdatasync(fd)
    }

    /// Removes a file.
    pub fn unlink(&mut self, file: FileId) -> Result<(), Errno> {
        self.open = self.open.take().filter(|(open, _)| *open != file);
        self.held.remove(&file);
        unlinkat(&self.dir, name_of(file), AtFlags::empty())
    }

    /// Looks up names that don't exist.
    pub fn lookup(&mut self, name: u64, count: u32) -> Result<(), Errno> {
        for number in name..name.saturating_add(count.into()) {
            match statat(&self.dir, format!("absent-{number:x}"), AtFlags::empty()) {
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(Errno::EXIST),
            }
        }
        Ok(())
    }

    /// A child starts with no file open but those that its parent holds: its parent's offsets and lifetimes are none of its business.
    pub fn forked(&mut self) {
        self.open = None;
    }

    /// A file that exists, to be mapped.
    pub fn open_to_map(&self, file: FileId) -> Result<Rc<OwnedFd>, Errno> {
        self.open_at(file, OFlags::empty()).map(Rc::new)
    }

    fn keep_open(&mut self, file: FileId) -> Result<(), Errno> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != file) {
            self.open = None;
            let held = self.held.get(&file).and_then(Weak::upgrade);
            let fd = held.map_or_else(|| self.open_at(file, OFlags::empty()).map(Rc::new), Ok)?;
            self.open = Some((file, fd));
        }
        Ok(())
    }

    fn open_at(&self, file: FileId, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(&self.dir, name_of(file), flags, Mode::from_raw_mode(0o600))
    }
}

fn dir_of(file: FileId) -> String {
    format!("{:02x}", file.0 >> 24)
}

fn name_of(file: FileId) -> String {
    format!("{:02x}/{:06x}", file.0 >> 24, file.0 & 0xff_ffff)
}
