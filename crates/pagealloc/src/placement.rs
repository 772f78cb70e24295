//! Putting a snapshot of a real machine in place, frame by frame.
//!
//! Nothing merges here: the snapshot is exact, and lists are filled in the order of the calls.

use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::frames::FrameState;
use crate::ids::{BlockId, CpuId, Order, Pfn};
use crate::migratetype::Migratetype;
use crate::zone::ListEnd;

impl<O: Observer> PageAllocator<O> {
    /// Puts a free block in place exactly, without merging, at the tail of its block type's list.
    ///
    /// # Panics
    /// If the frame is outside all zones or the block is not aligned.
    pub fn place_free(&mut self, pfn: Pfn, order: Order) {
        let list = self.blocks.migratetype(self.geometry.block_of(pfn));
        self.place_free_as(pfn, order, list);
    }

    /// Puts a free block on the list of a type that need not be its block's: kernels before 6.10 have such (3.8).
    ///
    /// # Panics
    /// If the frame is outside all zones or the block is not aligned.
    pub fn place_free_as(&mut self, pfn: Pfn, order: Order, list: Migratetype) {
        assert!(pfn == pfn.align_down(order) && order <= self.geometry.max_order, "{pfn:?} is not of order {order}");
        let zone = self.zone_of(pfn);
        self.frames.fill_tails(pfn, order, FrameState::FREE_TAIL);
        self.zones[zone.index()].add(&mut self.frames, pfn, order, list, ListEnd::Tail);
    }

    /// Puts an allocated page of this order in place (head USED, tails TAIL).
    pub fn place_allocated(&mut self, pfn: Pfn, order: Order) {
        self.frames.set_page(pfn, order, FrameState::USED);
    }

    /// Puts a page at the tail of a CPU's list, by its block's type. Pages of orders that the lists don't hold stay
    /// allocated: whether it was put.
    pub fn place_pcp(&mut self, pfn: Pfn, order: Order, cpu: CpuId) -> bool {
        let block_type = self.blocks.migratetype(self.geometry.block_of(pfn));
        let list = if block_type.is_mergeable() { block_type } else { Migratetype::Movable };
        let Some(index) = self.pcp_index(order, list) else { return false };
        self.frames.set_page(pfn, order, FrameState::PCP);
        let number = self.pcp_number(self.zone_of(pfn), cpu);
        let pcp = &mut self.pcps[number];
        pcp.lists[index].push_tail(&mut self.frames, pfn);
        pcp.count += 1 << order;
        true
    }

    /// Ends placement: recomputes counters that placement leaves open.
    pub fn finish_placement(&mut self) {
        for zone in &mut self.zones {
            zone.reserved_highatomic = 0;
        }
        if self.policy.reserve == crate::policy::Reserve::MigrateReserve {
            return;
        }
        for block in (0..self.blocks.len()).map(BlockId) {
            let zone = self.blocks.zone(block).index();
            if self.blocks.migratetype(block) == Migratetype::HighAtomic && zone < self.zones.len() {
                self.zones[zone].reserved_highatomic += u64::from(self.geometry.pageblock_pages());
            }
        }
    }

    /// Pageblock's type.
    #[inline(always)]
    pub fn block_type(&self, block: BlockId) -> Migratetype {
        self.blocks.migratetype(block)
    }

    /// Sets a pageblock's type, moving its free pages to that type's lists. A free block larger than a pageblock is cut
    /// up first. Isolate hides the type rather than overwriting it; any other type ends the isolation (1.6).
    pub fn set_block_type(&mut self, block: BlockId, migratetype: Migratetype) {
        let zone = self.blocks.zone(block);
        self.blocks_retyped = true;
        if zone.index() < self.zones.len() {
            self.cut_to_blocks(block);
            self.blocks.set_migratetype(block, migratetype);
            self.move_free_pages(zone, block, migratetype);
        } else {
            self.blocks.set_migratetype(block, migratetype);
        }
    }

    /// Cuts the free block that holds this pageblock, if it is larger, into pageblocks on their own types' lists.
    fn cut_to_blocks(&mut self, block: BlockId) {
        let start = self.geometry.block_start(block);
        let pageblock_order = self.geometry.pageblock_order;
        let larger = pageblock_order + 1..=self.geometry.max_order;
        let held = larger.map(|order| (start.align_down(order), order));
        let Some((head, order)) = held.into_iter().find(|&(pfn, order)| self.frames.state(pfn).is_free_head_of(order))
        else {
            return;
        };
        let zone = self.zone_of(head);
        let list = self.frames.state(head).free_list_type();
        self.zones[zone.index()].del(&mut self.frames, head, order, list);
        for piece in (head.0..head.0 + (1 << order)).step_by(1 << pageblock_order).map(Pfn) {
            let list = self.blocks.migratetype(self.geometry.block_of(piece));
            self.zones[zone.index()].add(&mut self.frames, piece, pageblock_order, list, ListEnd::Tail);
        }
    }
}
