//! Suitability: is there any point in compacting this zone? (11.10)
//!
//! Compaction needs free pages to move others to, and fragmentation to cure. It is pointless if the request would
//! already succeed, if there is too little free memory, or if the lack of large blocks is a lack of memory.

use super::{CompactMode, CompactResult};
use crate::event::{MmEvent, MmObserver};
use crate::state::{State, World};
use pagealloc::policy::SuitableMark;
use pagealloc::{AllocFlags, Order, PAGE_ALLOC_COSTLY_ORDER, Request, ZoneId, ZoneType};

/// Who wants to compact: under defrag_mode kcompactd's work is done once the mark is met in whole blocks (13.3g), not a request's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compactor {
    Request,
    Kcompactd,
}

impl<W: World> State<W> {
    /// compaction_suitable (11.10) against a mark in pages. Kernels before 6.15 have their own mark and ignore it.
    pub fn compaction_suitable(&mut self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType) -> bool {
        let result = self.suitability(zone, order, mark, highest);
        self.alloc.observer.mm(&MmEvent::CompactionSuitable { zone, order, ret: result });
        result == CompactResult::Continue
    }

    fn suitability(&self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType) -> CompactResult {
        if !self.has_migration_room(zone, order, mark, highest, self.alloc.free_pages(zone)) {
            return CompactResult::Skipped;
        }
        let judged = order > PAGE_ALLOC_COSTLY_ORDER || self.alloc.policy.compaction.fragindex_all_orders;
        let threshold = self.alloc.policy.sysctl.extfrag_threshold as i32;
        if judged && (0..=threshold).contains(&self.alloc.fragmentation_index(zone, order)) {
            return CompactResult::NotSuitableZone;
        }
        CompactResult::Continue
    }

    /// Whether there are enough order-0 pages to work with.
    fn has_migration_room(&self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType, free: u64) -> bool {
        let min = self.alloc.wmark(zone, AllocFlags::WMARK_MIN);
        let low = self.alloc.wmark(zone, AllocFlags::WMARK_LOW);
        let costly = order > PAGE_ALLOC_COSTLY_ORDER;
        let base = match self.alloc.policy.compaction.suitable_mark {
            SuitableMark::Low => low,
            SuitableMark::LowIfCostly => {
                if costly {
                    low
                } else {
                    min
                }
            }
            SuitableMark::Caller => mark + if costly { low - min } else { 0 },
        };
        // Targets may be CMA pages, whatever the request may use.
        let gap = self.alloc.policy.compaction.gap.pages(order);
        self.alloc.watermark_ok(zone, 0, base + gap, highest, AllocFlags::CMA, free)
    }

    /// compaction_zonelist_suitable (11.10): whether reclaim could make some zone suitable.
    pub fn compaction_zonelist_suitable(&mut self, request: &Request, flags: AllocFlags) -> bool {
        let order = self.work_order_of(request, flags).max(1);
        let highest = request.gfp.highest_zone();
        let mut zones = (0..).map_while(|index| self.alloc.zonelist(request, index));
        zones.any(|zone| {
            // Not all reclaimable memory: a single request should not cost the whole page cache.
            let available = self.zone_reclaimable_pages(zone) / u64::from(order) + self.alloc.free_pages(zone);
            let min = self.alloc.wmark(zone, AllocFlags::WMARK_MIN);
            self.has_migration_room(zone, order, min, highest, available)
        })
    }

    /// The whole of 11.10's suit_allocation.
    pub(crate) fn compaction_suit_allocation(
        &mut self,
        zone: ZoneId,
        order: Order,
        highest: ZoneType,
        flags: AllocFlags,
        mode: CompactMode,
        compactor: Compactor,
    ) -> CompactResult {
        let rules = self.alloc.policy.compaction;
        let mark = match rules.suitable_mark {
            SuitableMark::Low => self.alloc.wmark(zone, AllocFlags::WMARK_LOW),
            SuitableMark::LowIfCostly | SuitableMark::Caller => self.alloc.wmark(zone, flags),
        };
        let served = {
            let free = self.free_for_allocation(zone, compactor);
            self.alloc.watermark_ok(zone, order, mark, highest, flags, free)
        };
        if served && !rules.room_first {
            return CompactResult::Success;
        }
        let without_cma = rules.room_outside_cma && !flags.contains(AllocFlags::CMA);
        if order > PAGE_ALLOC_COSTLY_ORDER && mode == CompactMode::Async && without_cma {
            let free = self.alloc.free_pages(zone);
            if !self.alloc.watermark_ok(zone, 0, mark + rules.gap.pages(order), highest, AllocFlags::NONE, free) {
                return CompactResult::Skipped;
            }
        }
        if !self.compaction_suitable(zone, order, mark, highest) {
            return CompactResult::Skipped;
        }
        // What is served came here only where room is asked for first.
        if served && self.alloc.fragmentation_index(zone, order) == -1000 {
            return CompactResult::Success;
        }
        CompactResult::Continue
    }

    /// Free pages that the success test counts: whole blocks for kcompactd under defrag_mode (13.3g).
    fn free_for_allocation(&self, zone: ZoneId, compactor: Compactor) -> u64 {
        if compactor == Compactor::Kcompactd && self.defrag().is_some_and(|rules| rules.kcompactd_block_watermark) {
            self.alloc.free_pages_blocks(zone)
        } else {
            self.alloc.free_pages(zone)
        }
    }

    /// Whether a run at this order can start (11.4).
    pub(super) fn suits_run(&mut self, control: &super::CompactControl) -> CompactResult {
        let Some(order) = control.order else { return CompactResult::Continue };
        self.compaction_suit_allocation(
            control.zone,
            order,
            control.highest,
            control.alloc_flags,
            control.mode,
            if control.direct { Compactor::Request } else { Compactor::Kcompactd },
        )
    }
}
