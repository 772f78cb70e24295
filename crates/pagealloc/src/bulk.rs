//! Single pages in bulk: `alloc_pages_bulk()` of 5.13+, by which vmalloc, and so each thread stack, gets its pages (5.14+).
//!
//! Its flags never include `ALLOC_NOFRAGMENT`, whatever the policy: under defrag_mode it takes blocks of other types where each
//! page asked for singly would be refused, and raises the boost without waking a kswapd for it.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::BulkRequests;
use crate::request::Request;

impl<O: Observer> PageAllocator<O> {
    /// Takes up to `count` single pages for a request of order 0, and hands them to `take` in the order obtained. Returns how
    /// many there were; after 0 the caller asks for one page singly, as ever for a single page and up to 5.12. No
    /// `mm_page_alloc` tells of these pages, in the kernel neither.
    ///
    /// # Panics
    /// If the machine lacks the request's CPU or node; with debug assertions, if its order is not 0.
    pub fn alloc_bulk(&mut self, request: &Request, count: u32, mut take: impl FnMut(Pfn)) -> u32 {
        debug_assert_eq!(request.order, 0, "bulk requests are of order 0");
        if count < 2 || self.policy.bulk_requests == BulkRequests::OneByOne {
            return 0;
        }
        let migratetype = self.effective_type(request.migratetype);
        let flags = bulk_flags(request);
        let Some(zone) = self.bulk_zone(request, count, flags) else { return 0 };
        let mut taken = 0;
        while taken < count
            && let Some(pfn) = self.alloc_pcp(zone, request.cpu, migratetype.index(), 0, migratetype, flags)
        {
            take(pfn);
            taken += 1;
        }
        self.vmstat.add(self.zones[zone.index()].pgalloc, taken.into());
        self.count_numa(zone, zone, request.cpu, taken.into()); // On the preferred zone's node, so a hit.
        taken
    }

    /// First zone that stays above its low mark without all of these pages. One of another node ends the search.
    fn bulk_zone(&self, request: &Request, count: u32, flags: AllocFlags) -> Option<ZoneId> {
        let node = |zone: ZoneId| self.zones[zone.index()].node;
        let list = self.zonelists.of(request);
        let local = node(self.preferred_zone(request)?);
        (list.start..list.end)
            .map(|at| self.zonelists.at(at))
            .filter(|zone| self.allows(request, *zone))
            .take_while(|zone| node(*zone) == local)
            .find(|zone| {
                let lists = &self.zones[zone.index()];
                let mark = lists.mark(flags.wmark()) + u64::from(count);
                self.watermark_ok(*zone, 0, mark, request.gfp.highest_zone(), flags, lists.free_pages)
            })
    }
}

/// Those of [`PageAllocator::fast_flags`] that do not come with the search for a zone that needs no mixing (7.5).
fn bulk_flags(request: &Request) -> AllocFlags {
    let cma = if request.migratetype == Migratetype::Movable { AllocFlags::CMA } else { AllocFlags::NONE };
    AllocFlags::WMARK_LOW | cma
}

#[cfg(test)]
mod tests {
    use crate::policy::{BulkRequests, Sysctl, WatermarkReserve};
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    const UNMOVABLE: Migratetype = Migratetype::Unmovable;
    const MOVABLE: Migratetype = Migratetype::Movable;

    fn bulk(world: &mut World, request: &Request, count: u32) -> Vec<Pfn> {
        let mut pages = Vec::new();
        let taken = world.alloc_bulk(request, count, |pfn| pages.push(pfn));
        assert_eq!(pages.len(), taken as usize);
        assert!(pages.iter().all(|&pfn| world.frames.state(pfn) == FrameState::USED && world.frames.order(pfn) == 0));
        world.check().unwrap();
        pages
    }

    fn defrag_mode() -> Policy {
        Policy { sysctl: Sysctl { defrag_mode: 1, ..Sysctl::default() }, ..linux_6_18() }
    }

    #[test]
    fn pages_come_from_the_cpus_list_as_single_requests_would_get_them() {
        let mut world = world(256, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 16, 64);
        let pages = bulk(&mut world, &request(0, MOVABLE), 6);
        assert_eq!(pages, (0..6).map(Pfn).collect::<Vec<_>>());
        assert_eq!(world.pcp_count(ZONE, CPU), 4 + 8 - 6, "refilled twice, the second time by twice as many");
        assert_eq!(world.alloc_fast(&request(0, MOVABLE)), Some(Pfn(6)));
    }

    #[test]
    fn only_single_requests_forget_that_the_cpu_freed() {
        let mut world = world(256, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 16, 64);
        (world.pcps[0].free_count, world.pcps[0].free_factor) = (8, 2);
        assert_eq!(bulk(&mut world, &request(0, MOVABLE), 2).len(), 2);
        assert_eq!((world.pcps[0].free_count, world.pcps[0].free_factor), (8, 2));
        world.alloc_fast(&request(0, MOVABLE)).unwrap();
        assert_eq!((world.pcps[0].free_count, world.pcps[0].free_factor), (4, 1));
    }

