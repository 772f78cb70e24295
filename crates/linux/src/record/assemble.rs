//! Putting the CPUs' pages together as one trace.dat, in the space that they take.

use super::error::RecordError;
use super::tracedat::TraceDat;
use rustix::fs::{FallocateFlags, copy_file_range, fallocate};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes moved at once: as much more disk is needed than the recording takes.
const PIECE: u64 = 16 << 20;

/// The file that a CPU's pages are in while the recording runs.
pub(crate) fn pages_path(trace: &Path, cpu: u16) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(format!(".cpu{cpu}"));
    name.into()
}

/// Moves every CPU's pages into the trace, and removes their files.
pub(crate) fn move_pages(trace: &mut TraceDat, path: &Path, cpus: &[u16]) -> Result<(), RecordError> {
    for &cpu in cpus {
        let source_path = pages_path(path, cpu);
        let source = OpenOptions::new().read(true).write(true).open(&source_path);
        let source = source.map_err(RecordError::io(&source_path, "opening"))?;
        let (target, _) = trace.begin_cpu(cpu)?;
        let size = move_file(&source, target).map_err(RecordError::io(path, "writing the trace"))?;
        trace.end_cpu(size)?;
        fs::remove_file(&source_path).map_err(RecordError::io(&source_path, "removing"))?;
    }
    Ok(())
}

/// Moves a file's contents to the end of another, giving their space back piece by piece; returns their size.
fn move_file(source: &File, target: &mut File) -> io::Result<u64> {
    let size = source.metadata()?.len();
    let mut at = 0;
    while at < size {
        let piece = PIECE.min(size - at);
        let copied = match copy_file_range(source, Some(&mut at.clone()), &*target, None, piece as usize) {
            Ok(copied) if copied > 0 => copied as u64,
            _ => copy_piece(source, at, target, piece)?,
        };
        // Where the file system cannot do this, the copy needs its space in full.
        let _ = fallocate(source, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, copied);
        at += copied;
    }
    Ok(size)
}

/// What `copy_file_range` does, for file systems that it does not work on.
fn copy_piece(source: &File, at: u64, target: &mut File, size: u64) -> io::Result<u64> {
    let mut buffer = vec![0; size.min(1 << 20) as usize];
    let read = source.read_at(&mut buffer, at)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    target.write_all(&buffer[..read])?;
    Ok(read as u64)
}
