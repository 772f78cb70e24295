//! Rules of compaction and kcompactd (chapter 11).

use crate::Order;

/// Compaction eras (chapter 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionRules {
    /// Direct compaction for requests without `__GFP_FS`, skipping pages with a mapping (11.5.9, 11.20).
    pub nofs: NofsCompaction,
    /// Async direct compaction skips the rest of an order-aligned window when isolation fails (11.6).
    pub skip_on_failure: SkipOnFailure,
    /// Source blocks of async direct compaction must be of the request's own type (4.12+).
    pub async_same_type: bool,
    /// Free-list driven search for sources and targets (5.1+). What the same series changed of the hints comes with it:
    /// they are set with the first page that is taken and asked for where a block begins, cached positions are rounded
    /// up to the next block, a reset clears the hints of blocks that a sample shows to be of use, and a block in which
    /// pages were just freed is scanned to its end.
    pub fast_search: bool,
    /// A source that the search finds gets its skip hint at once, so that isolation passes over it (5.1 to 6.2).
    pub search_marks_source: bool,
    /// Which freed blocks go straight to the compacting task (11.13).
    pub capture: CompactCapture,
    /// Base mark of the suitability test (11.10).
    pub suitable_mark: SuitableMark,
    /// A zone without room for targets is skipped before anybody asks whether the request would be served as it is, which
    /// then ends the run only where the index says that nothing is fragmented (11.10; 3.x). Later, a request that would be
    /// served is never compacted for (3.19+, own knowledge).
    pub room_first: bool,
    /// Async runs for costly orders that may not use CMA need the room for targets outside of it, too (11.10). The presets
    /// from 6.15 on have it; by own knowledge it came with 6.14.
    pub room_outside_cma: bool,
    /// Which blocks direct compaction for whole blocks takes pages from, if the request isn't movable (11.7).
    pub sources_of_blocks: BlockSources,
    /// What compaction wants free above that mark (`compact_gap`, 11.10).
    pub gap: CompactGap,
    /// Fragmentation index is tested for all orders (up to 4.8) or only for costly ones (4.9+).
    pub fragindex_all_orders: bool,
    /// Mark that isolation of a target must leave order-0 pages above.
    pub target_mark: TargetMark,
    /// Where the free scanner stops within a block.
    pub target_scan: TargetScan,
    /// A run is over, whatever became of it, once its zone is above the low mark at the order (up to 4.8; direct runs and kcompactd's).
    pub succeeds_by_mark: bool,
    /// Async direct compaction leaves off as soon as another task is to run on its CPU, all zones that are left included (up to 5.0,
    /// `compact_should_abort`).
    pub async_yields: bool,
    /// Runs that wait for no writes isolate pages under writeback all the same, and fail to move them (up to 4.6).
    /// Later, only full sync runs do.
    pub light_isolates_writeback: bool,
    /// Requests with `__GFP_FS` may have a sixteenth of the lists' pages isolated, others half of them (read in
    /// 6.6.57); before, half for all (read in 6.1.192).
    pub nofs_isolates_more: bool,
    /// When lists of the CPU are drained of what a direct run has freed.
    pub drains: CompactDrains,
    /// What the scanners remember of earlier runs.
    pub positions: CachedPositions,
    /// What ends a run (11.14).
    pub finish: CompactFinish,
    /// Where a run goes on after a page that it could not move.
    pub failed_batch: FailedBatch,
    /// A run that lacks targets, or finds too many pages isolated, ends as contended, for which a request for a huge
    /// page gives up (4.8+). Before, only a taken lock or another task's turn is contention.
    pub lack_contends: bool,
    /// Deferral is kept per zone that is scanned (4.x+), or judged on the preferred zone (3.x).
    pub defer_per_zone: bool,
    /// What kcompactd makes of its requests.
    pub daemon: KcompactdRules,
    /// Blocks that begin with a free block of the wanted order are no targets ("limit the suitable target page order to be less than
    /// cc->order", 6.9). Before, only whole free pageblocks were not.
    pub targets_below_order: bool,
    /// Compound pages below the target order are moved (6.9+); before, every compound page blocks its window.
    pub moves_compound: bool,
    /// All pages of a batch are unmapped before the first is moved and its frame freed ("migrate_pages: batch _unmap
    /// and _move", 6.3); before, one page was moved after the other.
    pub unmaps_batch_first: bool,
    /// Targets are kept as the free blocks that they were isolated as, and split when used (6.9+); before, split into base pages at once.
    pub targets_by_order: bool,
    /// Scanned counters count all pages of what a scanner steps over (6.4+); before, one a step.
    pub counts_stepped_over: bool,
    /// `compact_daemon_*_scanned` count proactive runs, too: recordings of 6.12 and 6.18 do, those of 6.1 do not.
    pub counts_proactive: bool,
}

/// kcompactd's eras (11.17; own knowledge up to 4.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KcompactdRules {
    /// Leaves out the highest zone that the request may use, by a slip ("mm/compaction.c: fix zoneindex in kcompactd()", 4.7).
    pub spares_highest_zone: bool,
    /// Looks at blocks whatever their hints say, and sets none (up to 4.14).
    pub ignores_hints: bool,
    /// Drains per-CPU lists of the zone after a failure (4.17+).
    pub drains: bool,
}

