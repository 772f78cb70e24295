//! What `vm.defrag_mode` changes on the slow path (chapter 13).
//!
//! Mode 1 runs reclaim and compaction to their full extent before a request may take pages of another type; how the
//! ban is lifted in the end differs between the posted patch, the merged one and the follow-ups of 2026
//! ([`DefragRules`]).
//!
//! Mode 2, announced but never posted ("prefer OOM over fragmentation"), is defined here as follows (13.11):
//!
//! 1. The ban is never lifted: neither before OOM (8.1.14) nor in the OOM step's own attempt (8.9).
//! 2. Reclaim and compaction of non-movable requests should run at the pageblock order, as in the fixes of 13.9: only a
//!    whole block helps them (`reclaim_at_block_order`, which the preset of mode 2 sets). After a kill compaction
//!    starts again from its default priority. A request gives up after [`MAX_KILLS`] kills in a row; costly requests
//!    never kill.
//! 3. Requests that can't reclaim fail; an atomic one of order > 0 may still use the HighAtomic reserve.
//! 4. `PF_MEMALLOC`, OOM victims and `__GFP_NOFAIL` are exempt, since their failure would be a deadlock: the reserve
//!    override (2.9) and the last attempts (8.1.19) carry no ban, as in mode 1.
//! 5. The retry test (8.6) counts what the request may take: free pages of its own type and whole free blocks.
//! 6. Watermarks, HighAtomic and lowmem reserves are untouched. A remote block is preferred to failing here (13.3 c).
//! 7. Pages are never asked for in bulk, since `alloc_pages_bulk` knows no ban (`bulk_requests`, which the preset sets).

use crate::env::{TaskContext, TaskFlags};
use pagealloc::policy::{DefragRetry, DefragRules};
use pagealloc::{AllocFlags, Geometry, Gfp, Migratetype, Order, Policy, Request};

/// Kills on behalf of one request after which mode 2 gives up: as many as there are fruitless reclaim rounds (1.3).
pub(crate) const MAX_KILLS: u32 = 16;

/// The rules of defrag_mode, if it is on.
#[inline]
pub(crate) fn active(policy: &Policy) -> Option<&DefragRules> {
    policy.defrag.as_ref().filter(|_| policy.defrag_mode())
}

/// Whether requests fail rather than fragment: mode 2, of a policy that has it.
pub(crate) fn never_fragment(policy: &Policy) -> bool {
    active(policy).is_some_and(|rules| rules.never_fragment && policy.sysctl.defrag_mode >= 2)
}

/// The order that kswapds are woken for: at least a block under defrag_mode (13.3 e).
pub(crate) fn kswapd_order(policy: &Policy, geometry: &Geometry, order: Order) -> Order {
    match active(policy) {
        Some(rules) if rules.kswapd_block_order => order.max(geometry.pageblock_order),
        _ => order,
    }
}

/// The order at which direct reclaim and compaction work for a request: its own, or a whole block where nothing less
/// helps a request that must not fragment (13.9).
pub(crate) fn work_order(policy: &Policy, geometry: &Geometry, request: &Request, flags: AllocFlags) -> Order {
    let promoted = active(policy).is_some_and(|rules| rules.reclaim_at_block_order);
    if promoted && flags.contains(AllocFlags::NOFRAGMENT) && request.migratetype != Migratetype::Movable {
        request.order.max(geometry.pageblock_order)
    } else {
        request.order
    }
}

/// Flags for one more round after reclaim and compaction gave up (8.1.14), or `None` to go on to OOM.
pub(crate) fn lift_ban(policy: &Policy, flags: AllocFlags) -> Option<AllocFlags> {
    let rules = active(policy)?;
    if never_fragment(policy) {
        return None;
    }
    match rules.retry {
        // The slip of the first posting: every *other* flag goes, and the round repeats for ever (13.7).
        DefragRetry::AsPosted => Some(flags & AllocFlags::NOFRAGMENT),
        DefragRetry::Once => flags.contains(AllocFlags::NOFRAGMENT).then_some(flags.without(AllocFlags::NOFRAGMENT)),
    }
}

