//! The slow path end to end: compaction, OOM, and what defrag_mode makes of both.

use crate::suitability::with_free;
use crate::support::*;
use mm::compaction::CompactPriority;
use mm::thp::{ThpDefrag, ThpPlace};
use mm::{MmEvent, PageFlags, TaskContext, TaskFlags};
use pagealloc::{AllocFlags, Counter, Gfp, NodeMask, Pfn, Policy};

const SECOND: u64 = 1_000 * MS;

/// Anonymous memory everywhere, every second page free again: no free block above order 0.
fn checkerboard(policy: Policy, mib: u32) -> (TestMachine, Vec<Pfn>) {
    let machine = TestMachine::with_daemons(policy, mib);
    let pages = fill(&machine, PageFlags::ANON, 1);
    let (free, kept): (Vec<Pfn>, Vec<Pfn>) = pages.into_iter().partition(|page| page.0 % 2 == 1);
    for page in free {
        free_page(&machine, page);
    }
    machine.mm.state.borrow_mut().alloc.drain_all_pages(None);
    (machine, kept)
}

#[test]
fn compaction_makes_a_huge_page() {
    for name in ["linux-3.12", "linux-4.6", "linux-4.8", "linux-4.20", "linux-5.0", "linux-6.1", "linux-6.18"] {
        // Large enough for a CPU's list to hold what a batch frees: where that merges at once, up to 5.0, the next
        // batch begins amid a free block, and leaves the rest of its window.
        let (mut machine, _) = checkerboard(policy(name, |_| ()), 256);
        let mm = machine.mm.clone();
        let gfp = Gfp::TRANSHUGE;
        let page = machine.complete(10 * SECOND, async move { mm.alloc_pages(&request(9, gfp), &task(2)).await });
        assert!(page.flatten().is_some(), "{name}: no huge page");
        assert!(machine.counter(Counter::CompactSuccess) > 0, "{name}");
        assert!(machine.counter(Counter::PgmigrateSuccess) > 0, "{name}");
        assert_eq!(machine.counter(Counter::OomKill), 0, "{name}");
        machine.check();
    }
}

/// A file reader fills memory while kernel allocations trickle in: fallbacks that fragment.
fn fragmenting_fallbacks(policy: Policy) -> usize {
    let mut machine = TestMachine::with_daemons(policy, 64);
    let mm = machine.mm.clone();
    let done = machine.complete(600 * SECOND, async move {
        for round in 0..4 * 64 * MIB {
            user_page(&mm, 0, PageFlags::NONE, 1).await.expect("file pages can be reclaimed");
            if round % 8 == 0 && round < 32 * MIB {
                kernel_page(&mm, 0, 2).await.expect("kernel pages fit");
            }
            mm.env.sleep(2_000).await;
        }
    });
    assert!(done.is_some(), "the load came to a halt");
    machine.check();
    machine.watched(Watcher::fragmenting)
}

#[test]
fn defrag_mode_prevents_fragmenting_fallbacks() {
    assert!(fragmenting_fallbacks(policy("linux-6.18", |_| ())) > 0);
    assert_eq!(fragmenting_fallbacks(policy("linux-6.18+defrag", |_| ())), 0);
}

/// Memory full of anonymous pages without swap, and one request more.
fn out_of_memory(policy: Policy) -> (TestMachine, Option<Option<Pfn>>) {
    let mut machine = TestMachine::with_daemons(policy, 32);
    machine.mm.env.set_costs(Costs { resched: 10_000, page: 1_000, ..Costs::default() });
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::ANON, 1);
    let mm = machine.mm.clone();
    let answer = machine.complete(SECOND, async move { kernel_page(&mm, 0, 2).await });
    (machine, answer)
}

