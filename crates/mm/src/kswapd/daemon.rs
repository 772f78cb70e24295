//! The daemon's life: sleep in two stages, wake, balance (9.4, 9.9).

use crate::env::{Env, Nanos, Queue, TaskContext, TaskFlags, Woken};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, World};
use core::future::Future;
use pagealloc::policy::{HandOver, LruRule};
use pagealloc::{Counter, NodeId, Order, ZoneType};

/// kswapd's pid in events, plus the node: never a task's.
const PID_BASE: u32 = u32::MAX - 255;
/// The first stage of sleep is HZ over this (9.9).
const NAPS_A_SECOND: u64 = 10;

impl<W: World> Mm<W> {
    /// Whether a node's kswapd runs or could (`task_is_running`): it neither sleeps nor waits for anything.
    pub(crate) fn kswapd_runs(&self, node: NodeId) -> bool {
        !self.env.has_waiters(Queue::Kswapd(node)) && !self.state.borrow().nodes[node.index()].kswapd.blocked
    }

    /// What this task waits for in reclaim. If it is a kswapd, that does not run meanwhile.
    pub(crate) async fn blocked<T>(&self, task: &TaskContext, wait: impl Future<Output = T>) -> T {
        let node = task.pid.checked_sub(PID_BASE).filter(|_| task.flags.contains(TaskFlags::KSWAPD));
        let set = |blocked| {
            let mut state = self.state.borrow_mut();
            if let Some(node) = node.and_then(|node| state.nodes.get_mut(node as usize)) {
                node.kswapd.blocked = blocked;
            }
        };
        set(true);
        let ended = wait.await;
        set(false);
        ended
    }

    /// A node's kswapd as a task, on the node's first CPU.
    pub(crate) fn kswapd_task(&self, node: NodeId) -> TaskContext {
        let flags = TaskFlags::MEMALLOC.with(TaskFlags::KTHREAD).with(TaskFlags::KSWAPD);
        TaskContext { pid: PID_BASE + u32::from(node.0), cpu: self.state.borrow().first_cpu_of(node), flags }
    }

    /// The daemon of a node; never returns.
    pub async fn kswapd(&self, node: NodeId) {
        let task = self.kswapd_task(node);
        let (mut alloc_order, mut highest) = (0, ZoneType::Movable);
        let mut reclaim_order = 0;
        loop {
            self.try_to_sleep(node, alloc_order, reclaim_order, highest).await;
            (alloc_order, highest) = self.take_request(node, highest);
            reclaim_order = self.balance_pgdat(node, alloc_order, highest, &task).await;
            let by_order = self.state.borrow().alloc.policy.kswapd.sleeps_by_order;
            if by_order {
                while let Some(harder) = self.harder_request(node, alloc_order, highest) {
                    (alloc_order, highest) = harder;
                    reclaim_order = self.balance_pgdat(node, alloc_order, highest, &task).await;
                }
                if self.state.borrow().alloc.policy.kswapd.kcompactd {
                    reclaim_order = alloc_order;
                }
            } else if reclaim_order == alloc_order {
                // Balanced as asked: judge sleep by what was asked since. Otherwise order 0 is what was reached, and
                // kcompactd is to be woken for the order that was asked first (9.4).
                (alloc_order, highest) = self.pending_request(node, highest);
                reclaim_order = alloc_order;
            }
        }
    }

    fn pending_request(&self, node: NodeId, previous: ZoneType) -> (Order, ZoneType) {
        let state = self.state.borrow();
        let kswapd = &state.nodes[node.index()].kswapd;
        (kswapd.order, state.alloc.policy.kswapd.next_zone(kswapd.highest, previous))
    }

    /// Takes what was asked for since, if it is of a larger order or confined to lower zones: then there is no sleep. Anything else
    /// is forgotten.
    fn harder_request(&self, node: NodeId, order: Order, highest: ZoneType) -> Option<(Order, ZoneType)> {
        let mut state = self.state.borrow_mut();
        let kswapd = &mut state.nodes[node.index()].kswapd;
        let (asked, zone) = (core::mem::take(&mut kswapd.order), kswapd.highest.take().unwrap_or(ZoneType::Movable));
        if order >= asked && highest <= zone {
            return None;
        }
        state.alloc.observer.mm(&MmEvent::VmscanKswapdWake { nid: node, order: asked });
        Some((asked, zone))
    }

