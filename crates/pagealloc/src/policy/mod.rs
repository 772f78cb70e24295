//! Policy: every behaviour that a kernel once had, or that a patch proposed, as a field of one struct.
//!
//! A kernel version is a named preset ([`presets`]). Fields are read where the decision is taken; no code path is
//! duplicated per version. Chapter and section numbers in the docs are those of the project's behaviour reference,
//! which names the kernel trees that each rule was checked in.

mod presets;
mod sysctl;

pub use presets::{PRESETS, Preset, preset};
pub use sysctl::{SYSCTLS, SetSysctlError, Sysctl, SysctlInfo};

/// All behaviour that differs between kernels or patches, plus the sysctl values in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Name of the preset that this was made from.
    pub name: &'static str,
    /// How boot hands free memory to the buddy lists (1.13).
    pub boot_release: BootRelease,
    /// Numbering and use of the fourth migratetype (1.5, 1.14).
    pub reserve: Reserve,
    /// How a request of one type takes pages of another (chapter 4).
    pub fallback: Fallback,
    /// Whether free pages always sit on the list of their block's type (3.8).
    pub list_types: ListTypes,
    /// What a merge above the pageblock order does to the buddy's type (3.5d).
    pub merge_retype: MergeRetype,
    /// Who sets `ALLOC_NOFRAGMENT` on the fast path without defrag_mode (7.5, 7.6).
    pub nofragment: NoFragment,
    /// When the watermark boost is raised (4.9).
    pub boost: Boost,
    /// Fair zone allocation (7.10, 7.11).
    pub fair_zones: FairZones,
    /// Skip nodes whose kswapd is awake in the first scan of the zonelist (7.1d).
    pub skip_kswapd_nodes: bool,
    /// How a high-order watermark test judges free blocks (6.6, 6.8).
    pub watermark_test: WatermarkTest,
    /// How much of the min reserve privileged requests may use (6.6, 6.7).
    pub watermark_reserve: WatermarkReserve,
    /// How low and high derive from min (6.3).
    pub watermark_gap: WatermarkGap,
    /// Per-CPU page lists (chapter 5).
    pub pcp: PcpRules,
    /// `ALLOC_FRAGMENT_STALL` of the 4.20 series (7.9). `None` where the kernel lacks it.
    pub fragment_stall: Option<FragmentStall>,
    /// What `vm.defrag_mode=1` switches on (chapter 13). `None` where the kernel lacks it.
    pub defrag: Option<DefragRules>,
    /// LRU lists and page reclaim (chapter 10).
    pub reclaim: ReclaimRules,
    /// When kswapd is woken and when it may sleep (chapter 9).
    pub kswapd: KswapdRules,
    /// Compaction (chapter 11).
    pub compaction: CompactionRules,
    /// Retries of the allocation slow path (chapter 8).
    pub slowpath: SlowpathRules,
    /// Values of the sysctls.
    pub sysctl: Sysctl,
}

impl Policy {
    /// Whether `vm.defrag_mode` is on in a kernel that has it (13.1).
    #[inline(always)]
    pub fn defrag_mode(&self) -> bool {
        self.sysctl.defrag_mode != 0 && self.defrag.is_some()
    }

    /// 5.10 changed which list end boot and moves use; other changes of unknown date between 5.0 and 6.1 go with it.
    #[inline(always)]
    pub(crate) fn since_5_10(&self) -> bool {
        self.boot_release == BootRelease::Tail
    }
}

/// How boot hands free memory to the buddy lists (1.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootRelease {
    /// Before 5.10: each chunk is pushed at the head, so the highest block is handed out first.
    Head,
    /// 5.10+: each chunk is appended, so the lowest block is handed out first.
    Tail,
}

/// The fourth migratetype (1.5, 1.12, 1.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// Up to 4.3: up to two `Reserve` blocks per zone, taken when everything else failed.
    MigrateReserve,
    /// 4.4 to 6.7: HighAtomic, cap of 1 % plus one block, trigger order > 0 with HARDER.
    HighAtomic,
    /// 6.8+: HighAtomic, cap of 1 % rounded up, never if 1 % is less than a block.
    HighAtomicOnePercent,
}

