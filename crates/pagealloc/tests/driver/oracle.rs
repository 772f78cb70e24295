//! What must hold after each operation.

use super::{Driver, Page};
use crate::reference::{Frame, Model};
use pagealloc::policy::WatermarkGap;
use pagealloc::*;
use std::fmt::Debug;

/// Counters of this floor.
const COUNTERS: [Counter; 11] = [
    Counter::PgallocDma,
    Counter::PgallocDma32,
    Counter::PgallocNormal,
    Counter::PgallocHigh,
    Counter::PgallocMovable,
    Counter::Pgfree,
    Counter::NumaHit,
    Counter::NumaMiss,
    Counter::NumaForeign,
    Counter::NumaLocal,
    Counter::NumaOther,
];

impl Driver {
    /// Applies the operation to the model, if there is one, and compares the answers and the events.
    pub fn agree<T: PartialEq + Debug>(&mut self, what: &str, engine: T, apply: impl FnOnce(&mut Model) -> T) {
        self.engine.observer.retain(|event| !matches!(event, Event::MmPageAllocZoneLocked { .. }));
        for event in &self.engine.observer {
            if let Event::MmPageAllocExtfrag(extfrag) = event {
                self.tally.fallbacks += 1;
                self.tally.ownership_changes += u64::from(extfrag.change_ownership);
            }
        }
        if let Some(model) = &mut self.model {
            let expected = apply(model);
            assert_eq!(self.engine.observer, model.events, "events of {} (engine left)", self.last);
            assert_eq!(engine, expected, "{what} (engine left) of {}", self.last);
            model.events.clear();
        }
        self.engine.observer.clear();
    }

    /// Judges a page that a request got.
    pub fn received(&mut self, request: &Request, page: Option<Pfn>) {
        let Some(pfn) = page else {
            self.tally.refused += 1;
            return;
        };
        self.tally.allocated += 1;
        let of_cma = self.engine.block_type(self.engine.geometry.block_of(pfn)) == Migratetype::Cma;
        self.tally.of_cma += u64::from(of_cma);
        let zone = self.engine.zone_info(self.engine.zone_of(pfn));
        assert!(zone.kind <= request.gfp.highest_zone(), "{pfn:?} lies in {zone:?}: {}", self.last);
        assert!(request.nodemask.contains(zone.node), "{pfn:?} lies on {:?}: {}", zone.node, self.last);
        let own_only = request.gfp.contains(Gfp::THISNODE);
        assert!(!own_only || zone.node == request.node, "{pfn:?} is remote: {}", self.last);
        self.own(Page { pfn, order: request.order });
        if request.migratetype == Migratetype::Movable && !self.rng.one_in(4) {
            self.engine.set_on_lru(pfn, true);
            self.agree("LRU", (), |model| model.set_on_lru(pfn, true));
        }
    }

    fn frames_of(page: Page) -> std::ops::Range<usize> {
        page.pfn.index()..page.pfn.index() + (1 << page.order)
    }

    pub fn own(&mut self, page: Page) {
        assert_eq!(page.pfn, page.pfn.align_down(page.order), "not aligned: {}", self.last);
        let frames = &mut self.owned[Self::frames_of(page)];
        assert!(frames.iter().all(|owned| !owned), "{page:?} is in use already: {}", self.last);
        frames.fill(true);
        let zone = |pfn| self.engine.zone_of(pfn);
        assert_eq!(zone(page.pfn), zone(page.pfn.add((1 << page.order) - 1)), "{page:?} leaves its zone");
        self.live.push(page);
        self.live_pages += 1 << page.order;
    }

    pub fn disown(&mut self, page: Page) {
        self.owned[Self::frames_of(page)].fill(false);
        self.live_pages -= 1 << page.order;
    }

    /// Everything that can be read.
    pub fn verify(&self) {
        if let Err(broken) = self.engine.check() {
            panic!("{broken}, after {}", self.last);
        }
        let Some(model) = &self.model else { return };
        for counter in COUNTERS {
            let (engine, expected) = (self.engine.vmstat.get(counter), model.vmstat.get(counter));
            assert_eq!(engine, expected, "{} (engine left) after {}", counter.name(), self.last);
        }
        for (block, &expected) in model.block_types.iter().enumerate() {
            let start = self.engine.geometry.block_start(BlockId(block as u32));
            if model.frames[start.index()] != Frame::Absent {
                let engine = self.engine.block_type(BlockId(block as u32));
                assert_eq!(engine, expected, "type of block {block} (engine left) after {}", self.last);
            }
        }
        (0..model.zones.len()).for_each(|zone| self.verify_zone(model, zone));
    }

    fn verify_zone(&self, model: &Model, index: usize) {
        let (zone, last) = (ZoneId(index as u8), &self.last);
        assert_eq!(self.engine.free_pages(zone), model.free_pages(index), "free pages of {zone:?} after {last}");
        assert_eq!(self.engine.boost(zone), model.zones[index].boost, "boost of {zone:?} after {last}");
        // min, low, high; promo is younger than the rule without a scale factor.
        let marks = if model.policy.watermark_gap == WatermarkGap::QuarterOfMin { 3 } else { 4 };
        for mark in 0..marks {
            let engine = self.engine.wmark(zone, AllocFlags(mark as u16));
            assert_eq!(engine, model.mark(index, mark), "mark {mark} of {zone:?} after {last}");
        }
        for (cpu, expected) in model.zones[index].pcp.iter().enumerate() {
            let cpu = CpuId(cpu as u16);
            let engine = (u64::from(self.engine.pcp_count(zone, cpu)), u64::from(self.engine.pcp_limits(zone, cpu).0));
            assert_eq!(engine, (expected.count, expected.high), "count and limit of {zone:?}, {cpu:?} after {last}");
        }
        for order in 0..=self.engine.geometry.max_order {
            assert_eq!(self.engine.nr_free(zone, order), model.nr_free(index, order.into()), "after {last}");
            for migratetype in Migratetype::ALL {
                let list = self.engine.free_list(zone, order, migratetype);
                let expected = &model.zones[index].free[order as usize][migratetype.index()];
                assert!(
                    list.iter(&self.engine.frames).eq(expected.iter().copied()),
                    "list of {zone:?}, order {order}, {migratetype:?}: engine {:?}, model {expected:?}, after {last}",
                    list.iter(&self.engine.frames).collect::<Vec<_>>(),
                );
            }
            for migratetype in Migratetype::MERGEABLE {
                let fallback = self.engine.find_fallback(zone, order, migratetype);
                assert_eq!(fallback, model.find_fallback(index, order, migratetype), "after {last}");
                assert_eq!(self.engine.may_claim(order, migratetype), model.may_claim(order, migratetype));
            }
        }
    }
}
