//! What does a request do when the free lists fail it?
//!
//! ```text
//!  alloc_fast_sync ── page ──────────────────────────────────────────────▶ mm_page_alloc
//!        │ none
//!        ▼
//!  enter: flags (2.8), wake kswapds, one attempt, async compaction        (8.1.1 to 8.1.4)
//!        │
//!        ▼
//!  round: wake, reserves, attempt, reclaim, compact, decide ◀─── retry    (8.1.5 to 8.1.18)
//!        │ give up
//!        ▼
//!  __GFP_NOFAIL: last attempts, round again; others: failure              (8.1.19, 8.1.20)
//! ```
//!
//! The eras differ in what a round does in which order and in how it decides ([`SlowpathScheme`]); there is one machine
//! for all of them.

mod direct;
mod flags;
mod recurrence;
mod retry;
mod round;
mod stall;

pub use crate::turn::{Retry, Turn};

use crate::compaction::{CompactPriority, CompactResult};
use crate::defrag;
use crate::env::{Env, TaskContext, TaskFlags};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, State, World};
use pagealloc::policy::{LruRule, NoRetryLeaves, PromotedRetries, SlowpathScheme};
use pagealloc::{
    AllocFlags, Event, Gfp, Migratetype, NodeMask, Observer, Order, PAGE_ALLOC_COSTLY_ORDER, Pfn, Request, ZoneId,
};
use round::Round;

/// A request on the slow path: what it may do, and what its rounds have shown so far.
struct Slow {
    /// The request; its node mask goes when cpusets don't bind it (8.1.5).
    request: Request,
    /// The task; it may become an OOM victim on the way.
    task: TaskContext,
    /// Flags of attempts.
    flags: AllocFlags,
    /// Above `PAGE_ALLOC_COSTLY_ORDER`.
    costly: bool,
    /// The mask lets compaction run.
    can_compact: bool,
    /// How hard the next direct compaction tries.
    priority: CompactPriority,
    /// What the last one came to.
    compact_result: CompactResult,
    /// Successful compactions without a page since the priority last rose (8.7).
    compaction_retries: u32,
    /// Rounds in a row that count as without progress (8.6).
    no_progress_loops: u32,
    /// Pages that the last direct reclaim freed.
    progress: u64,
    /// Pages that all of them freed (8.13).
    reclaimed: u64,
    /// OOM kills in a row (13.11).
    kills: u32,
    /// The next round begins with what 3.x does on `restart` only (8.13).
    restart: bool,
}

impl<W: World> State<W> {
    /// The fast path (8.1b): one pass at the low mark, a kswapd woken for each boost that it raised (7.8), and
    /// `mm_page_alloc` if it found a page. On `None` the request goes on with [`Mm::alloc_slow`].
    #[inline]
    pub fn alloc_fast_sync(&mut self, request: &Request, env: &W::Env) -> Option<Pfn> {
        if request.order > self.alloc.geometry.max_order {
            return None;
        }
        let page = self.alloc.alloc_fast(request);
        self.wake_for_boosts(env);
        if page.is_some() {
            self.trace_alloc(page, request);
        }
        page
    }

    /// A request that reclaim makes for itself (`PF_MEMALLOC`): the attempts of both paths, none of which waits. What ends
    /// it is step 7 of 8.1: the task neither reclaims anew nor reaches the places where defrag_mode's ban is lifted.
    /// Waking kswapds is left to the caller.
    pub(crate) fn alloc_inside_reclaim(&mut self, request: &Request, task: &TaskContext) -> Option<Pfn> {
        let task = TaskContext { flags: task.flags.with(TaskFlags::MEMALLOC), ..*task };
        let policy = &self.alloc.policy;
        let flags = flags::slow_flags(policy, request, &task);
        let over = flags::reserve_override(policy, request, &task);
        let late = flags::apply_override(over, request, flags);
        let lifted = defrag::lift_ban_nonreclaiming(policy, request.gfp, &task, late);
        let anywhere = Request { nodemask: NodeMask::ALL, ..*request };
        let page = self
            .alloc
            .alloc_fast(request)
            .or_else(|| self.alloc.get_page_from_freelist(request, flags))
            .or_else(|| {
                self.alloc.get_page_from_freelist(if over == AllocFlags::NONE { request } else { &anywhere }, late)
            })
            .or_else(|| self.alloc.get_page_from_freelist(request, lifted?));
        self.trace_alloc(page, request);
        page
    }