    /// Takes what was asked for since the last time; without a zone, that of the last time, or the lowest (`forgets_zones`).
    fn take_request(&self, node: NodeId, previous: ZoneType) -> (Order, ZoneType) {
        let forgets = self.state.borrow().alloc.policy.kswapd.forgets_zones;
        let request = self.pending_request(node, if forgets { ZoneType::Dma } else { previous });
        let mut state = self.state.borrow_mut();
        let kswapd = &mut state.nodes[node.index()].kswapd;
        kswapd.order = 0;
        kswapd.highest = None;
        state.alloc.observer.mm(&MmEvent::VmscanKswapdWake { nid: node, order: request.0 });
        request
    }

    async fn try_to_sleep(&self, node: NodeId, alloc_order: Order, reclaim_order: Order, highest: ZoneType) {
        self.prepare_to_wait(node);
        let mut early = false;
        if self.prepare_sleep(node, reclaim_order, highest) {
            self.hand_over(HandOver::BeforeNap, node, alloc_order, highest);
            early = self.nap(node).await;
            if early && !self.state.borrow().alloc.policy.kswapd.sleeps_by_order {
                let mut state = self.state.borrow_mut();
                let rules = state.alloc.policy.kswapd;
                let kswapd = &mut state.nodes[node.index()].kswapd;
                kswapd.highest = Some(rules.next_zone(kswapd.highest, highest));
                kswapd.order = kswapd.order.max(reclaim_order);
            }
            self.prepare_to_wait(node);
        }
        if !early && self.prepare_sleep(node, reclaim_order, highest) {
            self.state.borrow_mut().alloc.observer.mm(&MmEvent::VmscanKswapdSleep { nid: node });
            self.hand_over(HandOver::BeforeSleep, node, alloc_order, highest);
            self.sleep_till_woken(node, None).await;
        } else {
            let counter = if early { Counter::KswapdLowWmarkHitQuickly } else { Counter::KswapdHighWmarkHitQuickly };
            self.state.borrow_mut().alloc.vmstat.bump(counter);
        }
        self.finish_wait(node);
    }

    /// Reclaim is done: compaction has free pages to work with now.
    fn hand_over(&self, moment: HandOver, node: NodeId, order: Order, highest: ZoneType) {
        if self.state.borrow().alloc.policy.kswapd.hands_over == moment {
            self.state.borrow_mut().reset_isolation_suitable(node);
            self.wakeup_kcompactd(node, order, highest);
        }
    }

    /// prepare_kswapd_sleep: whether nothing is left to do. Whoever waits for kswapd stops doing so.
    fn prepare_sleep(&self, node: NodeId, order: Order, highest: ZoneType) -> bool {
        self.env.wake(Queue::Pfmemalloc(node));
        let mut state = self.state.borrow_mut();
        if state.kswapd_hopeless(node) {
            return true;
        }
        let balanced = state.may_sleep(node, order, highest);
        // Where lists are per zone, passes over them see to that (read in 3.11 and 4.6.2).
        if balanced && state.alloc.policy.reclaim.lru == LruRule::PerNode {
            let reclaim = &mut state.nodes[node.index()].reclaim;
            (reclaim.congested, reclaim.all_dirty, reclaim.all_writeback) = (false, false, false);
        }
        balanced
    }

    fn prepare_to_wait(&self, node: NodeId) {
        let mut state = self.state.borrow_mut();
        state.nodes[node.index()].kswapd.sleeping = true;
        state.alloc.set_kswapd_awake(node, false);
    }

    fn finish_wait(&self, node: NodeId) {
        let mut state = self.state.borrow_mut();
        let kswapd = &mut state.nodes[node.index()].kswapd;
        kswapd.sleeping = false;
        kswapd.woken = false;
        state.alloc.set_kswapd_awake(node, true);
    }

    /// Sleeps for a tenth of a second unless woken: whether there was a tick of it left when it came to run (`schedule_timeout`). The timer
    /// fires with the tick after the last one that counts.
    async fn nap(&self, node: NodeId) -> bool {
        let (now, hz) = (self.env.now(), self.env.hz());
        let tick: Nanos = 1_000_000_000 / hz;
        let last = (now / tick + hz / NAPS_A_SECOND) * tick;
        let woken = self.sleep_till_woken(node, Some(last + tick - now)).await;
        woken && self.env.now() < last
    }

    /// Waits to be woken, unless that has happened already: whether it was.
    async fn sleep_till_woken(&self, node: NodeId, timeout: Option<Nanos>) -> bool {
        let woken = core::mem::take(&mut self.state.borrow_mut().nodes[node.index()].kswapd.woken);
        if woken {
            return true;
        }
        let ended = self.env.wait(Queue::Kswapd(node), timeout).await;
        let woken = core::mem::take(&mut self.state.borrow_mut().nodes[node.index()].kswapd.woken);
        woken || matches!(ended, Woken::Early { .. })
    }
}
