//! Alloc flags of the slow path (2.8) and the right to use the reserves (2.9).

use crate::env::{TaskContext, TaskFlags};
use pagealloc::policy::{VictimReserve, WatermarkReserve};
use pagealloc::{AllocFlags, Gfp, Migratetype, Policy, Request};

/// Flags that the slow path starts with (2.8).
pub(crate) fn slow_flags(policy: &Policy, request: &Request, task: &TaskContext) -> AllocFlags {
    let gfp = request.gfp;
    let mut flags = AllocFlags::WMARK_MIN | AllocFlags::CPUSET;
    if gfp.contains(Gfp::HIGH) {
        flags |= AllocFlags::MIN_RESERVE;
    }
    if gfp.contains(Gfp::KSWAPD_RECLAIM) {
        flags |= AllocFlags::KSWAPD;
    }
    let realtime = task.flags.contains(TaskFlags::REALTIME) && !task.flags.contains(TaskFlags::INTERRUPT);
    flags = match policy.watermark_reserve {
        WatermarkReserve::MinReserve => privileges(request, flags, policy.reserve_for_nonblocking, realtime),
        WatermarkReserve::HighHarder => {
            // `__GFP_ATOMIC` (4.4 to 6.2) is read from what it came with: `__GFP_HIGH` without direct reclaim.
            let atomic = gfp.contains(Gfp::HIGH) && !gfp.contains(Gfp::DIRECT_RECLAIM);
            privileges_harder(request, flags, atomic, realtime)
        }
        WatermarkReserve::HighHarder3x => {
            // Own knowledge: 3.x called atomic whoever could neither wait nor forbade kswapd.
            let atomic = gfp.contains(Gfp::KSWAPD_RECLAIM) && !gfp.contains(Gfp::DIRECT_RECLAIM);
            privileges_harder(request, flags, atomic, realtime)
        }
    };
    if request.migratetype == Migratetype::Movable {
        flags |= AllocFlags::CMA;
    }
    if policy.defrag_mode() {
        flags |= AllocFlags::NOFRAGMENT;
    }
    flags
}

fn privileges(request: &Request, mut flags: AllocFlags, nonblocking: bool, realtime: bool) -> AllocFlags {
    if !request.gfp.contains(Gfp::DIRECT_RECLAIM) {
        if !request.gfp.contains(Gfp::NOMEMALLOC) {
            flags |= AllocFlags::NON_BLOCK;
            if request.order > 0 && (nonblocking || flags.contains(AllocFlags::MIN_RESERVE)) {
                flags |= AllocFlags::HIGHATOMIC;
            }
        }
        if flags.contains(AllocFlags::MIN_RESERVE) {
            flags = flags.without(AllocFlags::CPUSET);
        }
    } else if realtime {
        flags |= AllocFlags::MIN_RESERVE;
    }
    flags
}

/// Up to 6.2: one bit, HARDER, for atomic requests and realtime tasks; with order > 0 it opened the HighAtomic list.
fn privileges_harder(request: &Request, mut flags: AllocFlags, atomic: bool, realtime: bool) -> AllocFlags {
    if atomic {
        if !request.gfp.contains(Gfp::NOMEMALLOC) {
            flags |= AllocFlags::NON_BLOCK;
        }
        flags = flags.without(AllocFlags::CPUSET);
    } else if realtime {
        flags |= AllocFlags::NON_BLOCK;
    }
    if request.order > 0 && flags.contains(AllocFlags::NON_BLOCK) {
        flags |= AllocFlags::HIGHATOMIC;
    }
    flags
}

/// Flags that replace the slow path's because the task is freeing memory or was killed for it (2.9); empty for others.
pub(crate) fn reserve_override(policy: &Policy, request: &Request, task: &TaskContext) -> AllocFlags {
    if request.gfp.contains(Gfp::NOMEMALLOC) {
        return AllocFlags::NONE;
    }
    if request.gfp.contains(Gfp::MEMALLOC) || task.flags.contains(TaskFlags::MEMALLOC) {
        return AllocFlags::NO_WATERMARKS;
    }
    if task.flags.contains(TaskFlags::OOM_VICTIM) && !task.flags.contains(TaskFlags::INTERRUPT) {
        return match policy.slowpath.victim_reserve {
            VictimReserve::Half => AllocFlags::OOM,
            VictimReserve::All => AllocFlags::NO_WATERMARKS,
        };
    }
    AllocFlags::NONE
}

