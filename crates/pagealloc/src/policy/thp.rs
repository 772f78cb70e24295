//! What eras do with huge pages once they are there (chapter 12).

/// Splits and collapses of huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThpRules {
    /// A huge page of which a part is unmapped stays whole, and is queued to be split when memory gets short (12.4;
    /// 4.5+, own knowledge). Before, it was split at once.
    pub defers_split: bool,
    /// In which order its parts are scanned once it was split (12.4).
    pub split_parts: SplitParts,
    /// What khugepaged does about pages that are swapped out (12.3).
    pub collapse_swap_in: CollapseSwapIn,
    /// khugepaged takes pages that processes share, up to `max_ptes_shared`, and parts of huge pages (12.3; 5.8+, own
    /// knowledge). Before, either spared the range.
    pub collapses_shared: bool,
    /// khugepaged takes a huge page of another node rather than reclaim (up to 4.0, own knowledge). Since, the node
    /// that holds most of the range serves it or none.
    pub collapses_anywhere: bool,
    /// What khugepaged's requests reclaim has counters of its own, `pgscan_khugepaged` and `pgsteal_khugepaged`:
    /// recordings of 6.12 have them, those of 6.1 do not. Before, it was direct reclaim's.
    pub counts_khugepaged: bool,
    /// Nodes that serve a fault.
    pub fault_nodes: FaultNodes,
    /// khugepaged and faults under `MADV_HUGEPAGE` reclaim once and give up, too, with `__GFP_NORETRY` (up to 4.7; "mm, thp: remove
    /// `__GFP_NORETRY` from khugepaged and madvised allocations", 4.8).
    pub always_noretry: bool,
    /// What a range takes of khugepaged's `pages_to_scan`.
    pub scan_progress: ScanProgress,
}

/// What a look at a range counts for (12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanProgress {
    /// All entries of a page table, whatever there is (up to 6.19; read in 6.18.15 and 6.19.11).
    WholeRanges,
    /// Entries up to the one that spoils the range; one for a range without a page table, or with a huge page (read in 7.1.9 and later).
    EntriesLookedAt,
}

/// Order in which reclaim comes to the parts of a page that was split: the first one, then the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitParts {
    /// Ascending: the last one is put on the list first, each behind those before it (up to 6.14).
    Ascending,
    /// Descending: the second one is put on the list first (`folio_split`, 6.15+; read in 6.16 and 6.18).
    Descending,
}

impl SplitParts {
    /// The part that comes at this place of a page of so many.
    pub const fn part(self, place: u32, parts: u32) -> u32 {
        match self {
            SplitParts::Descending if place > 0 => parts - place,
            _ => place,
        }
    }
}

/// Which nodes serve the huge page of a fault, without a memory policy (8.12). Versions are own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultNodes {
    /// All, the task's first (up to 3.19).
    Anywhere,
    /// The task's or none ("mm/thp: allocate transparent hugepages on local node", 4.0 to 5.3).
    Local,
    /// The same, but all for a fault under `MADV_HUGEPAGE` that may reclaim ("mm: thp: relax `__GFP_THISNODE` for MADV_HUGEPAGE mappings",
    /// 4.20-rc1 to -rc5).
    LocalUnlessAdvised,
    /// The task's, with one light attempt; then all, where the mask lets reclaim run (5.4+).
    LocalThenAnywhere,
}

/// How khugepaged meets swapped pages of a range (12.3). Versions are own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseSwapIn {
    /// It leaves the range alone (up to 4.7).
    Never,
    /// It reads up to `max_ptes_swap` of them, waits, and goes on (4.8 to 5.19).
    Waits,
    /// It leaves the range alone once it would have to wait for one, which it will find in memory the next time
    /// ("mm/khugepaged: stop swapping in page when VM_FAULT_RETRY occurs", 6.0+).
    UntilItWaits,
}
