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

    /// Puts an allocated page of this order in place (head USED, tails TAIL): aligned, within memory, no larger than the largest order.
    pub fn place_allocated(&mut self, pfn: Pfn, order: Order) {
        self.frames.set_page(pfn, order, FrameState::USED);
    }

    /// Puts a page at the tail of a CPU's list, by its block's type. Pages of orders that the lists don't hold stay
    /// allocated: whether it was put.
    pub fn place_pcp(&mut self, pfn: Pfn, order: Order, cpu: CpuId) -> bool {
        let block_type = self.blocks.migratetype(self.geometry.block_of(pfn));
        let list = if block_type.is_mergeable() { block_type } else { Migratetype::Movable };
        let Some(index) = self.pcp_index(order, list) else { return false };
        self.frames.set_page(pfn, order, FrameState::pcp(block_type));
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
    /// up first. Isolate hides the type rather than overwriting it; any other type ends the isolation (1.6). What blocks are
    /// HighAtomic counts for the reserve with [`Self::finish_placement`].
    pub fn set_block_type(&mut self, block: BlockId, migratetype: Migratetype) {
        let zone = self.blocks.zone(block);
        self.blocks_retyped = true;
        if zone.index() < self.zones.len() {
            self.cut_to_blocks(block);
            self.blocks.set_migratetype(block, migratetype);
            self.move_all_free_pages(zone, block, migratetype);
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

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    #[test]
    fn a_snapshot_stays_as_it_was_taken() {
        let machine = Machine::uniform(SMALL, 2, 48, false);
        let mut world = PageAllocator::new_unplaced(&machine, linux_6_18(), Vec::new()).unwrap();
        world.set_block_type(BlockId(1), Migratetype::Unmovable);
        world.place_free(Pfn(16), 3);
        world.place_free(Pfn(24), 3); // Unmerged, as an unlocked reader may have seen them.
        world.place_free(Pfn(2), 1);
        world.place_free(Pfn(0), 0);
        world.place_allocated(Pfn(4), 2);
        assert!(world.place_pcp(Pfn(9), 0, CpuId(1)) && world.place_pcp(Pfn(8), 0, CpuId(1)));
        assert!(!world.place_pcp(Pfn(32), 5, CpuId(1)), "per-CPU lists hold no order 5");
        world.finish_placement();
        world.check().unwrap();
        assert_eq!(world.picture(), "0M: 0; 1M: 2; 3U: 16 24");
        assert_eq!((world.free_pages(ZONE), world.pcp_count(ZONE, CpuId(1))), (19, 2));
        assert_eq!((world.frames.order(Pfn(4)), world.frames.order(Pfn(10))), (2, 0));
        world.set_watermarks(ZONE, 0, 0, 0, 0);
        world.set_pcp_limits(ZONE, 1, 8, 8);
        world.set_grouping_disabled(false);
        let request = Request { cpu: CpuId(1), ..request(0, Migratetype::Movable) };
        assert_eq!((world.alloc_fast(&request), world.alloc_fast(&request)), (Some(Pfn(9)), Some(Pfn(8))));
    }

    #[test]
    fn reserved_blocks_are_counted_at_the_end() {
        let world = placed("HMHU", &[(0, 4)], linux_6_18());
        assert_eq!(world.reserved_highatomic(ZONE), 32);
        world.check().unwrap();
    }

    #[test]
    fn isolation_hides_the_type_and_cuts_larger_blocks() {
        let mut world = placed("MM", &[(0, 5)], linux_6_18());
        world.set_block_type(BlockId(1), Migratetype::Isolate);
        assert_eq!(world.picture(), "4M: 0; 4I: 16");
        assert_eq!((world.free_pages(ZONE), world.free_pages_blocks(ZONE)), (16, 16));
        world.set_block_type(BlockId(1), Migratetype::Unmovable);
        assert_eq!((world.picture(), world.types()), ("4U: 16; 4M: 0".into(), "MU".into()));
        world.check().unwrap();
    }

    #[test]
    fn free_pages_follow_the_type_of_a_block_that_straddles_its_zone() {
        let machine = Machine::uniform(SMALL, 1, 40, false); // Half of the last block.
        let mut world = PageAllocator::new(&machine, linux_6_18(), Vec::<Event>::new()).unwrap();
        world.set_block_type(BlockId(2), Migratetype::Unmovable);
        world.check().unwrap();
        assert_eq!(world.picture(), "3U: 32; 5M: 0");
        world.set_block_type(BlockId(2), Migratetype::Isolate);
        assert_eq!(world.free_pages(ZONE), 32);
        world.set_block_type(BlockId(2), Migratetype::Movable);
        assert_eq!(world.free_pages(ZONE), 40);
    }
}
