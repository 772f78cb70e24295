//! Which folio has which slot of the swap device, and how far is read around one that is missed?

use crate::state::folio::FolioId;
use pagealloc::policy::SwapReadahead;
use std::ops::Range;

/// Most slots that are read at once: `vm.page-cluster` of 3.
const READAHEAD_SLOTS: u32 = 8;

/// Which folio has which slot.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// By slot, as far as slots have ever been used.
    folios: Vec<Option<FolioId>>,
    total: u64,
    used: u64,
    /// Where the search for a free one goes on: who leaves memory one after the other lies side by side.
    next: usize,
    readahead: Readahead,
}

/// How far to read, by how much of what was read before was wanted.
#[derive(Debug, Default)]
struct Readahead {
    /// Pages read ahead that were used since the last miss.
    hits: u32,
    /// Slot of the last miss that no hit came before.
    last: u32,
    /// Slots that were read at the last miss.
    window: u32,
}

impl Readahead {
    /// Slots to read at a miss: two more than hits, rounded up; without hits one, or two for a neighbour of the last miss;
    /// never less than half of the last time (`__swapin_nr_pages`).
    fn window(&mut self, slot: u32, rule: SwapReadahead) -> u32 {
        if rule == SwapReadahead::Always {
            return READAHEAD_SLOTS;
        }
        let hits = std::mem::take(&mut self.hits);
        let neighbour = slot.abs_diff(self.last) == 1;
        let wanted = match hits {
            0 if !neighbour => 1,
            0 => 2,
            _ => (hits + 2).next_power_of_two().max(4),
        };
        if hits == 0 {
            self.last = slot;
        }
        self.window = wanted.min(READAHEAD_SLOTS).max(self.window / 2);
        self.window
    }
}

impl Slots {
    /// Slots of a device of so many pages.
    pub fn new(total: u64) -> Slots {
        Slots { total, ..Slots::default() }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn used(&self) -> u64 {
        self.used
    }

    /// Contiguous slots for a folio of this many pages, aligned to their number: the first one.
    pub fn take(&mut self, id: FolioId, pages: u32) -> Option<u32> {
        if self.total - self.used < u64::from(pages) {
            return None;
        }
        let (pages, total) = (pages as usize, self.total as usize);
        let first = self.next.next_multiple_of(pages);
        // Once round, from where the search stands.
        let places = (first..=total.saturating_sub(pages)).step_by(pages).chain((0..first).step_by(pages));
        let free = |&at: &usize| at + pages <= total && self.folios.iter().skip(at).take(pages).all(Option::is_none);
        let at = places.into_iter().find(free)?;
        if self.folios.len() < at + pages {
            self.folios.resize(at + pages, None);
        }
        self.folios[at..at + pages].fill(Some(id));
        self.used += pages as u64;
        self.next = at + pages;
        Some(at as u32)
    }

    /// The folio's slots are free.
    pub fn put(&mut self, first: u32, pages: u32) {
        let first = first as usize;
        self.folios[first..first + pages as usize].fill(None);
        self.used -= u64::from(pages);
    }

    /// A slot's content is now that of another folio: a part of the former one.
    pub fn pass_on(&mut self, slot: u32, id: FolioId) {
        self.folios[slot as usize] = Some(id);
    }

    /// A page that was read ahead was wanted.
    pub fn note_hit(&mut self) {
        self.readahead.hits += 1;
    }

    pub fn folio(&self, slot: u32) -> Option<FolioId> {
        self.folios.get(slot as usize).copied().flatten()
    }

    /// Slots to read for a miss in this one: the aligned stretch of the window's length around it.
    pub fn around(&mut self, slot: u32, rule: SwapReadahead) -> Range<u32> {
        let window = self.readahead.window(slot, rule);
        let first = slot / window * window;
        first..first + window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_together_lies_together_and_room_is_used_again() {
        let mut slots = Slots::new(6);
        let taken: Vec<_> = (0..3).map(|id| slots.take(FolioId(id), 1)).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(2)]);
        assert_eq!(slots.take(FolioId(3), 2), Some(4), "aligned");
        slots.put(1, 1);
        assert_eq!([4, 5, 6].map(|id| slots.take(FolioId(id), 1)), [Some(1), Some(3), None]);
        assert_eq!((slots.used(), slots.folio(1), slots.folio(5)), (6, Some(FolioId(4)), Some(FolioId(3))));
    }

    #[test]
    fn old_kernels_read_eight_slots_at_every_miss() {
        let mut slots = Slots::new(64);
        assert_eq!([9, 40, 23].map(|slot| slots.around(slot, SwapReadahead::Always)), [8..16, 40..48, 16..24]);
    }

    #[test]
    fn a_window_grows_with_hits_and_shrinks_by_half() {
        let mut readahead = Readahead::default();
        let mut miss = |slot, hits| {
            readahead.hits = hits;
            readahead.window(slot, SwapReadahead::ByHits)
        };
        assert_eq!([miss(100, 0), miss(101, 0)], [1, 2], "the second is its neighbour");
        assert_eq!([miss(300, 3), miss(400, 7)], [8, 8]);
        assert_eq!([miss(900, 0), miss(700, 0), miss(500, 0), miss(300, 0)], [4, 2, 1, 1]);
        assert_eq!(Slots { readahead, ..Slots::default() }.around(302, SwapReadahead::ByHits), 302..303);
    }
}
