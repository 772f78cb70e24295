//! How does a task free memory for its own request? (10.2 to 10.4)

use super::throttle_reason::ThrottleReason;
use super::{DEF_PRIORITY, ScanControl};
use crate::env::{Env, Queue, TaskContext, TaskFlags};
use crate::event::{MmEvent, MmObserver};
use crate::lru::LruvecId;
use crate::state::{Mm, State, World};
use pagealloc::policy::{DirtyPages, LruRule, ReclaimRounds, SlabPressure, Throttling};
use pagealloc::{Counter, NodeId, PAGE_ALLOC_COSTLY_ORDER, Request, ZoneId, ZoneType};

impl<W: World> Mm<W> {
    /// Direct reclaim with its throttling (8.14, 10.2): pages reclaimed; 1 if compaction can go on.
    pub async fn try_to_free_pages(&self, request: &Request, task: &TaskContext) -> u64 {
        self.throttle_direct_reclaim(request, task).await;
        let mut sc = ScanControl::new(request.order, request.gfp, request.gfp.highest_zone());
        {
            let mut state = self.state.borrow_mut();
            sc.may_writepage = state.alloc.policy.sysctl.laptop_mode == 0;
            sc.khugepaged = state.alloc.policy.thp.counts_khugepaged && task.flags.contains(TaskFlags::KHUGEPAGED);
            let begin = MmEvent::VmscanDirectReclaimBegin { order: request.order, gfp_flags: request.gfp };
            state.alloc.observer.mm(&begin);
        }
        let nr_reclaimed = self.do_try_to_free_pages(request, &mut sc, task).await;
        self.state.borrow_mut().alloc.observer.mm(&MmEvent::VmscanDirectReclaimEnd { nr_reclaimed });
        nr_reclaimed
    }

    /// Up to three rounds, by era (10.3): as usual, once more over everything, and with forced deactivation.
    async fn do_try_to_free_pages(&self, request: &Request, sc: &mut ScanControl, task: &TaskContext) -> u64 {
        let rounds = self.state.borrow().alloc.policy.reclaim.rounds;
        let mut full_walk = matches!(rounds, ReclaimRounds::One | ReclaimRounds::AgainByForce);
        let by_force = matches!(rounds, ReclaimRounds::AgainByForce | ReclaimRounds::AgainAndByForce);
        loop {
            self.reclaim_round(request, sc, task).await;
            self.snapshot_zonelist(request);
            if sc.nr_reclaimed > 0 {
                return sc.nr_reclaimed;
            }
            if sc.compaction_ready {
                return 1;
            }
            if !full_walk {
                full_walk = true;
            } else if sc.skipped_deactivate && by_force {
                (sc.force_deactivate, sc.skipped_deactivate) = (true, false);
            } else {
                return 0;
            }
            sc.priority = DEF_PRIORITY;
        }
    }

    async fn reclaim_round(&self, request: &Request, sc: &mut ScanControl, task: &TaskContext) {
        self.state.borrow_mut().count_stall(sc.reclaim_idx);
        let wakes_flushers = self.state.borrow().alloc.policy.reclaim.dirty_pages != DirtyPages::MoveAway;
        let mut scanned = 0;
        for priority in (0..=DEF_PRIORITY).rev() {
            sc.priority = priority;
            sc.nr_scanned = 0;
            self.shrink_zonelist(request, sc, task).await;
            if sc.nr_reclaimed >= sc.nr_to_reclaim || sc.compaction_ready {
                return;
            }
            scanned += sc.nr_scanned;
            if wakes_flushers && scanned > sc.nr_to_reclaim + sc.nr_to_reclaim / 2 {
                self.env.wake_flushers(scanned);
            }
            if priority < DEF_PRIORITY - 2 {
                sc.may_writepage = true;
            }
        }
    }

    /// Shrinks each node of the zonelist once, or each zone where lists are per zone; zones that are ready for compaction
    /// are spared.
    async fn shrink_zonelist(&self, request: &Request, sc: &mut ScanControl, task: &TaskContext) {
        let mut first = None;
        let mut last = None;
        let mut seen = None;
        let mut index = 0;
        while let Some((zone, node)) = self.zonelist_entry(request, index) {
            index += 1;
            let highest = seen.replace(node) != Some(node);
            if sc.order > PAGE_ALLOC_COSTLY_ORDER && self.state.borrow_mut().compaction_ready(zone, sc) {
                sc.compaction_ready = true;
                continue;
            }
            first = first.or(Some(node));
            let (rule, slab) = {
                let rules = self.state.borrow().alloc.policy.reclaim;
                // The node's slab goes along with its first, that is highest, zone; in 3.x whatever zones are spared.
                let each = rules.slab_pressure == SlabPressure::EachZone;
                (rules.lru, if each { last != Some(node) } else { highest })
            };
            match rule {
                LruRule::PerNode if last == Some(node) => continue,
                LruRule::PerNode => self.shrink_node(node, sc, task).await,
                LruRule::PerZone => self.shrink_lists(LruvecId::Zone(zone), slab, sc, task).await,
            }
            last = Some(node);
        }
        let by_reason = self.state.borrow().alloc.policy.reclaim.throttling == Throttling::ByReason;
        if let Some(node) = first.filter(|_| by_reason) {
            self.consider_throttle(node, sc, task).await;
        }
    }

    fn zonelist_entry(&self, request: &Request, index: usize) -> Option<(ZoneId, NodeId)> {
        let state = self.state.borrow();
        let zone = state.alloc.zonelist(request, index)?;
        Some((zone, state.alloc.zone_info(zone).node))
    }

    /// Wakes those without progress if there is some now, or waits at the last priority but one (10.3).
    async fn consider_throttle(&self, node: NodeId, sc: &ScanControl, task: &TaskContext) {
        if sc.nr_reclaimed > sc.nr_scanned >> 3 {
            if self.env.has_waiters(Queue::NoProgress(node)) {
                self.env.wake(Queue::NoProgress(node));
            }
        } else if sc.priority == 1 && sc.nr_reclaimed == 0 {
            self.reclaim_throttle(node, ThrottleReason::NoProgress, task).await;
        }
    }

    fn snapshot_zonelist(&self, request: &Request) {
        let mut last = None;
        let mut index = 0;
        while let Some((_, node)) = self.zonelist_entry(request, index) {
            index += 1;
            if last != Some(node) {
                self.state.borrow_mut().snapshot_refaults(node);
            }
            last = Some(node);
        }
    }
}

impl<W: World> State<W> {
    /// `allocstall_<zone>`: by the highest zone of the request; a machine without high memory has no such zone, and its
    /// requests are for Normal (2.4).
    fn count_stall(&mut self, highest: ZoneType) {
        let mut zones = (0..self.alloc.nr_zones() as u8).map(|zone| self.alloc.zone_info(ZoneId(zone)).kind);
        let absent = highest == ZoneType::HighMem && !zones.any(|kind| kind == ZoneType::HighMem);
        let zone = if absent { ZoneType::Normal } else { highest };
        self.alloc.vmstat.bump(Counter::allocstall(zone));
    }
}
