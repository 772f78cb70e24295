//! Several single pages at a time (`alloc_pages_bulk`, 5.13+). The rule is not in the reference: it is known from the kernel's changelogs, and
//! that `ALLOC_NOFRAGMENT` is missing, from recordings.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::BulkRequests;
use crate::request::Request;

impl<O: Observer> PageAllocator<O> {
    /// Takes up to `count` pages of order 0 from the CPU's list for the request's type, and hands each to `take`; returns how many. Asks the
    /// zones of the preferred zone's node only, none below its low mark, wakes nobody, and emits no `mm_page_alloc`. For what is missing, and
    /// always where `count` is 1 or kernels had no such request, the caller asks page by page.
    pub fn alloc_bulk(&mut self, request: &Request, count: u32, mut take: impl FnMut(Pfn)) -> u32 {
        debug_assert_eq!(request.order, 0, "only single pages come in bulk");
        if count < 2 || self.policy.bulk_requests == BulkRequests::OneByOne {
            return 0;
        }
        let flags = self.bulk_flags(request);
        let Some((preferred, zone)) = self.bulk_zone(request, count, flags) else { return 0 };
        let wanted = self.effective_type(request.migratetype);
        let number = self.pcp_number(zone, request.cpu);
        let mut got = 0;
        while got < count
            && let Some(pfn) = self.take_listed(zone, number, wanted.index(), 0, wanted, flags)
        {
            self.count_numa(zone, preferred, request.cpu);
            take(pfn);
            got += 1;
        }
        self.vmstat.add(self.zones[zone.index()].pgalloc, got.into());
        got
    }

    /// Those that requests are prepared with. What a single request adds, the ban of other types' blocks above all, is missing.
    fn bulk_flags(&self, request: &Request) -> AllocFlags {
        match request.migratetype {
            Migratetype::Movable => AllocFlags::WMARK_LOW | AllocFlags::CMA,
            _ => AllocFlags::WMARK_LOW,
        }
    }

    /// The preferred zone, and the first one of its node that has all the pages to spare.
    fn bulk_zone(&self, request: &Request, count: u32, flags: AllocFlags) -> Option<(ZoneId, ZoneId)> {
        let preferred = self.preferred_zone(request)?;
        let node = self.zones[preferred.index()].node;
        let list = self.zonelists.of(request);
        let allowed = (list.start..list.end).map(|at| self.zonelists.at(at)).filter(|zone| self.allows(request, *zone));
        let has_them = |zone: &ZoneId| {
            let lists = &self.zones[zone.index()];
            let mark = lists.mark(flags.wmark()) + u64::from(count);
            self.watermark_ok(*zone, 0, mark, request.gfp.highest_zone(), flags, lists.free_pages)
        };
        let mut local = allowed.take_while(|zone| self.zones[zone.index()].node == node);
        local.find(has_them).map(|zone| (preferred, zone))
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Sysctl;
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    const KERNEL: Migratetype = Migratetype::Unmovable;

    fn bulk(world: &mut World, count: u32) -> Vec<Pfn> {
        let mut pages = Vec::new();
        let got = world.alloc_bulk(&request(0, KERNEL), count, |pfn| pages.push(pfn));
        assert_eq!(got as usize, pages.len());
        pages
    }

    /// One zone of 64 pages without a whole block: all are Movable, with one page in use.
    fn mixed(policy: Policy) -> World {
        let mut world = world(64, policy);
        world.set_watermarks(ZoneId(0), 0, 4, 8, 12);
        for block in 0..4 {
            world.set_block_type(BlockId(block), Migratetype::Movable);
        }
        let movable = request(0, Migratetype::Movable);
        let taken: Vec<Pfn> =
            (0..64).filter_map(|_| world.get_page_from_freelist(&movable, AllocFlags::NO_WATERMARKS)).collect();
        taken.into_iter().filter(|pfn| pfn.0 % 16 != 0).for_each(|pfn| world.free(pfn, CPU));
        world.drain_all_pages(None);
        world.observer.clear();
        world
    }

    fn defrag() -> Policy {
        Policy { sysctl: Sysctl { defrag_mode: 1, ..Sysctl::default() }, ..linux_6_18() }
    }

    #[test]
    fn it_mixes_types_where_a_single_request_may_not() {
        let mut world = mixed(defrag());
        assert_eq!(world.alloc_fast(&request(0, KERNEL)), None);
        assert_eq!(bulk(&mut world, 4).len(), 4);
        assert!(world.extfrags()[0].fragmenting());
        assert!(!world.observer.iter().any(|event| matches!(event, Event::MmPageAlloc { .. })));
        world.check().unwrap();
    }

    #[test]
    fn it_takes_what_stays_above_the_low_mark() {
        let mut world = mixed(linux_6_18());
        let free = world.free_pages(ZoneId(0));
        world.set_watermarks(ZoneId(0), 0, free - 5, free, free + 1);
        assert_eq!(bulk(&mut world, 5).len(), 0, "five more than the mark are needed");
        assert_eq!(bulk(&mut world, 4).len(), 4);
    }

    #[test]
    fn one_page_and_old_kernels_ask_singly() {
        assert_eq!(bulk(&mut mixed(linux_6_18()), 1).len(), 0);
        let old = Policy { bulk_requests: policy::BulkRequests::OneByOne, ..linux_6_18() };
        assert_eq!(bulk(&mut mixed(old), 4).len(), 0);
    }

    #[test]
    fn pages_are_counted() {
        let mut world = mixed(linux_6_18());
        let before = world.vmstat.get(Counter::PgallocNormal);
        let got = bulk(&mut world, 3);
        assert_eq!(world.vmstat.get(Counter::PgallocNormal) - before, 3);
        assert!(got.iter().all(|pfn| world.frames.state(*pfn) == FrameState::USED && world.frames.order(*pfn) == 0));
    }
}