/// Generations of the fallback rule (4.5 to 4.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// 3.11 and 3.12: retype when half of the block's pages moved; Unmovable does not claim below half the block order.
    HalfMoved3x,
    /// 4.4 to 4.10: the same with Unmovable claiming like Reclaimable.
    HalfMoved,
    /// 4.12 to 6.9: count free plus compatible pages; small Movable requests take the smallest page.
    FreeAndAlike,
    /// 6.10 to 6.14: as before with strict free list types; what is not claimed is cut off the page found.
    FreeAndAlikeStrict,
    /// 6.15+: claim largest first, then steal smallest first; the mode that worked persists over a batch.
    ClaimThenSteal {
        /// Whether the refill of a per-CPU list keeps the mode that served the previous page (4.4).
        batch_mode: bool,
    },
}

/// Free list types (3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListTypes {
    /// Before 6.10: pages may sit on another type's list.
    Mixed,
    /// 6.10+: always the list of the block's type.
    Strict,
}

/// Retyping on merges above the pageblock order (3.5d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRetype {
    /// Only the first block of the buddy (up to 6.18).
    FirstBlock,
    /// All of its blocks (6.19).
    WholeRange,
}

/// Who sets `ALLOC_NOFRAGMENT` on the fast path without defrag_mode (7.5, 7.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFragment {
    /// Nobody: before 5.0, and in 5.0 and 5.1 by a slip.
    Never,
    /// The 4.20 series: zone Normal and a request that may wake kswapd; lower order limit always the pageblock order.
    Series,
    /// 5.2+: zone Normal with DMA32 beside it or a single node.
    Normal,
}

/// When and how far the watermark boost is raised (4.9, 4.9b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boost {
    /// Before the 4.20 series.
    Never,
    /// 4.20 series: every fallback below the pageblock order; the cap counts the boost itself, so it never binds.
    EveryFallbackBoostedCap,
    /// 5.0 to 5.6: every such fallback, cap from the raw high mark.
    EveryFallback,
    /// 5.7 to 6.14: the same, never in zones of less than four pageblocks.
    EveryFallbackGuarded,
    /// 6.15+: only when a claim is attempted.
    ClaimAttempt,
}

/// Fair zone allocation (7.10, 7.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairZones {
    /// Up to 3.11 and from 4.8 on.
    Off,
    /// 3.12.0: batches over all zones of all nodes.
    AllNodes,
    /// 3.13 to 4.7: `ALLOC_FAIR` pass over the local node.
    LocalNode,
}

/// Judging free blocks for a high-order request (6.6, 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkTest {
    /// 3.x: halve the mark per order.
    Halving,
    /// 4.4+: one suitable block is enough.
    OneSuitableBlock,
}

/// How much of the min reserve a privileged request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkReserve {
    /// 3.x: HIGH a half, then HARDER a quarter; OOM is not known.
    HighHarder3x,
    /// 4.4 to 6.2 (6.7).
    HighHarder,
    /// 6.3+ (6.6).
    MinReserve,
}

/// How low and high derive from min (6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkGap {
    /// Up to 4.5: a quarter of min each.
    QuarterOfMin,
    /// 4.6+: at least `watermark_scale_factor`.
    ScaleFactor,
}

/// Per-CPU page lists (chapter 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcpRules {
    /// Which orders are cached.
    pub orders: PcpOrders,
    /// How the high limit is found.
    pub high: PcpHigh,
    /// Formula of the batch (5.2).
    pub batch: PcpBatch,
    /// Drain whole amounts at once, or in steps of a batch that restart at the given list (6.19).
    pub drain_in_batches: bool,
}

/// Orders that per-CPU lists cache (5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpOrders {
    /// Up to 5.13: order 0.
    Zero,
    /// 5.14 to 6.9: orders 0 to 3 and one list for PMD order.
    CostlyAndThp,
    /// 6.10+: two lists for PMD order, movable and not.
    CostlyAndTwoThp,
}