/// Mark above which free pages may become targets (`__isolate_free_page`, 3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetMark {
    /// low, where pages of CMA do not count (up to 4.8).
    Low,
    /// min with its boost, where they do (4.9 to 5.0, 984fdba6a32e and 8348faf91f56).
    MinBoosted,
    /// min without (read in 5.4.301 and later).
    Min,
}

/// Where the free scanner stops within a block (11.11; read in 3.11, 4.6.2, 4.8.15 and 4.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetScan {
    /// At its end, with all free pages of it that the mark permits (3.x).
    WholeBlock,
    /// Once there are targets enough. A page that the mark forbids is passed by, and the run goes on to look, until the
    /// scanners meet (4.6).
    PastTheMark,
    /// Once there are targets enough, or the mark forbids another one, which ends the run (4.8+).
    ToTheMark,
}

/// When per-CPU lists are drained of what direct compaction has freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactDrains {
    /// After the run, before the request is tried again (3.x; read in 3.11).
    AfterRun,
    /// Whenever the migrate scanner leaves a block of the order in which pages were freed (4.6+).
    WithinRun,
}

/// Cached positions of the scanners (11.4; read in 3.11 and 4.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedPositions {
    /// One of each, which a run no longer moves once it has isolated something there, and which only a reset of the hints puts back (3.x).
    One,
    /// One of the migrate scanner for each of async and sync; all are put back when the scanners meet (4.6+).
    PerMode,
}

/// Direct compaction for NOFS requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NofsCompaction {
    /// Refused (up to 4.9).
    Refuse,
    /// Allowed; pages with a mapping are skipped (4.10+).
    SkipMappings,
}

/// What async direct compaction does when a page can't be isolated (11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipOnFailure {
    /// Goes on with the next page (up to 4.7).
    Off,
    /// Skips the window; pages put back were not accounted yet, so the isolated counters drift negative.
    DriftingAccounting,
    /// Skips the window, accounting right (4.8+).
    On,
}

/// Base mark of `compaction_suitable` (11.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuitableMark {
    /// Low (3.x to 4.8).
    Low,
    /// Low for costly orders, min otherwise (4.20 to 6.14).
    LowIfCostly,
    /// The caller's mark, plus low - min for costly orders (6.15+).
    Caller,
}

/// Sources of direct compaction at the pageblock order or above, on behalf of requests that aren't movable (11.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockSources {
    /// As at smaller orders: those of the request's type, as long as the run is async, and no fast search; but
    /// [`BlockSources::Movable`] where `defrag_mode` promotes the request (up to 7.1; read in 7.1.9).
    OwnType,
    /// Movable ones, also where a fast search finds them: the allocator claims them whole. CMA's are for none but those
    /// who may use them (7.2+; read in 7.2.13 and 7.3.4).
    Movable,
}

/// Free pages that compaction wants above the mark: room for a block's pages and for isolated targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactGap {
    /// Twice the order's pages (up to 6.19).
    TwiceOrder,
    /// The same, but no more than 32, what is isolated at a time (`COMPACT_CLUSTER_MAX`), wherever a gap is asked for (7.2+: measured on
    /// recordings, read in 7.2.13 and 7.3.4).
    Cluster,
}

impl CompactGap {
    /// In pages.
    pub fn pages(self, order: Order) -> u64 {
        let twice = 2 << order;
        match self {
            CompactGap::TwiceOrder => twice,
            CompactGap::Cluster => twice.min(32),
        }
    }
}

/// Where a run goes on after a page that it could not move (11.6, 11.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedBatch {
    /// Async direct compaction at the next window of the order, if it skips windows at all; others where they were (4.8 to 6.2: read in
    /// 5.15.215).
    NextWindow,
    /// Behind the block, of which all but full runs isolate and move the rest first (6.3+: read in 6.6.57).
    RestOfBlock,
}

/// What ends a compaction run (11.14.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactFinish {
    /// 3.12: a page of the own type, watermark at low + 2^order passes, no fallback below the pageblock order.
    OwnTypeLowMark,
    /// 4.6, 4.8: own type or claimable fallback, and the low mark passes.
    ClaimableLowMark,
    /// 4.9: the same at the mark that the request has to pass itself, min for kcompactd (read in 4.9).
    ClaimableOwnMark,
    /// 4.20, 5.0: own type or claimable fallback; stealing for non-movable requests finishes the block first.
    FinishBlock,
    /// 5.1+: tested only when the scanner stands at a pageblock boundary.
    AtBlockBoundary,
}

/// What compaction takes for its request as it is freed (`compaction_capture`, 11.13), of the request's order and
/// outside of CMA and isolated blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCapture {
    /// Nothing (up to 5.0).
    Never,
    /// Nothing below a pageblock out of movable blocks (5.1 to 6.9).
    SparesMovable,
    /// The same, but for movable requests (6.10+).
    SparesMovableOfOthers,
    /// The same, and a page of another type's block is a fragmentation event (6.15+: read in 6.16; stable updates that
    /// claim and steal alike have none).
    Traced,
}