#[test]
fn the_killer_is_reached_except_by_the_first_posting() {
    for name in ["linux-3.12", "linux-4.6", "linux-4.8", "linux-5.0", "linux-6.18", "linux-6.18+defrag"] {
        let (machine, answer) = out_of_memory(policy(name, |_| ()));
        assert!(answer.is_some(), "{name}: the request hangs");
        assert!(answer.flatten().is_some(), "{name}: the request failed");
        assert_eq!(machine.counter(Counter::OomKill), 1, "{name}");
        assert_eq!(machine.mm.state.borrow().owner.killed, [1], "{name}");
    }
    let (machine, answer) = out_of_memory(policy("linux-6.15+defrag-as-posted", |_| ()));
    assert!(answer.is_none(), "the posted retry ended");
    assert_eq!(machine.counter(Counter::OomKill), 0);
    let rounds = machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::VmscanDirectReclaimBegin { .. })));
    assert!(rounds > 100, "it hangs for another reason: {rounds} rounds");
    let (machine, answer) = out_of_memory(policy("linux-6.15+defrag-patch1-fixed", |_| ()));
    assert!(answer.flatten().is_some());
    assert_eq!(machine.counter(Counter::OomKill), 1);
}

/// An atomic request for kernel memory when all that is free lies in movable blocks.
fn atomic_in_movable_memory(policy: Policy) -> Option<Pfn> {
    let (mut machine, _) = checkerboard(policy, 64);
    let mm = machine.mm.clone();
    machine.complete(SECOND, async move { mm.alloc_pages(&request(0, Gfp::ATOMIC), &task(2)).await }).unwrap()
}

#[test]
fn atomic_requests_fail_under_defrag_mode_until_fixed() {
    assert!(atomic_in_movable_memory(policy("linux-6.18", |_| ())).is_some());
    assert_eq!(atomic_in_movable_memory(policy("linux-6.18+defrag", |_| ())), None);
    assert!(atomic_in_movable_memory(policy("linux-6.18+nonblock-fix", |_| ())).is_some());
    assert!(atomic_in_movable_memory(policy("linux-7.2+defrag", |_| ())).is_some());
}

#[test]
fn rounds_of_promoted_requests_are_judged_by_the_block_as_posted_and_by_their_own_order_from_7_2_on() {
    for (name, promoted, by_block) in [
        ("linux-6.18+defrag", false, false),
        ("linux-6.18+storm-fix", true, true),
        ("linux-7.2+defrag", true, false),
        ("linux-7.3+defrag", true, false),
    ] {
        let (machine, answer) = out_of_memory(policy(name, |_| ()));
        assert!(answer.flatten().is_some(), "{name}");
        let reclaims = |event: &MmEvent| matches!(event, MmEvent::VmscanDirectReclaimBegin { order: 9, .. });
        let judges = |event: &MmEvent| matches!(event, MmEvent::ReclaimRetryZone { order: 9, .. });
        let seen = machine.watched(|seen| (seen.count(reclaims) > 0, seen.count(judges) > 0));
        assert_eq!(seen, (promoted, by_block), "{name}");
    }
}

/// A page of kernel memory is wanted where all that is free lies in movable blocks, no page of which can be moved: whether that ends, and
/// whether compaction for it was worth another one.
fn promoted_in_vain(name: &str) -> (bool, bool) {
    let (mut machine, _) = checkerboard(policy(name, |_| ()), 32);
    machine.mm.env.set_costs(Costs { resched: 10_000, page: 1_000, ..Costs::default() });
    crate::compaction::add_flags(&machine, PageFlags::PINNED, |_| true);
    let mm = machine.mm.clone();
    let page = machine.complete(20 * MS, async move { kernel_page(&mm, 0, 2).await });
    let retries = machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::CompactRetry { .. })));
    (page.is_some(), retries > 0)
}

#[test]
fn promoted_requests_for_a_page_go_on_without_end_in_7_2() {
    // Reclaim that leaves the zone to compaction counts as progress, and there are free pages enough for order 0.
    assert_eq!(promoted_in_vain("linux-7.2+defrag"), (false, false));
    assert_eq!(promoted_in_vain("linux-7.3+defrag"), (true, true));
}

