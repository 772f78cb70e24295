//! Unpacking the compressed sections of a version 7 file.

use std::io::Read;

use crate::container::MAX_UNPACKED;
use crate::cursor::Cursor;
use crate::error::Error;

/// How much more a file may unpack to. Its sections may overlap, and each says by itself how large it is.
pub(crate) struct Budget(u64);

impl Default for Budget {
    fn default() -> Budget {
        Budget(MAX_UNPACKED)
    }
}

impl Budget {
    fn take(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

/// Never reserve more than this before the data proves that it is there: sizes come from the file.
const MAX_RESERVE: usize = 1 << 20;

/// How the sections of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zlib,
    Zstd,
}

impl Compression {
    /// The algorithm of that name in the file's header.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"none" | b"" => Some(Self::None),
            b"zlib" => Some(Self::Zlib),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// One compressed piece: sizes before and after, then the data.
    pub(crate) fn unpack_piece(
        self,
        cursor: &mut Cursor<'_>,
        budget: &mut Budget,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let packed_size = cursor.u32("the size of compressed data")?;
        let size = cursor.u32("the size of unpacked data")? as usize;
        let offset = cursor.offset();
        let packed = cursor.bytes(packed_size.into(), "compressed data")?;
        budget.take(size as u64).ok_or_else(|| {
            cursor.malformed(offset, format!("the file unpacks to more than {} GiB", MAX_UNPACKED >> 30))
        })?;
        let before = out.len();
        out.reserve(size.min(MAX_RESERVE));
        // One byte more than announced is asked for, so that too much data is noticed.
        let limit = size as u64 + 1;
        let result = match self {
            Self::None => Read::take(packed, limit).read_to_end(out).map_err(|error| error.to_string()),
            Self::Zlib => {
                flate2::read::ZlibDecoder::new(packed).take(limit).read_to_end(out).map_err(|error| error.to_string())
            }
            Self::Zstd => ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(|error| error.to_string())
                .and_then(|decoder| decoder.take(limit).read_to_end(out).map_err(|error| error.to_string())),
        };
        result.map_err(|error| cursor.malformed(offset, format!("compressed data cannot be unpacked ({error})")))?;
        if out.len() - before != size {
            return Err(cursor.malformed(offset, format!("compressed data does not unpack to {size} bytes")));
        }
        Ok(())
    }

    /// A CPU's data: a count, then so many pieces.
    pub(crate) fn unpack_chunks(self, cursor: &mut Cursor<'_>, budget: &mut Budget) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        for _ in 0..cursor.u32("the number of compressed chunks")? {
            self.unpack_piece(cursor, budget, &mut out)?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SourceName;
    use std::io::Write;
    use std::path::Path;

    fn unpack(compression: Compression, announced: u32, packed: &[u8]) -> Result<Vec<u8>, Error> {
        let path: SourceName = Path::new("x.dat").into();
        let mut piece = (packed.len() as u32).to_le_bytes().to_vec();
        piece.extend_from_slice(&announced.to_le_bytes());
        piece.extend_from_slice(packed);
        let mut out = Vec::new();
        compression.unpack_piece(&mut Cursor::new(&path, &piece, 0), &mut Budget::default(), &mut out)?;
        Ok(out)
    }

    #[test]
    fn pieces_share_what_a_file_may_unpack_to() {
        let path: SourceName = Path::new("x.dat").into();
        let piece = [&5u32.to_le_bytes()[..], &5u32.to_le_bytes(), b"abcde"].concat();
        let chunks = [&3u32.to_le_bytes()[..], &piece, &piece, &piece].concat();
        let unpack = |bytes| Compression::None.unpack_chunks(&mut Cursor::new(&path, &chunks, 0), &mut Budget(bytes));
        assert_eq!(unpack(15).unwrap(), b"abcdeabcdeabcde");
        let why = unpack(14).unwrap_err().to_string();
        assert!(why.starts_with("x.dat: at byte 38: the file unpacks to more than"), "{why}");
    }

    #[test]
    fn zlib_pieces_have_the_announced_size() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&[7; 5000]).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(unpack(Compression::Zlib, 5000, &packed).unwrap(), [7; 5000]);
        for wrong in [4999, 5001, u32::MAX] {
            let error = unpack(Compression::Zlib, wrong, &packed).unwrap_err().to_string();
            assert!(error.contains("does not unpack to"), "{error}");
        }
        assert!(unpack(Compression::Zlib, 5000, &packed[..10]).is_err());
        assert!(unpack(Compression::Zstd, 5000, &packed).is_err());
    }
}
