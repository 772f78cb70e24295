//! What becomes of a batch of inactive pages? (10.11, 10.12)

use super::page_out::{Congested, Rules};
use super::throttle_reason::ThrottleReason;
use super::{Batch, PassTotals, SWAP_CLUSTER_MAX, ScanControl};
use crate::env::{Env, TaskContext, TaskFlags, Work};
use crate::event::{MmEvent, MmObserver};
use crate::lru::{LruList, LruvecId};
use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use crate::swap::sleeping_table_request;
use alloc::vec::Vec;
use pagealloc::policy::{DirtyPages, Throttling};
use pagealloc::{Counter, Gfp, NodeId, Pfn};

impl<W: World> Mm<W> {
    /// Scans up to `quota` pages of an inactive list; base pages reclaimed.
    pub(crate) async fn shrink_inactive(
        &self,
        id: LruvecId,
        list: LruList,
        quota: u32,
        sc: &mut ScanControl,
        totals: &mut PassTotals,
        task: &TaskContext,
    ) -> u64 {
        let (node, kind) = (self.state.borrow().node_of(id), list.kind());
        if let Some(reclaimed) = self.stand_back(node, kind, sc, task).await {
            return reclaimed;
        }
        let now = self.env.now();
        let by_congestion = self.state.borrow().alloc.policy.reclaim.throttling == Throttling::WhileCongested;
        let device_congested = by_congestion && self.env.congested();
        let (batch, mut writes) = {
            let mut state = self.state.borrow_mut();
            let mut writes = core::mem::take(&mut state.nodes[node.index()].reclaim.writes);
            let mut rules = Rules::new(sc, &state.nodes[node.index()].reclaim, now, task);
            rules.congested = state.congestion(device_congested);
            (state.shrink_inactive_batch(id, list, quota, sc, &rules, &mut writes), writes)
        };
        sc.nr_scanned += u64::from(batch.scanned);
        totals.add(&batch, kind);
        let rule = self.state.borrow().alloc.policy.reclaim.dirty_pages;
        if batch.is_unqueued_dirty() && rule == DirtyPages::MoveAway {
            self.env.wake_flushers(u64::MAX);
        }
        self.settle_batch(&batch, kind, &mut writes, task).await;

        let (stalls, congested) = {
            let reclaim = &mut self.state.borrow_mut().nodes[node.index()].reclaim;
            reclaim.isolated[kind] -= i64::from(batch.taken);
            reclaim.writes = writes;
            (reclaim.note_batch(&batch, rule), reclaim.congested)
        };
        if stalls {
            self.congestion_wait(task).await;
        }
        if by_congestion && congested && !sc.kswapd {
            self.reclaim_throttle(node, ThrottleReason::Congested, task).await;
        }
        u64::from(batch.reclaimed)
    }

    /// Waits while others hold too many isolated pages (10.11). What the batch came to, if there is none for that.
    async fn stand_back(&self, node: NodeId, kind: LruKind, sc: &ScanControl, task: &TaskContext) -> Option<u64> {
        let persists = self.state.borrow().alloc.policy.reclaim.throttling == Throttling::WhileCongested;
        let mut waited = false;
        while self.state.borrow().too_many_isolated(node, kind, sc) {
            if waited && !persists {
                return Some(0);
            }
            self.reclaim_throttle(node, ThrottleReason::Isolated, task).await;
            waited = true;
            if task.flags.contains(TaskFlags::DYING) {
                // It frees its memory by itself soon.
                return Some(u64::from(SWAP_CLUSTER_MAX));
            }
        }
        if !sc.kswapd {
            self.wake_throttled_isolated(node);
        }
        None
    }

    /// What follows a batch: kswapd is woken for a swap table that could not be had, writes go to their device, and the
    /// time passes that all of it takes.
    pub(super) async fn settle_batch(&self, batch: &Batch, kind: LruKind, writes: &mut Vec<Pfn>, task: &TaskContext) {
        if batch.failed_tables > 0 {
            let request = sleeping_table_request(&self.state.borrow().alloc, task.cpu);
            self.wake_kswapds_for(&request);
            self.env.work(task, Work::FailedRequests(batch.failed_tables)).await;
        }
        let wrote = !writes.is_empty();
        for pfn in writes.drain(..) {
            let pages = 1 << self.state.borrow().alloc.frames.order(pfn);
            self.env.start_write(pfn, kind, pages);
        }
        if batch.examined != 0 {
            let Batch { examined: scanned, reclaimed, folios, .. } = *batch;
            self.env.work(task, Work::Shrink { scanned, reclaimed, folios, kind }).await;
        }
        if wrote {
            self.blocked(task, self.env.write_room(kind)).await;
        }
    }
}

impl<W: World> State<W> {
    fn congestion(&self, device_congested: bool) -> Congested {
        match self.alloc.policy.reclaim.dirty_pages {
            _ if !device_congested => Congested::None,
            DirtyPages::StayAndStall => Congested::All,
            DirtyPages::StayByPriority | DirtyPages::Stay | DirtyPages::MoveAway => Congested::Unwritten,
        }
    }

    /// too_many_isolated (10.11): whether a direct reclaimer should wait for the others to put their pages back.
    fn too_many_isolated(&self, node: NodeId, kind: LruKind, sc: &ScanControl) -> bool {
        if sc.kswapd {
            return false;
        }
        let isolated = self.nodes[node.index()].reclaim.isolated[kind];
        let inactive = self.nr_lru(node, LruList::inactive(kind)) as i64;
        // Those who may enter I/O and filesystems hold no locks that the others wait for: they stand back earlier.
        let limit = if sc.gfp.contains(Gfp::IO | Gfp::FS) { inactive >> 3 } else { inactive };
        isolated > limit
    }

