//! Slots of the swap device, and what comes back from there: with a page that is missed, those beside it on a device that rotates.

use crate::computer::Computer;
use crate::errno::NOMEM;
use crate::fault::{ANON_COPY, At};
use crate::folio::{FolioId, Place, Use};
use crate::sim::{Sim, SimWorld};
use mm::{Env, PageFlags, State, Tag};
use pagealloc::policy::SwapReadahead;
use pagealloc::{Counter, CpuId, Pfn};
use std::ops::Range;
use workload::Errno;

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

    fn folio(&self, slot: u32) -> Option<FolioId> {
        self.folios.get(slot as usize).copied().flatten()
    }

    /// Slots to read for a miss in this one: the aligned stretch of the window's length around it.
    fn around(&mut self, slot: u32, rule: SwapReadahead) -> Range<u32> {
        let window = self.readahead.window(slot, rule);
        let first = slot / window * window;
        first..first + window
    }
}

impl Computer {
    /// A folio that is on the swap device: its slot.
    fn swapped_at(&self, id: FolioId) -> Option<u32> {
        let folio = self.folios.get(id);
        match (folio.place, folio.what) {
            (Place::Swapped(_), Use::Anon) => folio.slot,
            _ => None,
        }
    }

    /// The slots of a folio, if it has any, are free.
    pub fn put_slots(&mut self, id: FolioId) {
        let folio = self.folios.get_mut(id);
        let pages = folio.pages();
        if let Some(slot) = folio.slot.take() {
            self.slots.put(slot, pages);
        }
    }

    /// The slots of what was a huge page belong to its base pages, which are folios of their own from `first` on.
    pub fn divide_slots(&mut self, head: FolioId, first: FolioId) {
        let whole = self.folios.get_mut(head);
        let (pages, Some(slot)) = (whole.pages(), whole.slot.take()) else { return };
        for index in 0..pages {
            let id = FolioId(first.0 + index);
            self.folios.get_mut(id).slot = Some(slot + index);
            self.slots.pass_on(slot + index, id);
        }
    }
}

impl Sim {
    /// Reads a page from the swap device: where that rotates, with those beside it.
    pub(crate) async fn swap_in(&self, at: At, of: FolioId) -> Result<(), Errno> {
        let slots = {
            let state = &mut *self.mm.state.borrow_mut();
            let rule = state.alloc.policy.reclaim.swap_readahead;
            let Some(slot) = state.owner.swapped_at(of) else { return Ok(()) };
            if self.spec.rotates(true) { state.owner.slots.around(slot, rule) } else { slot..slot + 1 }
        };
        for slot in slots {
            let id = {
                let owner = &self.mm.state.borrow().owner;
                owner.slots.folio(slot).filter(|&id| owner.swapped_at(id) == Some(slot))
            };
            let Some(id) = id else { continue };
            match self.pages(0, ANON_COPY, at.pid).await {
                Some(pfn) => self.read_slot(slot, id, pfn, id != of).await,
                None if id == of => return Err(NOMEM),
                None => {}
            }
        }
        self.spend(self.spec.costs.fault).await;
        Ok(())
    }

    /// Starts reading a slot into a page, unless another task was faster or the content is gone.
    async fn read_slot(&self, slot: u32, id: FolioId, pfn: Pfn, ahead: bool) {
        self.spend(self.spec.costs.io_page).await;
        let (now, cpu) = (self.mm.env.now(), self.mm.env.cpu());
        let state = &mut *self.mm.state.borrow_mut();
        let swapped = state.owner.slots.folio(slot) == Some(id) && state.owner.swapped_at(id) == Some(slot);
        let Place::Swapped(shadow) = state.owner.folios.get(id).place else { return state.free_page(pfn, cpu) };
        if !swapped {
            return state.free_page(pfn, cpu);
        }
        let ready = self.mm.env.device(true).read(now, u64::from(slot), 1);
        state.alloc.vmstat.bump(Counter::PswpIn);
        state.alloc.vmstat.add(Counter::PgpgIn, self.spec.page() / 1024);
        let folio = state.owner.folios.get_mut(id);
        // A mark of NUMA balancing does not outlast swap.
        (folio.place, folio.ready, folio.young) = (Place::Frame(pfn), ready, !ahead);
        (folio.ahead, folio.hint) = (ahead, false);
        let flags = state.swapped_in_flags(ahead).with(PageFlags::SWAPCACHE);
        // With generations what is read along in a fault starts young, too.
        let flags = match (ahead, state.lru_gen) {
            (false, _) => flags.with(PageFlags::MAPPED),
            (true, Some(_)) => flags.with(PageFlags::ACTIVE),
            (true, None) => flags,
        };
        state.lru_add(pfn, flags, Tag::from(id));
        state.refault_into_swap_cache(pfn, shadow, cpu);
        if !ahead {
            leave_full_swap(state, id, pfn, cpu);
        }
    }

    /// A page that was read ahead is wanted: a fault without a wait, and a reason to go on reading ahead.
    pub(crate) async fn map_read_ahead(&self, of: FolioId) {
        self.spend(self.spec.costs.fault).await;
        let state = &mut *self.mm.state.borrow_mut();
        let folio = state.owner.folios.get_mut(of);
        if let (Place::Frame(pfn), true) = (folio.place, std::mem::take(&mut folio.ahead)) {
            folio.young = true;
            state.owner.slots.readahead.hits += 1;
            state.swapped_in(pfn);
            leave_full_swap(state, of, pfn, self.mm.env.cpu());
        }
    }
}

/// A page that is used again does not hold on to its slots where more than half of them are taken.
fn leave_full_swap(state: &mut State<SimWorld>, id: FolioId, pfn: Pfn, cpu: CpuId) {
    let slots = &state.owner.slots;
    if slots.used() * 2 > slots.total() {
        leave_swap_cache(state, id, pfn, cpu);
    }
}

/// A page in the swap cache is written to: what is on the device is stale. While it is being written there, it keeps
/// its slot and will be written again.
pub(crate) fn leave_swap_cache(state: &mut State<SimWorld>, id: FolioId, pfn: Pfn, cpu: CpuId) {
    let flags = state.pages.flags(pfn);
    if !flags.contains(PageFlags::SWAPCACHE) {
        return;
    }
    state.set_dirty(pfn);
    if flags.contains(PageFlags::WRITEBACK) {
        return;
    }
    state.pages.clear_flags(pfn, PageFlags::SWAPCACHE);
    state.leave_swap_cache(pfn, cpu);
    state.owner.put_slots(id);
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
