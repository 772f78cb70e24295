//! Rules of the floor above: defrag_mode, kswapd, compaction, retries.

use crate::{Order, ZoneType};

/// What `vm.defrag_mode=1` switches on (13.3, 13.7 to 13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefragRules {
    /// Step d of the slow path.
    pub retry: DefragRetry,
    /// e: kswapd is woken for at least the pageblock order.
    pub kswapd_block_order: bool,
    /// f: kswapd is balanced only when the high mark is met in whole free blocks...
    pub kswapd_block_watermark: BlockWatermark,
    /// g, h: kcompactd starts and finishes by the same measure.
    pub kcompactd_block_watermark: bool,
    /// Requests that can't reclaim but may wake kswapd give NOFRAGMENT up instead of failing (13.9; 7.2+).
    pub nonblocking_may_fragment: bool,
    /// Nobody's yet: what a task that is freeing memory asks for gives NOFRAGMENT up instead of failing, also where
    /// `__GFP_NOMEMALLOC` keeps it from the reserves that would lift the ban (2.9, 13.4).
    pub memalloc_may_fragment: bool,
    /// Direct reclaim and compaction of non-movable requests run at the pageblock order (13.9; 7.2+: read in 7.2.13, not in 7.1.9).
    pub reclaim_at_block_order: bool,
    /// Whether a request that is promoted so is worth another round.
    pub promoted_retries: PromotedRetries,
    /// Fail rather than fragment: step d and the OOM attempt keep NOFRAGMENT (13.11); used when defrag_mode=2.
    pub never_fragment: bool,
}

/// How the slow path gives up NOFRAGMENT (13.3d, 13.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefragRetry {
    /// As first posted: flags are masked *with* NOFRAGMENT and the retry repeats for ever.
    AsPosted,
    /// As merged: NOFRAGMENT is removed, once.
    Once,
}

/// How another round is judged for a request whose reclaim and compaction run at the block order (13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotedRetries {
    /// By that order, too (as first posted).
    AtBlockOrder,
    /// By the request's own, as if it were not promoted: what reclaim freed counts, and order 0 is not compacted for again (7.2; read in 7.2.13).
    AtOwnOrder,
    /// By the request's own, as `compact_retry` and `reclaim_retry_zone` show in recordings of 7.3: what is not costly goes on, up to full
    /// compaction. But every round counts as fruitless, whatever it freed, compaction that lacks free pages ends it, and both counts begin
    /// anew once the ban is lifted (read in 7.3.4).
    AtOwnOrderBounded,
}

/// Measure of kswapd's balance under defrag_mode (13.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockWatermark {
    /// Base pages.
    Off,
    /// 6.15-rc: whole blocks, whatever the order.
    Always,
    /// 6.15+: whole blocks while kswapd's order is above 0.
    WhileHighOrder,
}

/// kswapd eras (chapter 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KswapdRules {
    /// When `wakeup_kswapd` really wakes it.
    pub wake: KswapdWake,
    /// How it raises the pressure on a node that it has not balanced yet.
    pub rounds: KswapdRounds,
    /// Whether there is a kcompactd (4.6+); before, kswapd compacts itself.
    pub kcompactd: bool,
    /// When kswapd, on its way to sleep, resets skip hints and wakes kcompactd.
    pub hands_over: HandOver,
    /// kswapd's sleep is judged by the order that it has balanced the node for, and kcompactd is woken for it (up to 4.7, own
    /// knowledge). Later it reads anew what was asked for, which is nothing if nobody has asked since, unless it gave up the
    /// order: then kcompactd is woken for that.
    pub sleeps_by_order: bool,
    /// A run that nobody has asked for since the last one began (kswapd could not go to sleep, or was woken by a fragmentation stall
    /// alone) looks at the lowest zone only, as if that were the highest allowed one: it finds it balanced and ends (4.8 to 5.2; own
    /// knowledge). Later it looks at the zones of the run before. While a request waits that came during a run or the nap after it, the higher
    /// of both zones counts in these kernels (read in 4.20 and 5.0.1), later the request's.
    pub forgets_zones: bool,
    /// kswapd goes to sleep, and wakes kcompactd, only if every eligible zone is balanced, though its run ends once one of them is (4.8 to 4.11:
    /// "mm, vmscan: fix zone balance check in prepare_kswapd_sleep"). A small zone that is never balanced for the order keeps kcompactd asleep.
    pub sleeps_when_all_balanced: bool,
    /// What a run has reclaimed is counted anew at each priority (up to 4.11: "mm: fix 100% CPU kswapd busyloop on unreclaimable nodes",
    /// 4.12), so the order is given up only after twice its pages in one pass, not in the whole run (9.6.6).
    pub counts_each_pass: bool,
    /// A run falls back to order 0 once twice the order's pages are reclaimed; 4.6 keeps to its order (read in 4.6.2).
    pub gives_up_order: bool,
    /// What a pass has reclaimed counts as scanned where that is more, as slab may make it (6.2 to 6.6: read in 6.6.57, not in 6.1.192).
    pub reclaimed_counts_as_scanned: bool,
    /// Proactive compaction (5.9+).
    pub proactive_compaction: bool,
    /// kswapd gives up after 16 fruitless runs (4.12+); before, zones are judged by pages scanned.
    pub failures: bool,
    /// What ends a row of such runs.
    pub failures_end: FailuresEnd,
    /// A free that empties part of a CPU's list and finds the zone above its high mark again, for the first time since an allocation did not,
    /// ends them as well, if a memory node of a higher number follows (6.18+; read in 6.18.15 and 7.3.4, not in 6.17.13).
    pub frees_end_failures: bool,
    /// A run that reclaimed nothing while it spared active page cache is made once more without that (read in 6.12.117, not in 6.6.57).
    pub retries_without_trim: bool,
    /// The boost series wakes kswapd at a refill's first fallback, within the zone's lock, as posted; it begins while the refill goes on,
    /// and knows only the boost of that moment. 5.0 wakes it after the refill (7.8).
    pub woken_amid_refill: bool,
    /// A boosted run that reclaims nothing counts as a failure (up to 6.18).
    pub boosted_run_may_fail: bool,
}