/// The flags in force in a round: `flags`, or the override with what it leaves of them (2.9).
pub(crate) fn apply_override(over: AllocFlags, request: &Request, flags: AllocFlags) -> AllocFlags {
    if over == AllocFlags::NONE {
        return flags;
    }
    let cma = if request.migratetype == Migratetype::Movable { AllocFlags::CMA } else { AllocFlags::NONE };
    over | cma | (flags & AllocFlags::KSWAPD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::CpuId;
    use pagealloc::policy::preset;

    fn flags_of(policy: &Policy, order: u8, gfp: Gfp, task: TaskFlags) -> AllocFlags {
        let context = TaskContext { flags: task, ..TaskContext::user(1, CpuId(0)) };
        slow_flags(policy, &Request::new(order, gfp, CpuId(0)), &context)
    }

    #[test]
    fn flags_of_6_18() {
        let policy = preset("linux-6.18").unwrap();
        let flags = |order, gfp| flags_of(&policy, order, gfp, TaskFlags::NONE);
        let none = AllocFlags::NONE;
        assert_eq!(flags(0, Gfp::KERNEL), none | AllocFlags::CPUSET | AllocFlags::KSWAPD);
        let atomic = AllocFlags::MIN_RESERVE | AllocFlags::NON_BLOCK | AllocFlags::KSWAPD;
        assert_eq!(flags(0, Gfp::ATOMIC), atomic);
        assert_eq!(flags(2, Gfp::ATOMIC), atomic | AllocFlags::HIGHATOMIC);
        assert_eq!(flags(2, Gfp::ATOMIC | Gfp::NOMEMALLOC), AllocFlags::MIN_RESERVE | AllocFlags::KSWAPD);
        assert_eq!(flags(2, Gfp::NOWAIT), AllocFlags::NON_BLOCK | AllocFlags::KSWAPD | AllocFlags::CPUSET);
        assert!(flags(0, Gfp::HIGHUSER_MOVABLE).contains(AllocFlags::CMA));
        let realtime = flags_of(&policy, 0, Gfp::KERNEL, TaskFlags::REALTIME);
        assert!(realtime.contains(AllocFlags::MIN_RESERVE));
    }

    #[test]
    fn up_to_6_16_who_cannot_wait_has_the_reserve_whether_it_is_urgent_or_not() {
        let has =
            |name, gfp| flags_of(&preset(name).unwrap(), 2, gfp, TaskFlags::NONE).contains(AllocFlags::HIGHATOMIC);
        let kernels = [
            "linux-6.1",
            "linux-6.1.116",
            "linux-6.1.157",
            "linux-6.6",
            "linux-6.12.29",
            "linux-6.12.54",
            "linux-6.15",
            "linux-6.18",
        ];
        assert_eq!(kernels.map(|name| has(name, Gfp::NOWAIT)), [false, true, false, true, true, false, true, false]);
        assert_eq!(kernels.map(|name| has(name, Gfp::ATOMIC)), [true; 8]);
    }

    #[test]
    fn defrag_mode_bans_fragmenting_and_the_override_lifts_it() {
        let mut policy = preset("linux-6.18").unwrap();
        policy.sysctl.defrag_mode = 1;
        let request = Request::new(0, Gfp::KERNEL, CpuId(0));
        let flags = flags_of(&policy, 0, Gfp::KERNEL, TaskFlags::NONE);
        assert!(flags.contains(AllocFlags::NOFRAGMENT));
        let freeing = TaskContext { flags: TaskFlags::MEMALLOC, ..TaskContext::user(1, CpuId(0)) };
        let over = reserve_override(&policy, &request, &freeing);
        assert_eq!(apply_override(over, &request, flags), AllocFlags::NO_WATERMARKS | AllocFlags::KSWAPD);
        let victim = TaskContext { flags: TaskFlags::OOM_VICTIM, ..freeing };
        assert_eq!(reserve_override(&policy, &request, &victim), AllocFlags::OOM);
        let modest = Request::new(0, Gfp::KERNEL | Gfp::NOMEMALLOC, CpuId(0));
        assert_eq!(reserve_override(&policy, &modest, &freeing), AllocFlags::NONE);
    }

    #[test]
    fn harder_was_one_bit_until_6_2() {
        let mut policy = preset("linux-6.18").unwrap();
        policy.watermark_reserve = WatermarkReserve::HighHarder;
        let flags = flags_of(&policy, 1, Gfp::ATOMIC, TaskFlags::NONE);
        let harder = AllocFlags::MIN_RESERVE | AllocFlags::NON_BLOCK | AllocFlags::HIGHATOMIC | AllocFlags::KSWAPD;
        assert_eq!(flags, harder);
        // GFP_NOWAIT carried no `__GFP_ATOMIC`.
        assert!(!flags_of(&policy, 0, Gfp::NOWAIT, TaskFlags::NONE).contains(AllocFlags::NON_BLOCK));
        assert!(flags_of(&policy, 0, Gfp::KERNEL, TaskFlags::REALTIME).contains(AllocFlags::NON_BLOCK));
    }
}
