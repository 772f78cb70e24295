//! Page reclaim of Linux, from 3.10 to 7.3: the classic active and inactive lists (chapter 10 of the reference),
//! and the multi-generational LRU (docs/mglru.md).
//!
//! | question | module |
//! | --- | --- |
//! | how does a task free memory for its own request | `direct` |
//! | what is one pass over a node | `shrink_node` |
//! | how much of which list | `scan_balance` |
//! | which pages are taken | `isolate` |
//! | what becomes of an active page | `shrink_active` |
//! | what becomes of a batch of inactive pages | `shrink_inactive` |
//! | what is one pass over generations | `shrink_generations` |
//! | when do generations age | `aging` |
//! | which pages of the oldest generation are taken | `evict` |
//! | which pages of a batch are judged a second time | `evict_again` |
//! | which walk through page tables goes on | `walk` |
//! | what do evictions and refaults teach, by tier | `tiers`, by the loop of `tier_feedback` |
//! | what becomes of one inactive page | `page_out` |
//! | in which order are a batch's frames freed | `batch_frees` |
//! | how is a huge page broken up | `split` |
//! | what do evictions and refaults teach | `workingset` |
//! | how are slab caches shrunk | `slab` |
//! | when does a reclaimer sleep | `throttle` |
//! | what is kept of a node | `node` |
//! | how many pages may be dirty | `dirty` |
//!
//! Lists are worked on in batches of [`SWAP_CLUSTER_MAX`] pages. A batch is one synchronous step; writes that it decides
//! on are started after the state is released, and its CPU time is awaited then ([`Work::Shrink`](crate::Work::Shrink)).

mod aging;
mod batch_frees;
mod direct;
mod dirty;
mod evict;
mod evict_again;
mod isolate;
mod look_around;
pub(crate) mod node;
mod page_out;
mod page_tables;
mod scan_balance;
pub(crate) mod shadow;
mod shrink_active;
mod shrink_generations;
mod shrink_inactive;
mod shrink_node;
mod slab;
mod split;
#[cfg(test)]
mod tests;
mod throttle;
pub(crate) mod throttle_reason;
pub(crate) mod tier_feedback;
mod tiers;
pub(crate) mod walk;
mod workingset;

pub use node::NodeReclaim;
pub use shadow::{Shadow, SwapEntry};
pub use throttle_reason::ThrottleReason;
pub use tier_feedback::TierFeedback;
pub use walk::Walk;
pub use workingset::cache_refaults;

use crate::lru_kind::LruKind;
use alloc::vec::Vec;
use pagealloc::{Counter, Gfp, Order, Pfn, ZoneType};

/// Pages per batch, and the usual target of direct reclaim.
pub const SWAP_CLUSTER_MAX: u32 = 32;
/// Priority that every run starts with: a 4096th of each list.
pub const DEF_PRIORITY: u8 = 12;
/// Fruitless kswapd runs after which a node counts as hopeless (9.10), and fruitless rounds of a request that are forgiven (1.3).
pub const MAX_RECLAIM_RETRIES: u32 = 16;

/// What one run of reclaim may do and has done (10.2 to 10.6, 9.5).
#[derive(Clone, Debug)]
pub struct ScanControl {
    /// Stop when this many are reclaimed.
    pub nr_to_reclaim: u64,
    /// Order wanted.
    pub order: Order,
    /// Mask of the request.
    pub gfp: Gfp,
    /// Highest zone that is scanned.
    pub reclaim_idx: ZoneType,
    /// 12 (a 4096th of each list) down to 0 (all).
    pub priority: u8,
    /// May start writing pages.
    pub may_writepage: bool,
    /// May unmap.
    pub may_unmap: bool,
    /// May swap.
    pub may_swap: bool,
    /// Leaves slab alone.
    pub spare_slab: bool,
    /// Deactivate whatever the balance (second try of 10.3).
    pub force_deactivate: bool,
    /// Active lists were left alone.
    pub skipped_deactivate: bool,
    /// kswapd runs this.
    pub kswapd: bool,
    /// khugepaged does, in a kernel that counts it by itself.
    pub khugepaged: bool,
    /// Compaction can go on instead.
    pub compaction_ready: bool,
    /// cache_trim_mode was in force and failed to reclaim (10.6).
    pub cache_trim_mode_failed: bool,
    /// Don't use it any more in this run.
    pub no_cache_trim_mode: bool,
    /// Pages scanned.
    pub nr_scanned: u64,
    /// Pages reclaimed.
    pub nr_reclaimed: u64,
    /// Frames of slab pages just freed; scratch space that is kept to save allocations.
    pub slab_freed: Vec<Pfn>,
    /// Huge pages that a shrinker wants split; scratch space, too.
    pub to_split: Vec<Pfn>,
    /// Frames that the owner of a shrinker no longer holds; scratch space, too.
    pub released: Vec<Pfn>,
}

