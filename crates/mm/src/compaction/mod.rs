//! Compaction: how does a zone get large free blocks back by moving pages?
//!
//! Two scanners walk a zone towards each other. The migrate scanner goes up from the start and takes movable pages off
//! their lists, block by block; the free scanner goes down from the end and takes free blocks as targets. Pages are
//! moved from one to the other until a block of the wanted order is free, or the scanners meet.
//!
//! | file | question |
//! | --- | --- |
//! | here | who compacts which zones, with which effort (11.1 to 11.3) |
//! | `progress` | what is kept of a zone between runs (11.4, 11.8) |
//! | `effort` | how hard may a run try, and what may it come to (11.1) |
//! | `control` | what does one run know |
//! | `suitable` | is there any point in it (11.10) |
//! | `defer` | has it failed too often lately (11.8) |
//! | `skip` | which blocks are not worth another look (11.9) |
//! | `migrate_scanner` | which pages are moved (11.5, 11.6) |
//! | `source_block` | from which block (11.7) |
//! | `free_scanner` | where do they go (11.11) |
//! | `fast_search` | which blocks do the free lists suggest (11.7, 11.11) |
//! | `migrate` | how does a page move (11.12) |
//! | `zone` | how does a run proceed (11.4, 11.12b, 11.13) |
//! | `finish` | when is it done (11.14) |
//! | `proactive` | how fragmented is too much (11.16) |
//!
//! # What holds between steps
//!
//! A batch is isolated, moved and put back within one borrow of the state, so that no page is ever seen half moved. Only
//! unused targets (frames in state TARGET) outlive a step; they belong to the run's control and are freed when it ends.

mod control;
mod defer;
pub(crate) mod effort;
mod fast_search;
mod finish;
mod free_scanner;
mod migrate;
mod migrate_scanner;
mod proactive;
pub(crate) mod progress;
mod skip;
mod source_block;
mod suitable;
mod zone;

pub(crate) use control::CompactControl;
use control::DirectCompaction;
pub use effort::{CompactMode, CompactPriority, CompactResult};
pub use progress::ZoneCompaction;
pub(crate) use suitable::Compactor;

use crate::defrag;
use crate::env::{Env, TaskContext};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, State, World};
use pagealloc::policy::DefragRules;
use pagealloc::{AllocFlags, Counter, NodeId, Order, Pfn, Request, ZoneId};

/// Pages that are isolated before they are moved (`COMPACT_CLUSTER_MAX`, 1.3).
pub(crate) const COMPACT_CLUSTER_MAX: u32 = 32;

/// What compaction of one zone for a request came to.
struct Ran {
    status: CompactResult,
    page: Option<Pfn>,
    /// The request should be served now, whatever the result.
    served: bool,
}

// ---- entry points
impl<W: World> Mm<W> {
    /// Direct compaction over the zonelist (11.3): the result and a captured page, of the request's order.
    pub async fn try_to_compact_pages(
        &self,
        request: &Request,
        flags: AllocFlags,
        priority: CompactPriority,
        task: &TaskContext,
    ) -> (CompactResult, Option<Pfn>) {
        if !self.state.borrow().compaction_allowed(request.gfp) {
            return (CompactResult::Skipped, None);
        }
        let order = self.state.borrow_mut().enter_direct_compaction(request, flags, priority);
        if self.state.borrow_mut().preferred_zone_defers(request, order) {
            return (CompactResult::Deferred, None);
        }
        let mut overall = CompactResult::Skipped;
        let began = self.yields_from(priority == CompactPriority::Async);
        for index in 0.. {
            let Some(zone) = self.state.borrow().alloc.zonelist(request, index) else { break };
            let ran = self.compact_for(&DirectCompaction { request, flags, priority, order, task }, zone).await;
            overall = overall.max(ran.status);
            if ran.status == CompactResult::Success {
                return (overall, ran.page);
            }
            if ran.served || self.had_to_yield(began) || task.flags.contains(crate::TaskFlags::DYING) {
                break;
            }
        }
        self.state.borrow_mut().defer_preferred_zone(request, order, priority, overall);
        (overall, None)
    }

