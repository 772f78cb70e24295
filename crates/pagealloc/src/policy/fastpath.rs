//! Rules of this floor: free lists, fallback, per-CPU lists, watermarks, zone choice.

use crate::AllocFlags;

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
    /// 6.10+: always the list of the block's type. So blocks that a migration target makes Movable take their free pages along (3.10).
    Strict,
}

/// Retyping on merges above the pageblock order (3.5d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRetype {
    /// Nothing: with mixed lists the block's type does not follow its pages' (up to 6.9).
    Never,
    /// Only the first block of the buddy (6.10 to 6.18).
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

/// How single pages are handed to who wants many, such as vmalloc for a thread stack. Own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkRequests {
    /// Up to 5.12: each page is a request of its own.
    OneByOne,
    /// 5.13+: `alloc_pages_bulk()` takes them from one zone at its low mark, and never with `ALLOC_NOFRAGMENT`.
    Batched,
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

/// How much of the reserves a privileged request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatermarkReserve {
    /// 3.x: HIGH a half, then HARDER a quarter; OOM is not known.
    HighHarder3x,
    /// 4.4 to 6.2 (6.7).
    HighHarder,
    /// 6.3+ (6.6).
    MinReserve,
}

impl WatermarkReserve {
    /// The alloc flag that opens the HighAtomic reserve to a request of order > 0: up to 6.2 HARDER, the bit of `NON_BLOCK`,
    /// then a flag of its own.
    pub(crate) const fn opens_highatomic(self) -> AllocFlags {
        match self {
            WatermarkReserve::MinReserve => AllocFlags::HIGHATOMIC,
            WatermarkReserve::HighHarder | WatermarkReserve::HighHarder3x => AllocFlags::NON_BLOCK,
        }
    }
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
    /// A request whose list stays empty, as its refill found nothing, goes on to the buddy lists, of which the HighAtomic
    /// reserve is left to it (5.5, 7.7). Before, that ends the attempt in the zone. The presets from 5.15 on have it; by
    /// own knowledge it came with 6.0, when lists that another CPU holds were first passed by.
    pub falls_through: bool,
    /// How the high limit is found.
    pub high: PcpHigh,
    /// Formula of the batch (5.2).
    pub batch: PcpBatch,
    /// When a run of high-order frees empties the lists (5.7, 5.14).
    pub empties: PcpEmpties,
    /// What is drained in steps of a batch, each of which begins at the first list again.
    pub steps: PcpSteps,
}

/// Drains of per-CPU lists in steps of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpSteps {
    /// None: each drain takes its whole amount at once.
    Never,
    /// Those of a tick (6.18.7 and 6.12.67, by their distributor's changelogs; read in 6.18.15 and 6.12.117).
    Decay,
    /// Those of frees beyond the limit as well (6.19).
    All,
}

/// Orders that per-CPU lists cache (5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpOrders {
    /// Up to 5.13: order 0, drained in turns over the types (5.14).
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

/// When frees of orders 1 to 3 in a row empty a CPU's lists rather than shorten them (`free_high`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpEmpties {
    /// Never (up to 5.17; read in 5.15.215).
    Never,
    /// At each that follows a drain with no allocation in between (5.18 to 6.6).
    WhileOnlyFreed,
    /// At each that follows another once a batch was freed (6.7 to 6.15, 6ccdcb6d3a74).
    AfterBatch,
    /// Once a batch and half of `high_min` were (6.16+, c544a952ba61).
    AfterBatchAndHalfHighMin,
}

/// Formula of the per-CPU batch (5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpBatch {
    /// Up to 4.18: managed/1024, at most 512 KiB, so 31 pages in large zones.
    Managed1024Half,
    /// 4.19 to 6.18: at most 1 MiB, so 63 pages.
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

/// Numbers of Movable and Reclaimable (1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigratetypeNumbers {
    /// 3.x: Reclaimable 1, Movable 2.
    ReclaimableFirst,
    /// 4.6 and later: Movable 1, Reclaimable 2.
    MovableFirst,
}

/// How high-order atomic requests use the HighAtomic reserve (1.14, 2.7, 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighAtomicUse {
    /// On the slow path only, where any page that serves one has its block reserved, from a per-CPU list or not (up to 6.19).
    SlowPath,
    /// On the slow path only. They leave empty per-CPU lists empty and go to the buddy lists, the reserve first; a
    /// block is reserved for a page from these (read in 7.1.9 and 7.2.13, not in 6.19.11).
    SlowPathBeyondLists,
    /// The same on both paths, but a block is reserved at the min mark only (7.3; not in 7.2.13).
    BothPaths,
}

/// Who may take a page of the HighAtomic reserve that nobody reserved it for, rather than fail (7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighAtomicLastResort {
    /// Nobody (up to 6.2).
    Nobody,
    /// Victims of the OOM killer (`ALLOC_OOM`, 6.3+) and requests that can't wait (`ALLOC_NON_BLOCK`, 6.12+ and the stable updates that
    /// `linux-6.1.116` and `linux-6.6` stand for). No preset has the former alone.
    VictimsAndNonBlocking,
}

/// What the watermark test subtracts for the HighAtomic reserve (3.2, 6.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveHeldBack {
    /// Up to 6.11: all of the reserved blocks, used or not (nothing where there is no HighAtomic).
    ReservedBlocks,
    /// 6.12+: the free pages among them.
    FreePages,
}

/// Types that may merge above the pageblock order (3.5c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeTypes {
    /// Up to 5.17: all but Isolate.
    AllButIsolate,
    /// 5.18+: equal types, or two of Unmovable, Movable and Reclaimable.
    Mergeable,
}

/// What the extfrag event's `change_ownership` is (4.10, 4.11, 15.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtfragOwnership {
    /// Up to 3.11: whether the request's type equals the type that it fell back to. That is put down as the request's
    /// own where as much as a claim is tried, whatever becomes of it; otherwise the two differ.
    RequestIsFallback,
    /// 3.12+: whether the block is of the request's type afterwards.
    RequestIsBlock,
}

/// Zones that share `min_free_kbytes` in proportion to their size (6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowmemZones {
    /// Up to 6.1 (read in 6.1.192): all but HighMem.
    AllButHighMem,
    /// Later (read in 6.6.57): all but HighMem and Movable.
    AllButHighMemAndMovable,
}