impl ScanControl {
    /// A run for a request of this order and mask: 32 pages, everything allowed but writing (10.2).
    pub const fn new(order: Order, gfp: Gfp, reclaim_idx: ZoneType) -> ScanControl {
        ScanControl {
            nr_to_reclaim: SWAP_CLUSTER_MAX as u64,
            order,
            gfp,
            reclaim_idx,
            priority: DEF_PRIORITY,
            may_writepage: false,
            may_unmap: true,
            may_swap: true,
            spare_slab: false,
            force_deactivate: false,
            skipped_deactivate: false,
            kswapd: false,
            khugepaged: false,
            compaction_ready: false,
            cache_trim_mode_failed: false,
            no_cache_trim_mode: false,
            nr_scanned: 0,
            nr_reclaimed: 0,
            slab_freed: Vec::new(),
            to_split: Vec::new(),
            released: Vec::new(),
        }
    }

    /// Who scans and reclaims, as /proc/vmstat tells them apart.
    pub(crate) const fn counters(&self) -> (Counter, Counter) {
        match () {
            () if self.kswapd => (Counter::PgscanKswapd, Counter::PgstealKswapd),
            () if self.khugepaged => (Counter::PgscanKhugepaged, Counter::PgstealKhugepaged),
            () => (Counter::PgscanDirect, Counter::PgstealDirect),
        }
    }
}

/// What one batch of inactive pages came to, in base pages (`reclaim_stat`, 10.12).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Looked at on the list, pages of too high zones included.
    pub examined: u32,
    /// Taken off the list.
    pub taken: u32,
    /// Judged; less than taken if nothing was taken twice.
    pub scanned: u32,
    pub reclaimed: u32,
    /// Folios among these.
    pub folios: u32,
    pub dirty: u32,
    pub unqueued_dirty: u32,
    pub congested: u32,
    pub writeback: u32,
    pub immediate: u32,
    pub pageout: u32,
    pub activated: [u32; 2],
    pub ref_keep: u32,
    /// Requests for swap tables that failed; every other one asked for kswapd.
    pub failed_tables: u32,
}

impl Batch {
    /// Nothing but dirty pages that nobody was writing: the flushers don't keep up.
    fn is_unqueued_dirty(&self) -> bool {
        self.taken != 0 && self.unqueued_dirty == self.taken
    }
}

/// Sums of the batches of one pass over a node, for the node's flags and throttling (10.6).
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PassTotals {
    pub dirty: u64,
    pub unqueued_dirty: u64,
    pub congested: u64,
    pub writeback: u64,
    pub immediate: u64,
    pub taken: u64,
    pub file_taken: u64,
    /// The kind that was scanned, if only one was.
    pub only: Option<LruKind>,
}

impl PassTotals {
    fn add(&mut self, batch: &Batch, kind: LruKind) {
        self.dirty += u64::from(batch.dirty);
        self.unqueued_dirty += u64::from(batch.unqueued_dirty);
        self.congested += u64::from(batch.congested);
        self.writeback += u64::from(batch.writeback);
        self.immediate += u64::from(batch.immediate);
        self.taken += u64::from(batch.taken);
        if kind == LruKind::File {
            self.file_taken += u64::from(batch.taken);
        }
    }
}
