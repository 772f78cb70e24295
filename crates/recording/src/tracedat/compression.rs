//! Unpacking the compressed sections of a version 7 file.

use std::io::Read;

use crate::cursor::Cursor;
use crate::error::Error;

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
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let packed_size = cursor.u32("the size of compressed data")?;
        let size = cursor.u32("the size of unpacked data")? as usize;
        let offset = cursor.offset();
        let packed = cursor.bytes(packed_size.into(), "compressed data")?;
        let before = out.len();
        out.reserve(size.min(MAX_RESERVE));
        // One byte more than announced is asked for, so that too much data is noticed.
        let limit = size as u64 + 1;
        let result = match self {
            Self::None => Read::take(packed, limit)
                .read_to_end(out)
                .map_err(|error| error.to_string()),
            Self::Zlib => flate2::read::ZlibDecoder::new(packed)
                .take(limit)
                .read_to_end(out)
                .map_err(|error| error.to_string()),
            Self::Zstd => ruzstd::decoding::StreamingDecoder::new(packed)
                .map_err(|error| error.to_string())
                .and_then(|decoder| {
                    decoder
                        .take(limit)
                        .read_to_end(out)
                        .map_err(|error| error.to_string())
                }),
        };
        result.map_err(|error| {
            cursor.malformed(
                offset,
                format!("compressed data cannot be unpacked ({error})"),
            )
        })?;
        if out.len() - before != size {
            return Err(cursor.malformed(
                offset,
                format!("compressed data does not unpack to {size} bytes"),
            ));
        }
        Ok(())
    }

    /// A CPU's data: a count, then so many pieces.
    pub(crate) fn unpack_chunks(self, cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        for _ in 0..cursor.u32("the number of compressed chunks")? {
            self.unpack_piece(cursor, &mut out)?;
        }
        Ok(out)
    }
}
