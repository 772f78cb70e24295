//! Fallback before 6.15 (4.10): largest page first, the block follows if enough of it can be had.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::fallback::Candidate;
use crate::ids::{Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{Boost, Fallback};
use crate::zone::ListEnd;

/// What the 4.12 to 6.9 rule did with the page that it found.
enum Moved {
    /// The page, perhaps with its block, is on the wanted type's lists now.
    ToWanted,
    /// Nothing: the request is to stall instead (7.9).
    Refused,
}

impl<O: Observer> PageAllocator<O> {
    /// 3.x to 4.10: take the largest page; retype its block if half of it moved along.
    pub(crate) fn fallback_half_moved(&mut self, zone: ZoneId, order: Order, wanted: Migratetype) -> Option<Pfn> {
        let candidate =
            (order..=self.geometry.max_order).rev().find_map(|found| self.fallback_candidate(zone, found, wanted))?;
        let Candidate { pfn, order: found, source } = candidate;
        let block = self.geometry.block_of(pfn);
        if source == Migratetype::Cma {
            // CMA blocks stay CMA.
        } else if found >= self.geometry.pageblock_order {
            self.retype_blocks(pfn, found, wanted);
        } else if self.may_claim(found, wanted) {
            let moved = self.move_free_pages(zone, block, wanted);
            if moved >= self.geometry.pageblock_pages() / 2 || self.grouping_disabled {
                self.blocks.set_migratetype(block, wanted);
            }
        }
        let rest = if source == Migratetype::Cma { source } else { wanted };
        self.zones[zone.index()].take(&mut self.frames, pfn, order, rest);
        self.trace_fallback(pfn, order, wanted, &candidate);
        self.trace_zone_locked(pfn, order, wanted);
        Some(pfn)
    }

    /// 4.12 to 6.14: count what is free or alike; a small Movable request that can't claim takes the smallest page.
    pub(crate) fn fallback_free_and_alike(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let candidate = self.find_largest(zone, order, wanted, flags)?;
        if self.policy.fallback == Fallback::FreeAndAlikeStrict {
            return self.claim_or_cut(zone, order, wanted, flags, candidate);
        }
        match self.move_to_wanted(zone, wanted, flags, &candidate) {
            Moved::Refused => None,
            Moved::ToWanted => {
                self.trace_fallback(candidate.pfn, order, wanted, &candidate);
                self.rmqueue_smallest(zone, order, wanted)
            }
        }
    }

    fn find_largest(&self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Candidate> {
        let lowest = self.lowest_fallback_order(order, flags);
        let largest =
            (lowest..=self.geometry.max_order).rev().find_map(|found| self.fallback_candidate(zone, found, wanted))?;
        let take_smallest =
            !self.may_claim(largest.order, wanted) && wanted == Migratetype::Movable && largest.order > order;
        if !take_smallest {
            return Some(largest);
        }
        (order..=self.geometry.max_order).find_map(|found| self.fallback_candidate(zone, found, wanted))
    }

    /// 6.10 to 6.14: claim the block, or cut just the page off and leave the rest to its type.
    fn claim_or_cut(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        candidate: Candidate,
    ) -> Option<Pfn> {
        let partial = candidate.order < self.geometry.pageblock_order;
        let block_type = self.blocks.migratetype(self.geometry.block_of(candidate.pfn));
        let reserved = block_type == Migratetype::HighAtomic;
        if partial && !reserved {
            self.boost_for_every_fallback(zone, flags);
        }
        let mut page = None;
        if !reserved && (!partial || self.may_claim(candidate.order, wanted)) {
            page = self.try_to_claim(zone, order, wanted, flags, candidate);
        }
        let pfn = page.unwrap_or_else(|| {
            self.zones[zone.index()].take(&mut self.frames, candidate.pfn, order, candidate.source);
            candidate.pfn
        });
        self.trace_fallback(pfn, order, wanted, &candidate);
        Some(pfn)
    }

    /// 4.12 to 6.9: brings the page, and its block's other free pages if it may, to the wanted type's lists.
    fn move_to_wanted(&mut self, zone: ZoneId, wanted: Migratetype, flags: AllocFlags, candidate: &Candidate) -> Moved {
        let Candidate { pfn, order: found, .. } = *candidate;
        let block = self.geometry.block_of(pfn);
        let block_type = self.blocks.migratetype(block);
        if block_type == Migratetype::HighAtomic {
            self.move_single(zone, pfn, found, wanted);
            return Moved::ToWanted;
        }
        if found >= self.geometry.pageblock_order {
            self.retype_blocks(pfn, found, wanted);
            self.move_single(zone, pfn, found, wanted);
            return Moved::ToWanted;
        }
        self.boost_for_every_fallback(zone, flags);
        let stalls = flags.contains(AllocFlags::FRAGMENT_STALL) && self.policy.fragment_stall.is_some();
        if stalls && u32::from(found) < self.policy.sysctl.fragment_stall_order {
            return Moved::Refused;
        }
        if !self.may_claim(found, wanted) {
            self.move_single(zone, pfn, found, wanted);
            return Moved::ToWanted;
        }
        let (free, movable) = self.count_block(block);
        let alike = self.alike_pages(block, wanted, free, movable);
        let moved = self.move_free_pages(zone, block, wanted);
        if moved == 0 {
            self.move_single(zone, pfn, found, wanted); // The block straddles its zone.
        } else if moved + alike >= self.geometry.pageblock_pages() / 2 || self.grouping_disabled {
            self.blocks.set_migratetype(block, wanted);
        }
        Moved::ToWanted
    }

    /// Moves one free page to the wanted type's list. That list is empty, or there had been no fallback: either end is right.
    fn move_single(&mut self, zone: ZoneId, pfn: Pfn, order: Order, wanted: Migratetype) {
        self.zones[zone.index()].shift(&mut self.frames, pfn, order, wanted, ListEnd::Head);
    }

    fn boost_for_every_fallback(&mut self, zone: ZoneId, flags: AllocFlags) {
        if self.policy.boost != Boost::ClaimAttempt {
            self.boost_for_fallback(zone, flags);
        }
    }
}
