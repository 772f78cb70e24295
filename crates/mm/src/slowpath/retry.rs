//! Is another round worth it? (8.6 to 8.8)

use super::Slow;
use crate::compaction::{CompactPriority, CompactResult};
use crate::defrag;
use crate::env::{Env, TaskFlags, Work};
use crate::event::{MmEvent, MmObserver};
use crate::reclaim::MAX_RECLAIM_RETRIES;
use crate::state::{Mm, State, World};
use pagealloc::policy::CompactRetry;
use pagealloc::{AllocFlags, Order, PAGE_ALLOC_COSTLY_ORDER, Request, ZoneId};

/// Compactions with success but without a page that are forgiven; a quarter of it for costly orders (1.3, 8.7).
const MAX_COMPACT_RETRIES: u32 = 16;

impl<W: World> Mm<W> {
    /// should_reclaim_retry (8.6): whether some zone would pass if all that is reclaimable were free. The HighAtomic
    /// reserve is given up before the answer is no.
    pub(super) async fn should_reclaim_retry(&self, slow: &mut Slow) -> bool {
        let order = self.judged_order(slow);
        if slow.progress > 0 && order <= PAGE_ALLOC_COSTLY_ORDER && !self.bounds_retries(slow) {
            slow.no_progress_loops = 0;
        } else {
            slow.no_progress_loops += 1;
        }
        if slow.no_progress_loops <= MAX_RECLAIM_RETRIES {
            let worth = self.state.borrow_mut().zone_worth_reclaiming(slow, order);
            if let Some(zone) = worth.filter(|_| slow.progress == 0) {
                self.wait_for_pending_writes(zone, &slow.task).await;
            }
            self.env.work(&slow.task, Work::Resched).await;
            if worth.is_some() {
                return true;
            }
        }
        self.state.borrow_mut().alloc.unreserve_highatomic(&slow.request, true)
    }

    /// should_compact_retry (8.7, 8.8). Raises the priority when it is the next thing to try.
    pub(super) fn should_compact_retry(&self, slow: &mut Slow) -> bool {
        let (order, compacted, bounded) =
            (self.judged_order(slow), self.retried_order(slow), self.bounds_retries(slow));
        if compacted == 0 || slow.task.flags.contains(TaskFlags::DYING) {
            return false;
        }
        let mut state = self.state.borrow_mut();
        let form = state.alloc.policy.slowpath.compact_retry;
        let compaction_result = slow.compact_result;
        let max_retries = max_compact_retries(order);
        let should_retry = match verdict(form, compaction_result, slow.compaction_retries, max_retries) {
            Verdict::IfReclaimHelps if bounded => false,
            Verdict::IfReclaimHelps => {
                let request = Request { order: compacted, ..slow.request };
                state.compaction_zonelist_suitable(&request, slow.flags)
            }
            Verdict::Again { retries } => {
                slow.compaction_retries = retries;
                true
            }
            Verdict::Harder { retries } => {
                slow.compaction_retries = retries;
                raise_priority(slow, order)
            }
        };
        state.alloc.observer.mm(&MmEvent::CompactRetry {
            order,
            priority: slow.priority as u8,
            compaction_result,
            retries: slow.compaction_retries,
            max_retries,
            should_retry,
        });
        should_retry
    }
}

impl<W: World> State<W> {
    fn zone_worth_reclaiming(&mut self, slow: &Slow, order: Order) -> Option<ZoneId> {
        let mut index = 0;
        while let Some(zone) = self.alloc.zonelist(&slow.request, index) {
            if self.is_worth_reclaiming(slow, order, zone) {
                return Some(zone);
            }
            index += 1;
        }
        None
    }

    fn is_worth_reclaiming(&mut self, slow: &Slow, order: Order, zone: ZoneId) -> bool {
        let reclaimable = self.zone_reclaimable_pages(zone);
        let available = reclaimable + self.retry_free_pages(slow, zone);
        let min_wmark = self.alloc.wmark(zone, AllocFlags::WMARK_MIN);
        let highest = slow.request.gfp.highest_zone();
        let wmark_check = self.alloc.watermark_ok(zone, order, min_wmark, highest, slow.flags, available);
        self.alloc.observer.mm(&MmEvent::ReclaimRetryZone {
            zone,
            order,
            reclaimable,
            available,
            min_wmark,
            no_progress_loops: slow.no_progress_loops,
            wmark_check,
        });
        wmark_check
    }