    #[inline]
    pub(crate) fn trace_alloc(&mut self, pfn: Option<Pfn>, request: &Request) {
        let Request { order, migratetype, gfp, .. } = *request;
        self.alloc.observer.kmem(&Event::MmPageAlloc { pfn, order, migratetype, gfp_flags: gfp });
    }
}

impl<W: World> Mm<W> {
    /// Allocates: fast path, then slow path (8.1). Emits `mm_page_alloc` once, on success and on failure.
    pub async fn alloc_pages(&self, request: &Request, task: &TaskContext) -> Option<Pfn> {
        let page = self.state.borrow_mut().alloc_fast_sync(request, &self.env);
        match page {
            Some(_) => page,
            None => self.alloc_slow(request, task).await,
        }
    }

    /// The slow path of a request that [`State::alloc_fast_sync`] could not serve. Emits `mm_page_alloc` at its end.
    pub async fn alloc_slow(&self, request: &Request, task: &TaskContext) -> Option<Pfn> {
        if request.order > self.state.borrow().alloc.geometry.max_order {
            return None; // Refused before anything is tried or traced (8.1b).
        }
        let page = self.slow_path(request, task).await;
        self.env.slow_path_ended(task);
        let mut state = self.state.borrow_mut();
        if page.is_none() && !request.gfp.contains(Gfp::NOWARN) {
            let Request { order, gfp, .. } = *request;
            state.alloc.observer.mm(&MmEvent::PageAllocFailure { order, gfp });
        }
        state.trace_alloc(page, request);
        page
    }

    async fn slow_path(&self, request: &Request, task: &TaskContext) -> Option<Pfn> {
        let mut slow = self.begin(request, task);
        self.state.borrow().alloc.zonelist(request, 0)?;
        let mut outcome = self.enter(&mut slow).await;
        loop {
            let retry = match outcome {
                Round::Page(page) => return Some(page),
                Round::Retry(retry) => retry,
                Round::GiveUp => {
                    if !request.gfp.contains(Gfp::NOFAIL | Gfp::DIRECT_RECLAIM) {
                        return None;
                    }
                    if let Some(page) = self.nofail_attempts(request) {
                        return Some(page);
                    }
                    Retry::NoFail
                }
            };
            let turn = self.state.borrow().turn(&slow, retry);
            self.env.slow_path_turn(&slow.task, &turn);
            outcome = self.round(&mut slow).await;
        }
    }

    fn begin(&self, request: &Request, task: &TaskContext) -> Slow {
        let state = self.state.borrow();
        let policy = &state.alloc.policy;
        let priority = match policy.slowpath.scheme {
            SlowpathScheme::Priorities => CompactPriority::SyncLight,
            SlowpathScheme::AsyncThenSync | SlowpathScheme::AsyncThenSync3x => CompactPriority::Async,
        };
        Slow {
            request: *request,
            task: *task,
            flags: flags::slow_flags(policy, request, task),
            costly: request.order > PAGE_ALLOC_COSTLY_ORDER,
            can_compact: state.compaction_allowed(request.gfp),
            priority,
            compact_result: CompactResult::Skipped,
            compaction_retries: 0,
            no_progress_loops: 0,
            progress: 0,
            reclaimed: 0,
            kills: 0,
            restart: true,
        }
    }

