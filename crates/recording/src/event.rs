//! The events of a recording, typed, with the kernel's own field names.
//!
//! One table says for every event how it is called, which fields it has, and how each is read from
//! binary records and from text. Fields that only some kernels record are `Option`; all others must
//! be there. Events without an entry are kept by name only. Names, meanings and text forms are those
//! of reference section 15.6.

mod claim;

use std::sync::Arc;

use crate::codec::{Codec, Gfp, Label, Named, Number, Optional, OptionalGfp, OptionalLabel, PfnOrNone, Text};
use crate::format::Format;
use crate::gfp::GfpNames;
use crate::marker::Marker;
pub use crate::record::{Lost, Other, Record};
use crate::special_codec::{Device, FileIndex, Hex, RangeEnd, ReclaimFlags, Shift, SyncMode, ThrottleReason};
use crate::symbols::{CompactResult, ZoneType};

impl Decoder {
    /// The decoder for an event; one without a needed field is an error only once it is met.
    pub(crate) fn new(format: &Format) -> Self {
        Self::resolve(format).unwrap_or_else(|problem| Self::Unusable { event: format.name.clone(), problem })
    }
}

events! {
    /// A page was handed out, or an attempt failed.
    "mm_page_alloc" => PageAlloc(PageAlloc) {
        /// Page frame number of the first page; `None` when the attempt failed.
        pfn: Option<u64> => PfnOrNone;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
    }
    /// A page was freed.
    "mm_page_free" => PageFree(PageFree) {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
    }
    /// A page was freed as one of a batch; `mm_page_free` reports it once more.
    "mm_page_free_batched" => PageFreeBatched(PageFreeBatched) {
        /// Page frame number.
        pfn: u64 => Number;
    }
    /// A page left the buddy lists under the zone lock.
    "mm_page_alloc_zone_locked" => PageAllocZoneLocked(PageAllocZoneLocked) {
        /// Page frame number of the first page; `None` when the attempt failed.
        pfn: Option<u64> => PfnOrNone;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
        /// Whether it went to a per-CPU list (1) or to a caller (0); not recorded by old kernels.
        percpu_refill: Option<i32> => Optional;
    }
    /// A page went from a per-CPU list back to the buddy lists.
    "mm_page_pcpu_drain" => PagePcpuDrain(PagePcpuDrain) {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
    }
    /// A request was served from a block of another migratetype.
    "mm_page_alloc_extfrag" => PageAllocExtfrag(PageAllocExtfrag) {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the request.
        alloc_order: i32 => Number;
        /// Order of the free page that was taken.
        fallback_order: i32 => Number;
        /// Migratetype of the request.
        alloc_migratetype: i32 => Number;
        /// Migratetype of the list it was taken from.
        fallback_migratetype: i32 => Number;
        /// Whether the whole pageblock changed its type; not recorded by old kernels.
        change_ownership: Option<i32> => Optional;
    }
    /// A zone's watermarks were set.
    "mm_setup_per_zone_wmarks" => SetupPerZoneWmarks(Box<SetupPerZoneWmarks>) {
        /// Node.
        node_id: i32 => Number;
        /// Zone.
        name: Box<str> => Text, "zone name=";
        /// The min watermark, in pages.
        watermark_min: u64 => Number, "watermark min=";
        /// The low watermark, in pages.
        watermark_low: u64 => Number, "low=";
        /// The high watermark, in pages.
        watermark_high: u64 => Number, "high=";
        /// The promo watermark, in pages.
        watermark_promo: u64 => Number, "promo=";
    }
    /// A zone's reserve against requests that could use a higher zone was set.
    "mm_setup_per_zone_lowmem_reserve" => SetupPerZoneLowmemReserve(Box<SetupPerZoneLowmemReserve>) {
        /// Node.
        node_id: i32 => Number;
        /// The zone that keeps the reserve.
        name: Box<str> => Text, "zone name=";
        /// The zone that requests come down from.
        upper_name: Box<str> => Text, "upper_zone name=";
        /// The reserve, in pages.
        lowmem_reserve: i64 => Number, "lowmem_reserve_pages=";
    }
    /// The sum of all reserves was set.
    "mm_calculate_totalreserve_pages" => CalculateTotalreservePages(CalculateTotalreservePages) {
        /// The sum, in pages.
        totalreserve_pages: u64 => Number;
    }
    /// A page entered the page cache.
    "mm_filemap_add_to_page_cache" => FilemapAdd(FilemapAdd) {
        /// Page frame number.
        pfn: u64 => Number;
        /// Inode number.
        i_ino: u64 => Hex, "ino ";
        /// Index in the file, in pages.
        index: u64 => FileIndex, "ofs=";
        /// Device as `major << 20 | minor`.
        s_dev: u32 => Device, "dev ";
        /// Order of the folio; not recorded by old kernels.
        order: Option<u32> => Optional;
    }
    /// A page left the page cache.
    "mm_filemap_delete_from_page_cache" => FilemapDelete(FilemapDelete) {
        /// Page frame number.
        pfn: u64 => Number;
        /// Inode number.
        i_ino: u64 => Hex, "ino ";
        /// Index in the file, in pages.
        index: u64 => FileIndex, "ofs=";
        /// Device as `major << 20 | minor`.
        s_dev: u32 => Device, "dev ";
        /// Order of the folio; not recorded by old kernels.
        order: Option<u32> => Optional;
    }
    /// The migrate scanner isolated pages.
    "mm_compaction_isolate_migratepages" => CompactionIsolateMigratepages(CompactionIsolateMigratepages) {
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
    "mm_compaction_isolate_freepages" => CompactionIsolateFreepages(CompactionIsolateFreepages) {
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
    "mm_compaction_fast_isolate_freepages" => CompactionFastIsolateFreepages(CompactionFastIsolateFreepages) {
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
    "mm_compaction_migratepages" => CompactionMigratepages(CompactionMigratepages) {
        /// Pages that moved.
        nr_migrated: u64 => Number;
        /// Pages that did not.
        nr_failed: u64 => Number;
    }
    /// Compaction of a zone began.
    "mm_compaction_begin" => CompactionBegin(Box<CompactionBegin>) {
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
    "mm_compaction_end" => CompactionEnd(Box<CompactionEnd>) {
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
    "mm_compaction_try_to_compact_pages" => CompactionTryToCompactPages(CompactionTryToCompactPages) {
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_mask: u64 => Gfp;
        /// Compaction priority: 0 full sync, 1 light sync, 2 async; kernels before 4.8 have none.
        prio: Option<i32> => Optional, "priority=";
    }
    /// It was judged whether a zone is suitable for compaction.
    "mm_compaction_suitable" => CompactionSuitable(CompactionSuitable) {
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
    "mm_compaction_finished" => CompactionFinished(CompactionFinished) {
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
    "mm_compaction_deferred" => CompactionDeferred(CompactionDeferred) {
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
    "mm_compaction_defer_compaction" => CompactionDeferCompaction(CompactionDeferCompaction) {
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
    "mm_compaction_defer_reset" => CompactionDeferReset(CompactionDeferReset) {
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
    "mm_compaction_kcompactd_sleep" => CompactionKcompactdSleep(CompactionKcompactdSleep) {
        /// Node.
        nid: i32 => Number;
    }
    /// Someone wants kcompactd to run.
    "mm_compaction_wakeup_kcompactd" => CompactionWakeupKcompactd(CompactionWakeupKcompactd) {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Highest zone that is of use.
        highest_zoneidx: ZoneType => Named<ZoneType>, "classzone_idx=";
    }
    /// kcompactd began to run.
    "mm_compaction_kcompactd_wake" => CompactionKcompactdWake(CompactionKcompactdWake) {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Highest zone that is of use.
        highest_zoneidx: ZoneType => Named<ZoneType>, "classzone_idx=";
    }
    /// kswapd went to sleep.
    "mm_vmscan_kswapd_sleep" => VmscanKswapdSleep(VmscanKswapdSleep) {
        /// Node.
        nid: i32 => Number;
    }
    /// kswapd began to run.
    "mm_vmscan_kswapd_wake" => VmscanKswapdWake(VmscanKswapdWake) {
        /// Node.
        nid: i32 => Number;
        /// Zone number of the recorded kernel; not in text.
        zid: Option<i32> => Optional;
        /// Order that is wanted.
        order: i32 => Number;
    }
    /// Someone wants kswapd to run.
    "mm_vmscan_wakeup_kswapd" => VmscanWakeupKswapd(VmscanWakeupKswapd) {
        /// Node.
        nid: i32 => Number;
        /// Zone number of the recorded kernel; not in text.
        zid: Option<i32> => Optional;
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits; not recorded by kernels before 4.16.
        gfp_flags: Option<u64> => OptionalGfp;
    }
    /// An allocation entered direct reclaim.
    "mm_vmscan_direct_reclaim_begin" => VmscanDirectReclaimBegin(VmscanDirectReclaimBegin) {
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
    }
    /// Direct reclaim ended.
    "mm_vmscan_direct_reclaim_end" => VmscanDirectReclaimEnd(VmscanDirectReclaimEnd) {
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
    }
    /// Reclaim on this node began, before going to another one.
    "mm_vmscan_node_reclaim_begin" => VmscanNodeReclaimBegin(VmscanNodeReclaimBegin) {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
    }
    /// Reclaim on this node ended.
    "mm_vmscan_node_reclaim_end" => VmscanNodeReclaimEnd(VmscanNodeReclaimEnd) {
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
    }
    /// Reclaim went over a piece of an inactive list. Optional fields are missing in old kernels.
    "mm_vmscan_lru_shrink_inactive" => VmscanLruShrinkInactive(Box<VmscanLruShrinkInactive>) {
        /// Node.
        nid: i32 => Number;
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
        /// Dirty pages met.
        nr_dirty: Option<u64> => Optional;
        /// Pages under writeback met.
        nr_writeback: Option<u64> => Optional;
        /// Pages met whose device is congested.
        nr_congested: Option<u64> => Optional;
        /// Pages met that reclaim itself had sent to writeback.
        nr_immediate: Option<u64> => Optional;
        /// Anonymous pages activated.
        nr_activate0: Option<u64> => Optional, "nr_activate_anon=";
        /// File pages activated.
        nr_activate1: Option<u64> => Optional, "nr_activate_file=";
        /// Pages kept because they were referenced.
        nr_ref_keep: Option<u64> => Optional;
        /// Pages that could not be unmapped.
        nr_unmap_fail: Option<u64> => Optional;
        /// Scan priority: 2^-priority of the list at a time.
        priority: i32 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// Reclaim went over a piece of an active list.
    "mm_vmscan_lru_shrink_active" => VmscanLruShrinkActive(Box<VmscanLruShrinkActive>) {
        /// Node.
        nid: i32 => Number;
        /// Pages taken off the list.
        nr_taken: u64 => Number;
        /// Pages put back as active.
        nr_active: u64 => Number;
        /// Pages that became inactive.
        nr_deactivated: u64 => Number;
        /// Pages that were referenced.
        nr_referenced: u64 => Number;
        /// Scan priority: 2^-priority of the list at a time.
        priority: i32 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// Reclaim took pages off a list.
    "mm_vmscan_lru_isolate" => VmscanLruIsolate(Box<VmscanLruIsolate>) {
        /// Highest zone number that is of use; in binary traces of kernels before 5.8 it has another name, and old ones have none.
        highest_zoneidx: Option<i32> => Optional, "classzone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Pages wanted.
        nr_requested: u64 => Number;
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages skipped because of their zone.
        nr_skipped: Option<u64> => Optional;
        /// Pages taken.
        nr_taken: u64 => Number;
        /// Name of the list; old kernels tell only whether it is of files.
        lru: Option<Arc<str>> => OptionalLabel;
    }
    /// Reclaim wrote a folio out.
    "mm_vmscan_write_folio" => VmscanWriteFolio(VmscanWriteFolio) {
        /// Page frame number.
        pfn: u64 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// A reclaimer was made to wait.
    "mm_vmscan_throttled" => VmscanThrottled(VmscanThrottled) {
        /// Node.
        nid: i32 => Number;
        /// Longest wait, in microseconds.
        usec_timeout: i32 => Number;
        /// Actual wait, in microseconds.
        usec_delayed: i32 => Number, "usect_delayed=";
        /// Bits of the reasons: 1 writeback, 2 isolated, 4 no progress, 8 congested.
        reason: i32 => ThrottleReason;
    }
    /// A shrinker was called.
    "mm_shrink_slab_start" => ShrinkSlabStart(Box<ShrinkSlabStart>) {
        /// Node.
        nid: i32 => Number, "nid: ";
        /// Objects left over from earlier calls.
        nr_objects_to_shrink: i64 => Number, "objects to shrink ";
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp, "gfp_flags ";
        /// Objects in the cache.
        cache_items: u64 => Number, "cache items ";
        /// Objects to scan because of this call.
        delta: u64 => Number, "delta ";
        /// Objects to scan in all.
        total_scan: u64 => Number, "total_scan ";
        /// Scan priority; not recorded by old kernels.
        priority: Option<i32> => Optional, "priority ";
    }
    /// A shrinker returned.
    "mm_shrink_slab_end" => ShrinkSlabEnd(Box<ShrinkSlabEnd>) {
        /// Node.
        nid: i32 => Number, "nid: ";
        /// Objects left over before.
        unused_scan: i64 => Number, "unused scan count ";
        /// Objects left over now.
        new_scan: i64 => Number, "new scan count ";
        /// Objects that were to be scanned.
        total_scan: i64 => Number, "total_scan ";
        /// Objects freed.
        retval: i32 => Number, "last shrinker return val ";
    }
    /// A list of pages was migrated. Optional fields are missing in old kernels.
    "mm_migrate_pages" => MigratePages(Box<MigratePages>) {
        /// Pages that moved.
        succeeded: u64 => Number, "nr_succeeded=";
        /// Pages that did not.
        failed: u64 => Number, "nr_failed=";
        /// Huge pages that moved.
        thp_succeeded: Option<u64> => Optional, "nr_thp_succeeded=";
        /// Huge pages that did not.
        thp_failed: Option<u64> => Optional, "nr_thp_failed=";
        /// Huge pages that were split.
        thp_split: Option<u64> => Optional, "nr_thp_split=";
        /// Large folios that were split.
        large_folio_split: Option<u64> => Optional, "nr_split=";
        /// Name of the mode.
        mode: Arc<str> => Label;
        /// Name of the reason.
        reason: Arc<str> => Label;
    }
    /// Migration of a list of pages began.
    "mm_migrate_pages_start" => MigratePagesStart(MigratePagesStart) {
        /// Name of the mode.
        mode: Arc<str> => Label;
        /// Name of the reason.
        reason: Arc<str> => Label;
    }
    /// khugepaged looked at a huge-page range.
    "mm_khugepaged_scan_pmd" => KhugepagedScanPmd(Box<KhugepagedScanPmd>) {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Entries referenced.
        referenced: i32 => Number;
        /// Empty or zero-page entries.
        none_or_zero: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
        /// Entries swapped out.
        unmapped: i32 => Number;
    }
    /// khugepaged looked at a range of a file.
    "mm_khugepaged_scan_file" => KhugepagedScanFile(Box<KhugepagedScanFile>) {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Pages present.
        present: i32 => Number;
        /// Pages swapped out.
        swap: i32 => Number;
        /// Name of the result.
        result: Arc<str> => Label;
    }
    /// khugepaged collapsed a range of a file, or failed.
    "mm_khugepaged_collapse_file" => KhugepagedCollapseFile(Box<KhugepagedCollapseFile>) {
        /// First page frame of the huge page.
        hpfn: Option<u64> => PfnOrNone, "hpage_pfn=";
        /// Index in the file, in pages.
        index: u64 => Number;
        /// Pages copied.
        nr: i32 => Number;
        /// Name of the result.
        result: Arc<str> => Label;
    }
    /// A range was collapsed into a huge page, or that failed.
    "mm_collapse_huge_page" => CollapseHugePage(CollapseHugePage) {
        /// Whether the pages were isolated.
        isolated: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
    }
    /// The pages of a range were isolated for collapse.
    "mm_collapse_huge_page_isolate" => CollapseHugePageIsolate(Box<CollapseHugePageIsolate>) {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Empty or zero-page entries.
        none_or_zero: i32 => Number;
        /// Entries referenced.
        referenced: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
    }
    /// Pages of a range were read from swap before its collapse.
    "mm_collapse_huge_page_swapin" => CollapseHugePageSwapin(CollapseHugePageSwapin) {
        /// Pages read.
        swapped_in: i32 => Number;
        /// Entries referenced.
        referenced: i32 => Number;
        /// Whether it succeeded.
        ret: i32 => Number;
    }
    /// A process's OOM score adjustment was set.
    "oom_score_adj_update" => OomScoreAdjUpdate(OomScoreAdjUpdate) {
        /// Process ID.
        pid: i32 => Number;
        /// Process name.
        comm: Box<str> => Text;
        /// New adjustment, -1000 to 1000.
        oom_score_adj: i16 => Number;
    }
    /// It was judged whether another round of reclaim in a zone can help.
    "reclaim_retry_zone" => ReclaimRetryZone(Box<ReclaimRetryZone>) {
        /// Node.
        node: i32 => Number;
        /// Zone.
        zone_idx: ZoneType => Named<ZoneType>, "zone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Pages that reclaim could get.
        reclaimable: u64 => Number;
        /// The same and the free ones.
        available: u64 => Number;
        /// The zone's min watermark.
        min_wmark: u64 => Number;
        /// Rounds without progress.
        no_progress_loops: i32 => Number;
        /// Whether the watermark could be met.
        wmark_check: bool => Number;
    }
    /// It was judged whether another round of compaction can help.
    "compact_retry" => CompactRetry(Box<CompactRetry>) {
        /// Order that is wanted.
        order: i32 => Number;
        /// Name of the compaction priority.
        priority: Arc<str> => Label;
        /// Name of the condensed result.
        result: Arc<str> => Label, "compaction_result=";
        /// Rounds so far.
        retries: i32 => Number;
        /// Most rounds.
        max_retries: i32 => Number;
        /// Whether it is worth it.
        ret: bool => Number, "should_retry=";
    }
    /// A process was chosen to be killed for want of memory.
    "mark_victim" => MarkVictim(MarkVictim) {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper was woken.
    "wake_reaper" => WakeReaper(WakeReaper) {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper began.
    "start_task_reaping" => StartTaskReaping(StartTaskReaping) {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper finished.
    "finish_task_reaping" => FinishTaskReaping(FinishTaskReaping) {
        /// Process ID.
        pid: i32 => Number;
    }
    /// The OOM reaper gave up.
    "skip_task_reaping" => SkipTaskReaping(SkipTaskReaping) {
        /// Process ID.
        pid: i32 => Number;
    }
    /// A page moved to another frame: a probe of fraglab's recorder.
    "fraglab_migrate" => PageMoved(PageMoved) {
        /// Kernel address of the `struct page` it moved to.
        new: u64 => Number;
        /// The same of where it was.
        old: u64 => Number;
    }
    /// A huge-page fault fell back to base pages: a probe of fraglab's recorder.
    "fraglab_thp_fallback" => ThpFallback(ThpFallback) {
        /// What the fault returned, as bits.
        ret: u64 => Number;
    }
}