/// What `reclaim_retry_zone` shows of fruitless rounds, first to last.
fn fruitless(machine: &TestMachine) -> Vec<u32> {
    machine.watched(|seen| {
        let loops = |event: &MmEvent| match event {
            MmEvent::ReclaimRetryZone { no_progress_loops, .. } => Some(*no_progress_loops),
            _ => None,
        };
        seen.mm.iter().filter_map(loops).collect()
    })
}

#[test]
fn counts_of_promoted_requests_begin_anew_with_the_fallback_in_7_3() {
    for (name, rounds) in [
        ("linux-6.18+defrag", [1, 2]),
        ("linux-6.18+storm-fix", [1, 2]),
        ("linux-7.2+defrag", [1, 2]),
        ("linux-7.3+defrag", [1, 1]),
    ] {
        let (machine, answer) = out_of_memory(policy(name, |_| ()));
        assert!(answer.flatten().is_some(), "{name}");
        assert_eq!(fruitless(&machine)[..2], rounds, "{name}");
    }
}

#[test]
fn rounds_of_promoted_requests_are_fruitless_in_7_3_whatever_they_free() {
    let rounds_of = |name| {
        let mut machine = TestMachine::new(policy(name, |_| ()), 64);
        fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::MAPPED, 1);
        let mm = machine.mm.clone();
        let page = machine.complete(SECOND, async move { kernel_page(&mm, 0, 2).await });
        assert!(page.flatten().is_some() && machine.counter(Counter::PgstealDirect) > 0, "{name}");
        fruitless(&machine)
    };
    assert!(rounds_of("linux-6.18+defrag").iter().all(|&rounds| rounds == 0));
    let promoted = rounds_of("linux-7.3+defrag");
    assert!(!promoted.is_empty());
    assert_eq!(promoted, (1..=promoted.len() as u32).collect::<Vec<_>>());
}

#[test]
fn mode_2_never_fragments() {
    let (mut machine, _) = checkerboard(policy("linux-6.18+defrag2", |_| ()), 64);
    let mm = machine.mm.clone();
    let answer = machine.complete(60 * SECOND, async move {
        for _ in 0..1024 {
            kernel_page(&mm, 0, 2).await;
        }
    });
    assert!(answer.is_some(), "mode 2 spins");
    assert_eq!(machine.watched(Watcher::fragmenting), 0);
    machine.check();
}

/// A movable request when all that is free is single pages in unmovable blocks.
fn movable_in_unmovable_memory(policy: Policy) -> (TestMachine, Option<Pfn>) {
    let mut machine = TestMachine::with_daemons(policy, 64);
    let mut pages = Vec::new();
    {
        let mut state = machine.mm.state.borrow_mut();
        let kernel = request(0, Gfp::KERNEL);
        while let Some(page) = state.alloc.get_page_from_freelist(&kernel, AllocFlags::NO_WATERMARKS) {
            pages.push(page);
        }
        for page in pages.into_iter().filter(|page| page.0 % 2 == 0) {
            state.alloc.free(page, CPU);
        }
        state.alloc.drain_all_pages(None);
    }
    // A kswapd that takes its time: a stall is counted only if it lasts beyond a tick.
    machine.mm.env.set_costs(Costs { resched: 5 * MS, ..Costs::default() });
    let mm = machine.mm.clone();
    let page = machine.complete(10 * SECOND, async move { user_page(&mm, 0, PageFlags::NONE, 1).await });
    (machine, page.expect("the request ends"))
}

fn stalls(machine: &TestMachine) -> Vec<u64> {
    let duration = |event: &MmEvent| match event {
        MmEvent::FragmentationStall { duration, .. } => Some(*duration),
        _ => None,
    };
    machine.watched(|seen| seen.mm.iter().filter_map(duration).collect())
}

