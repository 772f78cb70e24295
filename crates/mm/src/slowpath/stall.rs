//! The stall of the 4.20 series: a movable request waits for kswapd rather than fragment (7.9).

use super::Slow;
use crate::env::{Env, Queue, TaskFlags};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, World};
use pagealloc::{AllocFlags, Counter, NodeId, NodeMask, Pfn, Request, ZoneId};

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

impl<W: World> Mm<W> {
    /// The first slow-path attempt of a request that may stall. It fails rather than steal a small block, stalls, and
    /// then tries the zones *behind* the preferred node's without the ban: the posted patch restarts the pass without
    /// resetting its cursor, so that on one node nothing is left to try.
    pub(super) async fn attempt_or_stall(&self, slow: &Slow) -> Option<Pfn> {
        let (zone, node) = self.zone_at(&slow.request, 0)?;
        let local = slow.request.nodemask.0 & 1 << node.0;
        let request = Request { nodemask: NodeMask(local), ..slow.request };
        if let Some(page) = self.attempt(&request, slow.flags | AllocFlags::FRAGMENT_STALL) {
            return Some(page);
        }
        if !slow.task.flags.contains(TaskFlags::MEMALLOC) {
            self.stall(zone, node).await;
        }
        let behind = Request { nodemask: NodeMask(slow.request.nodemask.0 & !local), ..slow.request };
        self.state.borrow().alloc.zonelist(&behind, 0)?;
        self.attempt(&behind, slow.flags.without(AllocFlags::NOFRAGMENT))
    }

    /// Boosts the zone, kicks kswapd, and sleeps until it made progress or the timeout passes.
    async fn stall(&self, zone: ZoneId, node: NodeId) {
        let hz = self.env.hz();
        let tick = SECOND / hz;
        let timeout_ticks = {
            let mut state = self.state.borrow_mut();
            let Some(rules) = state.alloc.policy.fragment_stall else { return };
            state.alloc.fast_boost(zone);
            if state.kick_kswapd(node) {
                self.env.wake(Queue::Kswapd(node));
            }
            hz / u64::from(rules.timeout_hz_divisor)
        };
        let start = self.env.now() / tick;
        self.env.wait(Queue::Pfmemalloc(node), Some(timeout_ticks * tick)).await;
        // The kernel counts in ticks, and a stall that ends within its first tick not at all.
        let slept = (self.env.now() / tick - start).min(timeout_ticks);
        if slept > 0 {
            let mut state = self.state.borrow_mut();
            state.alloc.vmstat.bump(Counter::FragmentStall);
            let duration = slept * 1_000_000 / hz;
            state.alloc.observer.mm(&MmEvent::FragmentationStall { nid: node, duration });
        }
    }
}