/// High limit of a per-CPU list (5.3, 5.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpHigh {
    /// Up to 5.13: six batches; a batch is freed when it is reached, round-robin.
    SixBatches,
    /// 5.14 to 6.6: the low watermark divided by CPUs; frees double while a task only frees.
    LowWatermark,
    /// 6.7+: tuned between `high_min` and `high_max`.
    AutoTuned,
}

/// Formula of the per-CPU batch (5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpBatch {
    /// Up to 4.18: half as much as later (31 in a big zone).
    Managed1024Half,
    /// 4.19 to 6.18 (63 in a big zone).
    Managed1024,
    /// 6.19.
    Managed4096,
}

/// `ALLOC_FRAGMENT_STALL` (7.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentStall {
    /// Timeout is HZ divided by this: 50 in the posted version, 10 in the first two.
    pub timeout_hz_divisor: u32,
    /// Boost by seven pageblocks instead of one while stalling.
    pub fast_boost: bool,
}

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
    /// 2026: requests that can't reclaim but may wake kswapd give NOFRAGMENT up instead of failing (13.9).
    pub nonblocking_may_fragment: bool,
    /// 2026: direct reclaim and compaction of non-movable requests run at the pageblock order (13.9).
    pub reclaim_at_block_order: bool,
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

/// LRU and reclaim eras (chapter 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReclaimRules {
    /// Which lists there are.
    pub lru: LruRule,
    /// New anonymous pages start on the inactive list, and refaults of them are tracked (5.9+).
    pub anon_workingset: bool,
    /// Scan balance by cost of refaults and rotations (5.8+) rather than by the share of rotated pages.
    pub cost_model: bool,
    /// Whether kswapd writes dirty file pages that it meets (up to 6.18 in the rare case of 10.12).
    pub kswapd_writes_file: bool,
    /// Boosted kswapd runs don't shrink slab (5.0 to 5.2).
    pub boost_skips_slab: bool,
    /// Workingset (refault) detection at all (3.15+).
    pub workingset: bool,
}

/// LRU lists (10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LruRule {
    /// One set a zone (up to 4.7).
    PerZone,
    /// One set a node (4.8+).
    PerNode,
}

/// kswapd eras (chapter 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KswapdRules {
    /// When `wakeup_kswapd` really wakes it.
    pub wake: KswapdWake,
    /// Whether there is a kcompactd (4.6+); before, kswapd compacts itself.
    pub kcompactd: bool,
    /// Proactive compaction (5.9+).
    pub proactive_compaction: bool,
    /// kswapd gives up after 16 fruitless runs (4.12+); before, zones are judged by pages scanned.
    pub failures: bool,
    /// A boosted run that reclaims nothing counts as a failure (up to 6.18).
    pub boosted_run_may_fail: bool,
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
    /// Freed pages go straight to the compacting task (5.1+).
    pub capture: bool,
    /// Base mark of the suitability test (11.10).
    pub suitable_mark: SuitableMark,
    /// Fragmentation index is tested for all orders (3.x) or only for costly ones.
    pub fragindex_all_orders: bool,
    /// What ends a run (11.14).
    pub finish: CompactFinish,
    /// Deferral is kept per zone that is scanned (4.x+), or judged on the preferred zone (3.x).
    pub defer_per_zone: bool,
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

/// What ends a compaction run (11.14.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactFinish {
    /// 3.12: a page of the own type, watermark at low + 2^order passes, no fallback below the pageblock order.
    OwnTypeLowMark,
    /// 4.6, 4.8: own type or claimable fallback, and the low mark passes.
    ClaimableLowMark,
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
    /// NORETRY requests leave when the initial compaction was skipped, not only when it was deferred (6.1+).
    pub noretry_bails_on_skipped: bool,
    /// `compact_stall` counts deferred runs as well (up to 6.18).
    pub stall_counts_deferred: bool,
    /// Form of should_compact_retry.
    pub compact_retry: CompactRetry,
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
    /// 4.8 to 5.x: progress, failed, withdrawn.
    Classified,
    /// 6.x: by result.
    ByResult,
}

/// The candidate nearest to `name` by edit distance, if it is near enough to be a slip (a third of its letters).
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (edit_distance(name.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|(distance, candidate)| *distance * 3 <= candidate.len().max(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: alloc::vec::Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