#[test]
fn the_4_20_series_stalls_before_it_fragments() {
    let (machine, page) = movable_in_unmovable_memory(policy("linux-4.20+stall", |_| ()));
    assert!(page.is_some());
    let seen = stalls(&machine);
    assert_eq!(machine.counter(Counter::FragmentStall), seen.len() as u64);
    assert!(seen.iter().all(|duration| duration % 4000 == 0 && (4000..=20_000).contains(duration)), "{seen:?}");
    // Only the first slow-path attempt of a request may stall. kswapd can free nothing here, but wakes its waiters when
    // it goes back to sleep.
    assert_eq!(seen.len(), 1);
    assert!(machine.watched(Watcher::fragmenting) > 0, "it fragments in the end");
    assert!(machine.mm.state.borrow().alloc.boost(ZONE) > 0 || machine.counter(Counter::Pageoutrun) > 0);

    let off = |policy: &mut Policy| policy.sysctl.fragment_stall_order = 0;
    let (machine, page) = movable_in_unmovable_memory(policy("linux-4.20+stall", off));
    assert!(page.is_some());
    assert_eq!(machine.counter(Counter::FragmentStall), 0);
}

#[test]
fn noretry_reclaims_once_and_reports_failure() {
    let (mut machine, _) = out_of_memory_without_request("linux-6.18");
    let mm = machine.mm.clone();
    let gfp = Gfp::KERNEL | Gfp::NORETRY;
    let page = machine.complete(SECOND, async move { mm.alloc_pages(&request(0, gfp), &task(2)).await }).unwrap();
    assert_eq!(page, None);
    let count = |which: fn(&MmEvent) -> bool| machine.watched(|seen| seen.count(which));
    assert_eq!(count(|event| matches!(event, MmEvent::VmscanDirectReclaimBegin { .. })), 1);
    assert_eq!(count(|event| matches!(event, MmEvent::PageAllocFailure { order: 0, .. })), 1);
    assert_eq!(machine.watched(|seen| seen.failures), 1, "mm_page_alloc tells of failures too");
    assert_eq!(machine.counter(Counter::OomKill), 0);
}

#[test]
fn a_request_that_compaction_skips_is_a_stall_in_3_x_only() {
    for (name, stalls) in [("linux-3.12", 2), ("linux-4.6", 0), ("linux-6.18", 0)] {
        let (mut machine, _) = out_of_memory_without_request(name);
        let mm = machine.mm.clone();
        let gfp = Gfp::TRANSHUGE | Gfp::NORETRY;
        let page = machine.complete(SECOND, async move { mm.alloc_pages(&request(9, gfp), &task(2)).await });
        assert_eq!(page, Some(None));
        let counted = [Counter::CompactStall, Counter::CompactFail, Counter::CompactSuccess];
        assert_eq!(counted.map(|counter| machine.counter(counter)), [stalls, 0, 0], "{name}");
    }
}

#[test]
fn a_huge_page_of_any_node_is_reclaimed_for_once_since_7_0_though_compaction_was_skipped() {
    for (name, node, reclaims) in [("linux-6.18", Gfp(0), 0), ("linux-7.3", Gfp(0), 1), ("linux-7.3", Gfp::THISNODE, 0)]
    {
        let (mut machine, _) = out_of_memory_without_request(name);
        let mm = machine.mm.clone();
        let request = request(9, Gfp::TRANSHUGE | Gfp::NORETRY | node);
        let page = machine.complete(SECOND, async move { mm.alloc_pages(&request, &task(2)).await });
        assert_eq!(page, Some(None));
        let seen =
            machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::VmscanDirectReclaimBegin { .. })));
        assert_eq!(seen, reclaims, "{name}, {node:?}");
    }
}

