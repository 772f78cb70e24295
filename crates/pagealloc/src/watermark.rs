//! Watermarks: how they are computed, and the tests against them (chapter 6).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::{Event, Observer};
use crate::ids::{NodeId, Order, ZoneId, ZoneType};
use crate::migratetype::Migratetype;
use crate::policy::{FairZones, LowmemZones, Reserve, ReserveHeldBack, WatermarkGap, WatermarkReserve, WatermarkTest};
use crate::zone::Zone;

/// Marks of HighMem and Movable zones: a 1024th of the zone between these bounds (6.3).
const MIN_UNUSUAL_ZONE: u64 = 32;
const MAX_UNUSUAL_ZONE: u64 = 128;

impl<O: Observer> PageAllocator<O> {
    // ---- computing

    /// First computation at boot: min_free_kbytes from memory (6.1), raised for huge pages (6.2), then all marks.
    pub(crate) fn boot_watermarks(&mut self, thp: bool) {
        self.boot_min_free_kbytes = self.computed_min_free_kbytes();
        self.recompute_watermarks();
        if thp {
            self.boot_min_free_kbytes = self.boot_min_free_kbytes.max(self.thp_min_free_kbytes());
            self.recompute_watermarks();
        }
    }

    /// Computes lowmem reserves, marks and per-CPU limits anew, from the sysctls as they are now. Boost starts over.
    pub fn recompute_watermarks(&mut self) {
        self.setup_lowmem_reserve();
        let min_pages = self.geometry.kib_to_pages(self.min_free_kbytes());
        let lowmem: u64 = self.zones.iter().filter(|zone| self.shares_min(zone)).map(|zone| zone.managed).sum();
        for index in 0..self.zones.len() {
            let marks = self.computed_marks(&self.zones[index], min_pages, lowmem);
            self.apply_watermarks(ZoneId(index as u8), marks);
        }
        if self.policy.reserve == Reserve::MigrateReserve {
            self.setup_migrate_reserve();
        }
        self.setup_pcp_limits();
    }

    /// `vm.min_free_kbytes` in force: as set, else as computed at boot.
    pub fn min_free_kbytes(&self) -> u64 {
        self.policy.sysctl.min_free_kbytes.map_or(self.boot_min_free_kbytes, u64::from)
    }

    /// Sets a zone's marks, in pages, as read from another machine's /proc/zoneinfo (without boost). Boost starts over. They are
    /// taken as they are, until [`Self::recompute_watermarks`].
    pub fn set_watermarks(&mut self, zone: ZoneId, min: u64, low: u64, high: u64, promo: u64) {
        self.apply_watermarks(zone, [min, low, high, promo]);
    }

    fn apply_watermarks(&mut self, zone: ZoneId, marks: [u64; 4]) {
        let lists = &mut self.zones[zone.index()];
        lists.marks = marks;
        lists.boost = 0;
        if self.policy.fair_zones != FairZones::Off {
            lists.alloc_batch = lists.full_fair_batch();
        }
        let node = lists.node;
        self.observer.kmem(&Event::MmSetupPerZoneWmarks { node, zone, marks });
    }

    /// Pages above the high mark that ordinary kernel or user requests can reach (6.1's lowmem).
    fn buffer_pages(&self) -> u64 {
        let reachable = self.zones.iter().filter(|zone| zone.kind <= ZoneType::Normal);
        reachable.map(|zone| zone.managed.saturating_sub(zone.marks[AllocFlags::WMARK_HIGH.wmark()])).sum()
    }

    fn computed_min_free_kbytes(&self) -> u64 {
        let lowmem_kib = self.buffer_pages() << (self.geometry.page_shift - 10);
        let most = self.policy.min_free_kbytes_limit.into();
        (lowmem_kib * 16).isqrt().clamp(128, most)
    }

    /// What khugepaged asks for (6.2): blocks for each type in each zone, and spare ones for fallbacks of three types.
    fn thp_min_free_kbytes(&self) -> u64 {
        let zones = self.zones.iter().filter(|zone| zone.kind <= ZoneType::Normal).count() as u64;
        let pages = u64::from(self.geometry.pageblock_pages()) * zones * (2 + 3 * 3);
        pages.min(self.buffer_pages() / 20) << (self.geometry.page_shift - 10)
    }

