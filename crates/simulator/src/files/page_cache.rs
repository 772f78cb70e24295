//! The page cache: which page of a file is in memory, and how one gets there.

use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::folio::{Folio, FolioId, Use};
use crate::state::page_tree::NODE_PAGES;
use crate::state::slab::Cache;
use mm::reclaim::cache_refaults;
use mm::{PageFlags, Tag};
use pagealloc::policy::LargeFolios;
use pagealloc::{Gfp, Order, Pfn};
use workload::Filesystem;

/// A stretch of a file in pages.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub file: u32,
    pub index: u32,
    pub end: u32,
}

/// A page that was handed out for the page cache.
pub(super) struct NewPage {
    pub pfn: Pfn,
    pub order: Order,
    /// What it was asked for with.
    pub gfp: Gfp,
    /// Those that it enters with.
    pub flags: PageFlags,
}

impl Sim {
    pub fn cached(&self, at: Stretch) -> Option<(FolioId, u64)> {
        let owner = &self.mm.state.borrow().owner;
        let id = owner.files.get(at.file)?.page(at.index)?;
        Some((id, owner.folios.get(id).ready))
    }

    pub(super) fn use_cached(&self, id: FolioId) {
        let mut state = self.mm.state.borrow_mut();
        if let Some(pfn) = state.owner.folios.frame(id) {
            state.mark_accessed(pfn);
        }
    }

    pub(super) fn file_pages(&self, file: u32) -> u32 {
        self.mm.state.borrow().owner.files.get(file).map_or(0, |of| of.pages(self.page_size()))
    }

    /// Order of the largest folio that the filesystem has.
    pub fn largest_folio(&self) -> Order {
        let has_some = match self.mm.state.borrow().alloc.policy.computer.large_folios {
            LargeFolios::None => false,
            LargeFolios::Xfs => self.spec.disks.filesystem == Filesystem::Xfs,
            LargeFolios::XfsAndExt4 => true,
        };
        if has_some { self.spec.folio_order } else { 0 }
    }

    /// Puts a page into the cache; `None` if somebody else was faster.
    pub(super) async fn insert(&self, pid: Pid, at: Stretch, page: NewPage) -> Option<FolioId> {
        let NewPage { pfn, order, gfp, flags } = page;
        let pages = 1u32 << order;
        let last = at.index + pages - 1;
        for node in at.index / NODE_PAGES..=last / NODE_PAGES {
            self.add_node(pid, at.file, node, last).await;
        }
        self.spend(self.spec.costs.file_add).await;
        let cpu = self.mm.env.cpu();
        let state = &mut *self.mm.state.borrow_mut();
        let of = state.owner.files.get_mut(at.file);
        let Some(of) = of.filter(|of| (at.index..=last).all(|page| of.page(page).is_none())) else {
            state.free_page(pfn, cpu);
            return None;
        };
        let id = state.owner.folios.add(Folio::new(Use::File { file: at.file, index: at.index }, pfn, order));
        for node in (at.index / NODE_PAGES..=last / NODE_PAGES).filter(|&node| !of.tree.has_pages(node)) {
            state.owner.shadow_nodes.remove((at.file, node));
        }
        let shadow = of.insert(at.index, pages, id);
        if !state.owner.inodes_with_cache {
            state.owner.inode_is_used(at.file);
        }
        state.lru_add(pfn, flags, Tag::from(id));
        if let Some(shadow) = shadow.filter(|_| cache_refaults(&state.alloc.policy.reclaim, gfp)) {
            match flags.contains(PageFlags::ACTIVE) {
                true => state.refault_in_fault(pfn, shadow, cpu),
                false => state.refault(pfn, shadow, cpu),
            }
        }
        Some(id)
    }

    /// The tree's node for a stretch of pages. A file of one page needs none.
    async fn add_node(&self, pid: Pid, file: u32, node: u32, last: u32) {
        let has =
            |sim: &Sim| sim.mm.state.borrow().owner.files.get(file).is_none_or(|of| of.tree.object(node).is_some());
        if last == 0 || has(self) {
            return;
        }
        let Ok(object) = self.object(Cache::XarrayNode, pid).await else { return };
        if has(self) {
            return self.free_objects([object]);
        }
        if let Some(of) = self.mm.state.borrow_mut().owner.files.get_mut(file) {
            of.tree.add_object(node, object);
        }
    }
}

/// Order of a folio at `index` that neither exceeds its alignment, nor what is wanted, nor `largest`.
pub(super) fn order_at(index: u32, pages: u32, largest: Order) -> Order {
    let aligned = if index == 0 { u32::BITS } else { index.trailing_zeros() };
    aligned.min(pages.ilog2()).min(largest.into()) as Order
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::costs::Costs;
    use crate::spec::MachineSpec;
    use crate::tests::{all, run_alone, small_machine, started};
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;
    use std::cell::RefCell;
    use workload::{FileId, Op};

    /// Orders of the folios of file 1 that these operations leave in the cache, in the order of their places.
    pub(crate) fn cached_after(policy: &str, virtio: bool, ops: &[Op]) -> Vec<Order> {
        let guest = small_machine(ThpEnabled::Never);
        let spec = MachineSpec { costs: Costs { virtio, ..guest.costs }, ..guest };
        let sim = boot(&spec, &preset(policy).unwrap(), 1, &[]).unwrap();
        let orders = RefCell::new(Vec::new());
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            all(&sim, pid, &[Op::Create { file: FileId(1) }]).await?;
            all(&sim, pid, ops).await?;
            let owner = &sim.mm.state.borrow().owner;
            let heads = owner.files.get(1).into_iter().flat_map(|file| file.tree.heads());
            orders.borrow_mut().extend(heads.map(|(_, id)| owner.folios.get(id).order));
            Ok(())
        });
        orders.take()
    }

    #[test]
    fn folios_are_aligned_and_no_larger_than_what_is_written() {
        assert_eq!([order_at(0, 33, 9), order_at(32, 1, 9), order_at(4, 64, 9), order_at(0, 64, 0)], [5, 0, 2, 0]);
    }
}