#[test]
fn retry_mayfail_forgives_sixteen_fruitless_rounds_and_kills_nobody() {
    let mut machine = TestMachine::with_daemons(policy("linux-6.18", |_| ()), 32);
    // File pages that are used all the time: reclaimable by the books, but never reclaimed.
    machine.mm.state.borrow_mut().owner.referenced = true;
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::MAPPED, 1);
    let mm = machine.mm.clone();
    let gfp = Gfp::KERNEL | Gfp::RETRY_MAYFAIL;
    let page = machine.complete(60 * SECOND, async move { mm.alloc_pages(&request(0, gfp), &task(2)).await }).unwrap();
    assert_eq!(page, None);
    let count = |which: fn(&MmEvent) -> bool| machine.watched(|seen| seen.count(which));
    assert_eq!(count(|event| matches!(event, MmEvent::ReclaimRetryZone { wmark_check: true, .. })), 16);
    assert_eq!(count(|event| matches!(event, MmEvent::VmscanDirectReclaimBegin { .. })), 17);
    assert_eq!(machine.counter(Counter::OomKill), 0);
}

#[test]
fn who_frees_memory_may_use_all_of_it() {
    let (mut machine, low) = out_of_memory_without_request("linux-6.18+defrag");
    let mm = machine.mm.clone();
    let freeing = TaskContext { flags: TaskFlags::MEMALLOC, ..task(2) };
    let request = request(0, Gfp::KERNEL | Gfp::NOWARN);
    let taken = machine.complete(SECOND, async move {
        let mut taken = 0;
        while mm.alloc_pages(&request, &freeing).await.is_some() {
            taken += 1;
        }
        taken
    });
    assert!(taken.unwrap() >= low, "the reserve is below min, of whatever type");
    assert_eq!(machine.free(), 0);
}

/// Memory full of anonymous pages down to the min mark, no swap; and the pages still free.
fn out_of_memory_without_request(name: &str) -> (TestMachine, u64) {
    let machine = TestMachine::with_daemons(policy(name, |_| ()), 32);
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::ANON, 1);
    let free = machine.free();
    (machine, free)
}

#[test]
fn an_advised_fault_that_fails_has_asked_twice_since_5_4() {
    for (name, requests) in
        [("linux-3.12", 1), ("linux-4.20", 1), ("linux-5.0", 1), ("linux-6.18", 2), ("linux-7.3", 2)]
    {
        let (mut machine, _) = out_of_memory_without_request(name);
        let mm = machine.mm.clone();
        let place = ThpPlace { node: NODE, nodemask: NodeMask::ALL };
        let fault = async move { mm.thp_fault(ThpDefrag::Madvise, true, place, &task(2)).await };
        assert_eq!(machine.complete(10 * SECOND, fault), Some(None));
        assert_eq!(machine.watched(|seen| seen.failures), requests, "{name}");
    }
}

#[test]
fn huge_page_faults_count_success_and_fallback() {
    let place = ThpPlace { node: NODE, nodemask: NodeMask::ALL };
    let (mut machine, _) = checkerboard(policy("linux-6.18", |_| ()), 64);
    for (setting, madvised, found) in [(ThpDefrag::Never, true, false), (ThpDefrag::Madvise, true, true)] {
        let mm = machine.mm.clone();
        let fault = async move { mm.thp_fault(setting, madvised, place, &task(2)).await };
        let page = machine.complete(10 * SECOND, fault).unwrap();
        assert_eq!(page.is_some(), found, "{setting:?}");
    }
    assert_eq!(machine.counter(Counter::ThpFaultFallback), 1);
    assert_eq!(machine.counter(Counter::ThpFaultAlloc), 1);
    // The light attempt may not reclaim; it never even entered compaction.
    assert_eq!(machine.counter(Counter::OomKill), 0);
}

#[test]
fn the_same_run_twice_is_the_same_run() {
    let run = || {
        let (machine, _) = out_of_memory(policy("linux-6.18+defrag", |_| ()));
        let events = machine.watched(|seen| (seen.mm.clone(), seen.extfrag.clone(), seen.allocations));
        let counters: Vec<_> = machine.mm.state.borrow().alloc.vmstat.iter().collect();
        (events, counters)
    };
    assert!(run() == run());
}

