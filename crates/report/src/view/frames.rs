//! The block map's samples: keyframes, and XOR against the sample before.

use super::chunk::Packer;
use super::{Chunk, ChunkError, Map};
use lab::timeline::BlockMap;

/// Packs samples of one length: every `keyframe_every`-th as it is, the others as differences.
pub fn pack_frames<'a>(samples: impl Iterator<Item = &'a [u8]>, blocks: usize, keyframe_every: u32) -> Chunk {
    let mut packer = Packer::default();
    let mut before = vec![0; blocks];
    for (at, sample) in samples.enumerate() {
        if is_keyframe(at, keyframe_every) {
            packer.push(sample);
        } else {
            let change: Vec<u8> = before.iter().zip(sample).map(|(before, now)| before ^ now).collect();
            packer.push(&change);
        }
        before.copy_from_slice(sample);
    }
    packer.finish()
}

/// Packs a run's map as it was kept, without all of it in memory at once.
pub(super) fn pack_map(map: &BlockMap, keyframe_every: u32) -> Chunk {
    let mut packer = Packer::default();
    let mut at = 0;
    map.replay(|change, whole| {
        packer.push(if is_keyframe(at, keyframe_every) { whole } else { change });
        at += 1;
    });
    packer.finish()
}

fn is_keyframe(at: usize, every: u32) -> bool {
    at.is_multiple_of(every.max(1) as usize)
}

/// A map's samples, unpacked.
#[derive(Clone, Debug)]
pub struct FrameReader {
    bytes: Vec<u8>,
    blocks: usize,
    times: Vec<f32>,
}

/// Why a map can't be read.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// A chunk of it is damaged.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// There are not as many bytes as blocks times samples.
    #[error("a map of {blocks} blocks and {samples} samples has {found} bytes")]
    Size {
        /// Blocks.
        blocks: u32,
        /// Samples.
        samples: usize,
        /// Bytes that are there.
        found: usize,
    },
}

impl FrameReader {
    /// Unpacks a map.
    ///
    /// # Errors
    /// [`MapError`] for a damaged one.
    pub fn new(map: &Map) -> Result<FrameReader, MapError> {
        let (times, mut bytes) = (map.times.to_f32()?, map.frames.to_u8()?);
        let blocks = map.blocks as usize;
        if Some(bytes.len()) != blocks.checked_mul(times.len()) {
            return Err(MapError::Size { blocks: map.blocks, samples: times.len(), found: bytes.len() });
        }
        for sample in (1..times.len()).filter(|at| !is_keyframe(*at, map.keyframe_every)) {
            let (done, rest) = bytes.split_at_mut(sample * blocks);
            let before = &done[(sample - 1) * blocks..];
            rest[..blocks].iter_mut().zip(before).for_each(|(now, before)| *now ^= before);
        }
        Ok(FrameReader { bytes, blocks, times })
    }

    /// Times of the samples, seconds.
    pub fn times(&self) -> &[f32] {
        &self.times
    }

    /// Blocks of a sample, one byte each.
    pub fn frame(&self, sample: usize) -> &[u8] {
        &self.bytes[sample * self.blocks..(sample + 1) * self.blocks]
    }

    /// The last sample at or before a time; the first if there is none before it.
    pub fn at(&self, seconds: f32) -> Option<usize> {
        let behind = self.times.partition_point(|time| *time <= seconds);
        (!self.times.is_empty()).then(|| behind.saturating_sub(1))
    }
}
