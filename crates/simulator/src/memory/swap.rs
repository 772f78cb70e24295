//! What comes back from the swap device, and whose slots are free: with a page that is missed, those beside it.

use crate::errno::NOMEM;
use crate::memory::masks::ANON_COPY;
use crate::sim::{Sim, SimWorld};
use crate::state::address_space::At;
use crate::state::computer::Computer;
use crate::state::folio::{FolioId, Place, Use};
use mm::{Env, PageFlags, State, Tag};
use pagealloc::policy::SwapReadahead;
use pagealloc::{Counter, CpuId, Pfn};
use workload::Errno;

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
    /// Reads a page from the swap device, with those that are read along.
    pub(crate) async fn swap_in(&self, at: At, of: FolioId) -> Result<(), Errno> {
        for slot in self.read_along(at, of) {
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

    /// Slots that are read for a miss: those beside its own, or those of its neighbours in the address space.
    fn read_along(&self, at: At, of: FolioId) -> Vec<u32> {
        let state = &mut *self.mm.state.borrow_mut();
        let (rule, by_mapping) = (state.alloc.policy.computer.swap_readahead, self.reads_by_mapping(state));
        let owner = &mut state.owner;
        let Some(missed) = owner.swapped_at(of) else { return Vec::new() };
        if self.spec.rotates(self.spec.swap_device()) {
            return owner.slots.around(missed, rule).collect();
        }
        let Some(process) = owner.processes.get_mut(at.pid).filter(|_| by_mapping) else { return vec![missed] };
        let (window, size) = (process.swap_readahead(at.page).around(at.page), owner.page_size);
        let table = size.first(at.window(size))..at.end_of_window(size);
        let pages = window.start.max(table.start)..window.end.min(table.end);
        let ids = pages.filter_map(|page| owner.out_of_page_table(At { page, ..at }));
        ids.filter_map(|id| owner.swapped_at(id)).collect()
    }

    /// Whether the hits of mappings tell how far swap is read ahead, and not those of slots.
    fn reads_by_mapping(&self, state: &State<SimWorld>) -> bool {
        let rule = state.alloc.policy.computer.swap_readahead;
        rule == SwapReadahead::ByMapping && !self.spec.rotates(self.spec.swap_device())
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
        let ready = self.mm.env.swap_device().read(now, u64::from(slot), 1);
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
    pub(crate) async fn map_read_ahead(&self, at: At, of: FolioId) {
        self.spend(self.spec.costs.fault).await;
        let state = &mut *self.mm.state.borrow_mut();
        let by_mapping = self.reads_by_mapping(state);
        let folio = state.owner.folios.get_mut(of);
        if let (Place::Frame(pfn), true) = (folio.place, std::mem::take(&mut folio.ahead)) {
            folio.young = true;
            match state.owner.processes.get_mut(at.pid).filter(|_| by_mapping) {
                Some(process) => process.swap_readahead(at.page).note_hit(at.page),
                None => state.owner.slots.note_hit(),
            }
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
