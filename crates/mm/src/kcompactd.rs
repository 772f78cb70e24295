//! kcompactd: who compacts when nobody waits for it? (11.17)
//!
//! One daemon a node. kswapd wakes it once it has freed enough pages; it compacts the node's zones until a block of the
//! order that was asked for is free. Every 500 ms it also looks whether the node is too fragmented (11.16). Before 4.6
//! kswapd did the work itself ([`Mm::compact_pgdat`]).

pub(crate) mod requests;

pub use requests::Kcompactd;

use crate::compaction::{CompactControl, CompactMode, CompactResult, Compactor};
use crate::env::{Env, Nanos, Queue, TaskContext, TaskFlags};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, State, World};
use pagealloc::{AllocFlags, Counter, CpuId, NodeId, Order, ZoneId, ZoneType};

/// Process numbers of kcompactds, by node: far from those of ordinary tasks, below those of kswapds.
const PID_BASE: u32 = u32::MAX - 511;
/// `HPAGE_FRAG_CHECK_INTERVAL`: time between looks at the fragmentation score.
const CHECK_INTERVAL: Nanos = 500_000_000;
/// The interval is this many doublings longer after a proactive run without effect (`COMPACT_MAX_DEFER_SHIFT`).
const FRUITLESS_SHIFT: u32 = 6;

/// What a run over one zone leaves to the one over the next: the kernel has one `compact_control` for them. Once a zone was begun where the
/// last whole pass over it began, the zones behind it are taken from end to end.
#[derive(Clone, Copy)]
struct Carried {
    whole_zone: bool,
    fast_search_fail: u32,
    search_order: Order,
}

// ---- requests
impl<W: World> Mm<W> {
    /// wakeup_kcompactd (11.17).
    pub fn wakeup_kcompactd(&self, node: NodeId, order: Order, highest: ZoneType) {
        let queue = Queue::Kcompactd(node);
        let mut state = self.state.borrow_mut();
        if order == 0 || !state.alloc.policy.kswapd.kcompactd {
            return;
        }
        state.nodes[node.index()].kcompactd.request(order, highest);
        if !self.env.has_waiters(queue) || !state.kcompactd_node_suitable(node) {
            return;
        }
        state.alloc.observer.mm(&MmEvent::CompactionWakeupKcompactd { nid: node, order });
        drop(state);
        self.env.wake(queue);
    }
}

// ---- the daemon
impl<W: World> Mm<W> {
    /// A kernel thread's context at this moment.
    pub(crate) fn here(&self, task: &TaskContext) -> TaskContext {
        TaskContext { cpu: self.env.kthread_cpu(task.cpu), ..*task }
    }

    /// The daemon of a node; never returns. Kernels without one (before 4.6) leave it asleep.
    pub async fn kcompactd(&self, node: NodeId) {
        let cpu = self.state.borrow().first_cpu_of(node);
        let task = TaskContext { pid: PID_BASE + u32::from(node.0), cpu, flags: TaskFlags::KTHREAD };
        let mut interval = CHECK_INTERVAL;
        loop {
            let requested = self.kcompactd_sleep(node, interval).await;
            let task = self.here(&task);
            if requested {
                self.kcompactd_do_work(node, &task).await;
                interval = CHECK_INTERVAL;
                continue;
            }
            interval = self.proactive_look(node, &task).await;
        }
    }

    /// Sleeps until something is asked for (true) or it is time to look at the score (false).
    async fn kcompactd_sleep(&self, node: NodeId, interval: Nanos) -> bool {
        let timeout = {
            let mut state = self.state.borrow_mut();
            state.alloc.observer.mm(&MmEvent::CompactionKcompactdSleep { nid: node });
            let policy = &state.alloc.policy;
            let ticks = policy.kswapd.proactive_compaction && policy.sysctl.compaction_proactiveness != 0;
            ticks.then_some(interval)
        };
        let requested = || self.state.borrow().nodes[node.index()].kcompactd.max_order > 0;
        while !requested() {
            if self.env.wait(Queue::Kcompactd(node), timeout).await == crate::Woken::TimedOut {
                // An order that was asked for while the node was unsuitable is tried at the tick (own knowledge).
                return requested();
            }
        }
        true
    }

    /// Compacts the node if its score asks for it; the time until the next look.
    async fn proactive_look(&self, node: NodeId, task: &TaskContext) -> Nanos {
        let kswapd_running = self.kswapd_runs(node);
        if !self.state.borrow().wants_proactive_compaction(node, kswapd_running) {
            return CHECK_INTERVAL;
        }
        let before = self.state.borrow().fragmentation_score_node(node);
        self.compact_whole_node(node, true, task).await;
        let fruitless = self.state.borrow().fragmentation_score_node(node) >= before;
        if fruitless { CHECK_INTERVAL << FRUITLESS_SHIFT } else { CHECK_INTERVAL }
    }

    async fn kcompactd_do_work(&self, node: NodeId, task: &TaskContext) {
        let (order, highest, zones) = self.state.borrow_mut().kcompactd_begin(node);
        let mut carried = Carried { whole_zone: false, fast_search_fail: 0, search_order: order };
        for zone in zones.map(ZoneId) {
            carried = self.kcompactd_zone(zone, (order, highest), carried, task).await;
        }
        self.state.borrow_mut().nodes[node.index()].kcompactd.served(order, highest);
    }

