//! Direct compaction and direct reclaim on behalf of a request (8.4, 8.5).

use super::Slow;
use crate::compaction::{CompactPriority, CompactResult};
use crate::env::{Env, TaskContext, TaskFlags};
use crate::state::{Mm, World};
use pagealloc::policy::{CompactDrains, CompactStalls};
use pagealloc::{Counter, Pfn, Request};

impl<W: World> Mm<W> {
    /// Direct compaction (8.4): leaves its result in `slow`, and returns the page that it captured or that it made
    /// room for.
    pub(super) async fn direct_compact(&self, slow: &mut Slow, priority: CompactPriority) -> Option<Pfn> {
        let order = self.work_order(slow);
        if order == 0 {
            return None;
        }
        // The request keeps its own order, which capture serves; compaction promotes it by `work_order` itself.
        let cpu = self.env.compacting_cpu(slow.task.cpu);
        let task = TaskContext { cpu, ..memalloc(&slow.task) };
        let (result, captured) = self.try_to_compact_pages(&slow.request, slow.flags, priority, &task).await;
        if cpu != slow.task.cpu {
            self.state.borrow_mut().alloc.leave_cpu_beside(cpu, slow.task.cpu);
        }
        slow.compact_result = result;
        let ran = {
            let mut state = self.state.borrow_mut();
            let stalls = state.alloc.policy.slowpath.compact_stalls;
            let (ran, stalled) = match (result, stalls) {
                (_, CompactStalls::Requests) | (CompactResult::Deferred, CompactStalls::RunsAndDeferred) => {
                    (true, true)
                }
                (CompactResult::NotSuitableZone | CompactResult::Skipped, stalls) => {
                    (false, stalls == CompactStalls::Attempts && slow.can_compact)
                }
                (CompactResult::Deferred, _) => (false, false),
                _ => (true, true),
            };
            if stalled {
                state.alloc.vmstat.bump(Counter::CompactStall);
            }
            ran
        };
        if !ran {
            return None;
        }
        if self.state.borrow().alloc.policy.compaction.drains == CompactDrains::AfterRun {
            self.state.borrow_mut().alloc.drain_cpu(slow.task.cpu, None);
        }
        let page = captured.or_else(|| self.attempt(&slow.request, slow.flags));
        let mut state = self.state.borrow_mut();
        match page {
            Some(page) => {
                let zone = state.alloc.zone_of(page);
                state.compaction_clear_blockskip_flush(zone);
                state.compaction_defer_reset(zone, order, true);
                state.alloc.vmstat.bump(Counter::CompactSuccess);
            }
            None => state.alloc.vmstat.bump(Counter::CompactFail),
        }
        page
    }

    /// Direct reclaim (8.5): leaves the pages freed in `slow.progress`. What it freed may sit on the per-CPU lists or in
    /// the HighAtomic reserve: these are emptied once before it gives up.
    pub(super) async fn direct_reclaim(&self, slow: &mut Slow) -> Option<Pfn> {
        let request = Request { order: self.work_order(slow), ..slow.request };
        slow.progress = self.try_to_free_pages(&request, &memalloc(&slow.task)).await;
        if slow.progress == 0 {
            return None;
        }
        self.attempt(&slow.request, slow.flags).or_else(|| {
            let mut state = self.state.borrow_mut();
            state.alloc.unreserve_highatomic(&slow.request, false);
            state.alloc.drain_all_pages(None);
            drop(state);
            self.attempt(&slow.request, slow.flags)
        })
    }
}

/// The task while it frees memory: what it allocates itself must not recurse.
fn memalloc(task: &TaskContext) -> TaskContext {
    TaskContext { flags: task.flags.with(TaskFlags::MEMALLOC), ..*task }
}