    /// One step. The taken pages stay counted as isolated until the batch's CPU time has passed: concurrent reclaimers
    /// see them as they would in the kernel.
    fn shrink_inactive_batch(
        &mut self,
        id: LruvecId,
        list: LruList,
        quota: u32,
        sc: &ScanControl,
        rules: &Rules,
        writes: &mut Vec<Pfn>,
    ) -> Batch {
        let kind = list.kind();
        let mut taken = self.isolate_lru(id, list, quota, sc);
        let mut batch = Batch { examined: taken.examined, taken: taken.taken, ..Batch::default() };
        let node = self.node_of(id);
        self.nodes[node.index()].reclaim.isolated[kind] += i64::from(batch.taken);
        self.judge_pages(&mut taken, rules, &mut batch, writes);
        if batch.taken > 0 || !self.alloc.policy.reclaim.cost_model {
            self.account_inactive(id, kind, &batch);
        }
        self.count_scanned(kind, sc, &batch);
        if let LruvecId::Zone(zone) = id {
            self.zones[zone.index()].scanned[usize::from(!sc.kswapd)] += u64::from(batch.examined);
        }
        self.count_reclaimed(kind, sc, &batch);
        if batch.taken != 0 {
            self.trace_inactive(node, kind, sc.priority, &batch);
        }
        batch
    }

    fn account_inactive(&mut self, id: LruvecId, kind: LruKind, batch: &Batch) {
        let cost_model = self.alloc.policy.reclaim.cost_model;
        if cost_model {
            let rotated = batch.examined.saturating_sub(batch.reclaimed);
            self.note_cost(id, kind, u64::from(batch.pageout), u64::from(rotated));
        } else {
            let lru = self.lruvec_mut(id);
            lru.recent_scanned[kind] += u64::from(batch.taken);
            lru.cost[kind] += u64::from(batch.activated[kind]);
        }
    }

    fn count_scanned(&mut self, kind: LruKind, sc: &ScanControl, batch: &Batch) {
        let vmstat = &mut self.alloc.vmstat;
        let (by_whom, _) = sc.counters();
        let of_what = [Counter::PgscanAnon, Counter::PgscanFile][kind];
        vmstat.add(by_whom, u64::from(batch.examined));
        vmstat.add(of_what, u64::from(batch.examined));
    }

    /// Counts what became of a batch.
    pub(super) fn count_reclaimed(&mut self, kind: LruKind, sc: &ScanControl, batch: &Batch) {
        let vmstat = &mut self.alloc.vmstat;
        let (_, by_whom) = sc.counters();
        let of_what = [Counter::PgstealAnon, Counter::PgstealFile][kind];
        vmstat.add(by_whom, u64::from(batch.reclaimed));
        vmstat.add(of_what, u64::from(batch.reclaimed));
        vmstat.add(Counter::Pgactivate, batch.activated.iter().map(|&pages| u64::from(pages)).sum());
    }

    pub(super) fn trace_inactive(&mut self, nid: NodeId, kind: LruKind, priority: u8, batch: &Batch) {
        self.alloc.observer.mm(&MmEvent::VmscanLruShrinkInactive {
            nid,
            nr_scanned: batch.examined,
            nr_reclaimed: batch.reclaimed,
            nr_dirty: batch.dirty,
            nr_writeback: batch.writeback,
            nr_congested: batch.congested,
            nr_immediate: batch.immediate,
            nr_activate_anon: batch.activated[LruKind::Anon],
            nr_activate_file: batch.activated[LruKind::File],
            nr_ref_keep: batch.ref_keep,
            priority,
            file: kind == LruKind::File,
        });
    }
}

impl super::NodeReclaim {
    /// What a single batch says about the node's dirty pages, in kernels that judge by batches: whether its reclaimer waits for writes.
    fn note_batch(&mut self, batch: &Batch, rule: DirtyPages) -> bool {
        if matches!(rule, DirtyPages::MoveAway | DirtyPages::StayByPriority) || batch.taken == 0 {
            return false;
        }
        let all_dirty = batch.unqueued_dirty == batch.taken;
        self.all_dirty |= all_dirty;
        self.all_writeback |= batch.writeback == batch.taken;
        self.congested |= batch.dirty > 0 && batch.dirty == batch.congested;
        batch.immediate > 0 || all_dirty && rule == DirtyPages::StayAndStall
    }
}

impl Batch {
    /// Accounts a file page that has yet to be written. Anonymous pages are reclaim's own to write: nobody stalls on them.
    pub(super) fn note_dirty(&mut self, flags: PageFlags, pages: u32, rules: &Rules) {
        if flags.contains(PageFlags::ANON) {
            return;
        }
        let (dirty, writeback) = (flags.contains(PageFlags::DIRTY), flags.contains(PageFlags::WRITEBACK));
        if dirty || writeback {
            self.dirty += pages;
        }
        if dirty && !writeback {
            self.unqueued_dirty += pages;
        }
        let waits = match rules.congested {
            Congested::None => false,
            Congested::Unwritten => dirty || writeback,
            Congested::All => true,
        };
        if waits || writeback && flags.contains(PageFlags::RECLAIM) {
            self.congested += pages;
        }
    }
}
