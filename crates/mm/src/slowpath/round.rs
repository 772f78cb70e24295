//! One round of the slow path: attempt, reclaim and compact, and the decision what next (8.1.5 to 8.1.18, 8.13).

use super::{Retry, Slow};
use crate::compaction::{CompactPriority, CompactResult};
use crate::defrag;
use crate::env::{Env, TaskFlags, Work};
use crate::oom::OomStep;
use crate::state::{Mm, World};
use pagealloc::policy::SlowpathScheme;
use pagealloc::{AllocFlags, Gfp, Pfn, ZoneType};

/// How a round ended.
pub(super) enum Round {
    /// With a page.
    Page(Pfn),
    /// Undecided: the next round follows.
    Retry(Retry),
    /// `nopage` (8.1.19).
    GiveUp,
}

impl<W: World> Mm<W> {
    /// A round. Time may pass at its start, so that even a request that loops for ever lets others run.
    pub(super) async fn round(&self, slow: &mut Slow) -> Round {
        self.env.work(&slow.task, Work::Resched).await;
        let scheme = self.state.borrow().alloc.policy.slowpath.scheme;
        if slow.restart || scheme != SlowpathScheme::AsyncThenSync3x {
            self.wake_all_kswapds(slow);
        }
        if core::mem::take(&mut slow.restart) {
            self.state.borrow_mut().alloc.reset_fair_batches(&slow.request);
        }
        self.apply_override(slow);
        if let Some(page) = self.attempt(&slow.request, slow.flags) {
            return Round::Page(page);
        }
        if let Some(end) = self.bail_out(slow) {
            return end;
        }
        match scheme {
            SlowpathScheme::Priorities => self.reclaim_then_compact(slow).await,
            SlowpathScheme::AsyncThenSync => self.compact_then_reclaim(slow).await,
            SlowpathScheme::AsyncThenSync3x => self.compact_then_reclaim_3x(slow).await,
        }
    }

    /// The round that 7.0 and later enter with, behind its attempt (8.1): who is not bound by marks or cpusets has
    /// another one. Who compacts first reclaims in the next round only.
    pub(super) async fn first_round(&self, slow: &mut Slow) -> Round {
        if self.apply_override(slow) {
            self.wake_all_kswapds(slow);
            if let Some(page) = self.attempt(&slow.request, slow.flags) {
                return Round::Page(page);
            }
        }
        if let Some(end) = self.bail_out(slow) {
            return end;
        }
        if self.compacts_first(slow) {
            return self.initial_compaction(slow).await;
        }
        self.reclaim_then_compact(slow).await
    }

    /// Step 7: who can't reclaim ends here.
    fn bail_out(&self, slow: &mut Slow) -> Option<Round> {
        let state = self.state.borrow();
        let policy = &state.alloc.policy;
        let gfp = slow.request.gfp;
        if let Some(flags) = defrag::lift_ban_nonreclaiming(policy, gfp, &slow.task, slow.flags) {
            slow.flags = flags;
            return Some(Round::Retry(Retry::DefragMode));
        }
        if !gfp.contains(Gfp::DIRECT_RECLAIM) {
            return Some(Round::GiveUp);
        }
        // Own knowledge: before 4.8 a killed task left here too, unless it must not fail.
        let killed = slow.task.flags.contains(TaskFlags::OOM_VICTIM)
            && !gfp.contains(Gfp::NOFAIL)
            && policy.slowpath.scheme != SlowpathScheme::Priorities;
        (slow.task.flags.contains(TaskFlags::MEMALLOC) || killed).then_some(Round::GiveUp)
    }

    /// Steps 8 to 18 of 4.8 and later.
    async fn reclaim_then_compact(&self, slow: &mut Slow) -> Round {
        if let Some(page) = self.direct_reclaim(slow).await {
            return Round::Page(page);
        }
        if let Some(page) = self.direct_compact(slow, slow.priority).await {
            return Round::Page(page);
        }
        let gfp = slow.request.gfp;
        let mayfail = gfp.contains(Gfp::RETRY_MAYFAIL);
        if gfp.contains(Gfp::NORETRY) || slow.costly && !(slow.can_compact && mayfail) {
            return Round::GiveUp;
        }
        if self.should_reclaim_retry(slow).await {
            return Round::Retry(Retry::Reclaim);
        }
        if slow.progress > 0 && slow.can_compact && self.should_compact_retry(slow) {
            return Round::Retry(Retry::Compaction);
        }
        let lifted = defrag::lift_ban(&self.state.borrow().alloc.policy, slow.flags);
        if let Some(flags) = lifted {
            if self.bounds_retries(slow) {
                (slow.no_progress_loops, slow.compaction_retries) = (0, 0);
            }
            slow.flags = flags;
            return Round::Retry(Retry::DefragMode);
        }
        self.after_oom(slow).await
    }

