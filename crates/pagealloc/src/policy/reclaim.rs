//! Rules of the floor above: LRU lists and what reclaim does with them.

use super::GenerationRules;

/// LRU and reclaim eras (chapter 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReclaimRules {
    /// Which lists there are.
    pub lru: LruRule,
    /// New anonymous pages start on the inactive list, and refaults of them are tracked (5.9+).
    pub anon_workingset: bool,
    /// Scan balance by the cost of refaults and writes (5.8+) rather than by the share of rotated pages.
    pub cost_model: bool,
    /// Base pages that reclaim puts back on an active list are steps of the clock by which refaults are judged
    /// (`move_folios_to_lru`, 5.8+), beside those that were evicted, activated by use or refaulted.
    pub putback_ages: bool,
    /// Pages that were scanned in vain have a cost too, one where a refault or a write has 32 (6.2+, 0538a82c39e9).
    pub cost_of_rotations: bool,
    /// Each pass takes the costs that have come up since the last one, as far as statistics tell
    /// (`prepare_scan_control`; read in 7.3.4, not in 6.18.15). Before, they were noted at each event.
    pub costs_by_pass: bool,
    /// When page cache alone is scanned, and when anonymous memory alone.
    pub scan_balance: ScanBalance,
    /// When lists are compared with one another, and what of them.
    pub lists_judged: ListsJudged,
    /// A list's part of what is scanned is rounded up where both kinds are scanned (read in 4.20 and 5.0.1, neither in 4.9 nor in 5.4.301).
    pub rounds_scan_up: bool,
    /// What a page of more than one base page counts as.
    pub counting: ReclaimCounting,
    /// A pass that takes no page of files counts as one that met nothing but dirty ones (4.11 to 6.13: read in 4.20 to
    /// 6.6.57, not in 6.14).
    pub empty_pass_is_dirty: bool,
    /// When a pass over the lists ends that has reclaimed what it was to.
    pub pass_end: PassEnd,
    /// Milliseconds between two flushes of the statistics by which reclaim compares its lists and notices refaults,
    /// before the timer wheel rounds them up; 0: they are always up to date. With `CONFIG_MEMCG` they are the root
    /// group's, summed up over CPUs; since 6.11 reclaim leaves that to the worker that does it every two seconds (own
    /// knowledge).
    pub stats_flush_ms: u32,
    /// What kswapd does with dirty pages of files that it comes to write (10.12).
    pub kswapd_file_writes: FileWrites,
    /// Where dirty pages of files and pages under writeback go that reclaim meets.
    pub dirty_pages: DirtyPages,
    /// Boosted kswapd runs don't shrink slab (5.0 to 5.2).
    pub boost_skips_slab: bool,
    /// Workingset (refault) detection at all (3.15+).
    pub workingset: bool,
    /// Page cache that is brought back to be written to is a refault as well (up to 4.6), and to write to a page is to
    /// use it. Since 4.7 (f0281a00fe80) it is not: what had been there is replaced, so keeping it would have saved
    /// nothing.
    pub writes_refault: bool,
    /// Who makes a filesystem's journal let go of metadata that is in its place, before a commit does.
    pub journal_release: JournalRelease,
    /// To which devices a huge page is written as it is, so that its frame is free as a block then; for others it is split first.
    pub swaps_huge_pages: SwapsHugePages,
    /// A page that is read back from swap is activated when it is mapped (4.8 to 5.8). Before, it starts on the inactive list, and so do
    /// those read ahead in all of these kernels (own knowledge).
    pub swap_in_activates: bool,
    /// Whether anonymous memory that could be swapped counts as memory that page cache may dirty (own knowledge: up to 3.13). Where
    /// it takes most of memory, all of the page cache may then be dirty.
    pub anon_dirtyable: bool,
    /// How much of the slab caches a pass scans.
    pub slab_pressure: SlabPressure,
    /// Each call of a shrinker scans a batch of its objects at least, if there are as many (4.19 and 4.20; own knowledge).
    pub slab_minimum: bool,
    /// Reclaim spares a zone for compaction, or goes on for its sake, only if the request's mask permits compaction
    /// (6.8+, and stable updates of kernels before: read in 5.4.301, 5.10.265, 5.15.215, 6.1.192 and 6.6.57). Before,
    /// requests that could not compact were left to those that can.
    pub compacts_by_mask: bool,
    /// How far a pass goes on for the sake of compaction.
    pub continues: ContinueReclaim,
    /// How often direct reclaim starts over that has reclaimed nothing.
    pub rounds: ReclaimRounds,
    /// What makes a reclaimer sleep, and for how long.
    pub throttling: Throttling,
    /// When direct reclaim for a costly order leaves a zone to compaction.
    pub compaction_ready: CompactionReady,
    /// When the tables that describe swap slots are allocated.
    pub swap_tables: SwapTableRule,
    /// What zones without pages on lists are to reclaim.
    pub idle_zones: IdleZones,
    /// In which order the frames of a batch are freed.
    pub batch_frees: BatchFrees,
    /// The multi-generational LRU, where the kernel has it (6.1+); used instead of the classic lists when
    /// `lru_gen/enabled` says so.
    pub generations: Option<GenerationRules>,
}

