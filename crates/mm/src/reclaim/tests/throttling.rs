//! Who waits in reclaim, for what, how long, and who goes on at once? (8.14, 10.3, 10.14)

use super::world::*;
use crate::env::{Nanos, Queue, TaskContext, TaskFlags};
use crate::event::MmEvent;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::{MAX_RECLAIM_RETRIES, NodeReclaim, ThrottleReason};
use crate::state::Mm;
use alloc::vec::Vec;
use pagealloc::policy::{Throttling, preset};
use pagealloc::{Counter, Gfp, Request};

const MS: Nanos = 1_000_000;

/// A machine with 80 pages of page cache, of which the newest, so many, are dirty.
fn with_dirty(dirty: u32) -> Mm<Toy> {
    let mm = machine(linux_6_18());
    mm.fill(80 - dirty, 0, PageFlags::NONE, 0);
    mm.fill(dirty, 0, PageFlags::DIRTY, 100);
    mm
}

fn fail(mm: &Mm<Toy>, times: u32) {
    (0..times).for_each(|_| mm.state.borrow_mut().note_kswapd_failure(NODE));
}

/// Where, and for how long at most, somebody waits for this reason.
fn waits(mm: &Mm<Toy>, reason: ThrottleReason) -> Vec<(Queue, Nanos)> {
    run(mm.reclaim_throttle(NODE, reason, &TASK));
    mm.env.waits.take().into_iter().zip(mm.env.timeouts.take()).collect()
}

/// A tenth of a second for writes, a fiftieth for isolated pages, a tick of 4 ms for progress or a congested device.
#[test]
fn each_reason_has_its_queue_and_its_time() {
    for (reason, queue, ms) in [
        (ThrottleReason::Writeback, Queue::Writeback(NODE), 100),
        (ThrottleReason::Isolated, Queue::Isolated(NODE), 20),
        (ThrottleReason::NoProgress, Queue::NoProgress(NODE), 4),
        (ThrottleReason::Congested, Queue::Congested(NODE), 4),
    ] {
        let mm = with_dirty(80);
        assert_eq!(waits(&mm, reason), [(queue, ms * MS)]);
        let usec = ms * 1000;
        let told = MmEvent::VmscanThrottled { nid: NODE, usec_timeout: usec, usect_delayed: usec, reason };
        assert_eq!(mm.state.borrow().alloc.observer.0, [told]);
        assert!(!mm.state.borrow_mut().nodes[0].reclaim.note_written(1_000), "nobody waits any longer");
    }
}

#[test]
fn progress_is_waited_for_only_where_more_than_half_of_what_is_reclaimable_is_unwritten() {
    use ThrottleReason::*;
    let all = |dirty, failures| {
        [NoProgress, Congested, Writeback, Isolated].map(|reason| {
            let mm = with_dirty(dirty);
            fail(&mm, failures);
            !waits(&mm, reason).is_empty()
        })
    };
    assert_eq!(all(40, 0), [false, false, true, true]);
    assert_eq!(all(41, 0), [true; 4]);
    assert_eq!(all(80, MAX_RECLAIM_RETRIES - 1), [true; 4]);
    assert_eq!(all(80, MAX_RECLAIM_RETRIES), [false, false, true, true], "nobody will bring progress");
}

/// In each round, before the pass over all of the lists.
#[test]
fn a_request_without_a_page_waits_for_progress_once_a_round_at_priority_1() {
    let mm = with_dirty(80);
    mm.state.borrow_mut().owner.swap_free = 0;
    assert_eq!(run(mm.try_to_free_pages(&request(0), &TASK)), 0);
    let rounds = mm.count(Counter::AllocstallMovable);
    assert!(rounds >= 2);
    assert_eq!(*mm.env.waits.borrow(), (0..rounds).map(|_| Queue::NoProgress(NODE)).collect::<Vec<_>>());
    let state = mm.state.borrow();
    let events = &state.alloc.observer.0;
    let throttled = |event: &MmEvent| matches!(event, MmEvent::VmscanThrottled { .. });
    let first = events.iter().position(throttled).expect("somebody waits");
    let priorities: Vec<u8> = events[..first].iter().filter_map(priority_of).collect();
    assert_eq!(priorities.iter().min(), Some(&1), "{priorities:?}");
}

fn priority_of(event: &MmEvent) -> Option<u8> {
    match event {
        MmEvent::VmscanLruShrinkInactive { priority, .. } | MmEvent::VmscanLruShrinkActive { priority, .. } => {
            Some(*priority)
        }
        _ => None,
    }
}

#[test]
fn a_request_that_has_reclaimed_one_page_does_not_wait_for_progress() {
    let mm = with_dirty(79);
    mm.state.borrow_mut().owner.swap_free = 0;
    assert_eq!(run(mm.try_to_free_pages(&request(0), &TASK)), 1);
    assert_eq!(*mm.env.waits.borrow(), []);
}

