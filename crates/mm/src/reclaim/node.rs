//! What does reclaim keep of a node?

use crate::reclaim::SWAP_CLUSTER_MAX;
use alloc::vec::Vec;
use pagealloc::Pfn;

/// Per node: isolated pages, dirty pages, what throttling knows, deferred slab work.
#[derive(Default, Debug)]
pub struct NodeReclaim {
    /// nr_isolated_anon, nr_isolated_file, by [`LruKind`](crate::LruKind). Signed: they drift in the era of 11.6.
    pub isolated: [i64; 2],
    /// Dirty page cache pages (`nr_dirty`).
    pub dirty: u64,
    /// Pages being written, to swap or files (`nr_writeback`).
    pub writeback: u64,
    /// kswapd met nothing but pages under writeback (`PGDAT_WRITEBACK`, 10.6).
    pub all_writeback: bool,
    /// kswapd met no file pages but dirty ones that nobody is writing (`PGDAT_DIRTY`, up to 6.18).
    pub all_dirty: bool,
    /// All dirty pages that kswapd met were waiting for their write for a second time (`LRUVEC_NODE_CONGESTED`).
    pub congested: bool,
    /// Pages written while somebody was throttled on writeback, and the waiters (10.14).
    pub(super) throttled: WritebackThrottle,
    /// Objects that each shrinker still owes (10.19).
    pub(super) deferred: Vec<u64>,
    /// Pages that the running batch wants written; kept to save allocations.
    pub(super) writes: Vec<Pfn>,
}

/// Waiters for writes on a node, and writes that ended while there were any.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WritebackThrottle {
    waiters: u32,
    written: u64,
}

impl NodeReclaim {
    /// A write of that many pages ended: whether those who wait for writes have waited for enough, 32 pages each.
    pub(crate) fn note_written(&mut self, pages: u64) -> bool {
        let throttled = &mut self.throttled;
        if throttled.waiters == 0 {
            return false;
        }
        throttled.written += pages;
        throttled.written > u64::from(SWAP_CLUSTER_MAX) * u64::from(throttled.waiters)
    }

    pub(super) fn begin_wait_for_writes(&mut self) {
        if self.throttled.waiters == 0 {
            self.throttled.written = 0;
        }
        self.throttled.waiters += 1;
    }

    pub(super) fn end_wait_for_writes(&mut self) {
        self.throttled.waiters -= 1;
    }
}
