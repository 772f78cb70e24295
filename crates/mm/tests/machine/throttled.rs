//! Tasks that wait in direct reclaim: what makes them go on? (8.14, 10.14)

use crate::support::*;
use mm::reclaim::ThrottleReason;
use mm::{Env, MmEvent, PageFlags, Queue};
use pagealloc::{AllocFlags, Counter, Gfp};
use std::cell::Cell;
use std::rc::Rc;

/// Has a task reclaim for a page: the time at which it is done, 0 until then.
fn reclaimer(machine: &mut TestMachine, gfp: Gfp, pid: u32) -> Rc<Cell<u64>> {
    let (mm, done) = (machine.mm.clone(), Rc::new(Cell::new(0)));
    let at = done.clone();
    machine.spawn(async move {
        mm.try_to_free_pages(&request(0, gfp), &task(pid)).await;
        at.set(mm.env.now());
    });
    done
}

fn reclaims(machine: &TestMachine) -> usize {
    machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::VmscanDirectReclaimBegin { .. })))
}

/// Without FS a task may hold what kswapd needs: it gives up after a second. Others wait until the reserve is there.
#[test]
fn only_who_may_use_filesystems_waits_for_the_reserve_without_end() {
    let mut machine = TestMachine::new(policy("linux-6.18", |_| ()), 64);
    let pages = fill(&machine, PageFlags::NONE, 1);
    let [full, nofs] = [(Gfp::KERNEL, 2), (Gfp::NOFS, 3)].map(|(gfp, pid)| reclaimer(&mut machine, gfp, pid));
    machine.run_for(999 * MS);
    assert_eq!((full.get(), nofs.get(), reclaims(&machine)), (0, 0, 0));
    // Whoever is woken looks again, and waits again.
    machine.mm.env.wake(Queue::Pfmemalloc(NODE));
    machine.run_for(10 * MS);
    assert_eq!((full.get(), nofs.get(), reclaims(&machine)), (0, 0, 0));
    machine.run_for(1_000 * MS);
    assert!(nofs.get() > 1_000 * MS);
    machine.run_for(60_000 * MS);
    assert_eq!((full.get(), reclaims(&machine)), (0, 1));
    assert_eq!(machine.counter(Counter::PgscanDirectThrottle), 2);
    pages.iter().rev().take(4096).for_each(|page| free_page(&machine, *page));
    machine.mm.env.wake(Queue::Pfmemalloc(NODE));
    machine.run_for(MS);
    assert!(full.get() > 0 && reclaims(&machine) == 2);
}

/// Nobody has asked kswapd for anything: it is the task that waits that gets it going, and kswapd that lets it go on.
#[test]
fn who_waits_for_the_reserve_wakes_kswapd_and_is_woken_by_it() {
    let mut machine = TestMachine::with_daemons(policy("linux-6.18", |_| ()), 64);
    machine.run_for(1_000 * MS);
    fill(&machine, PageFlags::NONE, 1);
    machine.run_for(1_000 * MS);
    assert_eq!(machine.counter(Counter::Pageoutrun), 0, "it sleeps");
    let (began, done) = (machine.mm.env.now(), reclaimer(&mut machine, Gfp::KERNEL, 2));
    machine.run_for(1_000 * MS);
    assert_eq!(machine.counter(Counter::PgscanDirectThrottle), 1);
    assert!(machine.counter(Counter::Pageoutrun) > 0 && machine.counter(Counter::PgstealKswapd) > 0);
    assert!((began..began + 50 * MS).contains(&done.get()), "it went on after {} ns", done.get() - began);
}

/// kswapd looks after each pass whether the reserve is there: who waits for it does not wait for the whole run (9.6.7).
#[test]
fn who_waits_for_the_reserve_goes_on_amid_kswapds_run() {
    let mut machine = TestMachine::with_daemons(policy("linux-6.18", |_| ()), 64);
    machine.run_for(1_000 * MS);
    fill(&machine, PageFlags::NONE, 1);
    reclaimer(&mut machine, Gfp::KERNEL, 2);
    while reclaims(&machine) == 0 {
        assert!(machine.mm.env.now() < 2_000 * MS, "it waits without end");
        machine.run_for(1_000);
    }
    assert!(machine.counter(Counter::PgstealKswapd) > 0);
    assert!(!machine.mm.env.has_waiters(Queue::Kswapd(NODE)), "kswapd is back asleep");
    assert!(machine.free() < machine.mark(AllocFlags::WMARK_HIGH), "the node is balanced");
}

/// When kswapd gives the node up, who waits has to do what it could not (9.9).
#[test]
fn who_waits_for_the_reserve_goes_on_once_kswapd_has_given_up() {
    let mut machine = TestMachine::with_daemons(policy("linux-6.18", |_| ()), 64);
    machine.run_for(1_000 * MS);
    fill(&machine, PageFlags::PINNED, 1);
    let done = reclaimer(&mut machine, Gfp::KERNEL, 2);
    machine.run_for(60_000 * MS);
    assert_eq!(machine.mm.state.borrow().kswapd_failures(NODE), 16);
    assert!(done.get() > 0 && machine.counter(Counter::PgscanDirectThrottle) == 1);
}

/// Too many pages are isolated; before the wait of 20 ms is over they are back, and another reclaimer notices.
#[test]
fn who_waits_for_isolated_pages_goes_on_once_somebody_finds_them_back() {
    let mut machine = TestMachine::new(policy("linux-6.18", |_| ()), 64);
    let pages = fill(&machine, PageFlags::NONE, 1);
    pages.iter().take(4096).for_each(|page| free_page(&machine, *page));
    let isolate = |machine: &TestMachine, pages| machine.mm.state.borrow_mut().nodes[0].reclaim.isolated = [0, pages];
    isolate(&machine, 10_000);
    let first = reclaimer(&mut machine, Gfp::KERNEL, 2);
    machine.run_for(5 * MS);
    isolate(&machine, 0);
    reclaimer(&mut machine, Gfp::KERNEL, 3);
    machine.run_for(5 * MS);
    assert!(first.get() > 0, "it still waits");
    let waits = machine.watched(|seen| {
        let wait = |event: &MmEvent| match *event {
            MmEvent::VmscanThrottled { usec_timeout, usect_delayed, reason: ThrottleReason::Isolated, .. } => {
                Some((usec_timeout, usect_delayed))
            }
            _ => None,
        };
        seen.mm.iter().filter_map(wait).collect::<Vec<_>>()
    });
    let [(timeout, delayed)] = waits[..] else { panic!("one wait, not {waits:?}") };
    assert!(timeout == 20_000 && (4_900..6_000).contains(&delayed), "{timeout} {delayed}");
}
