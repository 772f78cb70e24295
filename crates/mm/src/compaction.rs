//! Compaction.
use crate::env::TaskContext;
use crate::state::{Mm, State, World};
use pagealloc::{AllocFlags, NodeId, Order, Pfn, Request, ZoneId, ZoneType};

/// How hard a run may try (11.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum CompactMode {
    Async,
    SyncLight,
    Sync,
}

/// Results, ascending: a zonelist's result is the maximum (11.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum CompactResult {
    NotSuitableZone,
    Skipped,
    Deferred,
    NoSuitablePage,
    Continue,
    Complete,
    PartialSkipped,
    Contended,
    Success,
}

/// Priority of direct compaction (8.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum CompactPriority {
    SyncFull = 0,
    SyncLight = 1,
    Async = 2,
}

/// Per zone: cached scanner positions, deferral (11.4, 11.8).
#[derive(Default, Debug)]
pub struct ZoneCompaction {}

impl<W: World> Mm<W> {
    /// Direct compaction over the zonelist (11.3): the result and a captured page.
    pub async fn try_to_compact_pages(
        &self,
        request: &Request,
        flags: AllocFlags,
        priority: CompactPriority,
        task: &TaskContext,
    ) -> (CompactResult, Option<Pfn>) {
        todo!()
    }
    /// Compacts all zones of a node entirely (`compact_memory`).
    pub async fn compact_node(&self, node: NodeId, task: &TaskContext) {
        todo!()
    }
}

impl<W: World> State<W> {
    /// compaction_suitable (11.10) against a mark in pages.
    pub fn compaction_suitable(&mut self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType) -> bool {
        todo!()
    }
    /// compaction_zonelist_suitable (11.10): whether reclaim could make some zone suitable.
    pub fn compaction_zonelist_suitable(&mut self, request: &Request, flags: AllocFlags) -> bool {
        todo!()
    }
    /// The whole of 11.10's suit_allocation.
    pub fn compaction_suit_allocation(
        &mut self,
        zone: ZoneId,
        order: Order,
        highest: ZoneType,
        flags: AllocFlags,
        kcompactd: bool,
        async_mode: bool,
    ) -> CompactResult {
        todo!()
    }
    /// compaction_defer_reset (11.8).
    pub fn compaction_defer_reset(&mut self, zone: ZoneId, order: Order, alloc_success: bool) {
        todo!()
    }
    /// A direct compaction served its request: `compact_blockskip_flush = false` in the page's zone (8.4).
    pub fn compaction_clear_blockskip_flush(&mut self, zone: ZoneId) {
        todo!()
    }
    /// reset_isolation_suitable (11.9) of a node.
    pub fn reset_isolation_suitable(&mut self, node: NodeId) {
        todo!()
    }
}
