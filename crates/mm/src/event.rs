//! Events of this floor: the kernel's compaction, vmscan, oom and migrate tracepoints, typed.

use crate::compaction::effort::{CompactMode, CompactResult};
use crate::reclaim::throttle_reason::ThrottleReason;
use pagealloc::{Gfp, NodeId, Observer, Order, Pfn, ZoneId};

/// An event with the kernel's field names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // Field names are the tracepoints' own (15.6).
pub enum MmEvent {
    CompactionBegin {
        zone: ZoneId,
        migrate_pfn: Pfn,
        free_pfn: Pfn,
        mode: CompactMode,
    },
    CompactionEnd {
        zone: ZoneId,
        migrate_pfn: Pfn,
        free_pfn: Pfn,
        mode: CompactMode,
        status: CompactResult,
    },
    CompactionIsolateMigratepages {
        start: Pfn,
        end: Pfn,
        nr_scanned: u32,
        nr_taken: u32,
    },
    CompactionIsolateFreepages {
        start: Pfn,
        end: Pfn,
        nr_scanned: u32,
        nr_taken: u32,
    },
    CompactionFastIsolateFreepages {
        start: Pfn,
        end: Pfn,
        nr_scanned: u32,
        nr_taken: u32,
    },
    CompactionMigratepages {
        nr_migrated: u32,
        nr_failed: u32,
    },
    CompactionTryToCompactPages {
        order: Order,
        gfp_mask: Gfp,
        priority: u8,
    },
    CompactionSuitable {
        zone: ZoneId,
        order: Order,
        ret: CompactResult,
    },
    CompactionFinished {
        zone: ZoneId,
        order: Order,
        ret: CompactResult,
    },
    CompactionDeferred {
        zone: ZoneId,
        order: Order,
        order_failed: Order,
        consider: u32,
        limit: u64,
    },
    CompactionDeferCompaction {
        zone: ZoneId,
        order: Order,
        order_failed: Order,
        consider: u32,
        limit: u64,
    },
    CompactionDeferReset {
        zone: ZoneId,
        order: Order,
        order_failed: Order,
        consider: u32,
        limit: u64,
    },
    CompactionKcompactdSleep {
        nid: NodeId,
    },
    CompactionWakeupKcompactd {
        nid: NodeId,
        order: Order,
    },
    CompactionKcompactdWake {
        nid: NodeId,
        order: Order,
    },
    VmscanKswapdSleep {
        nid: NodeId,
    },
    VmscanKswapdWake {
        nid: NodeId,
        order: Order,
    },
    VmscanWakeupKswapd {
        nid: NodeId,
        order: Order,
        gfp_flags: Gfp,
    },
    VmscanDirectReclaimBegin {
        order: Order,
        gfp_flags: Gfp,
    },
    VmscanDirectReclaimEnd {
        nr_reclaimed: u64,
    },
    VmscanLruShrinkInactive {
        nid: NodeId,
        nr_scanned: u32,
        nr_reclaimed: u32,
        nr_dirty: u32,
        nr_writeback: u32,
        nr_congested: u32,
        nr_immediate: u32,
        nr_activate_anon: u32,
        nr_activate_file: u32,
        nr_ref_keep: u32,
        priority: u8,
        file: bool,
    },
    VmscanLruShrinkActive {
        nid: NodeId,
        nr_taken: u32,
        nr_active: u32,
        nr_deactivated: u32,
        nr_referenced: u32,
        priority: u8,
        file: bool,
    },
    VmscanThrottled {
        nid: NodeId,
        usec_timeout: u64,
        usect_delayed: u64,
        reason: ThrottleReason,
    },
    ShrinkSlab {
        nid: NodeId,
        shrinker: u32,
        scanned: u64,
        freed_pages: u32,
        priority: u8,
    },
    FragmentationStall {
        nid: NodeId,
        duration: u64,
    },
    ReclaimRetryZone {
        zone: ZoneId,
        order: Order,
        reclaimable: u64,
        available: u64,
        min_wmark: u64,
        no_progress_loops: u32,
        wmark_check: bool,
    },
    CompactRetry {
        order: Order,
        priority: u8,
        compaction_result: CompactResult,
        retries: u32,
        max_retries: u32,
        should_retry: bool,
    },
    OomKill {
        pid: u32,
    },
    PageAllocFailure {
        order: Order,
        gfp: Gfp,
    },
}

/// Watches both floors.
pub trait MmObserver: Observer {
    /// Something happened on this floor.
    #[inline(always)]
    fn mm(&mut self, event: &MmEvent) {
        let _ = event;
    }
}

impl MmObserver for () {}
