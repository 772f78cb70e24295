//! When does a reclaimer sleep? (10.14, 8.14)

use super::MAX_RECLAIM_RETRIES;
use crate::env::{Env, Nanos, Queue, TaskContext, TaskFlags, Woken, Work};
use crate::event::{MmEvent, MmObserver};
use crate::lru::LruList;
use crate::state::{Mm, State, World};
use pagealloc::{AllocFlags, Gfp, NodeId, Pfn, Request, ZoneId, ZoneType};

/// Why a reclaimer waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ThrottleReason {
    /// For writes to finish.
    Writeback,
    /// For others to put back what they isolated.
    Isolated,
    /// Because nothing could be reclaimed.
    NoProgress,
    /// Because all dirty pages of the node wait for a slow device.
    Congested,
}

impl ThrottleReason {
    /// The name as the tracepoint prints it.
    pub const fn name(self) -> &'static str {
        match self {
            ThrottleReason::Writeback => "VMSCAN_THROTTLE_WRITEBACK",
            ThrottleReason::Isolated => "VMSCAN_THROTTLE_ISOLATED",
            ThrottleReason::NoProgress => "VMSCAN_THROTTLE_NOPROGRESS",
            ThrottleReason::Congested => "VMSCAN_THROTTLE_CONGESTED",
        }
    }

    /// Where those who wait for this reason are woken.
    pub const fn queue(self, node: NodeId) -> Queue {
        match self {
            ThrottleReason::Writeback => Queue::Writeback(node),
            ThrottleReason::Isolated => Queue::Isolated(node),
            ThrottleReason::NoProgress => Queue::NoProgress(node),
            ThrottleReason::Congested => Queue::Congested(node),
        }
    }

    /// Longest wait in ticks.
    const fn ticks(self, hz: u64) -> u64 {
        match self {
            ThrottleReason::Writeback => hz / 10,
            ThrottleReason::Isolated => hz / 50,
            ThrottleReason::NoProgress | ThrottleReason::Congested => 1,
        }
    }
}

/// Waiters for writes on a node, and writes that ended while there were any.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WritebackThrottle {
    waiters: u32,
    written: u64,
}

impl super::NodeReclaim {
    /// A write of that many pages ended: whether those who wait for writes have waited for enough, 32 pages each.
    pub(crate) fn note_written(&mut self, pages: u64) -> bool {
        let throttled = &mut self.throttled;
        if throttled.waiters == 0 {
            return false;
        }
        throttled.written += pages;
        throttled.written > u64::from(super::SWAP_CLUSTER_MAX) * u64::from(throttled.waiters)
    }

    fn begin_wait_for_writes(&mut self) {
        if self.throttled.waiters == 0 {
            self.throttled.written = 0;
        }
        self.throttled.waiters += 1;
    }

    fn end_wait_for_writes(&mut self) {
        self.throttled.waiters -= 1;
    }
}

impl<W: World> Mm<W> {
    /// Waits as 10.14 says. Kernel threads other than kswapd never do.
    pub(crate) async fn reclaim_throttle(&self, node: NodeId, reason: ThrottleReason, task: &TaskContext) {
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
        let hz = self.env.hz();
        let timeout: Nanos = reason.ticks(hz) * (1_000_000_000 / hz);
        let left = match self.env.wait(reason.queue(node), Some(timeout)).await {
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

    /// Throttles a direct reclaimer until kswapd has refilled half of the min reserve (8.14). `true`: the task is dying.
    pub(crate) async fn throttle_direct_reclaim(&self, request: &Request, task: &TaskContext) -> bool {
        if task.flags.intersects(TaskFlags::KTHREAD.with(TaskFlags::DYING)) {
            return false;
        }
        let Some(node) = self.state.borrow().pfmemalloc_node(request) else { return false };
        if self.may_reclaim_now(node) {
            return false;
        }
        self.state.borrow_mut().alloc.vmstat.bump(pagealloc::Counter::PgscanDirectThrottle);
        // Without FS the task may hold a filesystem's locks that kswapd needs: it waits a second at most.
        let timeout = (!request.gfp.contains(Gfp::FS)).then_some(1_000_000_000);
        loop {
            let woken = self.env.wait(Queue::Pfmemalloc(node), timeout).await;
            if timeout.is_some() && woken == Woken::TimedOut || self.may_reclaim_now(node) {
                return false;
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
    /// Pages that reclaim could get in a zone (8.6): file, and anon if it can be swapped.
    pub fn zone_reclaimable_pages(&self, zone: ZoneId) -> u64 {
        let on = |list: LruList| self.zones[zone.index()].lru_pages[list as usize];
        let file = on(LruList::InactiveFile) + on(LruList::ActiveFile);
        if self.can_reclaim_anon() { file + on(LruList::InactiveAnon) + on(LruList::ActiveAnon) } else { file }
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
            if managed && (self.zone_reclaimable_pages(zone) > 0 || zone_free == 0) {
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
        let reclaim = &self.nodes[node.index()].reclaim;
        let reclaimable: u64 =
            self.node_zones(node, ZoneType::Movable).map(|zone| self.zone_reclaimable_pages(zone)).sum();
        self.kswapd_failures(node) >= MAX_RECLAIM_RETRIES || 2 * (reclaim.dirty + reclaim.writeback) <= reclaimable
    }
}