    /// Steps 16 to 18: the OOM killer, and what its answer means.
    async fn after_oom(&self, slow: &mut Slow) -> Round {
        let never_fragment = self.never_fragments(slow);
        if never_fragment && slow.can_compact && slow.priority != CompactPriority::SyncFull && self.work_order(slow) > 0
        {
            // Mode 2 kills nobody before compaction has looked at everything: at full priority neither deferral nor hints
            // turn it away (13.11.7), and for a request of its own order that is allowed.
            slow.priority = CompactPriority::SyncFull;
            return Round::Retry(Retry::Compaction);
        }
        if slow.kills == defrag::MAX_KILLS {
            return Round::GiveUp;
        }
        let ban = if never_fragment { AllocFlags::NOFRAGMENT } else { AllocFlags::NONE };
        let step = self.may_oom(&slow.request, ban, &mut slow.task);
        if let OomStep::Page(page) = step {
            return Round::Page(page);
        }
        let victim = slow.task.flags.contains(TaskFlags::OOM_VICTIM);
        if victim && (slow.flags.contains(AllocFlags::OOM) || slow.request.gfp.contains(Gfp::NOMEMALLOC)) {
            return Round::GiveUp;
        }
        if step == OomStep::Stuck {
            return Round::GiveUp;
        }
        slow.no_progress_loops = 0;
        if never_fragment {
            slow.kills += 1;
            slow.priority = CompactPriority::SyncLight;
            slow.compaction_retries = 0;
        }
        Round::Retry(Retry::Oom)
    }

    fn never_fragments(&self, slow: &Slow) -> bool {
        let state = self.state.borrow();
        slow.flags.contains(AllocFlags::NOFRAGMENT) && defrag::never_fragment(&state.alloc.policy)
    }

    /// A round of 4.6 (8.13).
    async fn compact_then_reclaim(&self, slow: &mut Slow) -> Round {
        if let Some(page) = self.direct_compact(slow, slow.priority).await {
            return Round::Page(page);
        }
        let gfp = slow.request.gfp;
        let thp_fault = is_thp(gfp) && !slow.task.flags.contains(TaskFlags::KTHREAD);
        if is_thp(gfp) && gave_way(slow.compact_result, thp_fault) {
            return Round::GiveUp;
        }
        if !thp_fault {
            slow.priority = CompactPriority::SyncLight;
        }
        if let Some(page) = self.direct_reclaim(slow).await {
            return Round::Page(page);
        }
        if !gfp.contains(Gfp::NORETRY) {
            slow.reclaimed += slow.progress;
            if slow.progress > 0 && !slow.costly || repeats(slow) {
                self.wait_before_retry(&slow.request, &slow.task).await;
                return Round::Retry(Retry::Progress);
            }
            match self.may_oom(&slow.request, AllocFlags::NONE, &mut slow.task) {
                OomStep::Page(page) => return Round::Page(page),
                OomStep::Progress => return Round::Retry(Retry::Oom),
                OomStep::Stuck => {}
            }
        }
        self.last_compaction(slow).await
    }

    /// A round of 3.x (8.13).
    async fn compact_then_reclaim_3x(&self, slow: &mut Slow) -> Round {
        if let Some(page) = self.direct_compact(slow, slow.priority).await {
            return Round::Page(page);
        }
        slow.priority = CompactPriority::SyncLight;
        let gfp = slow.request.gfp;
        if is_thp(gfp) && gave_way(slow.compact_result, true) {
            return Round::GiveUp;
        }
        if let Some(page) = self.direct_reclaim(slow).await {
            return Round::Page(page);
        }
        let nofail = gfp.contains(Gfp::NOFAIL);
        if slow.progress == 0 && gfp.contains(Gfp::FS) && !gfp.contains(Gfp::NORETRY) {
            let step = self.may_oom(&slow.request, AllocFlags::NONE, &mut slow.task);
            if let OomStep::Page(page) = step {
                return Round::Page(page);
            }
            let hopeless = slow.costly || gfp.highest_zone() < ZoneType::Normal || step == OomStep::Stuck;
            if hopeless && !nofail {
                return Round::GiveUp;
            }
            slow.restart = true;
            return Round::Retry(Retry::Oom);
        }
        slow.reclaimed += slow.progress;
        if !gfp.contains(Gfp::NORETRY) && (nofail || !slow.costly || repeats(slow)) {
            self.wait_before_retry(&slow.request, &slow.task).await;
            return Round::Retry(Retry::Progress);
        }
        self.last_compaction(slow).await
    }

    /// Reclaim may have made compaction possible: one more before giving up (8.13).
    async fn last_compaction(&self, slow: &mut Slow) -> Round {
        match self.direct_compact(slow, slow.priority).await {
            Some(page) => Round::Page(page),
            None => Round::GiveUp,
        }
    }
}

/// `__GFP_REPEAT` (now RETRY_MAYFAIL): until as much is reclaimed as is asked for.
fn repeats(slow: &Slow) -> bool {
    slow.request.gfp.contains(Gfp::RETRY_MAYFAIL) && slow.reclaimed < 1 << slow.request.order
}

/// A THP request as those kernels told it: `GFP_TRANSHUGE`, which does not wake kswapd.
fn is_thp(gfp: Gfp) -> bool {
    gfp.contains(Gfp::TRANSHUGE) && !gfp.contains(Gfp::KSWAPD_RECLAIM)
}

fn gave_way(result: CompactResult, on_contention: bool) -> bool {
    result == CompactResult::Deferred || on_contention && result == CompactResult::Contended
}