    fn shares_min(&self, zone: &Zone) -> bool {
        match self.policy.lowmem_zones {
            LowmemZones::AllButHighMem => zone.kind != ZoneType::HighMem,
            LowmemZones::AllButHighMemAndMovable => !matches!(zone.kind, ZoneType::HighMem | ZoneType::Movable),
        }
    }

    fn computed_marks(&self, zone: &Zone, min_pages: u64, lowmem: u64) -> [u64; 4] {
        let share = (min_pages * zone.managed).checked_div(lowmem).unwrap_or(0);
        let min =
            if self.shares_min(zone) { share } else { (zone.managed / 1024).clamp(MIN_UNUSUAL_ZONE, MAX_UNUSUAL_ZONE) };
        let gap = match self.policy.watermark_gap {
            WatermarkGap::QuarterOfMin => share / 4,
            WatermarkGap::ScaleFactor => {
                let scale = u64::from(self.policy.sysctl.watermark_scale_factor);
                (share / 4).max(zone.managed * scale / 10_000)
            }
        };
        let high = match self.policy.watermark_gap {
            WatermarkGap::QuarterOfMin => min + share / 2,
            WatermarkGap::ScaleFactor => min + 2 * gap,
        };
        [min, min + gap, high, min + 3 * gap]
    }

    /// Pages that requests which could use higher zones must leave in lower ones (1.9).
    fn setup_lowmem_reserve(&mut self) {
        for index in 0..self.zones.len() {
            let (node, kind) = (self.zones[index].node, self.zones[index].kind);
            let ratio = u64::from(self.policy.sysctl.lowmem_reserve_ratio[kind as usize]);
            let mut above = 0;
            for target in ZoneType::ALL {
                if target > kind {
                    let same = self.zones.iter().find(|zone| zone.node == node && zone.kind == target);
                    above += same.map_or(0, |zone| zone.managed);
                }
                let none = ratio == 0 || target <= kind || self.zones[index].managed == 0;
                self.zones[index].lowmem_reserve[target as usize] = if none { 0 } else { above / ratio };
            }
        }
    }

    /// totalreserve (1.10) of a node, pages.
    pub fn totalreserve(&self, node: NodeId) -> u64 {
        let zones = self.zones.iter().filter(|zone| zone.node == node);
        zones
            .map(|zone| {
                let reserve = zone.lowmem_reserve.into_iter().max().unwrap_or(0);
                (reserve + zone.mark(AllocFlags::WMARK_HIGH.wmark())).min(zone.managed)
            })
            .sum()
    }

    // ---- testing

