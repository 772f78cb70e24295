//! Events of compaction: the kernel's trace system `compaction`.

use crate::codec::{Gfp, Named, Number, Optional};
use crate::special_codec::{RangeEnd, Shift, SyncMode};
use crate::symbols::{CompactResult, ZoneType};

events! {
    /// The migrate scanner isolated pages.
    "mm_compaction_isolate_migratepages" => CompactionIsolateMigratepages {
        /// First page frame of the range.
        start_pfn: u64 => Number, "range=(";
        /// Page frame after the range.
        end_pfn: u64 => RangeEnd, "range=(";
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages taken.
        nr_taken: u64 => Number;
    }
    /// The free scanner isolated pages.
    "mm_compaction_isolate_freepages" => CompactionIsolateFreepages {
        /// First page frame of the range.
        start_pfn: u64 => Number, "range=(";
        /// Page frame after the range.
        end_pfn: u64 => RangeEnd, "range=(";
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages taken.
        nr_taken: u64 => Number;
    }
    /// The free lists were searched for target pages.
    "mm_compaction_fast_isolate_freepages" => CompactionFastIsolateFreepages {
        /// First page frame of the range.
        start_pfn: u64 => Number, "range=(";
        /// Page frame after the range.
        end_pfn: u64 => RangeEnd, "range=(";
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages taken.
        nr_taken: u64 => Number;
    }
    /// Compaction migrated a batch.
    "mm_compaction_migratepages" => CompactionMigratepages {
        /// Pages that moved.
        nr_migrated: u64 => Number;
        /// Pages that did not.
        nr_failed: u64 => Number;
    }
    /// Compaction of a zone began.
    "mm_compaction_begin" => CompactionBegin {
        /// First page frame of the zone.
        zone_start: u64 => Number;
        /// Where the migrate scanner is.
        migrate_pfn: u64 => Number;
        /// Where the free scanner is.
        free_pfn: u64 => Number;
        /// Page frame after the zone.
        zone_end: u64 => Number;
        /// Whether it may wait.
        sync: bool => SyncMode, "mode=";
    }
    /// Compaction of a zone ended.
    "mm_compaction_end" => CompactionEnd {
        /// First page frame of the zone.
        zone_start: u64 => Number;
        /// Where the migrate scanner is.
        migrate_pfn: u64 => Number;
        /// Where the free scanner is.
        free_pfn: u64 => Number;
        /// Page frame after the zone.
        zone_end: u64 => Number;
        /// Whether it may wait.
        sync: bool => SyncMode, "mode=";
        /// The result.
        status: CompactResult => Named<CompactResult>;
    }
    /// An allocation entered direct compaction.
    "mm_compaction_try_to_compact_pages" => CompactionTryToCompactPages {
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_mask: u64 => Gfp;
        /// Compaction priority: 0 full sync, 1 light sync, 2 async; kernels before 4.8 have none.
        prio: Option<i32> => Optional, "priority=";
    }
    /// It was judged whether a zone is suitable for compaction.
    "mm_compaction_suitable" => CompactionSuitable {
        /// Node.
        nid: i32 => Number, "node=";
        /// Zone.
        idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// The judgement.
        ret: CompactResult => Named<CompactResult>;
    }
    /// It was judged whether compaction is finished.
    "mm_compaction_finished" => CompactionFinished {
        /// Node.
        nid: i32 => Number, "node=";
        /// Zone.
        idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// The judgement.
        ret: CompactResult => Named<CompactResult>;
    }
    /// Compaction was not tried because it failed lately.
    "mm_compaction_deferred" => CompactionDeferred {
        /// Node.
        nid: i32 => Number, "node=";
        /// Zone.
        idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Attempts skipped so far.
        considered: u32 => Number, "consider=";
        /// 2^defer_shift attempts will be skipped.
        defer_shift: u32 => Shift, "limit=";
        /// Smallest order that failed.
        order_failed: i32 => Number;
    }
    /// After a failure compaction will be skipped for a while.
    "mm_compaction_defer_compaction" => CompactionDeferCompaction {
        /// Node.
        nid: i32 => Number, "node=";
        /// Zone.
        idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Attempts skipped so far.
        considered: u32 => Number, "consider=";
        /// 2^defer_shift attempts will be skipped.
        defer_shift: u32 => Shift, "limit=";
        /// Smallest order that failed.
        order_failed: i32 => Number;
    }
    /// A success ended the skipping of compaction.
    "mm_compaction_defer_reset" => CompactionDeferReset {
        /// Node.
        nid: i32 => Number, "node=";
        /// Zone.
        idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Attempts skipped so far.
        considered: u32 => Number, "consider=";
        /// 2^defer_shift attempts will be skipped.
        defer_shift: u32 => Shift, "limit=";
        /// Smallest order that failed.
        order_failed: i32 => Number;
    }
    /// kcompactd went to sleep.
    "mm_compaction_kcompactd_sleep" => CompactionKcompactdSleep {
        /// Node.
        nid: i32 => Number;
    }
    /// Someone wants kcompactd to run.
    "mm_compaction_wakeup_kcompactd" => CompactionWakeupKcompactd {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Highest zone that is of use.
        highest_zoneidx: ZoneType => Named<ZoneType>, "classzone_idx=";
    }
    /// kcompactd began to run.
    "mm_compaction_kcompactd_wake" => CompactionKcompactdWake {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Highest zone that is of use.
        highest_zoneidx: ZoneType => Named<ZoneType>, "classzone_idx=";
    }
}