impl KswapdRules {
    /// Highest zone that kswapd is to look after: `asked` since its last run, which looked after those up to `previous`.
    pub fn next_zone(&self, asked: Option<ZoneType>, previous: ZoneType) -> ZoneType {
        match asked {
            Some(asked) if self.forgets_zones => asked.max(previous),
            Some(asked) => asked,
            None => previous,
        }
    }
}

/// When kswapd leaves the rest to compaction (9.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Once nobody has called it for HZ/10 and the node is still balanced (up to 4.6-rc5: "mm: wake kcompactd before kswapd's short
    /// sleep", April 2016). Requests that come more often than that keep it from happening.
    BeforeSleep,
    /// As soon as the node is balanced, before that first tenth of a second.
    BeforeNap,
}

/// When kswapd's failures are counted anew (9.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailuresEnd {
    /// Anybody's reclaim of the node got a page.
    OnProgress,
    /// The same, and any pass over generations of the node, which so never gives up (read in 6.6.57, not in 6.12.117).
    AfterEachPass,
    /// It got a page, and the node is balanced for the order and the zones that it was for (read in 7.1.9, 7.2.13 and 7.3.4, not in
    /// 6.19.11).
    WhenBalanced,
}

/// How kswapd raises the pressure (9.6; own knowledge up to 3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdRounds {
    /// Round after round until the node is balanced: each lowers the priority by one a pass, to 0, where both kinds of pages are scanned
    /// whole, and begins anew once it has 32 pages. No zone has a target (up to 3.10).
    Restarted,
    /// One round, whose priority stays as it is while passes reclaim and scan enough, and ends at 1. A zone's target is its high mark (3.11+).
    Single,
}

/// When `wakeup_kswapd` wakes (9.2, 9.11, 9.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdWake {
    /// 3.11: unless the zone is above low by then (the missed wake).
    ZoneBelowLow,
    /// 3.12 to 4.7: unless the zone is balanced at high.
    ZoneNotBalanced,
    /// 4.8 to 4.11: unless any eligible zone is balanced.
    NoZoneBalanced,
    /// 4.12+: the same; a hopeless or balanced node wakes kcompactd only.
    NoZoneBalancedOrKcompactd,
    /// 5.0+: the same, and a boosted zone counts as unbalanced.
    NoZoneBalancedOrBoosted,
}

/// Compaction eras (chapter 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionRules {
    /// Direct compaction for requests without `__GFP_FS`, skipping pages with a mapping (11.5.9, 11.20).
    pub nofs: NofsCompaction,
    /// Async direct compaction skips the rest of an order-aligned window when isolation fails (11.6).
    pub skip_on_failure: SkipOnFailure,
    /// Source blocks of async direct compaction must be of the request's own type (4.12+).
    pub async_same_type: bool,
    /// Free-list driven search for sources and targets (5.1+).
    pub fast_search: bool,
    /// A source that the search finds gets its skip hint at once, so that isolation passes over it (5.1 to 6.2).
    pub search_marks_source: bool,
    /// Which freed blocks go straight to the compacting task (11.13).
    pub capture: CompactCapture,
    /// Base mark of the suitability test (11.10).
    pub suitable_mark: SuitableMark,
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
    /// Runs that wait for no writes isolate pages under writeback all the same, and fail to move them (up to 4.6). Later, only full sync runs do.
    pub light_isolates_writeback: bool,
    /// Requests with `__GFP_FS` may have a sixteenth of the lists' pages isolated, others half of them (read in 6.6.57); before, half for all (read in
    /// 6.1.192).
    pub nofs_isolates_more: bool,
    /// When lists of the CPU are drained of what a direct run has freed.
    pub drains: CompactDrains,
    /// What the scanners remember of earlier runs.
    pub positions: CachedPositions,
    /// What ends a run (11.14).
    pub finish: CompactFinish,
    /// Where a run goes on after a page that it could not move.
    pub failed_batch: FailedBatch,
    /// A run that lacks targets, or finds too many pages isolated, ends as contended, for which a request for a huge page gives up (4.8+). Before,
    /// only a taken lock or another task's turn is contention.
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
    /// All pages of a batch are unmapped before the first is moved and its frame freed ("migrate_pages: batch _unmap and _move", 6.3); before,
    /// one page was moved after the other.
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
    /// Once there are targets enough. A page that the mark forbids is passed by, and the run goes on to look, until the scanners meet (4.6).
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
    /// As at smaller orders: those of the request's type, as long as the run is async, and no fast search; but [`BlockSources::Movable`] where
    /// `defrag_mode` promotes the request (up to 7.1; read in 7.1.9).
    OwnType,
    /// Movable ones, also where a fast search finds them: the allocator claims them whole. CMA's are for none but those who may use them (7.2+; read in
    /// 7.2.13 and 7.3.4).
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

