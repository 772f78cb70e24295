//! The hot path of allocation and freeing (5.5 to 5.9).

use super::lists::{BATCH_SCALE_MAX, FIRST_THP_LIST};
use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::fallback::RmqueueMode;
use crate::frames::{FrameList, FrameState};
use crate::ids::{CpuId, Order, PAGE_ALLOC_COSTLY_ORDER, Pfn, ZoneId, ZoneType};
use crate::migratetype::{Migratetype, NR_PCP_TYPES};
use crate::policy::{PcpEmpties, PcpHigh, PcpOrders, PcpSteps};

impl<O: Observer> PageAllocator<O> {
    #[inline(always)]
    pub(crate) fn pcp_number(&self, zone: ZoneId, cpu: CpuId) -> usize {
        zone.index() * self.cpu_node.len() + cpu.index()
    }

    /// Who counts what lies on a CPU's lists, and limits it: the CPU itself, or the one that it stands for.
    #[inline(always)]
    pub(crate) fn pcp_counting(&self, zone: ZoneId, cpu: CpuId) -> usize {
        self.pcp_number(zone, self.home_of(cpu))
    }

    /// List of pages of this order and type (5.1); none if per-CPU lists don't hold the order.
    #[inline(always)]
    pub(crate) fn pcp_index(&self, order: Order, migratetype: Migratetype) -> Option<usize> {
        if order == 0 {
            return Some(migratetype.index());
        }
        self.pcp_high_order_index(order, migratetype)
    }

    /// Whether blocks of this order are cached per CPU.
    pub fn per_cpu_lists_hold(&self, order: Order) -> bool {
        self.pcp_index(order, Migratetype::Movable).is_some()
    }

    fn pcp_high_order_index(&self, order: Order, migratetype: Migratetype) -> Option<usize> {
        let orders = self.policy.pcp.orders;
        if orders == PcpOrders::Zero {
            None
        } else if order <= PAGE_ALLOC_COSTLY_ORDER {
            Some(NR_PCP_TYPES * order as usize + migratetype.index())
        } else if order == self.geometry.pmd_order {
            let second = orders == PcpOrders::CostlyAndTwoThp && migratetype == Migratetype::Movable;
            Some(FIRST_THP_LIST + usize::from(second))
        } else {
            None
        }
    }

    /// Takes a page from a CPU's list, refilling it if empty (5.5).
    #[inline]
    pub(crate) fn alloc_pcp(
        &mut self,
        zone: ZoneId,
        cpu: CpuId,
        index: usize,
        order: Order,
        migratetype: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let (mut number, counting) = (self.pcp_number(zone, cpu), self.pcp_counting(zone, cpu));
        if self.pcps[number].lists[index].is_empty() {
            number = counting;
            if self.pcps[number].lists[index].is_empty() {
                self.refill_pcp(zone, number, index, order, migratetype, flags);
            }
        }
        let pfn = self.pcps[number].lists[index].pop_head(&mut self.frames)?;
        self.pcps[counting].count -= 1 << order;
        self.frames.set_state(pfn, FrameState::USED);
        Some(pfn)
    }

    /// Refills an empty list from the buddy lists, in the order obtained.
    #[cold]
    fn refill_pcp(
        &mut self,
        zone: ZoneId,
        number: usize,
        index: usize,
        order: Order,
        migratetype: Migratetype,
        flags: AllocFlags,
    ) {
        let below_high = self.zones[zone.index()].below_high;
        let wanted = self.pcps[number].alloc_batch(order, self.policy.pcp.high, below_high);
        if self.refills_no_list(order, flags) {
            return;
        }
        let mut list = FrameList::default();
        let mut mode = RmqueueMode::Normal;
        while list.len() < wanted
            && let Some(pfn) = self.rmqueue(zone, order, migratetype, flags, &mut mode)
        {
            self.frames.set_page(pfn, order, FrameState::pcp(migratetype));
            list.push_tail(&mut self.frames, pfn);
        }
        let pcp = &mut self.pcps[number];
        pcp.count += list.len() << order;
        pcp.lists[index] = list;
    }

