//! The slow path end to end: compaction, OOM, and what defrag_mode makes of both.

mod support;

use mm::{MmEvent, PageFlags};
use pagealloc::{Counter, Gfp, Pfn, Policy};
use support::*;

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
        let (mut machine, _) = checkerboard(policy(name, |_| ()), 64);
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
    let mm = machine.mm.clone();
    let eaten = machine.complete(20 * SECOND, async move {
        // Exempt from nothing: stops where the OOM killer would have to act.
        let greedy = request(0, Gfp::HIGHUSER_MOVABLE | Gfp::NORETRY | Gfp::NOWARN);
        while let Some(page) = mm.alloc_pages(&greedy, &task(1)).await {
            let mut state = mm.state.borrow_mut();
            let tag = state.owner.adopt(page, 0, 1);
            state.lru_add(page, PageFlags::ANON, tag);
        }
    });
    assert!(eaten.is_some(), "filling memory did not end");
    let mm = machine.mm.clone();
    let answer = machine.complete(20 * SECOND, async move { kernel_page(&mm, 0, 2).await });
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
