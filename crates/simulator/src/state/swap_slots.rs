//! Which folio has which slot of the swap device, and which are read along with one that is missed?

use crate::state::folio::FolioId;
use crate::state::swap_readahead::BySlot;
use pagealloc::policy::SwapReadahead;
use std::ops::Range;

/// Which folio has which slot.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// By slot, as far as slots have ever been used.
    folios: Vec<Option<FolioId>>,
    total: u64,
    used: u64,
    /// Where the search for a free one goes on: who leaves memory one after the other lies side by side.
    next: usize,
    readahead: BySlot,
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
        self.readahead.note_hit();
    }

    pub fn folio(&self, slot: u32) -> Option<FolioId> {
        self.folios.get(slot as usize).copied().flatten()
    }

    /// Slots to read for a miss in this one: an aligned stretch around it.
    pub fn around(&mut self, slot: u32, rule: SwapReadahead) -> Range<u32> {
        self.readahead.around(slot, rule)
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
    fn no_folio_reaches_beyond_the_device() {
        let mut slots = Slots::new(6);
        assert!((0..5).all(|id| slots.take(FolioId(id), 1) == Some(id)));
        slots.put(1, 4);
        assert_eq!(
            (slots.used(), slots.take(FolioId(5), 4)),
            (1, None),
            "five are free, four behind each other are not"
        );
        slots.put(0, 1);
        assert_eq!(slots.take(FolioId(5), 4), Some(0));
    }
}
