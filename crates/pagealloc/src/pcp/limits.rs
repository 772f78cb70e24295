//! Sizes of the per-CPU lists: batch and limits (5.2, 5.3).

use super::lists::BATCH_SCALE_MAX;
use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{CpuId, ZoneId};
use crate::policy::{PcpBatch, PcpHigh};

/// Divisor of a zone when the limit is tuned: at most an eighth of its pages on per-CPU lists.
const HIGH_MAX_FRACTION: u64 = 8;
/// What `struct per_cpu_pages` can hold.
const LARGEST: u32 = i32::MAX as u32;
/// Up to 5.13 the limit is this many batches.
const OLD_HIGH_BATCHES: u32 = 6;

/// Pages that go to and from the buddy lists at once (5.2).
pub(crate) fn pcp_batch(rule: PcpBatch, managed: u64, page_shift: u8) -> u32 {
    let pages_of = |kib: u64| (kib << 10 >> page_shift).max(1);
    let quarter = match rule {
        PcpBatch::Managed1024Half => (managed >> 10).min(pages_of(512)) / 4,
        PcpBatch::Managed1024 => (managed >> 10).min(pages_of(1024)) / 4,
        PcpBatch::Managed4096 => (managed >> 12).min(pages_of(256)),
    };
    let quarter = quarter.max(1) as u32;
    // One less than a power of two: batches of exactly a power fall into step with page colouring.
    let power = 1 << (quarter + quarter / 2).ilog2();
    (power - 1u32).max(1)
}

impl<O: Observer> PageAllocator<O> {
    /// Computes batch and limits of all per-CPU lists from the marks (5.2, 5.3). What is on the lists stays.
    pub(crate) fn setup_pcp_limits(&mut self) {
        for index in 0..self.zones.len() {
            let zone = ZoneId(index as u8);
            let batch = pcp_batch(self.policy.pcp.batch, self.zones[index].managed, self.geometry.page_shift);
            let (high_min, high_max) = self.computed_high(zone, batch);
            self.set_pcp_limits(zone, batch, high_min, high_max);
        }
    }

    fn computed_high(&self, zone: ZoneId, batch: u32) -> (u32, u32) {
        let lists = &self.zones[zone.index()];
        let local = self.cpu_node[..self.nr_cpus()].iter().filter(|node| **node == lists.node).count();
        let cpus = if local == 0 { self.nr_cpus() } else { local } as u64;
        let at_least = |pages: u64| ((pages / cpus) as u32).max(4 * batch);
        let low = lists.mark(AllocFlags::WMARK_LOW.wmark());
        let fraction = u64::from(self.policy.sysctl.percpu_pagelist_high_fraction);
        match self.policy.pcp.high {
            PcpHigh::SixBatches if fraction == 0 => (OLD_HIGH_BATCHES * batch, OLD_HIGH_BATCHES * batch),
            _ if fraction != 0 => (at_least(lists.managed / fraction), at_least(lists.managed / fraction)),
            PcpHigh::AutoTuned => (at_least(low), at_least(lists.managed / HIGH_MAX_FRACTION)),
            _ => (at_least(low), at_least(low)),
        }
    }

    /// Sets batch and limits of a zone's per-CPU lists, all in base pages, as read from another machine's
    /// /proc/zoneinfo. Equal limits are a fixed one (5.4), 0 keeps nothing on the lists. What exceeds the kernel's
    /// `int` counts as the largest that fits it, scaled (5.6).
    pub fn set_pcp_limits(&mut self, zone: ZoneId, batch: u32, high_min: u32, high_max: u32) {
        let batch = batch.clamp(1, LARGEST >> BATCH_SCALE_MAX);
        let [high_min, high_max] = [high_min, high_max].map(|high| high.min(LARGEST));
        for cpu in self.cpus() {
            let number = self.pcp_number(zone, cpu);
            let pcp = &mut self.pcps[number];
            pcp.batch = batch;
            (pcp.high_min, pcp.high_max) = (high_min, high_max);
            // A tuned limit starts at its lower bound and is kept within bounds from then on.
            pcp.high = pcp.high.max(high_min).min(high_max);
        }
    }

