//! What every page frame is, and how full that makes every pageblock.

use crate::pagelog::{StartState, StartUse};
use crate::proc::pagestate::{Frame, PageState};
use lab::timeline::{BlockFill, block_byte};
use pagealloc::{Migratetype, Order, Pfn};

/// What a page frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Not the allocator's.
    Absent,
    Free,
    /// In use, can be moved.
    Movable,
    /// In use, can't be moved.
    Pinned,
}

const ABSENT: u8 = 0;
const FREE: u8 = 1;
const MOVABLE: u8 = 2;
const PINNED: u8 = 3;
const USE: u8 = 3;

/// log2 of a pageblock's pages on the machines that recordings are of (x86-64).
const BLOCK: u32 = 9;
const BLOCK_PAGES: u32 = 1 << BLOCK;

/// A block's pages by use, and what compaction put there without saying where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    by_use: [u16; 4],
    arrived: u16,
}

/// All frames and blocks.
pub(super) struct Frames {
    /// Bits 0-1 use; bits 2-6 order of the page, in its head.
    frames: Vec<u8>,
    counts: Vec<Count>,
    types: Vec<Migratetype>,
}

impl Frames {
    /// Memory at the start of the log.
    pub fn new(start: &StartState) -> Frames {
        let managed = start.machine.zones.iter().flat_map(|zone| zone.managed.iter());
        let end = managed.map(|(first, pages)| first.0 + pages).max().unwrap_or(0) as usize;
        let end = end.max(start.blocks.len() << BLOCK);
        let mut frames = Frames {
            frames: vec![ABSENT; end],
            counts: vec![Count { by_use: [BLOCK_PAGES as u16, 0, 0, 0], arrived: 0 }; end.div_ceil(1 << BLOCK)],
            types: start.blocks.clone(),
        };
        frames.types.resize(frames.counts.len(), Migratetype::Movable);
        for &(pfn, order) in &start.free {
            frames.set(pfn.into(), order, Use::Free);
        }
        for page in &start.pcp {
            frames.set(page.pfn.into(), page.order, Use::Free);
        }
        for used in &start.used {
            let as_what = if matches!(used.place, StartUse::Lru { .. }) { Use::Movable } else { Use::Pinned };
            frames.set(used.pfn.into(), used.order, as_what);
        }
        frames
    }

    /// What a frame is.
    pub fn of(&self, pfn: u64) -> Use {
        match self.frames.get(pfn as usize).map_or(ABSENT, |frame| frame & USE) {
            FREE => Use::Free,
            MOVABLE => Use::Movable,
            PINNED => Use::Pinned,
            _ => Use::Absent,
        }
    }

    /// Order of the page that the frame is the head of.
    pub fn order(&self, pfn: u64) -> Order {
        self.frames.get(pfn as usize).map_or(0, |frame| frame >> 2)
    }

    /// Frames become something else. What lies beyond memory is left out.
    pub fn set(&mut self, at: At, order: Order, to: Use) {
        let byte = match to {
            Use::Absent => ABSENT,
            Use::Free => FREE,
            Use::Movable => MOVABLE,
            Use::Pinned => PINNED,
        };
        let end = (at.0.saturating_add(1 << order)).min(self.frames.len());
        for pfn in at.0..end {
            let count = &mut self.counts[pfn >> BLOCK];
            count.by_use[usize::from(self.frames[pfn] & USE)] -= 1;
            count.by_use[usize::from(byte)] += 1;
            self.frames[pfn] = byte;
        }
        if let Some(head) = self.frames.get_mut(at.0) {
            *head = byte | order << 2;
        }
    }

    /// Compaction moved so many pages into free frames of a block; which frames is not known.
    pub fn arrived(&mut self, block: usize, pages: u16) {
        if let Some(count) = self.counts.get_mut(block) {
            count.arrived = (count.arrived + pages).min(BLOCK_PAGES as u16);
        }
    }

    /// A page leaves frames that were thought free: one that had arrived unseen.
    pub fn left_unseen(&mut self, pfn: u64, order: Order) {
        if let Some(count) = self.counts.get_mut((pfn >> BLOCK) as usize) {
            count.arrived = count.arrived.saturating_sub(1 << order);
        }
    }

    /// A block's type.
    pub fn set_type(&mut self, block: usize, to: Migratetype) {
        if let Some(of) = self.types.get_mut(block) {
            *of = to;
        }
    }

    /// A snapshot says what every frame is: nothing is inferred any more.
    pub fn take(&mut self, snapshot: &[Frame]) {
        self.counts.iter_mut().for_each(|count| count.arrived = 0);
        let mut pfn = 0;
        while pfn < snapshot.len().min(self.frames.len()) {
            use PageState::*;
            let Frame { state, order } = snapshot[pfn];
            let (to, pages) = match state {
                FreeHead => (Some(Use::Free), 1 << order),
                Anonymous | PageCache => (Some(Use::Movable), 1 << order),
                Slab | PageTable | OtherTyped | OtherInUse => (Some(Use::Pinned), 1 << order),
                Unreferenced => (Some(Use::Free), 1),
                _ => (None, 1),
            };
            let absent = self.frames[pfn] & USE == ABSENT;
            if let Some(to) = to.filter(|_| !absent) {
                self.set(At(pfn), if pages > 1 { order } else { 0 }, to);
            }
            pfn += pages;
        }
    }

    /// Bytes of all blocks.
    pub fn bytes(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let byte = |(count, of): (&Count, &Migratetype)| {
            let [_, free, movable, pinned] = count.by_use.map(u32::from);
            let arrived = u32::from(count.arrived).min(free);
            let fill = BlockFill { free: free - arrived, movable: movable + arrived, pinned };
            block_byte(*of, fill, BLOCK_PAGES)
        };
        bytes.extend(self.counts.iter().zip(&self.types).map(byte));
    }

    /// Number of blocks.
    #[cfg(test)]
    pub fn blocks(&self) -> usize {
        self.counts.len()
    }
}

/// A frame number as an index.
#[derive(Clone, Copy)]
pub(super) struct At(usize);

impl From<Pfn> for At {
    fn from(pfn: Pfn) -> At {
        At(pfn.index())
    }
}

impl From<u64> for At {
    fn from(pfn: u64) -> At {
        At(usize::try_from(pfn).unwrap_or(usize::MAX))
    }
}