    /// One zone of 11.3.
    async fn compact_for(&self, asked: &DirectCompaction<'_>, zone: ZoneId) -> Ran {
        let &DirectCompaction { priority, order, .. } = asked;
        let per_zone = self.state.borrow().alloc.policy.compaction.defer_per_zone;
        let deferrable = per_zone && priority != CompactPriority::SyncFull;
        if deferrable && self.state.borrow_mut().compaction_deferred(zone, order) {
            return Ran { status: CompactResult::Deferred, page: None, served: false };
        }
        let mut control = self.state.borrow().direct_control(asked, zone);
        let mut status = self.compact_zone(&mut control).await;
        if control.captured.is_some() {
            status = CompactResult::Success;
        }
        let mut state = self.state.borrow_mut();
        let by_mark = state.alloc.policy.compaction.succeeds_by_mark;
        let served = by_mark && state.above_low_mark(zone, order, control.highest, control.alloc_flags);
        if served || status == CompactResult::Success {
            // Not certain yet: the caller confirms once it has the page (8.4).
            state.compaction_defer_reset(zone, order, false);
        } else if per_zone && priority != CompactPriority::Async && status.is_exhausted() {
            state.defer_compaction(zone, order);
        }
        Ran { status, page: control.captured, served }
    }

    /// Preemptions so far, if compaction of this mode is to leave off at the next one.
    fn yields_from(&self, is_async: bool) -> Option<u64> {
        let yields = is_async && self.state.borrow().alloc.policy.compaction.async_yields;
        yields.then(|| self.env.preemptions())
    }

    /// Whether another task has had the CPU since compaction began that leaves off for that.
    fn had_to_yield(&self, began: Option<u64>) -> bool {
        began.is_some_and(|began| self.env.preemptions() != began)
    }

    /// Compacts all zones of a node entirely (`compact_memory`, 11.2).
    pub async fn compact_node(&self, node: NodeId, task: &TaskContext) {
        self.compact_whole_node(node, false, task).await;
    }

    /// All zones of a node from end to end: asked for, or proactively (11.16).
    pub(crate) async fn compact_whole_node(&self, node: NodeId, proactive: bool, task: &TaskContext) {
        let zones = self.state.borrow().alloc.zones_of(node);
        for zone in zones.map(ZoneId) {
            if task.flags.contains(crate::TaskFlags::DYING) {
                return;
            }
            let mut control = self.state.borrow().whole_zone_control(zone, proactive, task);
            self.compact_zone(&mut control).await;
            let mut state = self.state.borrow_mut();
            if proactive && state.alloc.policy.compaction.counts_proactive {
                state.count_daemon_scans(&control);
            }
        }
    }
}

// ---- policy
impl<W: World> State<W> {
    /// What defrag_mode changes, if it is on (13.1).
    pub(crate) fn defrag(&self) -> Option<&DefragRules> {
        defrag::active(&self.alloc.policy)
    }

    /// Order that direct compaction works at: the request's, or a whole pageblock's if nothing less helps a request that
    /// must not fragment (13.9). Deferral and retry decisions follow this order.
    fn work_order_of(&self, request: &Request, flags: AllocFlags) -> Order {
        defrag::work_order(&self.alloc.policy, &self.alloc.geometry, request, flags)
    }

    fn enter_direct_compaction(&mut self, request: &Request, flags: AllocFlags, priority: CompactPriority) -> Order {
        let order = self.work_order_of(request, flags);
        self.alloc.observer.mm(&MmEvent::CompactionTryToCompactPages {
            order,
            gfp_mask: request.gfp,
            priority: priority as u8,
        });
        order
    }

    /// 3.x judges deferral by the preferred zone alone (8.13).
    fn preferred_zone_defers(&mut self, request: &Request, order: Order) -> bool {
        !self.alloc.policy.compaction.defer_per_zone
            && self.alloc.zonelist(request, 0).is_some_and(|zone| self.compaction_deferred(zone, order))
    }

    /// 3.x defers the preferred zone after a sync run that found nothing.
    fn defer_preferred_zone(
        &mut self,
        request: &Request,
        order: Order,
        priority: CompactPriority,
        result: CompactResult,
    ) {
        let failed = priority != CompactPriority::Async && result > CompactResult::Deferred;
        if self.alloc.policy.compaction.defer_per_zone || !failed {
            return;
        }
        if let Some(zone) = self.alloc.zonelist(request, 0) {
            self.defer_compaction(zone, order);
        }
    }

    /// kcompactd's scans count under its own names as well (11.17).
    pub(crate) fn count_daemon_scans(&mut self, control: &CompactControl) {
        self.alloc.vmstat.add(Counter::CompactDaemonMigrateScanned, control.migrate_scanned);
        self.alloc.vmstat.add(Counter::CompactDaemonFreeScanned, control.free_scanned);
    }
}