/// Who makes a filesystem's journal let go of metadata that is in its place (jbd2), before its next commit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalRelease {
    /// Reclaim, page by page (`bdev_try_to_free_page`), and migration (`fallback_migrate_page`), up to 4.20 (read in 4.20).
    Migration,
    /// Reclaim alone: since 5.0 migration wants buffers without other references (`buffer_migrate_page_norefs`; read in
    /// 5.0.1 and 5.10.265).
    Reclaim,
    /// A shrinker (5.14+; read in 6.18.15).
    Shrinker,
}

/// What a zone that has no page on lists (zone DMA, say) is to reclaim (8.14; read in 4.20, 5.4.301 to 5.15.215,
/// 6.1.192, 6.6.57 and all from 6.12.117 on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleZones {
    /// It has nothing to reclaim, and its reserve does not count where direct reclaim waits for the node's.
    PassedOver,
    /// All of its free pages count as reclaimable, in every place that asks, and so its reserve does (6.13 to 6.17, and
    /// stable updates of kernels before: "mm: vmscan: account for free pages to prevent infinite Loop in
    /// throttle_direct_reclaim()").
    ReclaimableByFree,
    /// It has nothing to reclaim; its reserve counts where it has no free page either (6.18+).
    ReserveCountsIfFull,
}

/// In which order reclaim frees the frames of a batch (3.11 to 6.6.57 and 6.12.117 to 6.18.15 were read).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchFrees {
    /// The last one judged first, once all are judged; large folios at once (up to 6.8).
    LastFirst,
    /// In turn, 31 at a time and the rest at the end; of those the sizes that per-CPU lists don't hold come first (6.9+).
    InTurn,
}

/// How far a pass over a set of lists goes on that reclaims for compaction (`should_continue_reclaim`, 10.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueReclaim {
    /// Until the request has reclaimed the compaction gap, if as much is inactive; then until some zone suits the
    /// order. With `RETRY_MAYFAIL` a pass that reclaims nothing does not end it, as long as it scans (up to 5.3).
    UntilTwiceTheOrder,
    /// Until some zone suits the order, while the gap is inactive (5.4+, 5ee04716c46c).
    WhileInactive,
}

/// How often direct reclaim goes over all priorities (`do_try_to_free_pages`, 10.3); each time counts as an `allocstall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimRounds {
    /// Once (3.x, and 4.20 to 5.4; read in 3.11, 4.20, 5.0.1 and 5.4.301).
    One,
    /// Once more, as before (read in 4.6.2, 4.8.15 and 4.9).
    Again,
    /// Once more, deactivating by force, if active lists were skipped and nothing was reclaimed (5.5 to 6.10;
    /// b91ac374346b, read in 5.10.265 to 6.6.57).
    AgainByForce,
    /// Before that once more in any case, over all groups (6.11+, b82b530740b9).
    AgainAndByForce,
}

/// What makes a reclaimer sleep, and for how long (10.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttling {
    /// `congestion_wait` of a tenth of a second: by kswapd for writes, by direct reclaim while others hold too many
    /// isolated pages, and while a device is congested that it wants written to (up to 4.13; own knowledge).
    WhileCongested,
    /// The same, but for isolated pages once, after which it gives up; no device is congested any more (4.14 to 5.15;
    /// db73ee0d4637, read in 5.4.301 to 5.15.215). A request that reclaimed nothing waits as well before it tries again
    /// where half of what is reclaimable has yet to be written.
    Once,
    /// `reclaim_throttle`: by reason, until what it waits for has happened (5.16+).
    ByReason,
}

/// When one kind of pages alone is scanned (10.5, 10.8; own knowledge for kernels up to 4.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanBalance {
    /// Anonymous memory where free memory and page cache together are below the high mark; else page cache as long as
    /// its inactive list is not shorter than the active one (up to 4.5).
    ByLists,
    /// The same, but page cache alone only if its list yields a page at the priority at hand (4.6 to 4.12); where lists
    /// are the node's, page cache has the ratio of inactive to active pages that anonymous memory has (4.8+).
    ByListsAndSize,
    /// Anonymous memory alone only if that much of it is inactive, too. Pages of the page cache that come back and are activated permit to
    /// deactivate others, and page cache alone is scanned all the same (4.12 to 5.2).
    ByListsKept,
    /// Neither while pages of the kind come back and are activated (5.3+, 2c012a4ad1a2).
    ByDeactivation,
}

/// When active lists are compared with inactive ones, and pages with priorities (10.5, 10.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListsJudged {
    /// Before each batch of an active list, by pages of zones that the pass may take (up to 5.4; read in 3.11, 4.6.2, 5.0.1 and 5.4.301).
    EachBatch,
    /// Once a pass, by all pages of the lists (5.5+).
    EachPass,
}