    #[test]
    fn one_page_is_no_bulk_and_before_5_13_nothing_is() {
        let mut modern = world(256, linux_6_18());
        assert_eq!([0, 1, 2].map(|count| bulk(&mut modern, &request(0, MOVABLE), count).len()), [0, 0, 2]);
        let mut old = world(256, Policy { bulk_requests: BulkRequests::OneByOne, ..linux_6_18() });
        assert_eq!(bulk(&mut old, &request(0, MOVABLE), 2), []);
    }

    #[test]
    fn all_pages_must_fit_above_the_low_mark() {
        let mut world = zones(&[(0, ZoneType::Dma32), (0, ZoneType::Normal)], linux_6_18());
        world.set_watermarks(ZoneId(1), 10, 50, 60, 70);
        let zone = |world: &World, pages: &[Pfn]| pages.iter().map(|&pfn| world.zone_of(pfn).0).collect::<Vec<_>>();
        let pages = bulk(&mut world, &request(0, MOVABLE), 14);
        assert_eq!(zone(&world, &pages), [0; 14], "64 free pages are not more than 50 and 14");
        let pages = bulk(&mut world, &request(0, MOVABLE), 13);
        assert_eq!(zone(&world, &pages), [1; 13]);
        world.set_watermarks(ZoneId(0), 10, 50, 60, 70);
        assert_eq!(bulk(&mut world, &request(0, MOVABLE), 2), []);
        assert!(!world.zones[1].below_high, "the high mark is not asked for");
    }

    #[test]
    fn it_gives_up_where_it_would_leave_the_node() {
        let mut world = zones(&[(0, ZoneType::Normal), (1, ZoneType::Normal)], linux_6_18());
        world.set_watermarks(ZoneId(0), 10, 64, 70, 80);
        let movable = request(0, MOVABLE);
        assert_eq!(bulk(&mut world, &movable, 2), []);
        assert_eq!(world.alloc_fast(&movable).map(|pfn| world.zone_of(pfn)), Some(ZoneId(1)));
        // The preferred zone is the first that the mask allows, wherever the request comes from.
        let bound = Request { nodemask: NodeMask(2), ..movable };
        assert_eq!(bulk(&mut world, &bound, 3).len(), 3);
        let counters = [Counter::NumaHit, Counter::NumaMiss, Counter::NumaLocal, Counter::NumaOther];
        assert_eq!(counters.map(|counter| world.vmstat.get(counter)), [3, 1, 0, 4]);
        assert_eq!(bulk(&mut world, &Request { nodemask: NodeMask(4), ..movable }, 2), []);
    }

    #[test]
    fn defrag_mode_does_not_keep_it_from_claiming_a_block() {
        let mut world = placed("MMMM", &[(24, 3)], defrag_mode());
        let kernel = request(0, UNMOVABLE);
        assert_eq!(world.alloc_fast(&kernel), None);
        assert_eq!((world.take_boost_wakeups(), world.boost(ZONE)), (0, 0));
        world.set_watermarks(ZONE, 0, 0, 2, 4);
        assert_eq!(bulk(&mut world, &kernel, 4), [24, 25, 26, 27].map(Pfn));
        assert_eq!(world.types(), "MUMM");
        let [extfrag] = world.extfrags()[..] else { panic!("one claim") };
        assert!(extfrag.fragmenting() && extfrag.change_ownership);
        assert_eq!((world.take_boost_wakeups(), world.boost(ZONE)), (0, 16), "boosted, and no kswapd is woken");
    }

    #[test]
    fn defrag_mode_does_not_keep_it_from_stealing_single_pages() {
        let mut world = placed("M", &[(4, 0), (9, 0), (13, 0)], defrag_mode());
        let in_use = (0..16).map(Pfn).filter(|pfn| ![4, 9, 13].contains(&pfn.0));
        in_use.for_each(|pfn| world.set_on_lru(pfn, true));
        assert_eq!(world.alloc_fast(&request(0, UNMOVABLE)), None);
        assert_eq!(bulk(&mut world, &request(0, UNMOVABLE), 2).len(), 2);
        assert_eq!((world.types().as_str(), world.extfrags().len()), ("M", 2));
    }

    #[test]
    fn what_there_is_counts_and_only_its_refills_leave_events() {
        // A mixture in which the marks count the reserve as free: only so do they let pass what the lists can't serve.
        let policy = Policy { watermark_reserve: WatermarkReserve::HighHarder3x, ..linux_6_18() };
        let mut world = placed("UMH", &[(0, 1), (16, 2), (32, 4)], policy);
        (20..32).for_each(|pfn| world.set_on_lru(Pfn(pfn), true));
        let kernel = request(0, UNMOVABLE);
        let taken = [(); 2].map(|()| bulk(&mut world, &kernel, 8).len());
        assert_eq!((taken, world.free_pages(ZONE)), ([6, 0], 16));
        let counters = [Counter::PgallocNormal, Counter::NumaHit, Counter::NumaLocal];
        assert_eq!(counters.map(|counter| world.vmstat.get(counter)), [6; 3]);
        let refills = |event: &Event| {
            matches!(event, Event::MmPageAllocExtfrag(_) | Event::MmPageAllocZoneLocked { percpu_refill: true, .. })
        };
        assert!(world.observer.iter().all(refills), "{:?}", world.observer);
        assert_eq!(world.extfrags().len(), 4);
        world.check().unwrap();
    }
}
