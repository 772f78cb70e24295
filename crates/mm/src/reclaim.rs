//! Page reclaim.
use crate::env::TaskContext;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::{Gfp, NodeId, Order, Request, ZoneId, ZoneType};

/// What eviction leaves behind, to judge a refault by (10.16).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shadow {
    /// Node that the page was evicted from.
    pub node: NodeId,
    /// The node's nonresident age at eviction.
    pub age: u64,
    /// The page was in the workingset.
    pub workingset: bool,
}

/// Per node: costs, ages, isolated pages, throttling.
#[derive(Default, Debug)]
pub struct NodeReclaim {
    /// nr_isolated_anon, nr_isolated_file. Signed: they drift in the era of 11.6.
    pub isolated: [i64; 2],
}

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
    /// Deactivate whatever the balance (second try of 10.3).
    pub force_deactivate: bool,
    /// Active lists were left alone.
    pub skipped_deactivate: bool,
    /// kswapd runs this.
    pub kswapd: bool,
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
    pub slab_freed: Vec<pagealloc::Pfn>,
}

impl<W: World> Mm<W> {
    /// Direct reclaim with its throttling (8.14, 10.2): pages reclaimed.
    pub async fn try_to_free_pages(&self, request: &Request, task: &TaskContext) -> u64 {
        todo!()
    }
    /// Shrinks a node's LRU lists and slab once (10.6).
    pub async fn shrink_node(&self, node: NodeId, sc: &mut ScanControl, task: &TaskContext) {
        todo!()
    }
    /// 9.6.4: shrinks 32 active anon pages if the inactive list is low.
    pub async fn age_active_anon(&self, node: NodeId, sc: &mut ScanControl, task: &TaskContext) {
        todo!()
    }
}

impl<W: World> State<W> {
    /// Pages that reclaim could get in a zone (8.6): file, and anon if it can be swapped.
    pub fn zone_reclaimable_pages(&self, zone: ZoneId) -> u64 {
        todo!()
    }
    /// allow_direct_reclaim (8.14).
    pub fn allow_direct_reclaim(&mut self, node: NodeId) -> bool {
        todo!()
    }
    /// snapshot_refaults (9.7, 10.3).
    pub fn snapshot_refaults(&mut self, node: NodeId) {
        todo!()
    }
    /// What to remember of a page that is being evicted (10.16).
    pub fn workingset_eviction(&mut self, node: NodeId, pages: u64, workingset: bool) -> Shadow {
        todo!()
    }
}