/// What reclaim counts (`pgscan`, `pgsteal`, `pgrefill`, `pgactivate`, and what it goes by itself).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimCounting {
    /// Entries of lists, however large; a mapped page, or one of the swap cache, is twice the pressure on slab and
    /// priorities (3.x; read in 3.11).
    Entries,
    /// The same, but a batch ends with 32 base pages taken (read in 4.6.2 to 5.0.1).
    EntriesInBatches,
    /// Base pages (5.4+, 98879b3b9edc).
    BasePages,
}

impl ReclaimCounting {
    /// What a page of that many base pages counts as.
    #[inline(always)]
    pub const fn of(self, pages: u32) -> u32 {
        match self {
            ReclaimCounting::Entries | ReclaimCounting::EntriesInBatches => 1,
            ReclaimCounting::BasePages => pages,
        }
    }
}

/// When a pass ends that has reclaimed its target (10.9; own knowledge up to 6.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassEnd {
    /// At once, save at the first priority, which is scanned whole; kswapd has no target but all that it set out to scan (up to 3.10).
    AtTarget,
    /// Direct reclaim's at once. kswapd's goes on until anonymous memory and page cache have been scanned in
    /// proportion, and if it scans one of them only, until all that it set out to scan is scanned (3.11 to 3.15).
    KswapdScansAll,
    /// Direct reclaim too keeps the proportion, save at the first priority, which it scans whole. One that finds either
    /// kind done ends; one that has cut a kind to the other's share scans what is left of it, however much it has
    /// reclaimed (3.16 to 6.0).
    ScansProportion,
    /// The same, but it ends whenever either kind is done, and so one round after the cut (6.1+, f53af4285d77).
    OneKindDone,
}

/// What reclaim does about dirty pages of files, and pages under writeback, that it meets (10.6, 10.12; own knowledge up to 4.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyPages {
    /// They stay on the inactive list, and direct reclaim wakes the flushers with every round that has not reclaimed
    /// its target after half as much again was scanned; so it is with all rules up to 4.10. From the fourth priority on
    /// kswapd writes those of files that it meets; nobody waits, as kswapd may write to a congested device, and so no
    /// zone is ever marked as waiting for one (up to 3.10).
    StayByPriority,
    /// They stay on the inactive list. A batch of nothing but dirty ones makes kswapd write those of the node by itself and every
    /// reclaimer wait (3.11 to 3.15).
    StayAndStall,
    /// The same, but only pages that are written too slowly are waited for (3.16 to 4.10).
    Stay,
    /// They are activated, to be out of the way until they are clean, and the flushers woken. kswapd writes those that it meets again, if a
    /// whole pass found nothing else (4.11+).
    MoveAway,
}

/// When direct reclaim for a costly order leaves a zone to compaction rather than reclaim more (10.4; kernels up to 4.8
/// as the patch "mm, vmscan: make compaction_ready() more accurate and readable" found them).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionReady {
    /// Free pages are above the high mark, the compaction gap and kswapd's margin, and either compaction is deferred, or the order is there
    /// at low, or compaction could start (up to 4.7).
    HighWithMargin,
    /// The same without the margin (4.8).
    High,
    /// The order is there at min, or compaction could start and free pages are above the high mark and the compaction
    /// gap (4.9 to 6.14; read in 5.4.301 and 6.6.57).
    HighAndGap,
    /// The order is there at min, or compaction could start above the high mark (6.15+).
    SuitableAboveHigh,
}

/// How much of the slab caches a pass scans (own knowledge where it differs from 10.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabPressure {
    /// Twice the share of the node's LRU pages that the pass scanned (32 pages if it scanned none), and all that was
    /// deferred; kswapd does it for each zone (up to 3.18).
    EachZone,
    /// The same share of the LRU pages of the highest zone that reclaim works on, and along with it only (3.19 to 4.15; of the
    /// node where lists are the node's).
    HighestZone,
    /// By the priority, and all that was deferred (4.16 to 5.12).
    Priority,
    /// By the priority, of what was deferred too (5.13+, 10.19).
    PriorityOfAll,
}

/// When the tables that describe swap slots are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapTableRule {
    /// With the swap area (up to 6.17).
    AtSwapon,
    /// A page for each cluster, inside reclaim, when the first of its slots is taken; freed with the last (6.18+).
    PerCluster,
}

/// Swap devices that take huge pages whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapsHugePages {
    /// None (up to 4.13).
    Never,
    /// Those that don't rotate: only they are divided into clusters (4.14, own knowledge; read up to 6.12.117).
    NotRotating,
    /// All (read in 6.14, not in 6.12.117).
    Always,
}

/// What kswapd does with a dirty page of a file in a node full of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWrites {
    /// Writes it (read up to 6.1.192, where ext4 has a `writepage`; none of 6.6.57 on has).
    Writes,
    /// Activates it, as one that can't be written (6.6 to 6.18).
    Activates,
    /// Leaves it to the flushers, as in any other node (6.19+).
    Never,
}

/// LRU lists (10.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LruRule {
    /// One set a zone (up to 4.7).
    PerZone,
    /// One set a node (4.8+).
    PerNode,
}
