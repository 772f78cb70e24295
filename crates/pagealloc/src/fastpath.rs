//! The allocation fast path: one pass over the zonelist (chapter 7), and freeing.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::fallback::RmqueueMode;
use crate::frames::FrameState;
use crate::gfp::Gfp;
use crate::ids::{CpuId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::pass::{Filter, Pass, Scan};
use crate::policy::{FairZones, HighAtomicLastResort, HighAtomicUse, NoFragment, PcpHigh};
use crate::request::Request;
use crate::vmstat::Counter;

impl<O: Observer> PageAllocator<O> {
    /// Alloc flags of the fast path (2.7).
    #[inline]
    pub fn fast_flags(&self, request: &Request) -> AllocFlags {
        let mut flags = AllocFlags::WMARK_LOW;
        if request.gfp.contains(Gfp::KSWAPD_RECLAIM) {
            flags |= AllocFlags::KSWAPD;
        }
        if request.migratetype == Migratetype::Movable {
            flags |= AllocFlags::CMA;
        }
        if self.policy.fair_zones == FairZones::LocalNode {
            flags |= AllocFlags::FAIR;
        }
        if self.avoids_fragmentation(request) {
            flags |= AllocFlags::NOFRAGMENT;
        }
        if self.policy.highatomic_use == HighAtomicUse::BothPaths && is_high_order_atomic(request) {
            flags |= AllocFlags::HIGHATOMIC;
        }
        flags
    }

    /// Whether the fast path avoids mixing types in blocks (7.5, 7.6).
    #[inline(always)]
    fn avoids_fragmentation(&self, request: &Request) -> bool {
        if self.policy.defrag_mode() {
            return true;
        }
        let asked = match self.policy.nofragment {
            NoFragment::Never => false,
            NoFragment::Series => request.gfp.contains(Gfp::KSWAPD_RECLAIM),
            NoFragment::Normal => true,
        };
        asked && self.preferred_zone(request).is_some_and(|zone| self.zones[zone.index()].spills_before_mixing)
    }

    /// Fast path: one pass at the low mark (2.7, 7.1). `None`: no zone of the request's list has a page to spare above it. Emits no
    /// `mm_page_alloc` (the caller does, at the very end, 8.1b).
    ///
    /// # Panics
    /// If the machine lacks the request's CPU or node; with debug assertions, if its type is not one of [`Migratetype::MERGEABLE`].
    #[inline]
    pub fn alloc_fast(&mut self, request: &Request) -> Option<Pfn> {
        match self.alloc_hot(request) {
            Some(pfn) => Some(pfn),
            None => self.alloc_by_walk(request),
        }
    }

    #[inline(never)]
    fn alloc_by_walk(&mut self, request: &Request) -> Option<Pfn> {
        self.get_page_from_freelist(request, self.fast_flags(request))
    }

    /// The common case of the pass below, with the same outcome: the preferred zone is above the mark that the pass would
    /// ask for, however one counts, and the CPU holds a page of the type. Nothing that flags could change is asked then.
    #[inline(always)]
    fn alloc_hot(&mut self, request: &Request) -> Option<Pfn> {
        if request.order != 0 || self.has_filters_for(request) {
            return None;
        }
        let zone = self.zonelists.of(request).first?;
        let lists = &self.zones[zone.index()];
        if !request.nodemask.contains(lists.node) {
            return None;
        }
        let unusable = lists.free_cma + lists.free_highatomic.max(lists.reserved_highatomic);
        // A zone not yet known to be below its high mark must be found so by the pass, which notes it (6.7+).
        let low = lists.below_high || self.policy.pcp.high != PcpHigh::AutoTuned;
        let mark = if low { AllocFlags::WMARK_LOW } else { AllocFlags::WMARK_HIGH };
        let needed = lists.mark(mark.wmark()) + unusable;
        if lists.free_pages <= needed + lists.lowmem_reserve[request.gfp.highest_zone() as usize] {
            return None;
        }
        let list = self.effective_type(request.migratetype).index();
        let (number, counting) = (self.pcp_number(zone, request.cpu), self.pcp_counting(zone, request.cpu));
        let pfn = self.pcps[number].lists[list].pop_head(&mut self.frames)?;
        let pcp = &mut self.pcps[counting];
        pcp.count -= 1;
        pcp.forget_frees();
        self.frames.set_state(pfn, FrameState::USED);
        self.vmstat.add(self.zones[zone.index()].pgalloc, 1);
        self.count_numa(zone, zone, request.cpu, 1);
        Some(pfn)
    }

    /// One pass over the zonelist (7.1). Sets head USED with its order, tails TAIL. Emits no `mm_page_alloc`. `None`: no zone has such a
    /// page to spare under these flags, or the order is above the machine's largest (8.1b).
    pub fn get_page_from_freelist(&mut self, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        if request.order > self.geometry.max_order {
            return None;
        }
        let mut pass = Pass {
            flags,
            highest: request.gfp.highest_zone(),
            migratetype: self.effective_type(request.migratetype),
            skip_kswapd_nodes: self.policy.skip_kswapd_nodes,
            skipped_kswapd_nodes: false,
            skipped_fair: false,
        };
        loop {
            match self.scan_zonelist(request, &mut pass) {
                Scan::Served(pfn) => return Some(pfn),
                Scan::Restart => {}
                Scan::Exhausted => {
                    if !self.may_rescan(request, &mut pass) {
                        return None;
                    }
                }
            }
        }
    }

    /// First zone of the request's zonelist.
    #[inline(always)]
    pub(crate) fn preferred_zone(&self, request: &Request) -> Option<ZoneId> {
        let list = self.zonelists.of(request);
        (list.start..list.end).map(|at| self.zonelists.at(at)).find(|zone| self.allows(request, *zone))
    }

    #[inline(always)]
    pub(crate) fn allows(&self, request: &Request, zone: ZoneId) -> bool {
        request.nodemask.contains(self.zones[zone.index()].node)
    }

    #[inline(always)]
    fn scan_zonelist(&mut self, request: &Request, pass: &mut Pass) -> Scan {
        let list = self.zonelists.of(request);
        let mut preferred = None;
        for zone in list.start..list.end {
            let zone = self.zonelists.at(zone);
            if !self.allows(request, zone) {
                continue;
            }
            let preferred = *preferred.get_or_insert(zone);
            if zone != preferred || self.has_rare_filters() {
                match self.filter_zone(request, pass, preferred, zone) {
                    Filter::Try => {}
                    Filter::Skip => continue,
                    Filter::Stop(scan) => return scan,
                }
            }
            if !self.passes_marks(zone, request.order, pass) {
                continue;
            }
            if let Some(pfn) = self.alloc_from_zone(zone, preferred, request, pass) {
                return Scan::Served(pfn);
            }
        }
        Scan::Exhausted
    }

    /// Steps g and h of 7.1. A zone above its high mark needs no closer look (6.7+).
    #[inline(always)]
    fn passes_marks(&mut self, zone: ZoneId, order: Order, pass: &Pass) -> bool {
        if self.policy.pcp.high == PcpHigh::AutoTuned && !self.zones[zone.index()].below_high {
            if self.watermark_fast(zone, order, AllocFlags::WMARK_HIGH.wmark(), pass.highest, pass.flags) {
                return true;
            }
            self.zones[zone.index()].below_high = true;
        }
        pass.flags.contains(AllocFlags::NO_WATERMARKS)
            || self.watermark_fast(zone, order, pass.flags.wmark(), pass.highest, pass.flags)
    }

    /// Step i of 7.1: per-CPU list, else buddy lists; then what follows a success.
    #[inline(always)]
    fn alloc_from_zone(&mut self, zone: ZoneId, preferred: ZoneId, request: &Request, pass: &Pass) -> Option<Pfn> {
        let order = request.order;
        let pfn = match self.pcp_index(order, pass.migratetype) {
            Some(index) => {
                let number = self.pcp_counting(zone, request.cpu);
                self.pcps[number].forget_frees();
                let cached = self.alloc_pcp(zone, request.cpu, index, order, pass.migratetype, pass.flags);
                cached.or_else(|| self.alloc_behind_pcp(zone, order, pass.migratetype, pass.flags))?
            }
            None => self.alloc_buddy(zone, order, pass.migratetype, pass.flags)?,
        };
        self.vmstat.add(self.zones[zone.index()].pgalloc, 1 << order);
        self.count_numa(zone, preferred, request.cpu, 1);
        if self.policy.fair_zones != FairZones::Off {
            self.use_fair_batch(zone, order);
        }
        if self.policy.highatomic_use == HighAtomicUse::SlowPath && self.uses_highatomic(order, pass.flags) {
            self.reserve_highatomic(zone, pfn, order);
        }
        Some(pfn)
    }

    /// Direct buddy path (7.7) behind a refill that found nothing, or that there was none of. A second search of the
    /// same lists finds no more.
    fn alloc_behind_pcp(&mut self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        if self.refills_no_list(order, flags) {
            return self.alloc_buddy(zone, order, wanted, flags);
        }
        if !self.policy.pcp.falls_through {
            return None;
        }
        if !self.uses_highatomic(order, flags) && !self.is_last_resort(flags) {
            return None;
        }
        let page = self.rmqueue_smallest(zone, order, Migratetype::HighAtomic)?;
        self.frames.set_page(page, order, FrameState::USED);
        Some(page)
    }

    /// Direct buddy path (7.7).
    #[cold]
    fn alloc_buddy(&mut self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        let mut page = None;
        if self.uses_highatomic(order, flags) {
            page = self.rmqueue_smallest(zone, order, Migratetype::HighAtomic);
        }
        let mut mode = RmqueueMode::Normal;
        page = page.or_else(|| self.rmqueue(zone, order, wanted, flags, &mut mode));
        if page.is_none() && self.is_last_resort(flags) {
            page = self.rmqueue_smallest(zone, order, Migratetype::HighAtomic);
        }
        self.frames.set_page(page?, order, FrameState::USED);
        let precarious =
            self.policy.highatomic_use != HighAtomicUse::BothPaths || flags.wmark() == AllocFlags::WMARK_MIN.wmark();
        if precarious && self.refills_no_list(order, flags) {
            self.reserve_highatomic(zone, page?, order);
        }
        page
    }

    /// Whether the reserve is open to a request that found nothing else (7.7).
    fn is_last_resort(&self, flags: AllocFlags) -> bool {
        match self.policy.highatomic_last_resort {
            HighAtomicLastResort::Nobody => false,
            HighAtomicLastResort::VictimsAndNonBlocking => flags.intersects(AllocFlags::OOM | AllocFlags::NON_BLOCK),
        }
    }

    /// NUMA counters of so many pages handed out, each once whatever its order (7.13).
    #[inline(always)]
    pub(crate) fn count_numa(&mut self, zone: ZoneId, preferred: ZoneId, cpu: CpuId, pages: u64) {
        let node = self.zones[zone.index()].node;
        let local = node == self.cpu_node[cpu.index()];
        self.vmstat.add(if local { Counter::NumaLocal } else { Counter::NumaOther }, pages);
        if node == self.zones[preferred.index()].node {
            self.vmstat.add(Counter::NumaHit, pages);
        } else {
            self.vmstat.add(Counter::NumaMiss, pages);
            self.vmstat.add(Counter::NumaForeign, pages);
        }
    }

    /// The type that a request really gets: Unmovable on machines too small for grouping (1.11).
    #[inline(always)]
    pub(crate) fn effective_type(&self, migratetype: Migratetype) -> Migratetype {
        debug_assert!(migratetype.is_mergeable(), "no request is {migratetype:?}");
        if self.grouping_disabled { Migratetype::Unmovable } else { migratetype }
    }
}

/// Who has the HighAtomic reserve by the mask: order > 0, `__GFP_HIGH`, neither direct reclaim nor `__GFP_NOMEMALLOC`.
fn is_high_order_atomic(request: &Request) -> bool {
    let gfp = request.gfp;
    request.order > 0 && gfp.contains(Gfp::HIGH) && !gfp.intersects(Gfp::DIRECT_RECLAIM | Gfp::NOMEMALLOC)
}

#[cfg(test)]
mod tests {
    use crate::policy::Sysctl;
    use crate::world::*;
    use crate::zone::FreeBlock;
    use crate::*;
    use alloc::vec::Vec;

    const UNMOVABLE: Migratetype = Migratetype::Unmovable;

    /// Makes every block of a zone Movable with one page of it taken: nothing whole is left.
    fn no_whole_block(world: &mut World, zone: ZoneId) {
        let start = world.zone_info(zone).start;
        for pfn in (0..4).map(|block| start.add(block * 16)) {
            // Setting a type cuts what is larger than a block.
            world.set_block_type(world.geometry.block_of(pfn), Migratetype::Movable);
            let whole = FreeBlock { pfn, order: 4, list: Migratetype::Movable };
            world.zones[zone.index()].take(&mut world.frames, whole, 0, Migratetype::Movable);
            world.frames.set_page(pfn, 0, FrameState::USED);
        }
        world.check().unwrap();
    }

    fn zone_of(world: &World, pfn: Option<Pfn>) -> Option<u8> {
        pfn.map(|pfn| world.zone_of(pfn).0)
    }

    #[test]
    fn orders_that_the_machine_lacks_are_refused() {
        let mut world = world(96, linux_6_18());
        for order in [6, 15, 16, 32, 64, Order::MAX] {
            let request = request(order, Migratetype::Movable);
            assert_eq!(world.alloc_fast(&request), None);
            assert_eq!(world.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS), None);
        }
        assert_eq!(world.picture(), "5M: 0 32 64");
        assert!(world.alloc_fast(&request(5, Migratetype::Movable)).is_some());
        world.check().unwrap();
    }

    #[test]
    fn nofragment_spills_to_dma32_before_it_mixes_types() {
        let mut world = zones(&[(0, ZoneType::Dma32), (0, ZoneType::Normal)], linux_6_18());
        no_whole_block(&mut world, ZoneId(1));
        let kernel = request(0, UNMOVABLE);
        assert!(world.fast_flags(&kernel).contains(AllocFlags::NOFRAGMENT));
        let page = world.alloc_fast(&kernel);
        assert_eq!(zone_of(&world, page), Some(0));
        // Once DMA32 has no whole block either, the second scan mixes, in Normal.
        let mut world = zones(&[(0, ZoneType::Dma32), (0, ZoneType::Normal)], linux_6_18());
        no_whole_block(&mut world, ZoneId(0));
        no_whole_block(&mut world, ZoneId(1));
        let page = world.alloc_fast(&kernel);
        assert_eq!(zone_of(&world, page), Some(1));
        assert!(world.extfrags()[0].fragmenting());
    }

    #[test]
    fn mixing_beats_a_remote_node_except_under_defrag_mode() {
        let two_nodes = [(0, ZoneType::Dma32), (0, ZoneType::Normal), (1, ZoneType::Normal)];
        let kernel = request(0, UNMOVABLE);
        for (defrag_mode, zone) in [(0, Some(1)), (1, Some(2))] {
            let policy = Policy { sysctl: Sysctl { defrag_mode, ..Sysctl::default() }, ..linux_6_18() };
            let mut world = zones(&two_nodes, policy);
            no_whole_block(&mut world, ZoneId(0));
            no_whole_block(&mut world, ZoneId(1));
            let page = world.alloc_fast(&kernel);
            assert_eq!(zone_of(&world, page), zone);
            assert_eq!(world.vmstat.get(Counter::NumaHit), u64::from(defrag_mode == 0));
            assert_eq!(world.vmstat.get(Counter::NumaForeign), u64::from(defrag_mode == 1));
        }
    }

    #[test]
    fn defrag_mode_fails_rather_than_mix() {
        let policy = Policy { sysctl: Sysctl { defrag_mode: 1, ..Sysctl::default() }, ..linux_6_18() };
        let mut world = zones(&[(0, ZoneType::Normal)], policy);
        no_whole_block(&mut world, ZoneId(0));
        let kernel = request(0, UNMOVABLE);
        assert_eq!(world.alloc_fast(&kernel), None);
        assert!(world.get_page_from_freelist(&kernel, AllocFlags::WMARK_MIN).is_some());
    }

    #[test]
    fn nodes_with_an_awake_kswapd_are_tried_last() {
        let two_nodes = [(0, ZoneType::Normal), (1, ZoneType::Normal)];
        let movable = request(0, Migratetype::Movable);
        let mut world = zones(&two_nodes, linux_6_18());
        world.set_kswapd_awake(NodeId(0), true);
        let page = world.alloc_fast(&movable);
        assert_eq!(zone_of(&world, page), Some(1));
        world.set_kswapd_awake(NodeId(1), true);
        let page = world.alloc_fast(&movable);
        assert_eq!(zone_of(&world, page), Some(0), "all skipped: start over without skipping");
        let mut world = zones(&two_nodes, Policy { skip_kswapd_nodes: false, ..linux_6_18() });
        world.set_kswapd_awake(NodeId(0), true);
        let page = world.alloc_fast(&movable);
        assert_eq!(zone_of(&world, page), Some(0));
    }

    #[test]
    fn dirty_pages_spread_in_the_fast_path_only() {
        let mut world = zones(&[(0, ZoneType::Normal), (1, ZoneType::Normal)], linux_6_18());
        world.set_dirty_limited(NodeId(0), true);
        let gfp = Gfp::HIGHUSER_MOVABLE | Gfp::WRITE;
        let write = Request { gfp, ..request(0, Migratetype::Movable) };
        let page = world.alloc_fast(&write);
        assert_eq!(zone_of(&world, page), Some(1));
        let page = world.get_page_from_freelist(&write, AllocFlags::WMARK_MIN);
        assert_eq!(zone_of(&world, page), Some(0));
    }

    #[test]
    fn marks_send_requests_to_the_next_zone() {
        let mut world = zones(&[(0, ZoneType::Dma32), (0, ZoneType::Normal)], linux_6_18());
        world.set_watermarks(ZoneId(1), 10, 64, 70, 80);
        let movable = request(0, Migratetype::Movable);
        let page = world.alloc_fast(&movable);
        assert_eq!(zone_of(&world, page), Some(0));
        let page = world.get_page_from_freelist(&movable, AllocFlags::WMARK_MIN);
        assert_eq!(zone_of(&world, page), Some(1));
        let none = Request { nodemask: NodeMask(2), ..movable };
        assert_eq!(world.alloc_fast(&none), None);
    }

    #[test]
    fn without_marks_everything_goes() {
        let mut world = zones(&[(0, ZoneType::Normal)], linux_6_18());
        world.set_watermarks(ZoneId(0), 64, 65, 66, 67);
        let movable = request(0, Migratetype::Movable);
        assert_eq!(world.get_page_from_freelist(&movable, AllocFlags::WMARK_MIN), None);
        assert!(world.get_page_from_freelist(&movable, AllocFlags::NO_WATERMARKS).is_some());
    }

    #[test]
    fn fair_batches_alternate_zones_in_3_12() {
        let fair = Policy { fair_zones: policy::FairZones::AllNodes, ..linux_6_18() };
        let mut world = zones(&[(0, ZoneType::Normal), (1, ZoneType::Normal)], fair);
        let movable = request(0, Migratetype::Movable);
        for zone in 0..2 {
            world.set_watermarks(ZoneId(zone), 0, 0, 2, 4);
        }
        let taken: Vec<_> = (0..5).map(|_| world.alloc_fast(&movable)).collect();
        let taken: Vec<_> = taken.into_iter().map(|page| zone_of(&world, page)).collect();
        assert_eq!(taken, [Some(0), Some(0), Some(1), Some(1), None]);
        assert!(world.get_page_from_freelist(&movable, AllocFlags::WMARK_MIN).is_some());
        world.reset_fair_batches(&movable);
        assert_eq!((world.fair_batch(ZoneId(0)), world.fair_batch(ZoneId(1))), (2, 2));
    }

    #[test]
    fn fair_batches_stay_local_from_3_13_on() {
        let fair = Policy { fair_zones: policy::FairZones::LocalNode, ..linux_6_18() };
        let three = [(0, ZoneType::Dma32), (0, ZoneType::Normal), (1, ZoneType::Normal)];
        let mut world = zones(&three, fair);
        let movable = request(0, Migratetype::Movable);
        for zone in 0..3 {
            world.set_watermarks(ZoneId(zone), 0, 0, 2, 4);
        }
        assert!(world.fast_flags(&movable).contains(AllocFlags::FAIR));
        let taken: Vec<_> = (0..6).map(|_| world.alloc_fast(&movable)).collect();
        let taken: Vec<_> = taken.into_iter().map(|page| zone_of(&world, page)).collect();
        // Both local zones used up, their batches are filled again rather than going remote.
        assert_eq!(taken, [Some(1), Some(1), Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn events_and_counters_of_a_page() {
        let mut world = zones(&[(0, ZoneType::Normal)], linux_6_18());
        let pfn = world.alloc_fast(&request(2, Migratetype::Movable)).unwrap();
        assert_eq!(world.frames.order(pfn), 2);
        assert_eq!(world.frames.state(pfn.add(3)), FrameState::TAIL);
        world.set_on_lru(pfn, true);
        assert_eq!(world.frames.state(pfn.add(3)), FrameState::LRU_TAIL);
        world.split_allocated(pfn);
        for page in 0..4 {
            assert_eq!(world.frames.state(pfn.add(page)), FrameState::LRU);
            world.free(pfn.add(page), CPU);
        }
        assert_eq!((world.vmstat.get(Counter::PgallocNormal), world.vmstat.get(Counter::Pgfree)), (4, 4));
        let frees = world.observer.iter().filter(|event| matches!(event, Event::MmPageFree { order: 0, .. }));
        assert_eq!(frees.count(), 4);
        world.check().unwrap();
    }

    #[test]
    fn victims_and_who_cannot_wait_take_a_reserved_page_rather_than_none() {
        use policy::HighAtomicLastResort::{Nobody, VictimsAndNonBlocking};
        let page = |highatomic_last_resort, flags| {
            let mut world = placed("HU", &[(0, 1)], Policy { highatomic_last_resort, ..linux_6_18() });
            world.get_page_from_freelist(&request(0, UNMOVABLE), flags)
        };
        for flags in [AllocFlags::OOM, AllocFlags::NON_BLOCK] {
            assert_eq!([Nobody, VictimsAndNonBlocking].map(|rule| page(rule, flags)), [None, Some(Pfn(0))]);
        }
        assert_eq!(page(VictimsAndNonBlocking, AllocFlags::MIN_RESERVE), None);
    }

    #[test]
    fn behind_an_empty_list_there_is_the_reserve_or_nothing() {
        let page = |falls_through, order, flags| {
            let mut world = placed("HU", &[(0, 3)], with_pcp(|pcp| pcp.falls_through = falls_through));
            world.get_page_from_freelist(&request(order, UNMOVABLE), flags)
        };
        for (order, flags) in [(0, AllocFlags::NON_BLOCK), (1, AllocFlags::HIGHATOMIC)] {
            assert_eq!([false, true].map(|falls_through| page(falls_through, order, flags)), [None, Some(Pfn(0))]);
        }
    }

    #[test]
    fn machines_too_small_for_grouping_serve_everything_as_unmovable() {
        let mut world = world(64, linux_6_18());
        world.set_grouping_disabled(true);
        let pfn = world.alloc_fast(&request(0, Migratetype::Movable)).unwrap();
        assert_eq!(world.block_type(world.geometry.block_of(pfn)), UNMOVABLE);
    }
}
