//! Numbers in bulk: base64 of the raw deflate stream of little-endian bytes.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderStringWriter;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// Packed numbers. What they are packed from is told by [`Dtype`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Type of the elements.
    pub dtype: Dtype,
    /// Number of elements.
    pub len: usize,
    /// Base64 of raw deflate of little-endian bytes.
    pub data: String,
}

/// Type of a chunk's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// IEEE 754 single precision.
    F32,
}

/// Why a chunk can't be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    /// Not base64.
    #[error("a chunk is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not a deflate stream.
    #[error("a chunk is not a deflate stream: {0}")]
    Deflate(#[from] std::io::Error),
    /// The stream holds more or fewer bytes than `len` says.
    #[error("a chunk says that it holds {expected} bytes of {dtype:?} and does not")]
    Length {
        /// Bytes that `len` and `dtype` ask for.
        expected: usize,
        /// The type it says it has.
        dtype: Dtype,
    },
    /// It holds another type than the reader's.
    #[error("a chunk holds {found:?} where {wanted:?} belongs")]
    Dtype {
        /// What it says it holds.
        found: Dtype,
        /// What belongs there.
        wanted: Dtype,
    },
}

impl Dtype {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::U16 => 2,
            Dtype::U32 | Dtype::F32 => 4,
        }
    }
}

impl Chunk {
    /// Packs bytes.
    pub fn u8(values: &[u8]) -> Chunk {
        Chunk::pack(Dtype::U8, values.len(), values)
    }

    /// Packs 32-bit numbers.
    pub fn u32(values: &[u32]) -> Chunk {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Chunk::pack(Dtype::U32, values.len(), &bytes)
    }

    /// Packs floats.
    pub fn f32(values: &[f32]) -> Chunk {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Chunk::pack(Dtype::F32, values.len(), &bytes)
    }

    fn pack(dtype: Dtype, len: usize, bytes: &[u8]) -> Chunk {
        let mut packer = Packer::default();
        packer.push(bytes);
        Chunk { dtype, len, ..packer.finish() }
    }

    /// Its bytes.
    ///
    /// # Errors
    /// [`ChunkError`] for another type, or for damage.
    pub fn to_u8(&self) -> Result<Vec<u8>, ChunkError> {
        self.unpack(Dtype::U8)
    }

    /// Its 32-bit numbers.
    ///
    /// # Errors
    /// As [`Chunk::to_u8`].
    pub fn to_u32(&self) -> Result<Vec<u32>, ChunkError> {
        Ok(self.unpack(Dtype::U32)?.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    /// Its floats.
    ///
    /// # Errors
    /// As [`Chunk::to_u8`].
    pub fn to_f32(&self) -> Result<Vec<f32>, ChunkError> {
        Ok(self.unpack(Dtype::F32)?.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn unpack(&self, wanted: Dtype) -> Result<Vec<u8>, ChunkError> {
        if self.dtype != wanted {
            return Err(ChunkError::Dtype { found: self.dtype, wanted });
        }
        let length = || ChunkError::Length { expected: self.len.saturating_mul(wanted.bytes()), dtype: wanted };
        let expected = self.len.checked_mul(wanted.bytes()).ok_or_else(length)?;
        if self.data.is_empty() && expected == 0 {
            return Ok(Vec::new());
        }
        let packed = STANDARD.decode(&self.data)?;
        let mut bytes = Vec::new();
        // One byte more than belongs there shows a stream that is too long, whatever it would grow to.
        DeflateDecoder::new(&packed[..]).take(expected as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() == expected { Ok(bytes) } else { Err(length()) }
    }
}

/// Packs bytes as they come.
pub(super) struct Packer {
    encoder: DeflateEncoder<EncoderStringWriter<'static, GeneralPurpose, String>>,
    len: usize,
}

/// Writing into a string ends for want of memory only.
const TO_MEMORY: &str = "writing to memory can't fail";

impl Default for Packer {
    fn default() -> Packer {
        Packer { encoder: DeflateEncoder::new(EncoderStringWriter::new(&STANDARD), Compression::new(6)), len: 0 }
    }
}

impl Packer {
    pub fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        self.encoder.write_all(bytes).expect(TO_MEMORY);
    }

    /// All bytes so far.
    pub fn finish(self) -> Chunk {
        let data = self.encoder.finish().expect(TO_MEMORY).into_inner();
        Chunk { dtype: Dtype::U8, len: self.len, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were() {
        let floats = [0.0, -1.5, f32::MAX, 1e-20];
        assert_eq!(Chunk::f32(&floats).to_f32().expect("own chunk"), floats);
        assert_eq!(Chunk::u32(&[1, u32::MAX]).to_u32().expect("own chunk"), [1, u32::MAX]);
        assert_eq!(Chunk::u8(&[]).to_u8().expect("own chunk"), [0u8; 0]);
    }

    #[test]
    fn bytes_are_raw_deflate_as_other_readers_make_it() {
        // python3 -c "import zlib,base64;c=zlib.compressobj(9,8,-15);print(base64.b64encode(c.compress(b'\1\2\3\4\0\0\0\0')+c.flush()))"
        let foreign = Chunk { dtype: Dtype::U32, len: 2, data: "Y2RiZmEAAgA=".into() };
        assert_eq!(foreign.to_u32().expect("well formed"), [0x0403_0201, 0]);
    }

    #[test]
    fn damage_is_said_and_never_believed() {
        let good = Chunk::u8(&[7; 100]);
        assert!(matches!(good.to_u32(), Err(ChunkError::Dtype { .. })));
        assert!(matches!(Chunk { len: 99, ..good.clone() }.to_u8(), Err(ChunkError::Length { .. })));
        assert!(matches!(
            Chunk { len: usize::MAX, dtype: Dtype::U32, ..good.clone() }.to_u32(),
            Err(ChunkError::Length { .. })
        ));
        assert!(matches!(Chunk { data: "%".into(), ..good.clone() }.to_u8(), Err(ChunkError::Base64(_))));
        assert!(matches!(Chunk { data: "/////w==".into(), ..good }.to_u8(), Err(ChunkError::Deflate(_))));
    }
}