    /// Steps 2 to 4 of 8.1. Kernels before 4.8 go straight into their rounds.
    async fn enter(&self, slow: &mut Slow) -> Round {
        let (scheme, stalls) = {
            let policy = &self.state.borrow().alloc.policy;
            (policy.slowpath.scheme, policy.fragment_stall.is_some() && policy.sysctl.fragment_stall_order > 0)
        };
        if scheme != SlowpathScheme::Priorities {
            return Round::Retry(Retry::Enter);
        }
        self.wake_all_kswapds(slow);
        let page = if stalls && slow.request.gfp.contains(Gfp::MOVABLE | Gfp::DIRECT_RECLAIM) {
            self.attempt_or_stall(slow).await
        } else {
            self.attempt(&slow.request, slow.flags)
        };
        match page {
            Some(page) => Round::Page(page),
            None if self.noretry_leaves() == NoRetryLeaves::OnThisNodeOnly => self.first_round(slow).await,
            None if self.compacts_first(slow) && self.reserve_override(slow) == AllocFlags::NONE => {
                self.initial_compaction(slow).await
            }
            None => Round::Retry(Retry::Enter),
        }
    }

    /// Whether a quick compaction is likelier to help than reclaim.
    fn compacts_first(&self, slow: &Slow) -> bool {
        let rules = self.state.borrow().alloc.policy.slowpath;
        let Request { order, migratetype, gfp, .. } = slow.request;
        let nonmovable = rules.initial_compaction_nonmovable && order > 0 && migratetype != Migratetype::Movable;
        gfp.contains(Gfp::DIRECT_RECLAIM) && slow.can_compact && (slow.costly || nonmovable)
    }

    fn noretry_leaves(&self) -> NoRetryLeaves {
        self.state.borrow().alloc.policy.slowpath.noretry_leaves
    }

    /// Step 4 of 8.1: that compaction, and who leaves after it.
    async fn initial_compaction(&self, slow: &mut Slow) -> Round {
        if let Some(page) = self.direct_compact(slow, CompactPriority::Async).await {
            return Round::Page(page);
        }
        let (rule, gfp) = (self.noretry_leaves(), slow.request.gfp);
        let asked = slow.costly || rule == NoRetryLeaves::OnThisNodeOnly;
        if asked && gfp.contains(Gfp::NORETRY) {
            if leaves(rule, slow.compact_result, gfp) {
                return Round::GiveUp;
            }
            slow.priority = CompactPriority::Async;
        }
        Round::Retry(Retry::Enter)
    }

    /// One pass over the free lists (chapter 7) with the wake-ups that it asks for (7.8).
    fn attempt(&self, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let mut state = self.state.borrow_mut();
        let page = state.alloc.get_page_from_freelist(request, flags);
        state.wake_for_boosts(&self.env);
        page
    }

    fn reserve_override(&self, slow: &Slow) -> AllocFlags {
        flags::reserve_override(&self.state.borrow().alloc.policy, &slow.request, &slow.task)
    }

    /// Takes over the reserve override, and drops the node mask of requests that cpusets don't bind (8.1.5). Says whether it did.
    fn apply_override(&self, slow: &mut Slow) -> bool {
        let over = self.reserve_override(slow);
        slow.flags = flags::apply_override(over, &slow.request, slow.flags);
        let unbound = over != AllocFlags::NONE || !slow.flags.contains(AllocFlags::CPUSET);
        if unbound {
            slow.request.nodemask = NodeMask::ALL;
        }
        unbound
    }

    /// Wakes the kswapds of the zonelist (8.2); up to 4.7, for every zone of it.
    fn wake_all_kswapds(&self, slow: &Slow) {
        if slow.flags.contains(AllocFlags::KSWAPD) {
            self.wake_kswapds_for(&slow.request);
        }
    }

    /// Wakes the kswapds of the zonelist for a request, whatever its flags have become.
    pub(crate) fn wake_kswapds_for(&self, request: &Request) {
        let Request { order, gfp, .. } = *request;
        let (order, per_zone) = {
            let alloc = &self.state.borrow().alloc;
            let order = defrag::kswapd_order(&alloc.policy, &alloc.geometry, order);
            (order, alloc.policy.reclaim.lru == LruRule::PerZone)
        };
        let mut last_node = None;
        for index in 0.. {
            let Some((zone, node)) = self.zone_at(request, index) else { break };
            if per_zone || last_node != Some(node) {
                self.wakeup_kswapd(zone, gfp, order, gfp.highest_zone());
            }
            last_node = Some(node);
        }
    }

