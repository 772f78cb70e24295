//! *What becomes of a huge page of which a part is given back?* Since 4.5 it stays whole, with its other parts mapped one by one, until memory gets
//! short and a shrinker has it split (12.4).

use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::computer::Computer;
use crate::state::deferred_splits::Parts;
use crate::state::folio::FolioId;
use crate::state::page_table::{Entry, Pte};
use mm::PageFlags;
use pagealloc::{NodeId, Pfn};
use workload::Errno;

impl Computer {
    /// Names up to `nr` huge pages to be split (`deferred_split_scan`): how many.
    pub fn scan_deferred(&mut self, node: NodeId, nr: u64, split: &mut Vec<Pfn>) -> u64 {
        let nr = usize::try_from(nr).unwrap_or(usize::MAX);
        let chosen: Vec<FolioId> = self.deferred.on(node).take(nr).collect();
        chosen.iter().for_each(|&id| self.deferred.requeue(id));
        split.extend(chosen.iter().filter_map(|&id| self.folios.frame(id)));
        chosen.len() as u64
    }

    /// Maps a process's huge page part by part.
    fn map_in_parts(&mut self, id: FolioId, pid: Pid, number: u32, node: NodeId) {
        let window = self.processes.get_mut(pid).and_then(|process| process.windows.get_mut(number));
        let Some(window) = window.filter(|window| window.entry == Entry::Huge(id)) else { return };
        let folio = self.folios.get_mut(id);
        (folio.maps, folio.parts) = (folio.pages(), true);
        window.entry = Entry::Table(vec![Pte::Page(id); folio.maps as usize].into_boxed_slice());
        self.deferred.add(id, pid, number, node);
    }

    /// The parts of a huge page are folios of their own now, from `first` on: who maps them knows them by their numbers.
    pub fn name_parts(&mut self, head: FolioId, first: FolioId) {
        let Some(Parts { pid, window, .. }) = self.deferred.remove(head) else { return };
        (0..self.folios.get(head).pages()).for_each(|index| self.folios.get_mut(FolioId(first.0 + index)).maps = 0);
        let window = self.processes.get_mut(pid).and_then(|process| process.windows.get_mut(window));
        let Some(Entry::Table(table)) = window.map(|window| &mut window.entry) else { return };
        for (index, pte) in (0..).zip(table.iter_mut()).filter(|(_, pte)| **pte == Pte::Page(head)) {
            let part = FolioId(first.0 + index);
            *pte = Pte::Page(part);
            self.folios.get_mut(part).maps = 1;
        }
    }
}

impl Sim {
    /// A part of a huge page is about to be given up: from now on it is mapped part by part. One that others have, too, or that is on its way to
    /// the swap device, is split, as all were up to 4.4.
    pub async fn prepare_to_cut(&self, pid: Pid, number: u32, pages: u32) -> Result<(), Errno> {
        let huge = self.with_process(pid, |process| match process.windows.get(number).map(|window| &window.entry) {
            Some(Entry::Huge(id)) if pages < process.windows.size.ptes() => Some(*id),
            _ => None,
        })?;
        let Some(id) = huge else { return Ok(()) };
        {
            let state = &mut *self.mm.state.borrow_mut();
            if let (Some(pfn), true) = (state.owner.folios.frame(id), state.alloc.policy.thp.defers_split) {
                state.defer_split(pfn);
                let on_its_way = PageFlags::WRITEBACK.with(PageFlags::SWAPCACHE);
                if state.owner.folios.get(id).maps == 1 && !state.pages.flags(pfn).intersects(on_its_way) {
                    let node = state.alloc.zone_info(state.alloc.zone_of(pfn)).node;
                    state.owner.map_in_parts(id, pid, number, node);
                    return Ok(());
                }
            }
        }
        self.split(id).await
    }

    /// Splits what a process maps in part there: a child is about to share it.
    pub async fn split_parts(&self, pid: Pid, number: u32) -> Result<(), Errno> {
        let parts = {
            let owner = &self.mm.state.borrow().owner;
            let entry = owner.processes.get(pid).and_then(|process| process.windows.get(number)).map(|of| &of.entry);
            let Some(Entry::Table(table)) = entry else { return Ok(()) };
            let in_parts = |pte: &Pte| match *pte {
                Pte::Page(id) if owner.folios.get(id).parts => Some(id),
                _ => None,
            };
            table.iter().find_map(in_parts)
        };
        match parts {
            Some(id) => self.split(id).await,
            None => Ok(()),
        }
    }
}