    /// Puts a freed page on a CPU's list and drains it if that makes it too long (5.7).
    #[inline(always)]
    pub(crate) fn free_pcp(&mut self, zone: ZoneId, cpu: CpuId, index: usize, pfn: Pfn, order: Order) {
        let block_type = self.blocks.migratetype(self.geometry.block_of(pfn));
        self.frames.set_state(pfn, FrameState::pcp(block_type));
        self.frames.fill_tails(pfn, order, FrameState::TAIL);
        let (lists, number) = (self.pcp_number(zone, cpu), self.pcp_counting(zone, cpu));
        self.pcps[lists].lists[index].push_head(&mut self.frames, pfn);
        let pcp = &mut self.pcps[number];
        pcp.count += 1 << order;
        if self.policy.pcp.high != PcpHigh::AutoTuned {
            return self.limit_old_pcp(zone, number, index, order);
        }
        pcp.alloc_factor >>= 1;
        let free_high = pcp.frees_high_orders(order, self.policy.pcp.empties);
        if pcp.free_count < pcp.batch << BATCH_SCALE_MAX {
            pcp.free_count += 1 << order;
        }
        // Below the limit, only these move it (5.8).
        let lists = &self.zones[zone.index()];
        if pcp.count >= pcp.high.min(pcp.high_max) || free_high || lists.reclaim_active || lists.below_high {
            self.limit_pcp(zone, number, index, free_high);
        }
    }

    #[cold]
    fn limit_pcp(&mut self, zone: ZoneId, number: usize, index: usize, free_high: bool) {
        let lists = &self.zones[zone.index()];
        let pcp = &mut self.pcps[number];
        let high = pcp.effective_high(free_high, lists.reclaim_active, lists.below_high);
        if pcp.count < high {
            return;
        }
        let amount = pcp.amount_to_free(high, free_high);
        match self.policy.pcp.steps {
            PcpSteps::All => self.drain_pcp_stepwise(zone, number, index, amount),
            PcpSteps::Never | PcpSteps::Decay => self.drain_pcp_from(zone, number, index, amount),
        }
        let lists = &self.zones[zone.index()];
        if lists.below_high {
            let mark = lists.mark(AllocFlags::WMARK_HIGH.wmark());
            if self.watermark_ok(zone, 0, mark, ZoneType::Movable, AllocFlags::NONE, lists.free_pages) {
                self.zones[zone.index()].below_high = false;
                self.high_again |= 1 << zone.0;
            }
        }
    }

    /// The limit before 6.7 (5.14).
    #[inline(never)]
    fn limit_old_pcp(&mut self, zone: ZoneId, number: usize, index: usize, order: Order) {
        let reclaim_active = self.zones[zone.index()].reclaim_active;
        let pcp = &mut self.pcps[number];
        if self.policy.pcp.high == PcpHigh::SixBatches {
            if pcp.count >= pcp.high {
                let amount = pcp.batch;
                self.drain_pcp(zone, number, index, amount);
            }
            return;
        }
        let free_high = self.policy.pcp.empties == PcpEmpties::WhileOnlyFreed
            && pcp.free_factor != 0
            && (1..=PAGE_ALLOC_COSTLY_ORDER).contains(&order);
        let high = match () {
            _ if pcp.high == 0 || free_high => 0,
            _ if reclaim_active => (pcp.batch << 2).min(pcp.high),
            _ => pcp.high,
        };
        if pcp.count >= high {
            let amount = pcp.amount_to_free_doubling(high, free_high);
            self.drain_pcp_from(zone, number, index, amount);
        }
    }

    /// Whether a free cleared the zone's BELOW_HIGH flag (5.7) since this was forgotten. The floor above gives a hopeless kswapd another
    /// chance for it.
    pub fn is_high_again(&self, zone: ZoneId) -> bool {
        self.high_again >> zone.0 & 1 == 1
    }