/// Flags for a last attempt of requests that leave at step 7 of 8.1, because their mask or their task can't reclaim: they fail in 6.18.
/// Since the fix of 2026 those without direct reclaim that may wake kswapd fragment (13.9); what `PF_MEMALLOC` tasks ask
/// for without the reserves is left to fail by it, and fragments only where the policy says so.
pub(crate) fn lift_ban_nonreclaiming(
    policy: &Policy,
    gfp: Gfp,
    task: &TaskContext,
    flags: AllocFlags,
) -> Option<AllocFlags> {
    let rules = active(policy)?;
    let nonblocking = !gfp.contains(Gfp::DIRECT_RECLAIM) && gfp.contains(Gfp::KSWAPD_RECLAIM);
    let freeing = task.flags.contains(TaskFlags::MEMALLOC);
    let lifted = (rules.nonblocking_may_fragment && nonblocking || rules.memalloc_may_fragment && freeing)
        && !never_fragment(policy)
        && flags.contains(AllocFlags::NOFRAGMENT);
    lifted.then_some(flags.without(AllocFlags::NOFRAGMENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::CpuId;
    use pagealloc::policy::preset;

    fn policy(mode: u32, change: impl FnOnce(&mut DefragRules)) -> Policy {
        let mut policy = preset("linux-6.18").unwrap();
        policy.sysctl.defrag_mode = mode;
        change(policy.defrag.as_mut().unwrap());
        policy
    }

    const BANNED: AllocFlags = AllocFlags(AllocFlags::NOFRAGMENT.0 | AllocFlags::KSWAPD.0 | AllocFlags::CPUSET.0);

    #[test]
    fn the_ban_is_lifted_once_and_nothing_else_with_it() {
        let policy = policy(1, |_| ());
        let lifted = lift_ban(&policy, BANNED).unwrap();
        assert_eq!(lifted, AllocFlags::KSWAPD | AllocFlags::CPUSET);
        assert_eq!(lift_ban(&policy, lifted), None);
    }

    #[test]
    fn as_posted_loses_every_other_flag_and_never_ends() {
        let policy = policy(1, |rules| rules.retry = DefragRetry::AsPosted);
        let flags = lift_ban(&policy, BANNED).unwrap();
        assert_eq!(flags, AllocFlags::NOFRAGMENT);
        assert_eq!(lift_ban(&policy, flags), Some(AllocFlags::NOFRAGMENT));
    }

    #[test]
    fn off_lifts_nothing_and_mode_2_neither() {
        assert_eq!(lift_ban(&policy(0, |_| ()), BANNED), None);
        let has_mode_2 = |rules: &mut DefragRules| rules.never_fragment = true;
        assert_eq!(lift_ban(&policy(2, has_mode_2), BANNED), None);
        assert!(lift_ban(&policy(1, has_mode_2), BANNED).is_some(), "mode 1 of a policy that has mode 2");
    }

    #[test]
    fn requests_that_cannot_reclaim_fail_unless_a_fix_lets_them_fragment() {
        let user = TaskContext::user(1, CpuId(0));
        let freeing = TaskContext { flags: TaskFlags::MEMALLOC, ..user };
        let lifted = |policy: &Policy, gfp, task| lift_ban_nonreclaiming(policy, gfp, task, BANNED).is_some();
        assert!(!lifted(&policy(1, |_| ()), Gfp::ATOMIC, &user));
        let fixed = policy(1, |rules| rules.nonblocking_may_fragment = true);
        assert!(lifted(&fixed, Gfp::ATOMIC, &user));
        // Both requests for a swap table get past the fix of 2026: no kswapd, and direct reclaim that is not allowed.
        let kernel = Gfp::KERNEL | Gfp::HIGH | Gfp::NOMEMALLOC;
        assert!(!lifted(&fixed, Gfp::HIGH | Gfp::NOMEMALLOC, &freeing) && !lifted(&fixed, kernel, &freeing));
        let ours = policy(1, |rules| rules.memalloc_may_fragment = true);
        assert!(lifted(&ours, Gfp::HIGH | Gfp::NOMEMALLOC, &freeing) && lifted(&ours, kernel, &freeing));
        assert!(!lifted(&ours, Gfp::ATOMIC, &user));
    }

    #[test]
    fn orders_are_promoted_to_blocks() {
        let geometry = Geometry::PAGES_4K;
        let request = Request::new(0, Gfp::KERNEL, CpuId(0));
        let movable = Request::new(0, Gfp::HIGHUSER_MOVABLE, CpuId(0));
        let plain = policy(1, |_| ());
        assert_eq!(kswapd_order(&plain, &geometry, 0), 9);
        assert_eq!(kswapd_order(&policy(0, |_| ()), &geometry, 0), 0);
        assert_eq!(kswapd_order(&plain, &geometry, 10), 10);
        assert_eq!(work_order(&plain, &geometry, &request, BANNED), 0);
        let fixed = policy(1, |rules| rules.reclaim_at_block_order = true);
        assert_eq!(work_order(&fixed, &geometry, &request, BANNED), 9);
        assert_eq!(work_order(&fixed, &geometry, &request, AllocFlags::NONE), 0);
        assert_eq!(work_order(&fixed, &geometry, &movable, BANNED), 0);
    }
}
