//! Pageblocks: type, hints and zone of each, two bytes a block.

use crate::ids::{BlockId, ZoneId};
use crate::migratetype::Migratetype;
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Copy)]
struct Block {
    /// Bits 0 to 2: type. Bit 3: compaction skip. Bit 4: being isolated, which hides the type (1.6).
    bits: u8,
    /// Zone, or [`NO_ZONE`].
    zone: u8,
}

const TYPE: u8 = 0x07;
const SKIP: u8 = 0x08;
const ISOLATE: u8 = 0x10;
const NO_ZONE: u8 = u8::MAX;

/// All pageblocks of the machine. Each starts Movable (1.12).
pub(crate) struct Blocks(Vec<Block>);

impl Blocks {
    pub(crate) fn new(blocks: usize) -> Blocks {
        Blocks(vec![Block { bits: Migratetype::Movable as u8, zone: NO_ZONE }; blocks])
    }

    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Effective type: Isolate while the block is being isolated.
    #[inline(always)]
    pub(crate) fn migratetype(&self, block: BlockId) -> Migratetype {
        let bits = self.0[block.index()].bits;
        if bits & ISOLATE != 0 { Migratetype::Isolate } else { Migratetype::from_index(bits & TYPE) }
    }

    /// Sets the type. Isolate only hides the type that the block has; any other type ends the isolation.
    pub(crate) fn set_migratetype(&mut self, block: BlockId, migratetype: Migratetype) {
        let bits = &mut self.0[block.index()].bits;
        *bits = match migratetype {
            Migratetype::Isolate => *bits | ISOLATE,
            other => *bits & !(TYPE | ISOLATE) | other as u8,
        };
    }

    #[inline]
    pub(crate) fn skip(&self, block: BlockId) -> bool {
        self.0[block.index()].bits & SKIP != 0
    }

    #[inline]
    pub(crate) fn set_skip(&mut self, block: BlockId, skip: bool) {
        let bits = &mut self.0[block.index()].bits;
        *bits = *bits & !SKIP | if skip { SKIP } else { 0 };
    }

    /// Zone of the block. Of a block without one, a number that no zone has.
    #[inline(always)]
    pub(crate) fn zone(&self, block: BlockId) -> ZoneId {
        ZoneId(self.0[block.index()].zone)
    }

    /// Gives the block to a zone; false if it already belongs to another.
    pub(crate) fn assign(&mut self, block: BlockId, zone: ZoneId) -> bool {
        let owner = &mut self.0[block.index()].zone;
        let free = *owner == NO_ZONE || *owner == zone.0;
        *owner = zone.0;
        free
    }
}