    /// Free pages that count for another round. The kernel counts them all, whatever their type (13.6); mode 2, which
    /// would spin on pages that it may not take, counts its own type's and whole blocks (13.11.5).
    fn retry_free_pages(&self, slow: &Slow, zone: ZoneId) -> u64 {
        let alloc = &self.alloc;
        if !(slow.flags.contains(AllocFlags::NOFRAGMENT) && defrag::never_fragment(&alloc.policy)) {
            return alloc.free_pages(zone);
        }
        let own = |order: Order| alloc.nr_free_of_type(zone, order, slow.request.migratetype) << order;
        (0..alloc.geometry.pageblock_order).map(own).sum::<u64>() + alloc.free_pages_blocks(zone)
    }
}

/// Fruitless rounds as far as they matter: above the limit all are alike.
pub(super) fn forgiven(no_progress_loops: u32) -> u32 {
    no_progress_loops.min(MAX_RECLAIM_RETRIES + 1)
}

fn max_compact_retries(order: Order) -> u32 {
    if order > PAGE_ALLOC_COSTLY_ORDER { MAX_COMPACT_RETRIES / 4 } else { MAX_COMPACT_RETRIES }
}

/// What a compaction result means for another round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Compaction lacked free pages: only if reclaim can provide them.
    IfReclaimHelps,
    /// As before, with this count of retries.
    Again { retries: u32 },
    /// Only at a higher priority.
    Harder { retries: u32 },
}

fn verdict(form: CompactRetry, result: CompactResult, retries: u32, max: u32) -> Verdict {
    use CompactResult::*;
    let next = retries + u32::from(result == Success);
    match (form, result) {
        (_, Complete) => Verdict::Harder { retries: next },
        (_, Skipped) => Verdict::IfReclaimHelps,
        (CompactRetry::Classified, Deferred | Contended | PartialSkipped) => Verdict::IfReclaimHelps,
        (CompactRetry::ClassifiedByNeed, Deferred | Contended | PartialSkipped) => Verdict::Harder { retries: next },
        (CompactRetry::Classified | CompactRetry::ClassifiedByNeed, _) | (CompactRetry::ByResult, Success)
            if next <= max =>
        {
            Verdict::Again { retries: next }
        }
        _ => Verdict::Harder { retries: next },
    }
}

/// One step up, as far as the order allows (8.3); retries start over.
fn raise_priority(slow: &mut Slow, order: Order) -> bool {
    let raised = match slow.priority {
        CompactPriority::Async => CompactPriority::SyncLight,
        CompactPriority::SyncLight if order <= PAGE_ALLOC_COSTLY_ORDER => CompactPriority::SyncFull,
        CompactPriority::SyncLight | CompactPriority::SyncFull => return false,
    };
    slow.priority = raised;
    slow.compaction_retries = 0;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_by_result() {
        let verdict = |result, retries| verdict(CompactRetry::ByResult, result, retries, 16);
        assert_eq!(verdict(CompactResult::Skipped, 0), Verdict::IfReclaimHelps);
        assert_eq!(verdict(CompactResult::Success, 15), Verdict::Again { retries: 16 });
        assert_eq!(verdict(CompactResult::Success, 16), Verdict::Harder { retries: 17 });
        assert_eq!(verdict(CompactResult::Deferred, 3), Verdict::Harder { retries: 3 });
        assert_eq!(verdict(CompactResult::Complete, 0), Verdict::Harder { retries: 0 });
    }

    #[test]
    fn verdicts_of_5_0() {
        let verdict = |result, retries| verdict(CompactRetry::Classified, result, retries, 4);
        assert_eq!(verdict(CompactResult::Complete, 0), Verdict::Harder { retries: 0 });
        assert_eq!(verdict(CompactResult::Deferred, 0), Verdict::IfReclaimHelps);
        assert_eq!(verdict(CompactResult::Contended, 0), Verdict::IfReclaimHelps);
        assert_eq!(verdict(CompactResult::NoSuitablePage, 4), Verdict::Again { retries: 4 });
        assert_eq!(verdict(CompactResult::Success, 4), Verdict::Harder { retries: 5 });
    }

    #[test]
    fn verdicts_of_5_15() {
        let verdict = |result, retries| verdict(CompactRetry::ClassifiedByNeed, result, retries, 4);
        assert_eq!(verdict(CompactResult::Skipped, 0), Verdict::IfReclaimHelps);
        assert_eq!(verdict(CompactResult::Deferred, 2), Verdict::Harder { retries: 2 });
        assert_eq!(verdict(CompactResult::Contended, 0), Verdict::Harder { retries: 0 });
        assert_eq!(verdict(CompactResult::NoSuitablePage, 4), Verdict::Again { retries: 4 });
    }

    #[test]
    fn costly_orders_get_a_quarter() {
        assert_eq!(max_compact_retries(3), 16);
        assert_eq!(max_compact_retries(4), 4);
    }
}
