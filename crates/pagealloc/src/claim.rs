//! 6.15+: claim a whole block for the request's type, or steal a single page (4.5 to 4.7); the claim itself serves 6.10
//! to 6.14 too.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::frames::FrameState;
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::Fallback;
use crate::zone::FreeBlock;
use core::num::NonZeroU16;

impl<O: Observer> PageAllocator<O> {
    /// Claims the block of the largest free page that lets itself be claimed, one candidate an order (4.5).
    pub(crate) fn claim(&mut self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        let lowest = self.lowest_fallback_order(order, flags);
        let mut orders = self.fallback_orders(zone, lowest, wanted);
        while let Some(found) = orders.checked_ilog2() {
            if !self.may_claim(found as Order, wanted) {
                return None;
            }
            let candidate = self.fallback_candidate(zone, found as Order, wanted)?;
            if let Some(pfn) = self.try_to_claim(zone, order, wanted, flags, candidate) {
                self.trace_fallback(pfn, order, wanted, &candidate);
                return Some(pfn);
            }
            orders -= 1 << found;
        }
        None
    }

    /// Claims the block that the candidate lies in, if it is worth it (4.6).
    pub(crate) fn try_to_claim(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        candidate: FreeBlock,
    ) -> Option<Pfn> {
        if candidate.order >= self.geometry.pageblock_order {
            self.retype_blocks(candidate.pfn, candidate.order, wanted);
            self.zones[zone.index()].take(&mut self.frames, candidate, order, wanted);
            return Some(candidate.pfn);
        }
        if matches!(self.policy.fallback, Fallback::ClaimThenSteal { .. }) {
            self.boost_for_fallback(zone, flags); // Even if the claim fails (4.6.2).
        }
        let block = self.geometry.block_of(candidate.pfn);
        if !self.is_worth_claiming(zone, block, wanted) {
            return None;
        }
        self.move_free_pages(zone, block, wanted);
        self.blocks.set_migratetype(block, wanted);
        self.rmqueue_smallest(zone, order, wanted)
    }

    /// Whether half of the block is free or compatible with the type (4.6.3 to 4.6.6).
    fn is_worth_claiming(&self, zone: ZoneId, block: BlockId, wanted: Migratetype) -> bool {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        if !self.zones[zone.index()].holds(start, pages) {
            return false;
        }
        let (free, movable) = self.count_block(block);
        let alike = self.alike_pages(block, wanted, free, movable);
        free + alike >= pages / 2 || self.grouping_disabled
    }

    /// Free pages of a block, and pages that compaction could move.
    pub(crate) fn count_block(&self, block: BlockId) -> (u32, u32) {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        let count = |is: fn(FrameState) -> bool| self.frames.count(start, pages, is);
        (count(FrameState::is_free), count(FrameState::is_movable))
    }

    /// Allocated pages of a block that suit the type as well as its own would (4.6.5). Between Unmovable and
    /// Reclaimable nothing is known, so nothing counts.
    pub(crate) fn alike_pages(&self, block: BlockId, wanted: Migratetype, free: u32, movable: u32) -> u32 {
        if wanted == Migratetype::Movable {
            movable
        } else if self.blocks.migratetype(block) == Migratetype::Movable {
            self.geometry.pageblock_pages() - free - movable
        } else {
            0
        }
    }

    /// Takes a single page, from the smallest free block that another type has (4.7).
    pub(crate) fn steal(&mut self, zone: ZoneId, order: Order, wanted: Migratetype) -> Option<Pfn> {
        let orders = NonZeroU16::new(self.fallback_orders(zone, order, wanted))?;
        let candidate = self.fallback_candidate(zone, orders.trailing_zeros() as Order, wanted)?;
        self.zones[zone.index()].take(&mut self.frames, candidate, order, candidate.list);
        self.trace_fallback(candidate.pfn, order, wanted, &candidate);
        Some(candidate.pfn)
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{Fallback, NoFragment};
    use crate::world::*;
    use crate::*;

    const ANY: AllocFlags = AllocFlags::KSWAPD;

    #[test]
    fn a_whole_free_block_is_claimed_without_boost() {
        let mut world = placed("MMU", &[(0, 5)], linux_6_18());
        world.set_watermarks(ZONE, 0, 0, 64, 64);
        assert_eq!(world.buddy(0, Migratetype::Unmovable, ANY), Some(0));
        // Both blocks that the order-5 page covered are ours.
        assert_eq!((world.types().as_str(), world.boost(ZONE)), ("UUU", 0));
        assert_eq!(world.picture(), "0U: 1; 1U: 2; 2U: 4; 3U: 8; 4U: 16");
        let event = world.extfrags()[0];
        assert_eq!((event.fallback_order, event.fragmenting(), event.change_ownership), (5, false, true));
        assert_eq!(
            (event.alloc_migratetype, event.fallback_migratetype),
            (Migratetype::Unmovable, Migratetype::Movable)
        );
    }

    #[test]
    fn half_a_block_free_or_alike_is_enough() {
        // 4 of 16 free; 8 allocated on an LRU: for Unmovable 4 unmovable ones are alike, 8 in all.
        let mut world = placed("MUUU", &[(0, 2)], linux_6_18());
        world.set_watermarks(ZONE, 0, 0, 64, 64);
        for pfn in 8..16 {
            world.set_on_lru(Pfn(pfn), true);
        }
        assert_eq!(world.buddy(0, Migratetype::Unmovable, ANY), Some(0));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("UUUU", "0U: 1; 1U: 2"));
        assert_eq!((world.boost(ZONE), world.take_boost_wakeups(), world.take_boost_wakeups()), (16, 1, 0));
        assert!(world.extfrags()[0].change_ownership);
    }

