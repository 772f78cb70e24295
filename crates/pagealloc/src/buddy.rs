//! Splitting and merging: how blocks leave the buddy lists and come back (chapter 3).

use crate::allocator::PageAllocator;
use crate::event::{Event, Observer};
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{MergeRetype, MergeTypes};
use crate::zone::{FreeBlock, ListEnd};

/// Where a freed block goes (3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// To the tail if a merge is likely soon, else to the head.
    Ordinary,
    /// To the tail: boot, and what compaction did not use.
    Tail,
}

impl<O: Observer> PageAllocator<O> {
    /// Takes the smallest block of a type that fits (3.3). The head's state is stale until the caller sets it.
    #[inline(always)]
    pub(crate) fn rmqueue_smallest(&mut self, zone: ZoneId, order: Order, list: Migratetype) -> Option<Pfn> {
        let found = self.zones[zone.index()].smallest(order, list)?;
        self.rmqueue_block(zone, found, order);
        Some(found.pfn)
    }

    #[inline(never)]
    fn rmqueue_block(&mut self, zone: ZoneId, found: FreeBlock, order: Order) {
        self.zones[zone.index()].take_first(&mut self.frames, found, order);
        self.trace_zone_locked(found.pfn, order, found.list);
    }

    #[inline]
    pub(crate) fn trace_zone_locked(&mut self, pfn: Pfn, order: Order, migratetype: Migratetype) {
        let percpu_refill = self.pcp_index(order, migratetype).is_some() && migratetype.is_mergeable();
        self.observer.kmem(&Event::MmPageAllocZoneLocked { pfn, order, migratetype, percpu_refill });
    }

    /// Frees a block to the list of `list`, merging upwards (3.5). Tails must already be FREE_TAIL.
    #[inline]
    pub(crate) fn free_block(&mut self, zone: ZoneId, pfn: Pfn, order: Order, list: Migratetype, placement: Placement) {
        let mut merged = FreeBlock { pfn, order, list };
        let alike = self.geometry.pageblock_order.min(self.capture_order);
        let goes_on = self.zones[zone.index()].merge_up(&mut self.frames, &mut merged, alike);
        if goes_on && !self.merge_blocks(zone, &mut merged) {
            // Captured: what had been free is not any more.
            return self.zones[zone.index()].account(list, (1 << order) - (1 << merged.order));
        }
        let to_tail = placement == Placement::Tail || self.merge_likely(zone, merged.pfn, merged.order);
        let end = if to_tail { ListEnd::Tail } else { ListEnd::Head };
        let lists = &mut self.zones[zone.index()];
        lists.link(&mut self.frames, merged.pfn, merged.order, list, end);
        lists.account(list, 1 << order);
    }

    /// Merges on where buddies lie in other pageblocks, or a capture waits for a block of this order. `false`: captured.
    #[inline(never)]
    fn merge_blocks(&mut self, zone: ZoneId, block: &mut FreeBlock) -> bool {
        while block.order < self.geometry.max_order {
            if block.order == self.capture_order && self.capture(zone, block.pfn, block.order, block.list) {
                return false;
            }
            let buddy = block.pfn.buddy(block.order);
            let free = self.frames.state(buddy).is_free_head_of(block.order);
            if !free || !self.may_merge(zone, buddy, block.order, block.list) {
                break;
            }
            self.zones[zone.index()].merge(&mut self.frames, block);
        }
        true
    }

    /// Whether a free buddy of the right order may be merged with (3.5b, c), after giving its block our type (d).
    #[inline(always)]
    fn may_merge(&mut self, zone: ZoneId, buddy: Pfn, order: Order, list: Migratetype) -> bool {
        order < self.geometry.pageblock_order || self.may_merge_blocks(zone, buddy, order, list)
    }

    fn may_merge_blocks(&mut self, zone: ZoneId, buddy: Pfn, order: Order, list: Migratetype) -> bool {
        let block = self.geometry.block_of(buddy);
        if self.blocks.zone(block) != zone {
            return false;
        }
        let other = self.blocks.migratetype(block);
        if other == list {
            return true;
        }
        let separate = |t: Migratetype| match self.policy.merge_types {
            MergeTypes::Mergeable => !t.is_mergeable(),
            MergeTypes::AllButIsolate => t == Migratetype::Isolate,
        };
        if separate(list) || separate(other) {
            return false;
        }
        match self.policy.merge_retype {
            MergeRetype::Never => {}
            MergeRetype::FirstBlock => self.retype_blocks(buddy, self.geometry.pageblock_order, list),
            MergeRetype::WholeRange => self.retype_blocks(buddy, order, list),
        }
        true
    }

