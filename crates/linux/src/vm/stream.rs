//! The way out: a tar archive on a raw disk, behind a header that says how long it is and what it sums to.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | magic `FRAGLABR` |
//! | 8..16 | version, little endian: 1 |
//! | 16..24 | length of the body, little endian |
//! | 24..56 | SHA-256 of the body |
//! | 4096.. | the body, a tar archive |
//!
//! The header is written last, so a guest that dies half way leaves a disk without magic, not half a result.

use sha2::{Digest, Sha256};
use std::io::{self, Read, Seek, SeekFrom, Write};

const MAGIC: [u8; 8] = *b"FRAGLABR";
const VERSION: u64 = 1;
const HEADER: usize = 56;
const BODY_AT: u64 = 4096;

/// Why no result could be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The header was never written.
    #[error("the guest left no results")]
    Absent,
    /// The guest speaks another version.
    #[error(
        "the guest's results are in version {0} of the format, this fraglab reads version {VERSION}: rebuild fraglab-guest"
    )]
    Version(u64),
    /// The body is not what the guest wrote.
    #[error("the guest's results are damaged: their checksum is wrong")]
    Checksum,
    /// The disk's file can't be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Hashes and counts what passes through.
struct Summing<W> {
    inner: W,
    sum: Sha256,
    length: u64,
}

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Writes a body and then its header. The caller syncs the disk between the two through `sync`.
pub fn write<D: Write + Seek>(
    disk: &mut D,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    sync: impl Fn(&mut D) -> io::Result<()>,
) -> io::Result<()> {
    disk.seek(SeekFrom::Start(BODY_AT))?;
    let buffered = io::BufWriter::with_capacity(1 << 18, &mut *disk);
    let mut summing = Summing { inner: buffered, sum: Sha256::new(), length: 0 };
    body(&mut summing)?;
    summing.flush()?;
    let (sum, length) = (summing.sum.clone().finalize(), summing.length);
    drop(summing);
    sync(disk)?;
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend(length.to_le_bytes());
    header.extend(&sum[..]);
    disk.seek(SeekFrom::Start(0))?;
    disk.write_all(&header)?;
    sync(disk)
}

/// Checks the header and the sum, and gives a reader of the body.
pub fn read<D: Read + Seek>(disk: &mut D) -> Result<io::Take<&mut D>, StreamError> {
    let mut header = [0; HEADER];
    disk.seek(SeekFrom::Start(0))?;
    match disk.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(StreamError::Absent),
        other => other?,
    }
    if header[..8] != MAGIC {
        return Err(StreamError::Absent);
    }
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    if number(8) != VERSION {
        return Err(StreamError::Version(number(8)));
    }
    let length = number(16);
    disk.seek(SeekFrom::Start(BODY_AT))?;
    let mut summing = Summing { inner: io::sink(), sum: Sha256::new(), length: 0 };
    io::copy(&mut disk.take(length), &mut summing)?;
    if summing.length != length || summing.sum.finalize()[..] != header[24..] {
        return Err(StreamError::Checksum);
    }
    disk.seek(SeekFrom::Start(BODY_AT))?;
    Ok(disk.take(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn written(body: &[u8]) -> Cursor<Vec<u8>> {
        let mut disk = Cursor::new(vec![0; 16 << 10]);
        write(&mut disk, |out| out.write_all(body), |_| Ok(())).unwrap();
        disk
    }

    #[test]
    fn what_goes_in_comes_out() {
        for body in [&b""[..], b"results", &[7; 9000]] {
            let mut disk = written(body);
            let mut back = Vec::new();
            read(&mut disk).unwrap().read_to_end(&mut back).unwrap();
            assert_eq!(back, body);
        }
    }

    #[test]
    fn an_untouched_disk_has_no_results() {
        assert!(matches!(read(&mut Cursor::new(vec![0; 8192])), Err(StreamError::Absent)));
        assert!(matches!(read(&mut Cursor::new(Vec::new())), Err(StreamError::Absent)));
    }

    #[test]
    fn a_flipped_bit_a_cut_and_a_strange_version_are_errors() {
        let mut flipped = written(b"results");
        flipped.get_mut()[BODY_AT as usize + 3] ^= 1;
        assert!(matches!(read(&mut flipped), Err(StreamError::Checksum)));
        let mut cut = written(&[1; 6000]);
        cut.get_mut().truncate(BODY_AT as usize + 5000);
        assert!(matches!(read(&mut cut), Err(StreamError::Checksum)));
        let mut strange = written(b"results");
        strange.get_mut()[8] = 9;
        assert!(matches!(read(&mut strange), Err(StreamError::Version(9))));
    }

    #[test]
    fn a_guest_that_dies_half_way_leaves_none() {
        let mut disk = Cursor::new(vec![0; 16 << 10]);
        let dying = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("died"))
        };
        assert!(write(&mut disk, dying, |_| Ok(())).is_err());
        assert!(matches!(read(&mut disk), Err(StreamError::Absent)));
    }
}
