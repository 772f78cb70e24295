//! What becomes of an active page? (10.10)

use super::{SWAP_CLUSTER_MAX, ScanControl};
use crate::env::{Env, Nanos, TaskContext, Work};
use crate::event::{MmEvent, MmObserver};
use crate::lru::{LruList, LruvecId};
use crate::lru_kind::LruKind;
use crate::owner::{Owner, References};
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use pagealloc::{Counter, NodeId};

impl<W: World> Mm<W> {
    /// Takes up to `quota` pages from the tail of an active list and deactivates them.
    pub(crate) async fn shrink_active(
        &self,
        id: LruvecId,
        list: LruList,
        quota: u32,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        let now = self.env.now();
        let deactivated = self.state.borrow_mut().shrink_active_batch(id, list, quota, sc, now);
        self.env.work(task, Work::Deactivate(deactivated)).await;
    }

    /// 9.6.4: shrinks 32 active anon pages if the inactive list is low; ages generations where that is kswapd's to do.
    pub async fn age_active_anon(&self, node: NodeId, sc: &mut ScanControl, task: &TaskContext) {
        let generations = self.state.borrow().lru_gen;
        if let Some(rules) = generations {
            if rules.kswapd_ages_ahead {
                self.age_ahead(node, rules, sc, task).await;
            }
            return;
        }
        let ids = self.state.borrow().lruvecs_up_to(node, sc.reclaim_idx);
        for id in ids {
            self.age_anon(id, sc, task).await;
        }
    }

    pub(crate) async fn age_anon(&self, id: LruvecId, sc: &mut ScanControl, task: &TaskContext) {
        let low = {
            let state = self.state.borrow();
            state.can_age_anon() && state.inactive_is_low(id, LruKind::Anon, sc)
        };
        if low {
            self.shrink_active(id, LruList::ActiveAnon, SWAP_CLUSTER_MAX, sc, task).await;
        }
    }
}

impl<W: World> State<W> {
    /// One step: base pages moved to the inactive list. Referenced executable page cache rotates instead.
    fn shrink_active_batch(&mut self, id: LruvecId, list: LruList, quota: u32, sc: &ScanControl, now: Nanos) -> u32 {
        let kind = list.kind();
        let mut taken = self.isolate_lru(id, list, quota, sc);
        let (mut deactivated, mut rotated, mut used) = (0u32, 0u32, 0u32);
        while let Some(pfn) = taken.next(&mut self.alloc.frames) {
            let (flags, pages) = (self.pages.flags(pfn), 1 << self.alloc.frames.order(pfn));
            let tag = self.pages.tag(pfn);
            let referenced = self.owner.referenced(tag, pfn, now) != References::None;
            used += if referenced { pages } else { 0 };
            if referenced && kind == LruKind::File && flags.contains(PageFlags::EXEC) {
                rotated += pages;
            } else {
                let inactive = flags.without(PageFlags::ACTIVE).with(PageFlags::WORKINGSET);
                self.pages.set_flags(pfn, inactive);
                deactivated += pages;
            }
            self.put_back_isolated(pfn);
        }
        // By shares of rotated pages, those in use count though they are deactivated (own knowledge).
        let counted = if self.alloc.policy.reclaim.cost_model { rotated } else { used };
        self.account_active(id, kind, taken.taken, counted);
        self.alloc.vmstat.add(Counter::Pgrefill, u64::from(taken.examined));
        self.alloc.vmstat.add(Counter::Pgdeactivate, u64::from(deactivated));
        let event = MmEvent::VmscanLruShrinkActive {
            nid: self.node_of(id),
            nr_taken: taken.taken,
            nr_active: rotated,
            nr_deactivated: deactivated,
            nr_referenced: rotated,
            priority: sc.priority,
            file: kind == LruKind::File,
        };
        self.alloc.observer.mm(&event);
        deactivated
    }

    fn account_active(&mut self, id: LruvecId, kind: LruKind, taken: u32, rotated: u32) {
        let cost_model = self.alloc.policy.reclaim.cost_model;
        if cost_model {
            self.note_cost(id, kind, 0, u64::from(rotated));
        } else {
            let lru = self.lruvec_mut(id);
            lru.recent_scanned[kind] += u64::from(taken);
            lru.cost[kind] += u64::from(rotated);
        }
    }
}
