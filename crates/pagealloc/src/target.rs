//! Free blocks in compaction's hands: migration targets (3.10, 3.11).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::buddy::Placement;
use crate::event::Observer;
use crate::frames::FrameState;
use crate::ids::{Order, Pfn, ZoneType};
use crate::migratetype::Migratetype;
use crate::policy::{ListTypes, TargetMark};

impl<O: Observer> PageAllocator<O> {
    /// Takes a free block as a migration target (3.10): its pages, or 0 if free memory is too near the mark. Head becomes TARGET.
    ///
    /// # Panics
    /// If `pfn` is not the head of a free block.
    pub fn isolate_free(&mut self, pfn: Pfn) -> u32 {
        let state = self.frames.state(pfn);
        let order = state.free_order().expect("only free blocks can become targets");
        let zone = self.zone_of(pfn);
        let block = self.geometry.block_of(pfn);
        if self.blocks.migratetype(block) != Migratetype::Isolate {
            let lists = &self.zones[zone.index()];
            let (mark, flags) = match self.policy.compaction.target_mark {
                TargetMark::Low => (lists.mark(AllocFlags::WMARK_LOW.wmark()), AllocFlags::NONE),
                TargetMark::MinBoosted => (lists.mark(AllocFlags::WMARK_MIN.wmark()), AllocFlags::CMA),
                TargetMark::Min => (lists.marks[AllocFlags::WMARK_MIN.wmark()], AllocFlags::CMA),
            };
            let mark = mark + (1 << order);
            if !self.watermark_ok(zone, 0, mark, ZoneType::Dma, flags, lists.free_pages) {
                return 0;
            }
        }
        self.zones[zone.index()].del(&mut self.frames, pfn, order, state.free_list_type());
        self.frames.set_page(pfn, order, FrameState::TARGET);
        if order + 1 >= self.geometry.pageblock_order {
            self.make_blocks_movable(pfn, order);
        }
        1 << order
    }

    /// A target of half a block or more makes the blocks that it covers Movable.
    fn make_blocks_movable(&mut self, pfn: Pfn, order: Order) {
        for start in (pfn.0..pfn.0 + (1 << order)).step_by(1 << self.geometry.pageblock_order).map(Pfn) {
            let block = self.geometry.block_of(start);
            let old = self.blocks.migratetype(block);
            if !old.is_mergeable() {
                continue;
            }
            let zone = self.zone_of(start);
            let inside =
                self.zones[zone.index()].holds(self.geometry.block_start(block), self.geometry.pageblock_pages());
            if self.policy.list_types == ListTypes::Mixed {
                self.blocks.set_migratetype(block, Migratetype::Movable);
            } else if inside {
                self.move_free_pages(zone, block, Migratetype::Movable);
                self.blocks.set_migratetype(block, Migratetype::Movable);
            }
        }
    }

    /// Splits a TARGET block of `from` order: returns the first piece of `to` order; the rest stays TARGET blocks, which
    /// `rest` is called with, largest first.
    ///
    /// # Panics
    /// With debug assertions, if there is no target of `from` order at `pfn`.
    pub fn split_target(&mut self, pfn: Pfn, from: Order, to: Order, rest: &mut dyn FnMut(Pfn, Order)) {
        debug_assert_eq!(self.frames.state(pfn), FrameState::TARGET);
        debug_assert_eq!(self.frames.allocated_order(pfn), from);
        for half in (to..from).rev() {
            let upper = pfn.add(1 << half);
            self.frames.set_page(upper, half, FrameState::TARGET);
            rest(upper, half);
        }
        self.frames.set_page(pfn, to, FrameState::TARGET);
    }

    /// Splits a TARGET block into base pages, all of them TARGET.
    ///
    /// # Panics
    /// With debug assertions, if there is no target of this order at `pfn`.
    pub fn split_target_fully(&mut self, pfn: Pfn, order: Order) {
        debug_assert_eq!(self.frames.state(pfn), FrameState::TARGET);
        debug_assert_eq!(self.frames.allocated_order(pfn), order);
        for offset in 0..1 << order {
            self.frames.set_page(pfn.add(offset), 0, FrameState::TARGET);
        }
    }

    /// Turns a TARGET block into an allocated page of its order.
    ///
    /// # Panics
    /// With debug assertions, if there is no target of this order at `pfn`.
    pub fn use_target(&mut self, pfn: Pfn, order: Order) {
        debug_assert_eq!(self.frames.state(pfn), FrameState::TARGET);
        debug_assert_eq!(self.frames.allocated_order(pfn), order);
        self.frames.set_state(pfn, FrameState::USED);
    }

    /// Puts an unused TARGET block back (3.11), as free page reporting does with what it has reported. Compaction frees its unused targets
    /// as pages.
    ///
    /// # Panics
    /// With debug assertions, if there is no target of this order at `pfn`.
    pub fn putback_target(&mut self, pfn: Pfn, order: Order) {
        debug_assert_eq!(self.frames.state(pfn), FrameState::TARGET);
        debug_assert_eq!(self.frames.allocated_order(pfn), order);
        self.frames.fill_tails(pfn, order, FrameState::FREE_TAIL);
        let list = self.blocks.migratetype(self.geometry.block_of(pfn));
        let placement = if self.policy.tail_placement { Placement::Tail } else { Placement::Ordinary };
        self.free_block(self.zone_of(pfn), pfn, order, list, placement);
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    #[test]
    fn a_target_is_split_used_and_put_back() {
        let mut world = placed("MM", &[(0, 3), (16, 0)], linux_6_18());
        assert_eq!(world.isolate_free(Pfn(0)), 8);
        let mut rest = Vec::new();
        world.split_target(Pfn(0), 3, 0, &mut |pfn, order| rest.push((pfn.0, order)));
        assert_eq!(rest, [(4, 2), (2, 1), (1, 0)]);
        world.use_target(Pfn(0), 0);
        assert_eq!(world.frames.state(Pfn(0)), FrameState::USED);
        for (pfn, order) in rest {
            world.putback_target(Pfn(pfn), order);
            world.check().unwrap();
        }
        assert_eq!(world.picture(), "0M: 16 1; 1M: 2; 2M: 4", "to the tails");
    }

    #[test]
    fn the_min_mark_forbids_without_its_boost() {
        let mut world = placed("MM", &[(0, 2), (16, 2)], linux_6_18());
        world.set_watermarks(ZONE, 4, 4, 4, 4);
        assert_eq!(world.isolate_free(Pfn(0)), 0, "8 free are not above 4 + 4");
        world.set_watermarks(ZONE, 3, 4, 64, 64);
        world.boost_for_fallback(ZONE, AllocFlags::NONE);
        assert_eq!(world.isolate_free(Pfn(0)), 4);
    }

    #[test]
    fn half_a_block_makes_it_movable() {
        let mut world = placed("UU", &[(0, 3), (8, 0), (16, 2)], linux_6_18());
        assert_eq!(world.isolate_free(Pfn(16)), 4);
        assert_eq!(world.types(), "UU");
        assert_eq!(world.isolate_free(Pfn(0)), 8);
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("MU", "0M: 8"));
        world.check().unwrap();
    }
}