    async fn kcompactd_zone(
        &self,
        zone: ZoneId,
        (order, highest): (Order, Option<ZoneType>),
        carried: Carried,
        task: &TaskContext,
    ) -> Carried {
        let (rules, by_mark) = {
            let rules = self.state.borrow().alloc.policy.compaction;
            (rules.daemon, rules.succeeds_by_mark)
        };
        let mut control = {
            let mut state = self.state.borrow_mut();
            let kind = state.alloc.zone_info(zone).kind;
            if !state.kcompactd_works_on(zone, highest) || state.compaction_deferred(zone, order) {
                return carried;
            }
            let flags = state.kcompactd_flags();
            let (mode, by) = (CompactMode::SyncLight, Compactor::Kcompactd);
            if state.compaction_suit_allocation(zone, order, kind, flags, mode, by) != CompactResult::Continue {
                return carried;
            }
            let highest = highest.unwrap_or(ZoneType::Movable);
            let control = state.daemon_control(zone, order, highest, flags, mode, task);
            let Carried { whole_zone, fast_search_fail, search_order } = carried;
            let ignore_skip = rules.ignores_hints;
            CompactControl { ignore_skip, whole_zone, fast_search_fail, search_order, ..control }
        };
        let status = self.compact_zone(&mut control).await;
        let mut state = self.state.borrow_mut();
        match status {
            _ if by_mark && state.above_low_mark(zone, order, ZoneType::Dma, AllocFlags::NONE) => {
                state.compaction_defer_reset(zone, order, false);
            }
            CompactResult::Success => state.compaction_defer_reset(zone, order, false),
            CompactResult::PartialSkipped | CompactResult::Complete => {
                if rules.drains {
                    // Pages stranded on per-CPU lists may be what is missing; the deferral limits how often this is done.
                    state.alloc.drain_all_pages(Some(zone));
                }
                state.defer_compaction(zone, order);
            }
            _ => {}
        }
        state.count_daemon_scans(&control);
        let CompactControl { whole_zone, fast_search_fail, search_order, .. } = control;
        Carried { whole_zone, fast_search_fail, search_order }
    }

    /// What kswapd does itself where there is no kcompactd (9.13): all zones of the node, not waiting for anything.
    pub async fn compact_pgdat(&self, node: NodeId, order: Order, task: &TaskContext) {
        let zones = self.state.borrow().alloc.zones_of(node);
        for zone in zones.map(ZoneId) {
            if self.state.borrow_mut().compaction_deferred(zone, order) {
                continue;
            }
            let mut control = {
                let state = self.state.borrow();
                let kind = state.alloc.zone_info(zone).kind;
                state.daemon_control(zone, order, kind, AllocFlags::WMARK_LOW, CompactMode::Async, task)
            };
            self.compact_zone(&mut control).await;
            let mut state = self.state.borrow_mut();
            // Async runs see only part of the blocks, so a failure defers nothing.
            if state.above_low_mark(zone, order, ZoneType::Dma, AllocFlags::NONE) {
                state.compaction_defer_reset(zone, order, false);
            }
        }
    }
}

impl<W: World> State<W> {
    /// The first CPU of a node; of all where it has none.
    pub(crate) fn first_cpu_of(&self, node: NodeId) -> CpuId {
        let mut cpus = self.alloc.cpus();
        cpus.find(|&cpu| self.alloc.node_of_cpu(cpu) == node).unwrap_or_default()
    }

    /// The mark that kcompactd works for: min, or high under defrag_mode (13.3g).
    fn kcompactd_flags(&self) -> AllocFlags {
        match self.defrag() {
            Some(rules) if rules.kcompactd_block_watermark => AllocFlags::WMARK_HIGH,
            _ => AllocFlags::WMARK_MIN,
        }
    }

    /// Whether the zone is among those that a request up to `highest` is about.
    fn kcompactd_works_on(&self, zone: ZoneId, highest: Option<ZoneType>) -> bool {
        let kind_of = |zone| self.alloc.zone_info(zone).kind;
        if !self.alloc.policy.compaction.daemon.spares_highest_zone {
            return highest.is_none_or(|highest| kind_of(zone) <= highest);
        }
        // Without a request it is the node's highest zone that counts.
        let mut all = self.alloc.zones_of(self.alloc.zone_info(zone).node).map(ZoneId);
        let highest = highest.or_else(|| all.next_back().map(kind_of));
        highest.is_some_and(|highest| kind_of(zone) < highest)
    }

    /// Whether a request of that order, for zones up to `highest` and with these flags, would be served without going below the low mark.
    pub(crate) fn above_low_mark(&self, zone: ZoneId, order: Order, highest: ZoneType, flags: AllocFlags) -> bool {
        let (low, free) = (self.alloc.wmark(zone, AllocFlags::WMARK_LOW), self.alloc.free_pages(zone));
        self.alloc.watermark_ok(zone, order, low, highest, flags, free)
    }

    /// Whether a run could start in some zone.
    fn kcompactd_node_suitable(&mut self, node: NodeId) -> bool {
        let Kcompactd { max_order, highest, .. } = self.nodes[node.index()].kcompactd;
        let flags = self.kcompactd_flags();
        let (mode, by) = (CompactMode::SyncLight, Compactor::Kcompactd);
        let mut zones = self.alloc.zones_of(node).map(ZoneId);
        zones.any(|zone| {
            let wanted = highest.unwrap_or(ZoneType::Movable);
            self.kcompactd_works_on(zone, highest)
                && self.compaction_suit_allocation(zone, max_order, wanted, flags, mode, by) == CompactResult::Continue
        })
    }

    fn kcompactd_begin(&mut self, node: NodeId) -> (Order, Option<ZoneType>, core::ops::Range<u8>) {
        let Kcompactd { max_order, highest, .. } = self.nodes[node.index()].kcompactd;
        self.alloc.observer.mm(&MmEvent::CompactionKcompactdWake { nid: node, order: max_order });
        self.alloc.vmstat.bump(Counter::CompactDaemonWake);
        (max_order, highest, self.alloc.zones_of(node))
    }
}