/// Slow path eras (8.1, 8.7, 8.8, 8.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowpathRules {
    /// Retry and compaction scheme.
    pub scheme: SlowpathScheme,
    /// Initial async compaction also for non-movable orders above 0 (4.12+), else for costly orders only.
    pub initial_compaction_nonmovable: bool,
    /// What ends a request with `__GFP_NORETRY` after its initial compaction.
    pub noretry_leaves: NoRetryLeaves,
    /// What `compact_stall` counts.
    pub compact_stalls: CompactStalls,
    /// Form of should_compact_retry.
    pub compact_retry: CompactRetry,
    /// For which requests the OOM killer may kill.
    pub oom_kills: OomKills,
    /// How much of the reserves a task that the OOM killer has chosen may use.
    pub victim_reserve: VictimReserve,
}

/// For which requests the OOM killer may kill, beside those that it kills for in every kernel (8.13; own knowledge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OomKills {
    /// Any that must not fail, whatever it asks for, and those without `__GFP_FS` (3.x).
    NofailAndNofs,
    /// None: reclaim without `__GFP_FS` left too much untried, so such requests go on looping (4.x+).
    WithFs,
}

/// What a victim of the OOM killer has of the reserves below the min mark (2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimReserve {
    /// All of them: `ALLOC_NO_WATERMARKS` (up to 4.13, own knowledge).
    All,
    /// Half: `ALLOC_OOM` (4.14+).
    Half,
}

/// What compaction takes for its request as it is freed (`compaction_capture`, 11.13), of the request's order and outside of CMA and isolated blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactCapture {
    /// Nothing (up to 5.0).
    Never,
    /// Nothing below a pageblock out of movable blocks (5.1 to 6.9).
    SparesMovable,
    /// The same, but for movable requests (6.10+).
    SparesMovableOfOthers,
    /// The same, and a page of another type's block is a fragmentation event (6.15+: read in 6.16; stable updates that claim and steal alike
    /// have none).
    Traced,
}

/// When a request with `__GFP_NORETRY` leaves after an initial compaction that gave no page (8.1.4). Who stays has one round of reclaim and
/// compaction, async as before. Up to 6.19 this is for costly orders; others with the mask go on as requests without it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetryLeaves {
    /// If compaction was deferred (up to 5.3).
    OnDeferred,
    /// If it was deferred or skipped (5.4 to 6.19; in 5.4 for huge pages only, and for those without the mask as well).
    OnSkippedOrDeferred,
    /// Whatever it came to, too, if the mask has `__GFP_THISNODE` (read in 5.10.265, 5.15.215, 6.1.192 and 6.12.117, 6.19.11, not in 6.6.57,
    /// 6.14, 6.17 and 6.18.15; Debian's changelogs name 6.1.165 and 6.12.75).
    AlsoOnThisNode,
    /// Only with `__GFP_THISNODE`, at every order that compacts first. The initial compaction is part of the first round, which reclaims
    /// nothing if there is one, and has made the one attempt of a request that enters (7.1+ or 7.0+; read in 7.1.9, 7.2.13 and 7.3.4,
    /// not in 6.19.11).
    OnThisNodeOnly,
}

/// What `compact_stall` counts (8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactStalls {
    /// Every request that looks for a zone to compact, also where none is suitable (3.x).
    Attempts,
    /// Runs in at least one zone.
    Runs,
    /// Every request for more than a page that may reclaim, also where every zone was skipped or deferred, or the mask forbids compaction
    /// (5.1 to 5.11: read in 5.4.301 and 5.10.265).
    Requests,
    /// Runs, and requests that all zones deferred (5.12 to 7.1: read in 5.15.215 and 7.1.9; 7.2.13 counts none).
    RunsAndDeferred,
}

/// Overall shape of the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowpathScheme {
    /// 3.x: compaction first async, later sync; retry by pages reclaimed (8.13).
    AsyncThenSync3x,
    /// 4.6: the same with THP special cases.
    AsyncThenSync,
    /// 4.8+: compaction priorities.
    Priorities,
}

/// should_compact_retry (8.7, 8.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactRetry {
    /// 4.8 to 5.3: progress, failed, withdrawn.
    Classified,
    /// 5.4 to 6.4 (read in 5.15.215): the same, but what was withdrawn for another reason than a lack of free pages is tried harder.
    ClassifiedByNeed,
    /// 6.5+: by result.
    ByResult,
}