/// The last attempt before a kill asks for a page above the high mark: only a kill elsewhere can have made such room (8.9).
#[test]
fn nobody_is_killed_once_free_memory_is_above_high() {
    let high = TestMachine::new(policy("linux-6.18", |_| ()), 64).mark(AllocFlags::WMARK_HIGH);
    for (free, kills) in [(high, 1), (high + 1, 0)] {
        let machine = with_free(64, free);
        machine.mm.may_oom(&request(0, Gfp::KERNEL), AllocFlags::NONE, &mut task(2));
        assert_eq!(machine.counter(Counter::OomKill), kills, "{free} pages free");
    }
}

/// Movable blocks that no kill makes whole, since each has a page that nobody can move or be killed for; twenty processes hold the others.
fn blocks_that_kills_leave_broken(policy: Policy) -> TestMachine {
    let machine = TestMachine::new(policy, 64);
    let mut state = machine.mm.state.borrow_mut();
    let movable = request(0, Gfp::HIGHUSER_MOVABLE);
    let mut free = Vec::new();
    while let Some(page) = state.alloc.get_page_from_freelist(&movable, AllocFlags::NO_WATERMARKS) {
        match page.0 % 512 {
            0 => free.push(page),
            100 => {}
            _ => {
                let tag = state.owner.adopt(page, 0, 10 + page.0 % 20);
                state.lru_add(page, PageFlags::ANON, tag);
            }
        }
    }
    free.into_iter().for_each(|page| state.alloc.free(page, CPU));
    state.alloc.drain_all_pages(None);
    drop(state);
    machine
}

/// Before each kill, and before the end, compaction starts over at its default priority, and ends at full priority, where nothing turns it
/// away (13.11).
fn compaction_was_exhausted_each_time(machine: &TestMachine) {
    let steps: Vec<Option<u8>> = machine.watched(|seen| {
        let step = |event: &MmEvent| match event {
            MmEvent::CompactionTryToCompactPages { priority, .. } => Some(Some(*priority)),
            MmEvent::OomKill { .. } => Some(None),
            _ => None,
        };
        seen.mm.iter().filter_map(step).collect()
    });
    let (default, full) = (CompactPriority::SyncLight as u8, CompactPriority::SyncFull as u8);
    for (kill, runs) in steps.split(Option::is_none).enumerate() {
        assert_eq!(
            (runs.first(), runs.last()),
            (Some(&Some(default)), Some(&Some(full))),
            "before kill {kill}: {runs:?}"
        );
    }
}

/// Mode 2 prefers a kill to fragmentation, but not one after the other without an end: sixteen may leave no block, as sixteen rounds may
/// free nothing; nobody dies then for a request that is given up (13.11.2).
#[test]
fn mode_2_gives_up_on_a_request_that_kills_in_vain() {
    let mut machine = blocks_that_kills_leave_broken(policy("linux-6.18+defrag2", |_| ()));
    let mm = machine.mm.clone();
    let page = machine.complete(60 * SECOND, async move { kernel_page(&mm, 0, 2).await });
    assert_eq!(page, Some(None), "it ends, without a page");
    assert_eq!(machine.watched(Watcher::fragmenting), 0);
    assert_eq!(machine.counter(Counter::OomKill), 16);
    compaction_was_exhausted_each_time(&machine);
    // Mode 1 lifts its ban before anybody is killed: one kill is enough.
    let mut machine = blocks_that_kills_leave_broken(policy("linux-6.18+defrag", |_| ()));
    let mm = machine.mm.clone();
    let page = machine.complete(60 * SECOND, async move { kernel_page(&mm, 0, 2).await });
    assert!(page.flatten().is_some());
    assert_eq!(machine.counter(Counter::OomKill), 1);
}