    /// Whether the block above will probably become free soon, so that this one is better kept (3.6).
    #[inline(always)]
    fn merge_likely(&self, zone: ZoneId, pfn: Pfn, order: Order) -> bool {
        if order + 1 >= self.geometry.max_order {
            return false;
        }
        let above = pfn.align_down(order + 1).buddy(order + 1);
        self.frames.state(above).is_free_head_of(order + 1)
            && (order + 1 < self.geometry.pageblock_order || self.blocks.zone(self.geometry.block_of(above)) == zone)
    }

    /// Sets the type of every block that `2^order` pages from `pfn` cover, leaving free lists alone.
    pub(crate) fn retype_blocks(&mut self, pfn: Pfn, order: Order, migratetype: Migratetype) {
        let first = self.geometry.block_of(pfn).0;
        let count = 1 << order.saturating_sub(self.geometry.pageblock_order);
        for block in first..first + count {
            self.blocks.set_migratetype(BlockId(block), migratetype);
        }
    }

    /// Moves all free pages of a block to the lists of `to` (3.9); the number of pages, 0 if the block straddles its zone.
    pub(crate) fn move_free_pages(&mut self, zone: ZoneId, block: BlockId, to: Migratetype) -> u32 {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        if self.zones[zone.index()].holds(start, pages) { self.move_all_free_pages(zone, block, to) } else { 0 }
    }