    /// Watermark in pages, boost included (6.4). `mark`: one of the `WMARK_*` flags.
    pub fn wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        self.zones[zone.index()].mark(mark.wmark())
    }

    /// The same without boost.
    pub fn raw_wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        self.zones[zone.index()].marks[mark.wmark()]
    }

    /// The watermark test (6.6, 6.8) against an explicit mark and number of free pages: whether a page of the order could be taken by a
    /// request up to that highest zone and with these flags, and leave more than the mark and the zone's reserve.
    pub fn watermark_ok(
        &self,
        zone: ZoneId,
        order: Order,
        mark: u64,
        highest: ZoneType,
        flags: AllocFlags,
        free: u64,
    ) -> bool {
        let zone = &self.zones[zone.index()];
        let unusable = self.unusable_free(zone, flags) as i64;
        let needed = (self.reduced_mark(mark, flags) + zone.lowmem_reserve[highest as usize]) as i64;
        let left = free as i64 - ((1 << order) - 1) - unusable;
        if left <= needed {
            return false;
        }
        match self.policy.watermark_test {
            _ if order == 0 => true,
            WatermarkTest::OneSuitableBlock => has_suitable_block(zone, order, flags, self.policy.watermark_reserve),
            WatermarkTest::Halving => passes_halving(zone, order, left, self.reduced_mark(mark, flags) as i64),
        }
    }

    /// The test of the zonelist walk (6.9): the common order-0 case first; atomic requests may ignore the boost of min. What
    /// decides is the mark that the request's flags name: one that may go down to min passes the test of the high mark by
    /// min, too, and so does not note the zone as below it.
    #[inline(always)]
    pub(crate) fn watermark_fast(
        &self,
        zone: ZoneId,
        order: Order,
        number: usize,
        highest: ZoneType,
        flags: AllocFlags,
    ) -> bool {
        let lists = &self.zones[zone.index()];
        let mark = lists.mark(number);
        if order == 0 {
            let usable = lists.free_pages.saturating_sub(self.unusable_free(lists, flags));
            if usable > mark + lists.lowmem_reserve[highest as usize] {
                return true;
            }
        }
        self.watermark_slow(zone, order, number, highest, flags)
    }

    #[cold]
    fn watermark_slow(&self, zone: ZoneId, order: Order, number: usize, highest: ZoneType, flags: AllocFlags) -> bool {
        let lists = &self.zones[zone.index()];
        if self.watermark_ok(zone, order, lists.mark(number), highest, flags, lists.free_pages) {
            return true;
        }
        let ignores_boost = order == 0
            && lists.boost != 0
            && flags.contains(AllocFlags::MIN_RESERVE)
            && flags.wmark() == AllocFlags::WMARK_MIN.wmark();
        let min = lists.marks[AllocFlags::WMARK_MIN.wmark()];
        ignores_boost && self.watermark_ok(zone, order, min, highest, flags, lists.free_pages)
    }

    /// Free pages that the request can't have: the reserve for atomic requests, and CMA (6.6.1, 6.7).
    #[inline(always)]
    fn unusable_free(&self, zone: &Zone, flags: AllocFlags) -> u64 {
        let cma = if flags.contains(AllocFlags::CMA) { 0 } else { zone.free_cma };
        let privileged = match self.policy.watermark_reserve {
            WatermarkReserve::MinReserve => flags.intersects(AllocFlags::RESERVES),
            WatermarkReserve::HighHarder => flags.intersects(AllocFlags(AllocFlags::NON_BLOCK.0 | AllocFlags::OOM.0)),
            WatermarkReserve::HighHarder3x => true, // Reserve blocks are not set apart in the count.
        };
        let highatomic = match self.policy.reserve_held_back {
            _ if privileged => 0,
            ReserveHeldBack::FreePages => zone.free_highatomic,
            ReserveHeldBack::ReservedBlocks => zone.reserved_highatomic,
        };
        cma + highatomic
    }

    /// The mark after what the request's privileges take off it (6.6.2, 6.7, 6.8).
    fn reduced_mark(&self, mark: u64, flags: AllocFlags) -> u64 {
        let mut m = mark;
        let (non_block, oom) = (flags.contains(AllocFlags::NON_BLOCK), flags.contains(AllocFlags::OOM));
        let min_reserve = flags.contains(AllocFlags::MIN_RESERVE);
        if min_reserve {
            m -= m / 2;
        }
        match self.policy.watermark_reserve {
            WatermarkReserve::MinReserve => {
                if min_reserve && non_block {
                    m -= m / 4;
                }
                if oom {
                    m -= m / 2;
                }
            }
            WatermarkReserve::HighHarder if oom => m -= m / 2,
            WatermarkReserve::HighHarder | WatermarkReserve::HighHarder3x if non_block => m -= m / 4,
            _ => {}
        }
        m
    }
}

/// Whether any list that the request may use holds a block of its order, whatever its type (6.6.4).
fn has_suitable_block(zone: &Zone, order: Order, flags: AllocFlags, reserve: WatermarkReserve) -> bool {
    let mut orders = Migratetype::MERGEABLE.iter().fold(0, |orders, t| orders | zone.occupied[t.index()]);
    if flags.contains(AllocFlags::CMA) {
        orders |= zone.occupied[Migratetype::Cma.index()];
    }
    if flags.intersects(reserve.opens_highatomic() | AllocFlags::OOM) {
        orders |= zone.occupied[Migratetype::HighAtomic.index()];
    }
    orders >> order != 0
}