    #[test]
    fn a_failed_claim_boosts_all_the_same_and_steals_the_smallest_page() {
        // Movable wants Unmovable's pages; nothing on an LRU, 7 of 16 free.
        let mut world = placed("UMMM", &[(0, 2), (4, 1), (6, 0)], linux_6_18());
        world.set_watermarks(ZONE, 0, 0, 64, 64);
        assert_eq!(world.buddy(0, Migratetype::Movable, ANY), Some(6));
        assert_eq!(world.types(), "UMMM");
        assert_eq!(world.picture(), "1U: 4; 2U: 0");
        assert_eq!(world.boost(ZONE), 16, "only order 2, half of a block's, is claimable");
        let event = world.extfrags()[0];
        assert_eq!((event.fallback_order, event.change_ownership), (0, false));
    }

    #[test]
    fn steal_leaves_the_rest_to_its_type() {
        let mut world = placed("UM", &[(0, 2)], linux_6_18());
        assert_eq!(world.buddy(0, Migratetype::Movable, ANY), Some(0));
        assert_eq!(world.picture(), "0U: 1; 1U: 2");
    }

    #[test]
    fn nofragment_takes_whole_blocks_only() {
        let mut world = placed("UUMM", &[(0, 3), (16, 4)], linux_6_18());
        let avoid = ANY | AllocFlags::NOFRAGMENT;
        assert_eq!(world.buddy(0, Migratetype::Movable, avoid), Some(16));
        let mut world = placed("UUMM", &[(0, 3)], linux_6_18());
        assert_eq!(world.buddy(0, Migratetype::Movable, avoid), None);
        assert!(world.extfrags().is_empty() && world.boost(ZONE) == 0);
    }

    #[test]
    fn sources_are_tried_in_table_order_within_an_order() {
        let mut world = placed("URM", &[(0, 1), (16, 1)], linux_6_18());
        assert_eq!(world.find_fallback(ZONE, 1, Migratetype::Movable), Some(Migratetype::Reclaimable));
        assert_eq!(world.buddy(1, Migratetype::Movable, ANY), Some(16));
        assert_eq!(world.find_fallback(ZONE, 1, Migratetype::Reclaimable), Some(Migratetype::Unmovable));
        assert_eq!(world.find_fallback(ZONE, 0, Migratetype::Reclaimable), None);
    }

    #[test]
    fn who_may_claim() {
        let world = placed("M", &[], linux_6_18());
        assert!(!world.may_claim(1, Migratetype::Movable) && world.may_claim(2, Migratetype::Movable));
        assert!(world.may_claim(0, Migratetype::Unmovable) && world.may_claim(0, Migratetype::Reclaimable));
        let old = placed("M", &[], Policy { fallback: Fallback::HalfMoved3x, ..linux_6_18() });
        assert!(!old.may_claim(1, Migratetype::Unmovable) && old.may_claim(0, Migratetype::Reclaimable));
    }

    #[test]
    fn a_batch_keeps_stealing_but_starts_over_after_a_claim() {
        use crate::fallback::RmqueueMode;
        let mut world = placed("UMMM", &[(0, 1), (2, 0)], linux_6_18());
        let mut mode = RmqueueMode::Normal;
        assert_eq!(world.rmqueue(ZONE, 0, Migratetype::Movable, ANY, &mut mode), Some(Pfn(2)));
        assert_eq!(mode, RmqueueMode::Steal);
        let policy = Policy { fallback: Fallback::ClaimThenSteal { batch_mode: false }, ..linux_6_18() };
        let mut world = placed("UMMM", &[(0, 1), (2, 0)], policy);
        assert_eq!(world.rmqueue(ZONE, 0, Migratetype::Movable, ANY, &mut mode), Some(Pfn(2)));
        assert_eq!(mode, RmqueueMode::Normal);
    }

    #[test]
    fn the_series_searches_below_a_request_larger_than_a_block() {
        let policy = Policy { nofragment: NoFragment::Series, ..linux_6_18() };
        let world = placed("M", &[], policy);
        assert_eq!(world.lowest_fallback_order(5, AllocFlags::NOFRAGMENT), 4);
        assert_eq!(placed("M", &[], linux_6_18()).lowest_fallback_order(5, AllocFlags::NOFRAGMENT), 5);
    }
}
