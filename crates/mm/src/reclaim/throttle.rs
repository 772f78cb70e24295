//! When does a reclaimer sleep? (10.14, 8.14)

use super::MAX_RECLAIM_RETRIES;
use super::throttle_reason::ThrottleReason;
use crate::env::{Env, Nanos, Queue, TaskContext, TaskFlags, Woken, Work};
use crate::event::{MmEvent, MmObserver};
use crate::lru::LruList;
use crate::state::{Mm, State, World};
use pagealloc::policy::{IdleZones, Throttling};
use pagealloc::{AllocFlags, Gfp, NodeId, Pfn, Request, ZoneId, ZoneType};

/// `HZ/10`.
const CONGESTION_WAIT: Nanos = 100_000_000;

impl<W: World> Mm<W> {
    /// Waits, if it is of any use, as the era has it.
    pub(crate) async fn reclaim_throttle(&self, node: NodeId, reason: ThrottleReason, task: &TaskContext) {
        let rule = self.state.borrow().alloc.policy.reclaim.throttling;
        match (rule, reason) {
            (Throttling::ByReason, _) => self.throttle_by_reason(node, reason, task).await,
            (_, ThrottleReason::Writeback | ThrottleReason::Isolated) => self.congestion_wait(task).await,
            (Throttling::WhileCongested, ThrottleReason::Congested) if self.env.congested() => {
                self.congestion_wait(task).await;
            }
            _ => self.env.work(task, Work::Resched).await,
        }
    }

    /// `congestion_wait(BLK_RW_ASYNC, HZ/10)`.
    pub(crate) async fn congestion_wait(&self, task: &TaskContext) {
        self.blocked(task, self.env.wait(Queue::Congestion, Some(CONGESTION_WAIT))).await;
    }

    /// There are not too many pages isolated: whoever waits for that goes on.
    pub(crate) fn wake_throttled_isolated(&self, node: NodeId) {
        let queue = ThrottleReason::Isolated.queue(node);
        if self.env.has_waiters(queue) {
            self.env.wake(queue);
        }
    }

    /// Up to 4.6, a request waits a fiftieth of a second before it tries again what it reclaimed for, if its first node
    /// waits for a congested device (`wait_iff_congested(HZ/50)`).
    pub(crate) async fn wait_before_retry(&self, request: &Request, task: &TaskContext) {
        let congested = {
            let state = self.state.borrow();
            let zone = state.alloc.zonelist(request, 0);
            zone.is_some_and(|zone| state.nodes[state.alloc.zone_info(zone).node.index()].reclaim.congested)
        };
        if congested && self.env.congested() {
            self.env.wait(Queue::Congestion, Some(CONGESTION_WAIT / 5)).await;
        } else {
            self.env.work(task, Work::Resched).await;
        }
    }

    /// Before 5.16, a request that reclaimed nothing waits before it tries a zone again if half of what is reclaimable
    /// has yet to be written (`should_reclaim_retry`). Judged by the node.
    pub(crate) async fn wait_for_pending_writes(&self, zone: ZoneId, task: &TaskContext) {
        let pending = {
            let state = self.state.borrow();
            state.alloc.policy.reclaim.throttling != Throttling::ByReason
                && state.writes_pend(state.alloc.zone_info(zone).node)
        };
        if pending {
            self.congestion_wait(task).await;
        }
    }

    /// Waits as 10.14 says. Kernel threads other than kswapd never do.
    async fn throttle_by_reason(&self, node: NodeId, reason: ThrottleReason, task: &TaskContext) {
        let exempt = task.flags.contains(TaskFlags::KTHREAD) && !task.flags.contains(TaskFlags::KSWAPD);
        let pointless = matches!(reason, ThrottleReason::NoProgress | ThrottleReason::Congested)
            && self.state.borrow().skip_noprogress_throttle(node);
        if exempt || pointless {
            self.env.work(task, Work::Resched).await;
            return;
        }
        if reason == ThrottleReason::Writeback {
            self.state.borrow_mut().nodes[node.index()].reclaim.begin_wait_for_writes();
        }
        let timeout = reason.timeout(self.env.hz());
        let left = match self.blocked(task, self.env.wait(reason.queue(node), Some(timeout))).await {
            Woken::Early { left } => left,
            Woken::TimedOut => 0,
        };
        let mut state = self.state.borrow_mut();
        if reason == ThrottleReason::Writeback {
            state.nodes[node.index()].reclaim.end_wait_for_writes();
        }
        state.alloc.observer.mm(&MmEvent::VmscanThrottled {
            nid: node,
            usec_timeout: timeout / 1000,
            usect_delayed: timeout.saturating_sub(left) / 1000,
            reason,
        });
    }