    fn zone_at(&self, request: &Request, index: usize) -> Option<(ZoneId, pagealloc::NodeId)> {
        let state = self.state.borrow();
        let zone = state.alloc.zonelist(request, index)?;
        Some((zone, state.alloc.zone_info(zone).node))
    }

    /// 8.1.19: from the min reserve, inside the cpuset and then outside it; fragmenting is allowed.
    fn nofail_attempts(&self, request: &Request) -> Option<Pfn> {
        let anywhere = Request { nodemask: NodeMask::ALL, ..*request };
        self.attempt(request, AllocFlags::MIN_RESERVE | AllocFlags::CPUSET)
            .or_else(|| self.attempt(&anywhere, AllocFlags::MIN_RESERVE))
    }

    /// The order that this round's reclaim and compaction work at (13.9).
    fn work_order(&self, slow: &Slow) -> Order {
        let alloc = &self.state.borrow().alloc;
        defrag::work_order(&alloc.policy, &alloc.geometry, &slow.request, slow.flags)
    }

    /// The order by which another round is judged: that, or the request's own.
    fn judged_order(&self, slow: &Slow) -> Order {
        match self.promoted_retries() {
            Some(PromotedRetries::AtOwnOrder | PromotedRetries::AtOwnOrderBounded) => slow.request.order,
            Some(PromotedRetries::AtBlockOrder) | None => self.work_order(slow),
        }
    }

    /// The order for which another compaction is worth it: from 7.3 on that of the last one, though it is judged like
    /// one for the request's.
    fn retried_order(&self, slow: &Slow) -> Order {
        match self.promoted_retries() {
            Some(PromotedRetries::AtOwnOrder) => slow.request.order,
            _ => self.work_order(slow),
        }
    }

    /// Whether this round works at a higher order than the request's, and only so many of these are granted (13.9).
    fn bounds_retries(&self, slow: &Slow) -> bool {
        self.promoted_retries() == Some(PromotedRetries::AtOwnOrderBounded)
            && self.work_order(slow) != slow.request.order
    }

    fn promoted_retries(&self) -> Option<PromotedRetries> {
        defrag::active(&self.state.borrow().alloc.policy).map(|rules| rules.promoted_retries)
    }
}

/// Whether `__GFP_NORETRY` ends a request after an initial compaction of that result.
fn leaves(rule: NoRetryLeaves, result: CompactResult, gfp: Gfp) -> bool {
    let (deferred, skipped) = (result == CompactResult::Deferred, result == CompactResult::Skipped);
    match rule {
        NoRetryLeaves::OnDeferred => deferred,
        NoRetryLeaves::OnSkippedOrDeferred => deferred || skipped,
        NoRetryLeaves::AlsoOnThisNode => deferred || skipped || gfp.contains(Gfp::THISNODE),
        NoRetryLeaves::OnThisNodeOnly => gfp.contains(Gfp::THISNODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_retry_leaves_by_the_result_or_by_the_node() {
        use NoRetryLeaves::*;
        let results = [CompactResult::Deferred, CompactResult::Skipped, CompactResult::Complete];
        for (rule, anywhere, own) in [
            (OnDeferred, [true, false, false], [true, false, false]),
            (OnSkippedOrDeferred, [true, true, false], [true, true, false]),
            (AlsoOnThisNode, [true, true, false], [true; 3]),
            (OnThisNodeOnly, [false; 3], [true; 3]),
        ] {
            assert_eq!(results.map(|result| leaves(rule, result, Gfp::TRANSHUGE)), anywhere, "{rule:?}");
            assert_eq!(results.map(|result| leaves(rule, result, Gfp::TRANSHUGE | Gfp::THISNODE)), own, "{rule:?}");
        }
    }
}