/// 3.x: what is left in higher orders must exceed a mark that halves with each order (6.8).
fn passes_halving(zone: &Zone, order: Order, mut left: i64, mut mark: i64) -> bool {
    (0..order).all(|smaller| {
        left -= (zone.areas[smaller as usize].nr_free() << smaller) as i64;
        mark >>= 1;
        left > mark
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::Sysctl;
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    fn machine(mib: u32, thp: bool, split_low: bool) -> PageAllocator {
        let machine = Machine { thp, ..Machine::uniform(Geometry::PAGES_4K, 1, mib << 8, split_low) };
        PageAllocator::new(&machine, linux_6_18(), ()).unwrap()
    }

    /// Appendix B.
    #[test]
    fn published_marks() {
        for (mib, kib, marks) in [
            (256, 2048, [512, 640, 768, 896]),
            (1024, 4096, [1024, 1286, 1548, 1810]),
            (2048, 5792, [1448, 1972, 2496, 3020]),
            (16384, 16384, [4096, 8290, 12484, 16678]),
        ] {
            let machine = machine(mib, false, false);
            assert_eq!((machine.min_free_kbytes(), machine.zones[0].marks), (kib, marks), "{mib} MiB");
        }
    }

    /// 6.1: 128 KiB at least, and at most what the kernel's limit is, here one that 256 MiB exceed.
    #[test]
    fn min_free_kbytes_has_bounds() {
        let tiny = Machine::uniform(Geometry::PAGES_4K, 1, 128, false);
        let tiny = PageAllocator::new(&tiny, linux_6_18(), ()).unwrap();
        assert_eq!(tiny.min_free_kbytes(), 128, "the root of 16 * 512 KiB is 90");
        let limited = Policy { min_free_kbytes_limit: 2000, ..linux_6_18() };
        let machine = Machine { thp: false, ..Machine::uniform(Geometry::PAGES_4K, 1, 256 << 8, false) };
        assert_eq!(PageAllocator::new(&machine, limited, ()).unwrap().min_free_kbytes(), 2000, "2048 without it");
    }

    /// 6.3: a Movable zone takes no part in min_free_kbytes; its min is a 1024th of it, from 32 to 128 pages.
    #[test]
    fn min_of_a_movable_zone_is_a_1024th_of_it_within_bounds() {
        let min = |movable: u32| {
            let zone = |kind, start: u32, pages: u32| {
                let (node, start) = (NodeId(0), Pfn(start));
                ZoneSpan { node, kind, start, spanned: pages, managed: alloc::vec![(start, pages)] }
            };
            let zones = alloc::vec![zone(ZoneType::Normal, 0, 1 << 16), zone(ZoneType::Movable, 1 << 16, movable)];
            let machine = Machine { zones, ..Machine::uniform(Geometry::PAGES_4K, 1, 1 << 16, false) };
            let allocator = PageAllocator::new(&machine, linux_6_18(), ()).unwrap();
            assert_eq!(allocator.min_free_kbytes(), 2048, "of the Normal zone's 256 MiB alone (6.1)");
            assert_eq!(allocator.zones[0].marks[0], 512, "all of it is that zone's");
            allocator.zones[1].marks[0]
        };
        assert_eq!([16 << 10, 100 << 10, 200 << 10].map(min), [32, 100, 128]);
    }

    #[test]
    fn huge_pages_raise_min_free_kbytes_by_zones() {
        assert_eq!(machine(16384, true, false).min_free_kbytes(), 22528);
        assert_eq!(machine(16384, true, true).min_free_kbytes(), 67584, "DMA, DMA32 and Normal");
        let small = machine(256, true, false);
        assert_eq!(small.min_free_kbytes(), (65536 - 768) / 20 * 4, "at most a twentieth");
    }

    #[test]
    fn a_value_that_was_set_wins_over_the_computed_one() {
        let mut machine = machine(1024, true, false);
        machine.policy.sysctl.min_free_kbytes = Some(8192);
        machine.recompute_watermarks();
        assert_eq!(machine.raw_wmark(ZONE, AllocFlags::WMARK_MIN), 2048);
    }

    #[test]
    fn lowmem_reserve_sums_the_zones_above() {
        let machine = machine(16384, false, true);
        let (dma, dma32, normal) = (ZoneId(0), ZoneId(1), ZoneId(2));
        let managed = |zone| machine.zone_info(zone).managed;
        assert_eq!(machine.lowmem_reserve(dma, ZoneType::Dma), 0);
        assert_eq!(machine.lowmem_reserve(dma, ZoneType::Dma32), managed(dma32) / 256);
        assert_eq!(machine.lowmem_reserve(dma, ZoneType::Normal), (managed(dma32) + managed(normal)) / 256);
        assert_eq!(machine.lowmem_reserve(dma32, ZoneType::Movable), managed(normal) / 256);
        let high = machine.wmark(normal, AllocFlags::WMARK_HIGH);
        let expected = managed(dma).min(machine.lowmem_reserve(dma, ZoneType::Movable) + machine.zones[0].marks[2])
            + machine.lowmem_reserve(dma32, ZoneType::Movable)
            + machine.zones[1].marks[2]
            + high;
        assert_eq!(machine.totalreserve(NodeId(0)), expected);
    }

    #[test]
    fn privileges_lower_the_mark() {
        let world = world(640, linux_6_18());
        let passes = |flags, free| world.watermark_ok(ZONE, 0, 80, ZoneType::Normal, flags, free);
        for (flags, needed) in [
            (AllocFlags::NONE, 81),
            (AllocFlags::NON_BLOCK, 81),
            (AllocFlags::MIN_RESERVE, 41),
            (AllocFlags::MIN_RESERVE | AllocFlags::NON_BLOCK, 31),
            (AllocFlags::OOM, 41),
        ] {
            assert!(passes(flags, needed) && !passes(flags, needed - 1), "{flags:?}");
        }
    }

    #[test]
    fn a_high_order_needs_one_suitable_block_of_any_ordinary_type() {
        let world = placed("UH", &[(0, 1), (16, 4)], linux_6_18());
        let ok = |order, flags| world.watermark_ok(ZONE, order, 0, ZoneType::Normal, flags, 18);
        assert!(ok(1, AllocFlags::NONE) && !ok(2, AllocFlags::NONE));
        assert!(ok(4, AllocFlags::HIGHATOMIC) && ok(4, AllocFlags::OOM) && !ok(4, AllocFlags::NON_BLOCK));
        assert!(!world.watermark_ok(ZONE, 0, 2, ZoneType::Normal, AllocFlags::NONE, 18), "16 of them are reserved");
    }

    #[test]
    fn kernels_3x_halve_the_mark_per_order() {
        let test = policy::WatermarkTest::Halving;
        let policy = Policy { watermark_test: test, ..linux_6_18() };
        let world = placed("MM", &[(0, 0), (2, 0), (4, 2), (8, 3)], policy);
        let ok = |order, mark| world.watermark_ok(ZONE, order, mark, ZoneType::Normal, AllocFlags::NONE, 14);
        // Order 1: 13 left, minus two single pages is 11 over half of the mark.
        assert!(ok(1, 12) && !ok(1, 13));
        // Order 3: 7 left > mark; 5 > mark/2; 5 > mark/4; 1 > mark/8.
        assert!(ok(3, 6) && !ok(3, 7));
    }

    #[test]
    fn boost_never_stops_atomic_order_0_requests_at_min() {
        let mut world = world(64, linux_6_18());
        world.set_watermarks(ZONE, 20, 30, 40, 50);
        world.boost_for_fallback(ZONE, AllocFlags::NONE);
        let fast = |flags| world.watermark_fast(ZONE, 0, 0, ZoneType::Normal, flags);
        assert!(fast(AllocFlags::NONE));
        world.zones[0].free_pages = 15;
        let fast = |flags| world.watermark_fast(ZONE, 0, 0, ZoneType::Normal, flags);
        assert!(!fast(AllocFlags::NONE) && fast(AllocFlags::MIN_RESERVE));
        // The kernel asks for the high mark first, and looks at the request's own mark there, too.
        let high = |flags| world.watermark_fast(ZONE, 0, AllocFlags::WMARK_HIGH.wmark(), ZoneType::Normal, flags);
        assert!(
            high(AllocFlags::MIN_RESERVE) && !high(AllocFlags(AllocFlags::MIN_RESERVE.0 | AllocFlags::WMARK_LOW.0))
        );
    }

    #[test]
    fn the_scale_factor_widens_the_gap() {
        let sysctl = Sysctl { watermark_scale_factor: 1000, ..Sysctl::default() };
        let policy = Policy { sysctl, ..linux_6_18() };
        let machine = Machine::uniform(Geometry::PAGES_4K, 1, 1024 << 8, false);
        let world = PageAllocator::new(&machine, policy, Vec::<Event>::new()).unwrap();
        assert_eq!(world.zones[0].marks, [1024, 27238, 53452, 79666]);
        assert!(matches!(world.observer[..], [Event::MmSetupPerZoneWmarks { marks: [1024, ..], .. }]));
    }
}