    /// From now on only later frees count.
    pub fn forget_high_again(&mut self, zone: ZoneId) {
        self.high_again &= !(1 << zone.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::world::*;
    use crate::{Event, PageAllocator};
    use alloc::vec::Vec;

    /// A world with batch 4 and these limits.
    fn cached(policy: Policy, high_min: u32, high_max: u32) -> World {
        let mut world = world(2048, policy);
        world.set_pcp_limits(ZONE, 4, high_min, high_max);
        world
    }

    fn alloc(world: &mut World, order: Order) -> Pfn {
        world.alloc_fast(&request(order, Migratetype::Movable)).expect("memory")
    }

    fn count(world: &World) -> u32 {
        world.pcp_count(ZONE, CPU)
    }

    #[test]
    fn pages_come_in_the_order_obtained_and_return_to_the_head() {
        let mut world = cached(linux_6_18(), 16, 16);
        let first: Vec<u32> = (0..3).map(|_| alloc(&mut world, 0).0).collect();
        assert_eq!((first, count(&world)), ([0, 1, 2].to_vec(), 1));
        world.free(Pfn(1), CPU);
        assert_eq!((alloc(&mut world, 0), alloc(&mut world, 0)), (Pfn(1), Pfn(3)));
    }

    #[test]
    fn refills_double_while_a_cpu_only_allocates_and_the_limit_grows() {
        let mut world = cached(linux_6_18(), 16, 400);
        let refills: Vec<u32> = (0..5)
            .map(|_| {
                let before = count(&world);
                alloc(&mut world, 0);
                let got = count(&world) + 1 - before;
                while count(&world) > 0 {
                    alloc(&mut world, 0);
                }
                got
            })
            .collect();
        assert_eq!(refills, [4, 8, 16, 32, 64]);
        assert_eq!(world.pcp_limits(ZONE, CPU), (16 + 4 + 8 + 16 + 32 + 64, 4, 16, 400));
    }

    #[test]
    fn high_orders_come_in_twos_at_least_and_huge_pages_on_lists_of_their_own() {
        let mut world = cached(linux_6_18(), 64, 64);
        alloc(&mut world, 3);
        assert_eq!(count(&world), 8);
        alloc(&mut world, SMALL.pmd_order);
        assert_eq!(count(&world), 8 + 16);
        assert_eq!(world.pcp_index(4, Migratetype::Movable), Some(13));
        assert_eq!(world.pcp_index(4, Migratetype::Reclaimable), Some(12));
        assert_eq!(world.pcp_index(5, Migratetype::Movable), None);
        let shared = cached(with_pcp(|pcp| pcp.orders = PcpOrders::CostlyAndThp), 64, 64);
        assert_eq!(shared.pcp_index(4, Migratetype::Movable), Some(12));
        let old = cached(with_pcp(|pcp| pcp.orders = PcpOrders::Zero), 64, 64);
        assert_eq!((old.pcp_index(1, Migratetype::Movable), old.pcp_index(0, Migratetype::Movable)), (None, Some(1)));
    }

    #[test]
    fn the_limit_drains_from_the_tail() {
        let mut world = cached(linux_6_18(), 8, 8);
        let pages: Vec<Pfn> = (0..12).map(|_| alloc(&mut world, 0)).collect();
        assert_eq!(count(&world), 0);
        world.observer.clear();
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        let drained = |event: &Event| match event {
            Event::MmPagePcpuDrain { pfn, .. } => Some(pfn.0),
            _ => None,
        };
        let drained: Vec<u32> = world.observer.iter().filter_map(drained).collect();
        // At 8 pages clamp(8, 4, 8 - 4) go, oldest first; then again.
        assert_eq!((drained, count(&world)), ([0, 1, 2, 3, 4, 5, 6, 7].to_vec(), 4));
        world.check().unwrap();
    }

    #[test]
    fn a_run_of_high_order_frees_empties_the_lists() {
        let mut world = cached(linux_6_18(), 8, 400);
        let pages: Vec<Pfn> = (0..8).map(|_| alloc(&mut world, 1)).collect();
        world.drain_all_pages(None);
        world.pcps[0].free_count = 0;
        // Nothing happens until free_count reaches batch + high_min / 2 = 8 and count the batch.
        let counts: Vec<u32> = pages.iter().map(|&pfn| (world.free(pfn, CPU), count(&world)).1).collect();
        assert_eq!(counts, [2, 4, 6, 8, 0, 2, 0, 2]);
    }

    #[test]
    fn balancing_kswapd_shrinks_the_limit() {
        let mut world = cached(linux_6_18(), 8, 400);
        world.pcps[0].high = 100;
        world.set_reclaim_active(ZONE, true);
        let pfn = alloc(&mut world, 0);
        world.free(pfn, CPU);
        assert!(world.pcps[0].high < 110 && count(&world) < 16);
    }

    #[test]
    fn the_upper_bound_holds_where_the_bounds_cross() {
        // A 6.18 guest of 448 MiB with min_free_kbytes=93952 shows `high: 7161`, `high_min: 14203`, `high_max: 7161`.
        let mut world = cached(linux_6_18(), 400, 200);
        let pages: Vec<Pfn> = (0..1_000).map(|_| alloc(&mut world, 0)).collect();
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        assert_eq!((world.pcps[0].high, count(&world) <= 200), (200, true));
        world.check().unwrap();
    }

    #[test]
    fn below_high_is_left_when_enough_is_free_again() {
        let mut world = cached(linux_6_18(), 8, 16);
        world.set_watermarks(ZONE, 0, 0, 2046, 2050);
        let pages: Vec<Pfn> = (0..8).map(|_| alloc(&mut world, 0)).collect();
        assert!(world.zones[0].below_high);
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        assert!(world.zones[0].below_high, "pages on the lists are not free");
        world.set_watermarks(ZONE, 0, 0, 100, 200);
        let pages: Vec<Pfn> = (0..12).map(|_| alloc(&mut world, 0)).collect();
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        assert_eq!((world.zones[0].below_high, world.is_high_again(ZONE)), (false, true));
        world.forget_high_again(ZONE);
        assert!(!world.is_high_again(ZONE));
    }

    #[test]
    fn decay_lowers_the_limit_by_an_eighth_and_drains_the_excess() {
        let mut world = cached(linux_6_18(), 8, 400);
        let pages: Vec<Pfn> = (0..100).map(|_| alloc(&mut world, 0)).collect();
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        let (before, held) = (world.pcps[0].high, count(&world));
        world.pcp_decay(CPU);
        assert_eq!(world.pcps[0].high, before - before / 8);
        assert_eq!(count(&world), held.min(before - before / 8));
        world.check().unwrap();
    }

    #[test]
    fn until_5_13_a_batch_goes_at_the_limit_by_growing_turns() {
        let policy = with_pcp(|pcp| (pcp.orders, pcp.high) = (PcpOrders::Zero, PcpHigh::SixBatches));
        let mut world = cached(policy, 24, 24);
        let pages: Vec<Pfn> = (0..40).map(|_| alloc(&mut world, 0)).collect();
        assert_eq!(count(&world), 0);
        pages[..23].iter().for_each(|&pfn| world.free(pfn, CPU));
        assert_eq!(count(&world), 23);
        world.free(pages[23], CPU);
        assert_eq!(count(&world), 20);
    }

    /// No kernel had both, but policies may be mixed.
    #[test]
    fn lists_of_several_orders_under_the_old_limit_are_drained_as_well() {
        let policy = with_pcp(|pcp| pcp.high = PcpHigh::SixBatches);
        let mut world = cached(policy, 24, 24);
        let pages: Vec<Pfn> = (0..16).map(|_| alloc(&mut world, 2)).collect();
        pages.iter().for_each(|&pfn| world.free(pfn, CPU));
        assert!(count(&world) < 24);
        world.drain_all_pages(None);
        assert_eq!(count(&world), 0);
        world.check().unwrap();
    }

    #[test]
    fn until_6_6_drains_double_while_a_cpu_only_frees() {
        let policy = with_pcp(|pcp| pcp.high = PcpHigh::LowWatermark);
        let mut world = cached(policy, 40, 40);
        let pages: Vec<Pfn> = (0..200).map(|_| alloc(&mut world, 0)).collect();
        world.drain_all_pages(None);
        let mut drains = Vec::new();
        for &pfn in &pages {
            let before = count(&world);
            world.free(pfn, CPU);
            if count(&world) <= before {
                drains.push(before + 1 - count(&world));
            }
        }
        assert_eq!(drains[..4], [4, 8, 16, 32]);
    }

    #[test]
    fn pages_of_isolated_blocks_bypass_the_lists() {
        let mut world =
            PageAllocator::new(&crate::Machine::uniform(SMALL, 1, 2048, false), linux_6_18(), Vec::<Event>::new())
                .unwrap();
        world.set_grouping_disabled(false);
        let pfn = world.alloc_fast(&request(0, Migratetype::Movable)).unwrap();
        world.drain_all_pages(None);
        let free = world.free_pages(ZONE);
        world.set_block_type(crate::BlockId(0), Migratetype::Isolate);
        assert_eq!(world.free_pages(ZONE), free - 15);
        world.free(pfn, CPU);
        assert_eq!((count(&world), world.free_pages(ZONE)), (0, free - 15));
        world.set_block_type(crate::BlockId(0), Migratetype::Movable);
        assert_eq!(world.free_pages(ZONE), free + 1);
        world.check().unwrap();
    }
}