/// Progress enough for all is more than an eighth of what a pass scans: of the 8 pages here that follow passes over 1, 2 and 4.
#[test]
fn a_request_with_progress_wakes_those_who_wait_for_it() {
    let wakes = |reclaimable: u32| {
        let mm = machine(linux_6_18());
        mm.fill(512, 0, PageFlags::MAPPED, 0);
        mm.env.waiters.set(true);
        let mut state = mm.state.borrow_mut();
        state.owner.swap_free = 0;
        state.owner.hot = (0..512).filter(|tag| !(7..7 + reclaimable).contains(tag)).map(Tag).collect();
        drop(state);
        assert_eq!(run(mm.try_to_free_pages(&request(0), &TASK)), u64::from(reclaimable));
        mm.env.woken.borrow().contains(&Queue::NoProgress(NODE))
    };
    assert_eq!([0, 1, 2].map(wakes), [false, false, true]);
}

/// Those who wait for writes go on early once more than 32 pages for each of them were written.
#[test]
fn who_waits_for_writes_waits_for_32_pages_each() {
    let mut node = NodeReclaim::default();
    assert!(!node.note_written(1_000), "nobody waits");
    node.begin_wait_for_writes();
    assert_eq!([31, 1, 1].map(|pages| node.note_written(pages)), [false, false, true]);
    node.begin_wait_for_writes();
    assert_eq!([31, 1].map(|pages| node.note_written(pages)), [false, true], "what the first has seen counts");
    node.end_wait_for_writes();
    node.end_wait_for_writes();
    assert!(!node.note_written(1_000), "nobody waits any longer");
    node.begin_wait_for_writes();
    assert!(!node.note_written(32), "what was written before nobody has waited for");
}

/// With 124 pages free.
fn reserve_is_met(min: u64, flags: PageFlags, failures: u32) -> bool {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.swap_free = 0;
    mm.fill(900, 0, flags, 0);
    mm.state.borrow_mut().alloc.set_watermarks(ZONE, min, min + 8, min + 16, min + 24);
    fail(&mm, failures);
    mm.state.borrow_mut().allow_direct_reclaim(NODE)
}

#[test]
fn direct_reclaim_needs_more_than_half_of_the_min_reserve_free() {
    assert_eq!([246, 248].map(|min| reserve_is_met(min, PageFlags::NONE, 0)), [true, false]);
    assert!(reserve_is_met(248, PageFlags::ANON, 0), "there is nothing that kswapd could reclaim");
    let [one_left, given_up] = [MAX_RECLAIM_RETRIES - 1, MAX_RECLAIM_RETRIES];
    assert!(!reserve_is_met(248, PageFlags::NONE, one_left));
    assert!(reserve_is_met(248, PageFlags::NONE, given_up), "kswapd no longer tries");
}

/// Kernel threads may be what kswapd waits for, the dying are to free their memory. Without FS it is for a second at most.
#[test]
fn user_tasks_alone_wait_for_the_reserve() {
    let waits = |flags| {
        let mm = machine(linux_6_18());
        mm.fill(900, 0, PageFlags::NONE, 0);
        mm.state.borrow_mut().alloc.set_watermarks(ZONE, 400, 410, 420, 430);
        let task = TaskContext { flags, ..TASK };
        run(mm.try_to_free_pages(&Request::new(0, Gfp::NOFS, CPU), &task));
        let waited: Vec<_> = mm.env.waits.take().into_iter().zip(mm.env.timeouts.take()).collect();
        assert_eq!(mm.count(Counter::PgscanDirectThrottle), waited.len() as u64);
        waited
    };
    assert_eq!(waits(TaskFlags::NONE), [(Queue::Pfmemalloc(NODE), 1_000 * MS)]);
    assert_eq!([TaskFlags::KTHREAD, TaskFlags::DYING].map(|flags| waits(flags).len()), [0, 0]);
}

/// A tenth of a second before 5.16, whatever the reason; a fiftieth for a request that has pages to try again with.
#[test]
fn before_5_16_congestion_is_waited_for_a_tenth_of_a_second() {
    let timeouts = |name, congested: bool, device: bool| {
        let mm = machine(preset(name).unwrap());
        mm.env.congested.set(device);
        mm.state.borrow_mut().nodes[0].reclaim.congested = congested;
        run(mm.wait_before_retry(&request(0), &TASK));
        mm.env.timeouts.take()
    };
    assert_eq!(timeouts("linux-4.6", true, true), [20 * MS]);
    assert_eq!(timeouts("linux-4.6", false, true), [], "the node is not");
    assert_eq!(timeouts("linux-4.6", true, false), [], "the device is no longer");
    let mut policy = linux_6_18();
    policy.reclaim.throttling = Throttling::Once;
    let mm = machine(policy);
    assert_eq!(waits(&mm, ThrottleReason::Writeback), [(Queue::Congestion, 100 * MS)]);
    assert_eq!(waits(&mm, ThrottleReason::NoProgress), []);
}
