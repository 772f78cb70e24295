//! Migration of a page to the node that uses it, after a NUMA hint fault (14.4).

use crate::owner::Owner;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::{AllocFlags, Counter, CpuId, FrameState, Gfp, NodeId, Order, Pfn, Request, ZoneType};

/// The target of a base page: of the node or not at all, and nobody reclaims for it.
const TARGET: Gfp = Gfp(Gfp::HIGHUSER_MOVABLE.0 & !Gfp::RECLAIM.0
    | Gfp::THISNODE.0
    | Gfp::NOMEMALLOC.0
    | Gfp::NORETRY.0
    | Gfp::NOWARN.0);

impl<W: World> State<W> {
    /// Moves a page of an LRU list to a node: whether it is there now. What is held or being written stays, and so does
    /// everything while the node has no room at its high marks.
    pub fn migrate_misplaced(&mut self, pfn: Pfn, node: NodeId, cpu: CpuId) -> bool {
        let order = self.alloc.frames.order(pfn);
        let held = PageFlags::PINNED.with(PageFlags::WRITEBACK).with(PageFlags::UNEVICTABLE);
        let movable = self.alloc.frames.state(pfn) == FrameState::LRU && !self.pages.flags(pfn).intersects(held);
        if !movable || !self.has_room_above_high(node, 1 << order) || self.owner.busy(self.pages.tag(pfn), pfn) {
            return false;
        }
        let gfp = if order == 0 { TARGET } else { Gfp::TRANSHUGE_LIGHT | Gfp::THISNODE };
        let Some(to) = self.alloc_on(node, order, gfp, cpu) else {
            self.alloc.vmstat.add(Counter::PgmigrateFail, 1 << order);
            return false;
        };
        self.lru_del(pfn);
        let (flags, tag, bits) = (self.pages.flags(pfn), self.pages.tag(pfn), self.pages.bits(pfn));
        self.owner.migrated(tag, pfn, to);
        if flags.contains(PageFlags::SWAPCACHE) {
            self.move_in_swap_cache(pfn, to);
        }
        self.lru_add_moved(to, flags, tag, bits);
        self.free_page(pfn, cpu);
        self.alloc.vmstat.add(Counter::PgmigrateSuccess, 1 << order);
        self.alloc.vmstat.add(Counter::NumaPagesMigrated, 1 << order);
        true
    }

    fn alloc_on(&mut self, node: NodeId, order: Order, gfp: Gfp, cpu: CpuId) -> Option<Pfn> {
        let request = Request { node, ..Request::new(order, gfp, cpu) };
        let page = self.alloc.alloc_fast(&request);
        self.trace_alloc(page, &request);
        page
    }

    /// Whether a zone of the node stays above its high mark with so many pages less (`migrate_balanced_pgdat`).
    fn has_room_above_high(&self, node: NodeId, pages: u64) -> bool {
        self.node_zones(node, ZoneType::Movable).any(|zone| {
            let mark = self.alloc.wmark(zone, AllocFlags::WMARK_HIGH) + pages;
            let free = self.alloc.free_pages(zone);
            self.alloc.watermark_ok(zone, 0, mark, ZoneType::Movable, AllocFlags::NONE, free)
        })
    }
}
