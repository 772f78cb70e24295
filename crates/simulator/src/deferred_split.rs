//! *What becomes of a huge page of which a part is given back?* Since 4.5 it stays whole, with its other parts mapped one by one, until memory gets
//! short and a shrinker has it split (12.4).

use crate::address_space::Pid;
use crate::computer::Computer;
use crate::folio::FolioId;
use crate::page_table::{Entry, Pte};
use crate::sim::Sim;
use mm::PageFlags;
use pagealloc::{NodeId, Pfn};
use std::collections::BTreeMap;
use workload::Errno;

/// Huge pages that are mapped in part, longest first (`deferred_split_queue`).
#[derive(Default, Debug)]
pub(crate) struct DeferredSplits {
    queues: BTreeMap<NodeId, BTreeMap<u64, FolioId>>,
    mapped: BTreeMap<FolioId, Parts>,
    sequence: u64,
}

/// Where the parts of a huge page are mapped: nobody shares them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub pid: Pid,
    pub window: u32,
    /// Where it was when it was queued: each node has its queue.
    node: NodeId,
    place: u64,
}

impl DeferredSplits {
    fn add(&mut self, id: FolioId, pid: Pid, window: u32, node: NodeId) {
        self.sequence += 1;
        self.queues.entry(node).or_default().insert(self.sequence, id);
        self.mapped.insert(id, Parts { pid, window, node, place: self.sequence });
    }

    fn on(&self, node: NodeId) -> impl Iterator<Item = FolioId> + '_ {
        self.queues.get(&node).into_iter().flat_map(BTreeMap::values).copied()
    }

    /// How many wait on a node.
    pub fn count(&self, node: NodeId) -> u64 {
        self.queues.get(&node).map_or(0, BTreeMap::len) as u64
    }

    /// It is split, or gone: where its parts were.
    pub fn remove(&mut self, id: FolioId) -> Option<Parts> {
        let parts = self.mapped.remove(&id)?;
        self.queues.get_mut(&parts.node)?.remove(&parts.place);
        Some(parts)
    }

    /// What is tried and stays comes last the next time.
    fn requeue(&mut self, id: FolioId) {
        if let Some(Parts { pid, window, node, .. }) = self.remove(id) {
            self.add(id, pid, window, node);
        }
    }

    pub fn is_mapped_at(&self, id: FolioId, pid: Pid, window: u32) -> bool {
        self.mapped.get(&id).is_some_and(|parts| (parts.pid, parts.window) == (pid, window))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_comes_last() {
        let mut deferred = DeferredSplits::default();
        let order = |deferred: &DeferredSplits| deferred.on(NodeId(0)).map(|id| id.0).collect::<Vec<_>>();
        for (id, node) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
            deferred.add(FolioId(id), 7, id, NodeId(node));
        }
        deferred.requeue(FolioId(1));
        assert_eq!(order(&deferred), [2, 3, 1]);
        assert_eq!([0, 1].map(|node| deferred.count(NodeId(node))), [3, 1]);
        assert!(deferred.is_mapped_at(FolioId(1), 7, 1) && !deferred.is_mapped_at(FolioId(1), 8, 1));
        assert!(deferred.remove(FolioId(3)).is_some() && deferred.remove(FolioId(3)).is_none());
        assert_eq!(order(&deferred), [2, 1]);
    }
}
