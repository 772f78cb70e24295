//! How long direct reclaim goes on, how often it starts over, and what it waits for, era by era.

use super::world::*;
use crate::env::{Queue, TaskContext, TaskFlags};
use crate::lru::LruList::*;
use crate::lru::LruvecId;
use crate::lru_kind::LruKind;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::{ScanControl, ThrottleReason};
use crate::state::Mm;
use pagealloc::policy::{
    CompactionReady, ContinueReclaim, DirtyPages, Policy, ReclaimCounting, ReclaimRounds, ReclaimRules, Throttling,
    preset,
};
use pagealloc::{Counter, Gfp, Order, ZoneType};

fn with(change: impl FnOnce(&mut ReclaimRules)) -> Policy {
    let mut policy = linux_6_18();
    change(&mut policy.reclaim);
    policy
}

/// A machine whose free memory is single pages, so many of them: every other one of those that were allocated first.
fn scattered(policy: Policy, free: u64) -> Mm<Toy> {
    let mm = machine(policy);
    mm.state.borrow_mut().alloc.set_watermarks(ZONE, 0, 0, 0, 0);
    let pages = mm.fill(1024, 0, PageFlags::ACTIVE, 0);
    let mut state = mm.state.borrow_mut();
    state.alloc.set_watermarks(ZONE, 32, 40, 48, 56);
    for &pfn in pages.iter().step_by(2).take(free as usize) {
        state.lru_del(pfn);
        state.alloc.free(pfn, CPU);
    }
    drop(state);
    mm
}

#[test]
fn from_4_9_on_compaction_has_a_zone_above_high_and_the_gap_or_above_high() {
    let ready = |rule, free| {
        let mm = scattered(with(|rules| rules.compaction_ready = rule), free);
        let sc = ScanControl::new(4, Gfp::KERNEL, ZoneType::Normal);
        mm.state.borrow_mut().compaction_ready(ZONE, &sc)
    };
    // Marks 32, 40 and 48; the gap of order 4 is 32, and compaction of costly orders wants low and the gap.
    let both = |free| [CompactionReady::HighAndGap, CompactionReady::SuitableAboveHigh].map(|rule| ready(rule, free));
    assert_eq!(both(72), [false, false], "no room to compact");
    assert_eq!(both(81), [true, false], "high and the gap; the caller's mark counts from low");
    assert_eq!(both(89), [true, true]);
    let mut policy = preset("linux-6.12").unwrap();
    policy.reclaim.generations = None;
    let mm = scattered(policy, 75);
    let sc = ScanControl::new(4, Gfp::KERNEL, ZoneType::Normal);
    assert!(mm.state.borrow_mut().compaction_suitable(ZONE, 4, 0, ZoneType::Normal));
    assert!(!mm.state.borrow_mut().compaction_ready(ZONE, &sc), "suitable, but not above high and the gap");
}

#[test]
fn up_to_5_3_a_pass_goes_on_until_the_gap_is_reclaimed() {
    let reclaimed = |rule| {
        let mm = machine(with(|rules| rules.continues = rule));
        mm.fill(800, 0, PageFlags::NONE, 0);
        // The order is free from the beginning.
        let mut sc = ScanControl::new(5, Gfp::KERNEL, ZoneType::Normal);
        (sc.priority, sc.kswapd) = (4, true);
        run(mm.shrink_node(NODE, &mut sc, &TASK));
        mm.check();
        sc.nr_reclaimed
    };
    let once = reclaimed(ContinueReclaim::WhileInactive);
    assert!(once < 64, "{once}: one pass, since the order is there");
    let gap = reclaimed(ContinueReclaim::UntilTwiceTheOrder);
    assert!((64..64 + once).contains(&gap), "{gap}: twice the order");
}

#[test]
fn rounds_without_a_page_are_one_two_or_three() {
    let stalls = |rounds, skipped: bool| {
        let mm = machine(with(|rules| rules.rounds = rounds));
        mm.state.borrow_mut().owner.swap_free = 0;
        if skipped {
            // Inactive pages can't be reclaimed, and as long as they are more than the active ones these are left alone.
            mm.fill(100, 0, PageFlags::DIRTY, 0);
            mm.fill(50, 0, PageFlags::ACTIVE.with(PageFlags::DIRTY), 1000);
        }
        let reclaimed = run(mm.try_to_free_pages(&request(0), &TASK));
        assert_eq!(reclaimed, 0);
        mm.count(Counter::AllocstallMovable)
    };
    let rounds =
        [ReclaimRounds::One, ReclaimRounds::Again, ReclaimRounds::AgainByForce, ReclaimRounds::AgainAndByForce];
    assert_eq!(rounds.map(|rule| stalls(rule, false)), [1, 2, 1, 2]);
    assert_eq!(rounds.map(|rule| stalls(rule, true)), [1, 2, 2, 3], "lists were skipped");
}

#[test]
fn up_to_4_10_direct_reclaim_wakes_the_flushers_as_it_scans_in_vain() {
    let woken = |rule, hot: bool| {
        let mm = machine(with(|rules| rules.dirty_pages = rule));
        mm.fill(400, 0, PageFlags::NONE, 0);
        if hot {
            let mut state = mm.state.borrow_mut();
            (state.owner.hot, state.owner.swap_free) = ((0..400).map(Tag).collect(), 0);
        }
        run(mm.try_to_free_pages(&request(0), &TASK));
        mm.env.flushers_woken.get() > 0
    };
    assert!(woken(DirtyPages::Stay, true));
    assert!(!woken(DirtyPages::Stay, false), "32 pages of the first 48 were reclaimed");
    assert!(!woken(DirtyPages::MoveAway, true), "only dirty pages do");
}

