//! Watermarks: how they are computed, and the tests against them (chapter 6).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::{Event, Observer};
use crate::ids::{NodeId, Order, ZoneId, ZoneType};
use crate::migratetype::Migratetype;
use crate::policy::{
    FairZones, LowmemZones, Reserve, ReserveHeldBack, WatermarkGap, WatermarkReserve, WatermarkTest,
};
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

    /// Sets a zone's marks, as read from another machine's /proc/zoneinfo (without boost). Boost starts over.
    pub fn set_watermarks(&mut self, zone: ZoneId, min: u64, low: u64, high: u64, promo: u64) {
        self.apply_watermarks(zone, [min, low, high, promo]);
    }

    fn apply_watermarks(&mut self, zone: ZoneId, marks: [u64; 4]) {
        let lists = &mut self.zones[zone.index()];
        lists.marks = marks;
        lists.boost = 0;
        if self.policy.fair_zones != FairZones::Off {
            lists.alloc_batch = (marks[2] - marks[1]) as i64;
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

    /// totalreserve (1.10) of a node.
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

    /// Watermark by number, boost included (6.4).
    pub fn wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        self.zones[zone.index()].mark(mark.wmark())
    }

    /// Watermark without boost.
    pub fn raw_wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        self.zones[zone.index()].marks[mark.wmark()]
    }

    /// The watermark test (6.6, 6.8) against an explicit mark and number of free pages.
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
            WatermarkTest::OneSuitableBlock => has_suitable_block(zone, order, flags),
            WatermarkTest::Halving => passes_halving(zone, order, left, self.reduced_mark(mark, flags) as i64),
        }
    }

    /// The test of the zonelist walk (6.9): the common order-0 case first; atomic requests may ignore the boost of min.
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
            && number == AllocFlags::WMARK_MIN.wmark();
        ignores_boost && self.watermark_ok(zone, order, lists.marks[number], highest, flags, lists.free_pages)
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
fn has_suitable_block(zone: &Zone, order: Order, flags: AllocFlags) -> bool {
    let mut orders = Migratetype::MERGEABLE.iter().fold(0, |orders, t| orders | zone.occupied[t.index()]);
    if flags.contains(AllocFlags::CMA) {
        orders |= zone.occupied[Migratetype::Cma.index()];
    }
    if flags.intersects(AllocFlags(AllocFlags::HIGHATOMIC.0 | AllocFlags::OOM.0)) {
        orders |= zone.occupied[Migratetype::HighAtomic.index()];
    }
    orders >> order != 0
}

/// 3.x: what is left in higher orders must exceed a mark that halves with each order (6.8).
fn passes_halving(zone: &Zone, order: Order, mut left: i64, mut mark: i64) -> bool {
    (0..order).all(|smaller| {
        left -= i64::from(zone.areas[smaller as usize].nr_free) << smaller;
        mark >>= 1;
        left > mark
    })
}
