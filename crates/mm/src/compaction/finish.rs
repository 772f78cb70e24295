//! When is a run done? (11.14)

use super::control::pageblock_start;
use super::{CompactControl, CompactMode, CompactResult};
use crate::event::{MmEvent, MmObserver};
use crate::state::{State, World};
use pagealloc::policy::CompactFinish;
use pagealloc::{AllocFlags, Migratetype, Order};

impl<W: World> State<W> {
    /// Asked before each block: Continue, or the run's result.
    pub(super) fn compact_finished(&mut self, control: &mut CompactControl) -> CompactResult {
        let ret = self.finish_test(control);
        let (zone, order) = (control.zone, control.trace_order());
        self.alloc.observer.mm(&MmEvent::CompactionFinished { zone, order, ret });
        if ret == CompactResult::NoSuitablePage { CompactResult::Continue } else { ret }
    }

    fn finish_test(&mut self, control: &mut CompactControl) -> CompactResult {
        if control.scanners_met(&self.alloc.geometry) {
            self.reset_cached_positions(control);
            if control.direct {
                self.zones[control.zone.index()].compaction.blockskip_flush = true;
            }
            return if control.whole_zone { CompactResult::Complete } else { CompactResult::PartialSkipped };
        }
        if control.proactive {
            return self.proactive_finish(control);
        }
        let Some(order) = control.order else { return CompactResult::Continue };
        if !self.may_finish_here(control) {
            return CompactResult::Continue;
        }
        if self.goal_reached(control, order) {
            return CompactResult::Success;
        }
        if control.finishing_block {
            return CompactResult::Continue;
        }
        let leaves = control.contended || control.fatal_signal();
        if leaves { CompactResult::Contended } else { CompactResult::NoSuitablePage }
    }

    fn proactive_finish(&self, control: &CompactControl) -> CompactResult {
        if control.kswapd_running {
            return CompactResult::PartialSkipped;
        }
        if control.fatal_signal() {
            return CompactResult::Contended;
        }
        let low = super::proactive::score_marks(self.alloc.policy.sysctl.compaction_proactiveness).0;
        let score = self.alloc.fragmentation_score(control.zone, self.alloc.geometry.pmd_order);
        if score > low { CompactResult::Continue } else { CompactResult::Success }
    }

    /// Since 5.1 blocks are always finished, so that fewer are half free; 4.20 finished those it would steal.
    fn may_finish_here(&self, control: &mut CompactControl) -> bool {
        let aligned = control.migrate_pfn == pageblock_start(&self.alloc.geometry, control.migrate_pfn);
        match self.alloc.policy.compaction.finish {
            CompactFinish::AtBlockBoundary => aligned,
            CompactFinish::FinishBlock if control.finishing_block => {
                control.finishing_block = !aligned;
                aligned
            }
            _ => true,
        }
    }

    fn goal_reached(&self, control: &mut CompactControl, order: Order) -> bool {
        let free = self.alloc.free_pages(control.zone);
        let low = self.alloc.wmark(control.zone, AllocFlags::WMARK_LOW);
        let watermark_ok = |mark: u64, free: u64| {
            self.alloc.watermark_ok(control.zone, order, mark, control.highest, control.alloc_flags, free)
        };
        if !control.direct && self.defrag().is_some_and(|rules| rules.kcompactd_block_watermark) {
            // Whole blocks can be taken without mixing: no need to ask who may claim what (13.3h).
            let high = self.alloc.wmark(control.zone, AllocFlags::WMARK_HIGH);
            return watermark_ok(high, self.alloc.free_pages_blocks(control.zone));
        }
        let allowed = match self.alloc.policy.compaction.finish {
            CompactFinish::OwnTypeLowMark => watermark_ok(low + (1 << order), free),
            CompactFinish::ClaimableLowMark => watermark_ok(low, free),
            CompactFinish::ClaimableOwnMark => watermark_ok(self.alloc.wmark(control.zone, control.alloc_flags), free),
            CompactFinish::FinishBlock | CompactFinish::AtBlockBoundary => true,
        };
        allowed && (order..=self.alloc.geometry.max_order).any(|order| self.serves(control, order))
    }

    /// Whether a free block of exactly this order serves the request.
    fn serves(&self, control: &mut CompactControl, order: Order) -> bool {
        let (zone, wanted) = (control.zone, control.migratetype);
        if self.alloc.nr_free_of_type(zone, order, wanted) > 0 {
            return true;
        }
        let finish = self.alloc.policy.compaction.finish;
        if finish == CompactFinish::OwnTypeLowMark {
            return order >= self.alloc.geometry.pageblock_order && self.alloc.nr_free(zone, order) > 0;
        }
        if wanted == Migratetype::Movable && self.alloc.nr_free_of_type(zone, order, Migratetype::Cma) > 0 {
            return true;
        }
        if !self.alloc.may_claim(order, wanted) || self.alloc.find_fallback(zone, order, wanted).is_none() {
            return false;
        }
        let aligned = control.migrate_pfn == pageblock_start(&self.alloc.geometry, control.migrate_pfn);
        if finish == CompactFinish::FinishBlock
            && wanted != Migratetype::Movable
            && control.mode != CompactMode::Async
            && !aligned
        {
            // About to steal a block for good: first make it as free as it gets.
            control.finishing_block = true;
            return false;
        }
        true
    }
}
