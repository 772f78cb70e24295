//! Rules of the multi-generational LRU (docs/mglru.md).

/// Eras of the multi-generational LRU (docs/mglru.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationRules {
    /// One use through a page table does not make a page young, a second one does, and puts it in the workingset; refaults
    /// inherit their uses (6.14+). Before, one did, and flags of use were lost with every change of generation.
    pub second_look: bool,
    /// Generations of anon and file end independently of each other, their number alone decides when to age, and the
    /// kind with fewer refaults over all tiers is scanned (6.14+). Before, anon's were never older than file's.
    pub kinds_apart: bool,
    /// Aging is left to kswapd, ahead of its passes, where kswapd reclaims (6.1); later, passes age when they lack old pages.
    pub kswapd_ages_ahead: bool,
    /// Reclaim of a whole node is one pass over its generations, without reclaim for compaction; runs that may not
    /// write or unmap are skipped (6.3+).
    pub node_at_once: bool,
    /// Lowest priority number that a pass of kswapd may start with, by what it has to reclaim (6 since 6.11, 0 since
    /// 6.3); `None`: always 12.
    pub first_priority: Option<u8>,
    /// kswapd stops within a pass when all zones are above their high marks (6.7+).
    pub stops_at_high: bool,
    /// When dirty page cache makes a pass wake the flushers.
    pub wakes_flushers: FlusherWake,
    /// Runs that may not do I/O scan page cache first, as at a swappiness of 1 (read in 6.6.57 and 6.12.117, neither in
    /// 6.1.192 nor in 6.14). Others choose the kind as any run does, and pass over what would have to be written.
    pub file_first_no_io: bool,
    /// Only refaults of pages that left with what is the oldest generation still are counted (`workingset_refault_*`;
    /// read in 6.1.192, not in 6.6.57).
    pub recent_refaults_only: bool,
    /// How much a pass scans, and what becomes of it if the generations have to age.
    pub quota: PassQuota,
    /// Dirty page cache and pages under writeback move to the next generation unjudged (up to 7.1: "mm/mglru: use the common routine for
    /// dirty/writeback reactivation"). Later they are judged as those of the inactive lists are, and activated.
    pub sorts_dirty: bool,
    /// What a fault brings in starts as young as what is activated (up to 7.1: "mm/mglru: use folio_mark_accessed to
    /// replace folio_set_active"). Later it starts where it would without, as if it had been used once. So the next
    /// look that finds it in use is the second: of the anonymous pages that eviction judged in six recordings of 7.3
    /// 38,367 were activated and 10,840 kept, in two of 6.18 4,748 and 29,169. A page that was used once enters one
    /// generation younger than one that was not, and a second use that eviction finds is one more use, and no proof of
    /// belonging to the workingset (read in 7.3.4).
    pub faults_activate: bool,
    /// The first use through a page table promotes executable page cache (read in 7.3.4, not in 7.2.13).
    pub exec_at_once: bool,
}

/// When a pass over generations wakes the flushers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlusherWake {
    /// Never (up to 6.12).
    Never,
    /// After a pass whose page cache was all dirty (6.13 to 7.1).
    AfterPass,
    /// After a batch of nothing but dirty pages that nobody was writing, as with the inactive lists (7.2+).
    AfterBatch,
}

/// How much a pass over generations scans ("mm/mglru: improve reclaim loop and dirty folio handling", 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassQuota {
    /// Calculated anew before each batch, which looks at up to 4,096 pages. A pass that has to age ends with that, and one at the first
    /// priority does without (up to 6.16).
    Anew,
    /// The same, but a batch looks at no more than the pass has left to scan (6.17 to 7.1; read in 6.17, not in 6.16).
    AnewExact,
    /// Calculated once, when the pass begins, and used up by all that batches of 64 look at. A pass that can't evict otherwise ages at any
    /// priority, and ends after one batch more (7.2+).
    Once,
}