    /// Tunes a CPU's limit to `high`, as far as its bounds let it: where another machine's had got to.
    pub fn set_pcp_high(&mut self, zone: ZoneId, cpu: CpuId, high: u32) {
        let number = self.pcp_number(zone, cpu);
        let pcp = &mut self.pcps[number];
        pcp.high = high.max(pcp.high_min).min(pcp.high_max);
    }

    /// Base pages on a CPU's lists of a zone, with those of whoever works beside it; for one beside the machine's, of
    /// the CPU that it stands for.
    pub fn pcp_count(&self, zone: ZoneId, cpu: CpuId) -> u32 {
        self.pcps[self.pcp_counting(zone, cpu)].count
    }

    /// Sizes of a CPU's lists of a zone, as /proc/zoneinfo shows them: high, batch, high_min, high_max.
    pub fn pcp_limits(&self, zone: ZoneId, cpu: CpuId) -> (u32, u32, u32, u32) {
        let pcp = &self.pcps[self.pcp_counting(zone, cpu)];
        (pcp.high, pcp.batch, pcp.high_min, pcp.high_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::*;
    use crate::{Migratetype, Pfn};
    use alloc::vec::Vec;

    #[test]
    fn limits_beyond_all_bounds_do_no_harm() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, u32::MAX, u32::MAX, u32::MAX);
        // The first refill takes all that is free, so that no mark is met any more.
        let (movable, any) = (request(0, Migratetype::Movable), AllocFlags::NO_WATERMARKS);
        let pages: Vec<Pfn> = core::iter::from_fn(|| world.get_page_from_freelist(&movable, any)).collect();
        assert_eq!(pages.len(), 2048);
        pages.into_iter().for_each(|pfn| world.free(pfn, CPU));
        world.pcp_decay(CPU);
        world.drain_all_pages(None);
        assert_eq!(world.free_pages(ZONE), 2048);
        world.check().unwrap();
    }

    #[test]
    fn batch_by_zone_size() {
        let pages = |mib: u64| mib << 8;
        let batches = |rule| [64, 256, 512, 1024, 65536].map(|mib| pcp_batch(rule, pages(mib), 12));
        assert_eq!(batches(PcpBatch::Managed1024), [3, 15, 31, 63, 63]); // Appendix B.
        assert_eq!(batches(PcpBatch::Managed4096), [3, 15, 31, 63, 63]);
        assert_eq!(batches(PcpBatch::Managed1024Half), [3, 15, 31, 31, 31]);
        assert_eq!(pcp_batch(PcpBatch::Managed1024, 100, 12), 1);
    }

    /// 5.3: a fraction that is set makes the limit a fixed one, the zone's part of it shared by the node's CPUs; at least four batches.
    #[test]
    fn a_fraction_that_is_set_is_a_fixed_limit() {
        let limits = |high: PcpHigh, fraction: u32, cpus: u16| {
            let mut policy = with_pcp(|pcp| pcp.high = high);
            policy.sysctl.percpu_pagelist_high_fraction = fraction;
            let machine = crate::Machine::uniform(crate::Geometry::PAGES_4K, cpus, 256 << 8, false);
            let allocator = PageAllocator::new(&machine, policy, ()).unwrap();
            let (_, batch, high_min, high_max) = allocator.pcp_limits(ZONE, CPU);
            assert_eq!(batch, 15);
            (high_min, high_max)
        };
        for high in [PcpHigh::AutoTuned, PcpHigh::LowWatermark] {
            assert_eq!([1, 2].map(|cpus| limits(high, 16, cpus)), [(4096, 4096), (2048, 2048)]);
            assert_eq!(limits(high, 65_536, 2), (60, 60));
        }
        // Without one, from low (B: 640 pages at 256 MiB) to an eighth.
        assert_eq!(limits(PcpHigh::AutoTuned, 0, 2), (320, 4096));
        assert_eq!(limits(PcpHigh::LowWatermark, 0, 2), (320, 320));
    }

    #[test]
    fn a_limit_that_is_taken_over_stays_within_its_bounds() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 40, 100);
        let taken = [0, 39, 70, 101].map(|high| {
            world.set_pcp_high(ZONE, CPU, high);
            world.pcp_limits(ZONE, CPU).0
        });
        assert_eq!(taken, [40, 40, 70, 100]);
    }
}