    /// The same, whether the block straddles its zone or not: no other zone has frames of it.
    pub(crate) fn move_all_free_pages(&mut self, zone: ZoneId, block: BlockId, to: Migratetype) -> u32 {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        let end = if self.policy.tail_placement { ListEnd::Tail } else { ListEnd::Head };
        let lists = &mut self.zones[zone.index()];
        let (mut pfn, mut moved) = (start, 0);
        while pfn < start.add(pages) {
            match self.frames.state(pfn).free_order() {
                Some(order) => {
                    lists.shift(&mut self.frames, pfn, order, to, end);
                    moved += 1 << order;
                    pfn = pfn.add(1 << order);
                }
                None => pfn = pfn.add(1),
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;

    #[test]
    fn split_keeps_the_lowest_piece_and_pushes_upper_halves_at_heads() {
        let mut world = placed("MM", &[(0, 5)], linux_6_18());
        assert_eq!(world.buddy(1, Migratetype::Movable, AllocFlags::NONE), Some(0));
        assert_eq!(world.picture(), "1M: 2; 2M: 4; 3M: 8; 4M: 16");
        assert_eq!(world.buddy(0, Migratetype::Movable, AllocFlags::NONE), Some(2));
        assert_eq!(world.picture(), "0M: 3; 2M: 4; 3M: 8; 4M: 16");
    }

    #[test]
    fn smallest_fit_takes_the_head_of_the_first_order_that_has_one() {
        let mut world = placed("MM", &[(4, 2), (8, 1), (12, 1)], linux_6_18());
        assert_eq!(world.buddy(1, Migratetype::Movable, AllocFlags::NONE), Some(8));
        assert_eq!(world.buddy(1, Migratetype::Movable, AllocFlags::NONE), Some(12));
        assert_eq!(world.buddy(0, Migratetype::Movable, AllocFlags::NONE), Some(4));
        assert_eq!(world.picture(), "0M: 5; 1M: 6");
    }

    #[test]
    fn freeing_merges_to_the_top_and_counts() {
        let mut world = placed("MM", &[(0, 1), (3, 0), (4, 2), (8, 3), (16, 4)], linux_6_18());
        assert_eq!((world.free_pages(ZONE), world.free_pages_blocks(ZONE)), (31, 16));
        world.free_large(ZONE, Pfn(2), 0);
        assert_eq!(world.picture(), "5M: 0");
        assert_eq!((world.free_pages(ZONE), world.free_pages_blocks(ZONE)), (32, 32));
        world.check().unwrap();
    }

    #[test]
    fn a_likely_merge_sends_the_page_to_the_tail() {
        // 12's buddy is taken; above, 8..12 is free: once 13 comes back, all merge.
        let mut world = placed("MM", &[(2, 1), (16, 1), (8, 2)], linux_6_18());
        world.place_allocated(Pfn(12), 1);
        world.free_large(ZONE, Pfn(12), 1);
        assert_eq!(world.picture(), "1M: 2 16 12; 2M: 8");
        world.place_allocated(Pfn(20), 1);
        world.free_large(ZONE, Pfn(20), 1);
        assert_eq!(world.picture(), "1M: 20 2 16 12; 2M: 8", "nothing free above 20: to the head");
    }

    #[test]
    fn blocks_of_unlike_types_merge_only_if_mergeable() {
        let mut world = placed("MUHM", &[(16, 4), (48, 4)], linux_6_18());
        world.place_allocated(Pfn(0), 4);
        world.free_large(ZONE, Pfn(0), 4);
        assert_eq!((world.picture(), world.types()), ("4M: 48; 5M: 0".into(), "MMHM".into()));
        world.place_allocated(Pfn(32), 4);
        world.free_large(ZONE, Pfn(32), 4);
        assert_eq!(world.picture(), "4M: 48; 4H: 32; 5M: 0", "HighAtomic stays apart");
    }

    #[test]
    fn merging_retypes_one_block_up_to_6_18_and_all_from_6_19() {
        let geometry = Geometry { max_order: 6, ..SMALL };
        for (rule, types) in [(policy::MergeRetype::FirstBlock, "MMMU"), (policy::MergeRetype::WholeRange, "MMMM")] {
            let policy = Policy { merge_retype: rule, ..linux_6_18() };
            let machine = Machine::uniform(geometry, 1, 64, false);
            let mut world = PageAllocator::new_unplaced(&machine, policy, alloc::vec::Vec::new()).unwrap();
            world.set_block_type(BlockId(2), Migratetype::Unmovable);
            world.set_block_type(BlockId(3), Migratetype::Unmovable);
            world.place_free(Pfn(32), 5);
            world.place_free(Pfn(16), 4);
            world.place_allocated(Pfn(0), 4);
            world.free_large(ZONE, Pfn(0), 4);
            assert_eq!((world.picture(), world.types()), ("6M: 0".into(), types.into()));
        }
    }

    #[test]
    fn large_pages_are_cut_at_blocks_each_of_its_own_type() {
        let mut world = placed("MUMM", &[], linux_6_18());
        world.set_block_type(BlockId(1), Migratetype::HighAtomic);
        world.place_allocated(Pfn(0), 5);
        world.free(Pfn(0), CPU);
        assert_eq!(world.picture(), "4M: 0; 4H: 16");
        world.check().unwrap();
    }

    #[test]
    fn boot_hands_out_the_lowest_block_since_5_10_and_the_highest_before() {
        let old = Policy { boot_release: policy::BootRelease::Head, ..linux_6_18() };
        assert_eq!(world(96, linux_6_18()).picture(), "5M: 0 32 64");
        assert_eq!(world(96, old).picture(), "5M: 64 32 0");
        let mut odd = Machine::uniform(SMALL, 1, 64, false);
        odd.zones[0].managed = alloc::vec![(Pfn(3), 30), (Pfn(40), 24)];
        let world = PageAllocator::new(&odd, linux_6_18(), alloc::vec::Vec::new()).unwrap();
        assert_eq!(world.picture(), "0M: 3 32; 2M: 4; 3M: 8 40; 4M: 16 48");
        world.check().unwrap();
    }

    #[test]
    fn moved_pages_go_to_tails_since_5_10() {
        let mut world = placed("MM", &[(0, 0), (4, 0), (16, 0), (20, 1)], linux_6_18());
        world.set_block_type(BlockId(1), Migratetype::Unmovable);
        world.set_block_type(BlockId(0), Migratetype::Unmovable);
        assert_eq!(world.picture(), "0U: 16 0 4; 1U: 20");
    }
}
