//! 6.15+: claim a whole block for the request's type, or steal a single page (4.5 to 4.7); the claim itself serves 6.10
//! to 6.14 too.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::fallback::Candidate;
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::Fallback;

impl<O: Observer> PageAllocator<O> {
    /// Claims the block of the largest free page that lets itself be claimed, one candidate an order (4.5).
    pub(crate) fn claim(&mut self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        let lowest = self.lowest_fallback_order(order, flags);
        for found in (lowest..=self.geometry.max_order).rev() {
            if !self.may_claim(found, wanted) {
                return None;
            }
            let Some(candidate) = self.fallback_candidate(zone, found, wanted) else { continue };
            if let Some(pfn) = self.try_to_claim(zone, order, wanted, flags, candidate) {
                self.trace_fallback(pfn, order, wanted, &candidate);
                return Some(pfn);
            }
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
        candidate: Candidate,
    ) -> Option<Pfn> {
        if candidate.order >= self.geometry.pageblock_order {
            self.retype_blocks(candidate.pfn, candidate.order, wanted);
            self.zones[zone.index()].take(&mut self.frames, candidate.pfn, order, wanted);
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
        self.frames.states(start, pages).fold((0, 0), |(free, movable), state| {
            (free + u32::from(state.is_free()), movable + u32::from(state.is_movable()))
        })
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
        let candidate =
            (order..=self.geometry.max_order).find_map(|found| self.fallback_candidate(zone, found, wanted))?;
        self.zones[zone.index()].take(&mut self.frames, candidate.pfn, order, candidate.source);
        self.trace_fallback(candidate.pfn, order, wanted, &candidate);
        Some(candidate.pfn)
    }
}