    /// Throttles a direct reclaimer until kswapd has refilled half of the min reserve (8.14).
    pub(crate) async fn throttle_direct_reclaim(&self, request: &Request, task: &TaskContext) {
        if task.flags.intersects(TaskFlags::KTHREAD.with(TaskFlags::DYING)) {
            return;
        }
        let Some(node) = self.state.borrow().pfmemalloc_node(request) else { return };
        if self.may_reclaim_now(node) {
            return;
        }
        self.state.borrow_mut().alloc.vmstat.bump(pagealloc::Counter::PgscanDirectThrottle);
        // Without FS the task may hold a filesystem's locks that kswapd needs: it waits a second at most.
        let timeout = (!request.gfp.contains(Gfp::FS)).then_some(1_000_000_000);
        loop {
            let woken = self.env.wait(Queue::Pfmemalloc(node), timeout).await;
            if timeout.is_some() && woken == Woken::TimedOut || self.may_reclaim_now(node) {
                return;
            }
        }
    }

    /// allow_direct_reclaim; kswapd is woken if not.
    fn may_reclaim_now(&self, node: NodeId) -> bool {
        let mut state = self.state.borrow_mut();
        let allowed = state.allow_direct_reclaim(node);
        let roused = !allowed && state.kick_kswapd(node);
        drop(state);
        if roused {
            self.env.wake(Queue::Kswapd(node));
        }
        allowed
    }

    /// Ends a page's writeback and wakes those who waited for it. For environments, instead of
    /// [`State::end_writeback`](crate::State::end_writeback).
    pub fn end_writeback(&self, pfn: Pfn) {
        let queue = self.state.borrow_mut().end_writeback(pfn);
        if let Some(queue) = queue {
            self.env.wake(queue);
        }
    }
}

impl<W: World> State<W> {
    /// Pages that reclaim could get in a zone (8.6): file, and anon if it can be swapped; by era free ones, where there are no others.
    pub fn zone_reclaimable_pages(&self, zone: ZoneId) -> u64 {
        let on = |list: LruList| self.zones[zone.index()].lru_pages[list as usize];
        let file = on(LruList::InactiveFile) + on(LruList::ActiveFile);
        let listed =
            if self.can_reclaim_anon() { file + on(LruList::InactiveAnon) + on(LruList::ActiveAnon) } else { file };
        let by_free = self.alloc.policy.reclaim.idle_zones == IdleZones::ReclaimableByFree;
        if listed == 0 && by_free { self.alloc.free_pages(zone) } else { listed }
    }

    /// allow_direct_reclaim (8.14).
    pub fn allow_direct_reclaim(&mut self, node: NodeId) -> bool {
        if self.kswapd_failures(node) >= MAX_RECLAIM_RETRIES {
            return true;
        }
        let (mut reserve, mut free) = (0, 0);
        for zone in self.node_zones(node, ZoneType::Normal) {
            let zone_free = self.alloc.free_pages(zone);
            let managed = self.alloc.zone_info(zone).managed > 0;
            let full = self.alloc.policy.reclaim.idle_zones == IdleZones::ReserveCountsIfFull && zone_free == 0;
            if managed && (self.zone_reclaimable_pages(zone) > 0 || full) {
                reserve += self.alloc.wmark(zone, AllocFlags::WMARK_MIN);
                free += zone_free;
            }
        }
        reserve == 0 || free > reserve / 2
    }

    /// Node whose reserve a request is throttled on: of its first zone up to Normal.
    fn pfmemalloc_node(&self, request: &Request) -> Option<NodeId> {
        (0..)
            .map_while(|index| self.alloc.zonelist(request, index))
            .map(|zone| self.alloc.zone_info(zone))
            .find(|zone| zone.kind <= ZoneType::Normal)
            .map(|zone| zone.node)
    }

    /// Whether waiting would not help: the node is hopeless, or few of its pages wait for writes (10.14).
    fn skip_noprogress_throttle(&self, node: NodeId) -> bool {
        self.kswapd_failures(node) >= MAX_RECLAIM_RETRIES || !self.writes_pend(node)
    }

    /// Whether half of what is reclaimable in a node has yet to be written.
    fn writes_pend(&self, node: NodeId) -> bool {
        let reclaim = &self.nodes[node.index()].reclaim;
        let zones = self.node_zones(node, ZoneType::Movable);
        2 * (reclaim.dirty + reclaim.writeback) > zones.map(|zone| self.zone_reclaimable_pages(zone)).sum()
    }
}