#[test]
fn too_many_isolated_pages_are_waited_for_as_the_era_has_it() {
    for (rule, queue) in [(Throttling::Once, Queue::Congestion), (Throttling::ByReason, Queue::Isolated(NODE))] {
        let mm = machine(with(|rules| rules.throttling = rule));
        mm.fill(80, 0, PageFlags::NONE, 0);
        mm.state.borrow_mut().nodes[0].reclaim.isolated[LruKind::File] = 11;
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        let mut totals = Default::default();
        run(mm.shrink_inactive(LruvecId::Node(NODE), InactiveFile, 32, &mut sc, &mut totals, &TASK));
        assert_eq!((mm.env.waits.borrow().as_slice(), sc.nr_scanned), ([queue].as_slice(), 0), "{rule:?}");
    }
}

#[test]
fn since_5_16_kernel_threads_but_kswapd_wait_for_nobody() {
    let waits = |rule, flags| {
        let mm = machine(with(|rules| rules.throttling = rule));
        run(mm.reclaim_throttle(NODE, ThrottleReason::Isolated, &TaskContext { flags, ..TASK }));
        mm.env.waits.borrow().len()
    };
    let (thread, kswapd) = (TaskFlags::KTHREAD, TaskFlags::KTHREAD.with(TaskFlags::KSWAPD));
    assert_eq!([TaskFlags::NONE, thread, kswapd].map(|flags| waits(Throttling::Once, flags)), [1, 1, 1]);
    assert_eq!([TaskFlags::NONE, thread, kswapd].map(|flags| waits(Throttling::ByReason, flags)), [1, 0, 1]);
}

#[test]
fn kswapd_does_not_run_while_it_waits_in_reclaim() {
    let mm = machine(linux_6_18());
    let runs_while = |task| run(mm.blocked(&task, async { mm.kswapd_runs(NODE) }));
    assert!(!runs_while(mm.kswapd_task(NODE)));
    assert!(mm.kswapd_runs(NODE), "it goes on");
    assert!(runs_while(TASK), "somebody else waits");
}

#[test]
fn before_5_16_a_request_waits_before_it_tries_again_what_is_mostly_unwritten() {
    let waits = |rule, dirty: bool| {
        let mm = machine(with(|rules| rules.throttling = rule));
        mm.fill(100, 0, if dirty { PageFlags::DIRTY } else { PageFlags::NONE }, 0);
        run(mm.wait_for_pending_writes(ZONE, &TASK));
        mm.env.waits.borrow().len()
    };
    assert_eq!([waits(Throttling::Once, true), waits(Throttling::Once, false)], [1, 0]);
    assert_eq!(waits(Throttling::ByReason, true), 0);
}

#[test]
fn up_to_4_13_direct_reclaim_waits_while_a_device_is_congested() {
    let waits = |rule, congested| {
        let mm = machine(with(|rules| (rules.throttling, rules.dirty_pages) = (rule, DirtyPages::Stay)));
        mm.env.congested.set(congested);
        mm.fill(40, 0, PageFlags::DIRTY, 0);
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        let mut totals = Default::default();
        run(mm.shrink_inactive(LruvecId::Node(NODE), InactiveFile, 32, &mut sc, &mut totals, &TASK));
        mm.env.waits.take().len()
    };
    assert_eq!(waits(Throttling::WhileCongested, true), 1);
    assert_eq!(waits(Throttling::WhileCongested, false), 0);
    assert_eq!(waits(Throttling::Once, true), 0);
}

/// What a batch of 32 of the page cache counts: `pgscan_file`, and towards slab and priorities.
fn counted(counting: ReclaimCounting, order: Order, flags: PageFlags) -> (u64, u64) {
    let mm = machine(with(|rules| rules.counting = counting));
    mm.fill(64 >> order, order, flags, 0);
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    let mut totals = Default::default();
    run(mm.shrink_inactive(LruvecId::Node(NODE), InactiveFile, 32, &mut sc, &mut totals, &TASK));
    mm.check();
    (mm.count(Counter::PgscanFile), sc.nr_scanned)
}

#[test]
fn up_to_5_3_entries_of_lists_are_counted() {
    use ReclaimCounting::*;
    let all = [Entries, EntriesInBatches, BasePages];
    assert_eq!(all.map(|rule| counted(rule, 0, PageFlags::NONE)), [(32, 32); 3]);
    assert_eq!(all.map(|rule| counted(rule, 4, PageFlags::NONE)), [(4, 4), (2, 2), (32, 32)]);
    assert_eq!(all.map(|rule| counted(rule, 0, PageFlags::MAPPED)), [(32, 64), (32, 64), (32, 32)]);
}

#[test]
fn pages_that_reclaim_puts_back_as_active_move_the_clock_from_5_8_on() {
    let clock = |ages| {
        let mm = machine(with(|rules| rules.putback_ages = ages));
        mm.fill(32, 0, PageFlags::EXEC, 0);
        mm.state.borrow_mut().owner.hot = (0..32).map(Tag).collect();
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        let mut totals = Default::default();
        run(mm.shrink_inactive(LruvecId::Node(NODE), InactiveFile, 32, &mut sc, &mut totals, &TASK));
        assert_eq!(mm.on(ActiveFile), 32);
        mm.state.into_inner().nodes[0].lru.nonresident_age
    };
    assert_eq!([clock(true), clock(false)], [32, 0]);
}
