//! In which order does reclaim free the frames of a batch? (10.12)

use crate::state::{State, World};
use pagealloc::policy::BatchFrees as Rule;
use pagealloc::{CpuId, FrameList, Pfn};

/// Frames that are freed at a time (`PAGEVEC_SIZE`).
const FREED_AT_A_TIME: u32 = 31;

/// Frames that nobody uses any more, and that are still to be freed.
#[derive(Default)]
pub(super) struct BatchFrees {
    /// Of sizes that per-CPU lists don't hold.
    large: FrameList,
    others: FrameList,
}

impl<W: World> State<W> {
    /// Frees an evicted page's frame, or keeps it for the rest of its batch.
    pub(super) fn free_with_batch(&mut self, pfn: Pfn, gone: &mut BatchFrees, cpu: CpuId) {
        let order = self.alloc.frames.order(pfn);
        match self.alloc.policy.reclaim.batch_frees {
            Rule::LastFirst if order > 0 => self.release(pfn, cpu),
            Rule::LastFirst => gone.others.push_tail(&mut self.alloc.frames, pfn),
            Rule::InTurn => {
                let list = if self.alloc.per_cpu_lists_hold(order) { &mut gone.others } else { &mut gone.large };
                list.push_head(&mut self.alloc.frames, pfn);
                if gone.large.len() + gone.others.len() >= FREED_AT_A_TIME {
                    self.free_batch(gone, cpu);
                }
            }
        }
    }

    /// Frees all that was kept.
    pub(super) fn free_batch(&mut self, gone: &mut BatchFrees, cpu: CpuId) {
        for list in [&mut gone.large, &mut gone.others] {
            while let Some(pfn) = list.pop_tail(&mut self.alloc.frames) {
                self.release(pfn, cpu);
            }
        }
    }
}
