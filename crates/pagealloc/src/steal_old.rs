//! Fallback before 6.15 (4.10): largest page first, the block follows if enough of it can be had.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{Boost, ExtfragOwnership, Fallback};
use crate::zone::{FreeBlock, ListEnd};

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
        let FreeBlock { pfn, order: found, list: source } = candidate;
        let block = self.geometry.block_of(pfn);
        let claims = source != Migratetype::Cma && self.may_claim(found, wanted);
        if source == Migratetype::Cma {
            // CMA blocks stay CMA.
        } else if found >= self.geometry.pageblock_order {
            self.retype_blocks(pfn, found, wanted);
        } else if claims {
            let moved = self.move_free_pages(zone, block, wanted);
            if moved >= self.geometry.pageblock_pages() / 2 || self.grouping_disabled {
                self.blocks.set_migratetype(block, wanted);
            }
        }
        let rest = if source == Migratetype::Cma { source } else { wanted };
        let list = self.frames.state(pfn).free_list_type(); // It may have moved along with its block.
        self.zones[zone.index()].take(&mut self.frames, FreeBlock { list, ..candidate }, order, rest);
        let renamed = claims && self.policy.extfrag_ownership == ExtfragOwnership::RequestIsFallback;
        let traced = FreeBlock { list: if renamed { wanted } else { source }, ..candidate };
        self.trace_fallback(pfn, order, wanted, &traced);
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
        // Once is enough, but for the series' search below the order of large requests: each round moves what it found.
        loop {
            let candidate = self.find_largest(zone, order, wanted, flags)?;
            if self.policy.fallback == Fallback::FreeAndAlikeStrict {
                return self.claim_or_cut(zone, order, wanted, flags, candidate);
            }
            match self.move_to_wanted(zone, wanted, flags, &candidate) {
                Moved::Refused => return None,
                Moved::ToWanted => self.trace_fallback(candidate.pfn, order, wanted, &candidate),
            }
            if let Some(pfn) = self.rmqueue_smallest(zone, order, wanted) {
                return Some(pfn);
            }
        }
    }

    fn find_largest(&self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<FreeBlock> {
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
        candidate: FreeBlock,
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
            self.zones[zone.index()].take(&mut self.frames, candidate, order, candidate.list);
            candidate.pfn
        });
        self.trace_fallback(pfn, order, wanted, &candidate);
        Some(pfn)
    }

    /// 4.12 to 6.9: brings the page, and its block's other free pages if it may, to the wanted type's lists.
    fn move_to_wanted(&mut self, zone: ZoneId, wanted: Migratetype, flags: AllocFlags, candidate: &FreeBlock) -> Moved {
        let FreeBlock { pfn, order: found, .. } = *candidate;
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
        let stalls = flags.contains(AllocFlags::FRAGMENT_STALL) && self.policy.fragment_stall.is_some();
        if stalls && u32::from(found) < self.policy.sysctl.fragment_stall_order {
            self.boost_for_refused_fallback(zone, flags);
            return Moved::Refused;
        }
        self.boost_for_every_fallback(zone, flags);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{FragmentStall, ListTypes, PcpOrders, PcpRules, Reserve};
    use crate::world::*;
    use crate::*;

    const NONE: AllocFlags = AllocFlags::NONE;

    fn old(fallback: Fallback) -> Policy {
        let new = linux_6_18();
        Policy {
            fallback,
            list_types: ListTypes::Mixed,
            splits_large_frees: false,
            boost: Boost::EveryFallback,
            reserve: Reserve::HighAtomic,
            pcp: PcpRules { orders: PcpOrders::Zero, ..new.pcp },
            ..new
        }
    }

    #[test]
    fn half_moved_retypes_only_with_half_the_block_free() {
        // 7 of 16 free and claimable: all move, the type stays, the rest of the split is ours.
        let mut world = placed("MU", &[(0, 2), (4, 1), (6, 0)], old(Fallback::HalfMoved));
        assert_eq!(world.buddy(0, Migratetype::Unmovable, NONE), Some(0));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("MU", "0U: 1 6; 1U: 2 4"));
        assert!(!world.extfrags()[0].change_ownership);
        let mut world = placed("MU", &[(0, 3)], old(Fallback::HalfMoved));
        assert_eq!(world.buddy(0, Migratetype::Unmovable, NONE), Some(0));
        assert_eq!(world.types(), "UU");
        assert!(world.extfrags()[0].change_ownership);
    }

    #[test]
    fn up_to_3_11_the_event_names_the_request_s_own_type_where_a_claim_was_tried() {
        let event = |order, ownership| {
            let policy = Policy { extfrag_ownership: ownership, ..old(Fallback::HalfMoved3x) };
            let mut world = placed("MU", &[(0, order)], policy);
            assert_eq!(world.buddy(0, Migratetype::Unmovable, NONE), Some(0));
            (world.extfrags()[0].fallback_migratetype, world.extfrags()[0].change_ownership)
        };
        let (fallback, block) = (ExtfragOwnership::RequestIsFallback, ExtfragOwnership::RequestIsBlock);
        assert_eq!(event(1, fallback), (Migratetype::Movable, false), "too small to claim for");
        assert_eq!(event(2, fallback), (Migratetype::Unmovable, true), "tried, and the block stays Movable");
        assert_eq!(event(2, block), (Migratetype::Movable, false));
        assert_eq!(event(3, block), (Migratetype::Movable, true));
    }

    #[test]
    fn in_3x_unmovable_is_not_aggressive_and_takes_the_remainder_all_the_same() {
        let mut world = placed("MU", &[(0, 1), (4, 0)], old(Fallback::HalfMoved3x));
        assert_eq!(world.buddy(0, Migratetype::Unmovable, NONE), Some(0));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("MU", "0U: 1; 0M: 4"));
    }

    #[test]
    fn in_3x_the_reserve_serves_last() {
        let policy = Policy { reserve: Reserve::MigrateReserve, ..old(Fallback::HalfMoved3x) };
        let mut world = placed("HU", &[(0, 0)], policy);
        assert_eq!(world.buddy(0, Migratetype::Unmovable, NONE), Some(0));
        assert!(world.extfrags().is_empty());
    }

    #[test]
    fn from_4_12_a_small_movable_request_takes_the_smallest_page() {
        let mut world = placed("UM", &[(0, 1), (4, 0)], old(Fallback::FreeAndAlike));
        assert_eq!(world.buddy(0, Migratetype::Movable, NONE), Some(4), "order 1 is not claimable");
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("UM", "1U: 0"));
    }

    #[test]
    fn from_4_12_all_free_pages_move_and_movable_ones_count() {
        let mut world = placed("UM", &[(0, 2), (4, 1)], old(Fallback::FreeAndAlike));
        world.set_watermarks(ZONE, 0, 0, 64, 64);
        world.set_on_lru(Pfn(8), true);
        world.set_on_lru(Pfn(9), true);
        assert_eq!(world.buddy(0, Migratetype::Movable, AllocFlags::KSWAPD), Some(4));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("MM", "0M: 5; 2M: 0"));
        assert_eq!((world.boost(ZONE), world.take_boost_wakeups()), (16, 1));
    }

    #[test]
    fn strict_kernels_before_6_15_cut_the_page_off_the_largest() {
        let policy = Policy { fallback: Fallback::FreeAndAlikeStrict, boost: Boost::EveryFallback, ..linux_6_18() };
        let mut world = placed("UM", &[(0, 2), (4, 1)], policy);
        world.set_watermarks(ZONE, 0, 0, 64, 64);
        assert_eq!(world.buddy(0, Migratetype::Movable, NONE), Some(0));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("UM", "0U: 1; 1U: 2 4"));
        assert_eq!(world.boost(ZONE), 16);
    }

    #[test]
    fn a_stalling_request_is_refused_below_the_stall_order() {
        let fragment_stall = Some(FragmentStall { timeout_hz_divisor: 50, fast_boost: true });
        let mut policy = Policy { fragment_stall, ..old(Fallback::FreeAndAlike) };
        policy.sysctl.fragment_stall_order = 3;
        let mut world = placed("UMU", &[(0, 2)], policy.clone());
        assert_eq!(world.buddy(0, Migratetype::Movable, AllocFlags::FRAGMENT_STALL), None);
        assert_eq!(world.boost(ZONE), 0, "marks are 0 here");
        assert!(world.extfrags().is_empty());
        policy.sysctl.fragment_stall_order = 2;
        let mut world = placed("UMU", &[(0, 2)], policy);
        assert_eq!(world.buddy(0, Migratetype::Movable, AllocFlags::FRAGMENT_STALL), Some(0));
    }
}
