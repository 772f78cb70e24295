//! How hard does kswapd press? When its priority falls, when it is held, and what only a low one permits (9.6).

use crate::compaction::add_flags;
use crate::support::*;
use mm::{Env, MmEvent, PageFlags};
use pagealloc::{AllocFlags, Counter, Gfp, ZoneType};

/// Kernels whose kswapd works on a node as a whole.
const KERNELS: [&str; 5] = ["linux-5.0", "linux-5.15", "linux-6.1", "linux-6.12.114", "linux-6.18"];

/// Scanned inactive pages and the priority they were scanned at, batch by batch.
fn scans(machine: &TestMachine) -> Vec<(u8, u64)> {
    let scan = |event: &MmEvent| match event {
        MmEvent::VmscanLruShrinkInactive { priority, nr_scanned, .. } => Some((*priority, u64::from(*nr_scanned))),
        _ => None,
    };
    machine.watched(|seen| seen.mm.iter().filter_map(scan).collect())
}

/// Pages scanned at a priority.
fn scanned_at(machine: &TestMachine, wanted: u8) -> u64 {
    scans(machine).iter().filter(|(priority, _)| *priority == wanted).map(|(_, pages)| pages).sum()
}

fn lowest(machine: &TestMachine) -> Option<u8> {
    scans(machine).iter().map(|&(priority, _)| priority).min()
}

/// A machine of 64 MiB that is full of page cache, of which every fourth page can be reclaimed.
fn full_of_pinned(name: &str) -> TestMachine {
    let machine = TestMachine::with_daemons(policy(name, |_| ()), 64);
    fill(&machine, PageFlags::NONE, 1);
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 4 > 0);
    machine
}

/// A pass that scans as much as it is to reclaim, the high mark, says that the priority is low enough, even where little of
/// it could be reclaimed (9.6.6, 9.6.9).
#[test]
fn the_pressure_rises_no_further_once_a_pass_scans_its_target() {
    for name in KERNELS {
        let mut machine = full_of_pinned(name);
        let high = machine.mark(AllocFlags::WMARK_HIGH);
        let enough = (1..=12).rev().find(|priority| u64::from(64 * MIB) >> priority >= high);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(1_000 * MS);
        assert!(machine.free() > high, "{name}: the node is not balanced");
        assert_eq!(lowest(&machine), enough, "{name}: {:?}", scans(&machine));
        let held = scanned_at(&machine, enough.unwrap());
        assert!(held >= 2 * high, "{name}: one pass was enough, {held} pages scanned");
    }
}

/// Where the high mark is less than that, a pass is to reclaim 32 pages (9.6.6).
#[test]
fn a_pass_sets_out_for_32_pages_at_least() {
    for name in KERNELS {
        let mut machine = full_of_pinned(name);
        let mut state = machine.mm.state.borrow_mut();
        state.alloc.set_watermarks(ZONE, 4, 6, 8, 10);
        // Pages on a CPU's list would not be free memory.
        state.alloc.set_pcp_limits(ZONE, 1, 0, 0);
        drop(state);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(1_000 * MS);
        // Passes of 4, 7 and 15 pages bring 6 together, one of 31 the others.
        assert_eq!(lowest(&machine), Some(9), "{name}: {:?}", scans(&machine));
    }
}

/// However much a pass scans, the next one presses harder if it brought nothing (9.6.9): a run passes over the lists once at
/// each priority, or twice where it tries again without trimming page cache.
#[test]
fn a_pass_in_vain_is_followed_by_a_harder_one() {
    for name in KERNELS {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 64);
        fill(&machine, PageFlags::PINNED, 1);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        while machine.counter(Counter::Pageoutrun) < 2 {
            assert!(machine.mm.env.now() < 1_000 * MS, "{name}: the run goes on");
            machine.run_for(MS / 100);
        }
        assert_eq!(lowest(&machine), Some(1), "{name}");
        for priority in 1..12 {
            let (scanned, list) = (scanned_at(&machine, priority), u64::from(64 * MIB) >> priority);
            assert!(scanned <= 2 * list, "{name}: {scanned} pages at priority {priority}, a pass is {list} at most");
        }
    }
}

/// All of memory is free or page cache, free memory is above its marks, and the zone has a boost: its pages.
fn boosted(name: &str, boosts: u32, cache: PageFlags) -> (TestMachine, u64) {
    let machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
    let pages = fill(&machine, cache, 1);
    pages.iter().filter(|page| page.0 % 4 == 0).for_each(|page| free_page(&machine, *page));
    let boost = {
        let mut state = machine.mm.state.borrow_mut();
        (0..boosts).for_each(|_| state.alloc.fast_boost(ZONE));
        state.alloc.boost(ZONE)
    };
    machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
    (machine, boost)
}

/// For a boost alone the priority falls to 10 and is held there while pages come, however few a pass scans (9.6.2).
#[test]
fn a_boost_alone_raises_the_pressure_to_priority_10_only() {
    for name in KERNELS {
        let (mut machine, boost) = boosted(name, 2, PageFlags::NONE);
        machine.run_for(1_000 * MS);
        let got = machine.counter(Counter::PgstealKswapd);
        assert!(boost >= 512 && (boost..boost + 64).contains(&got), "{name}: {got} reclaimed, boost {boost}");
        assert_eq!(lowest(&machine), Some(10), "{name}");
        assert!(scanned_at(&machine, 10) > 512, "{name}: it was not held there");
        assert_eq!(machine.mm.state.borrow().alloc.boost(ZONE), 0, "{name}");
    }
}

/// A boost tells of blocks that were mixed: with the pages that its run has freed, kcompactd is to make whole ones (9.7).
#[test]
fn after_a_run_for_a_boost_kcompactd_is_woken_for_a_block() {
    for name in KERNELS {
        let (mut machine, _) = boosted(name, 1, PageFlags::NONE);
        // What the run frees makes no block by itself.
        add_flags(&machine, PageFlags::PINNED, |page| page.0 % 512 == 1);
        machine.run_for(1_000 * MS);
        let wakes = |event: &MmEvent| matches!(event, MmEvent::CompactionWakeupKcompactd { order: 9, .. });
        assert_eq!(machine.watched(|seen| seen.count(wakes)), 1, "{name}");
    }
}

/// Below the marks it is memory that counts: the run forgets its boost and begins again, as any other (9.6.1).
#[test]
fn a_boosted_run_reclaims_as_any_other_where_memory_is_short() {
    for name in KERNELS {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
        fill(&machine, PageFlags::NONE, 1);
        machine.mm.state.borrow_mut().alloc.fast_boost(ZONE);
        let high = machine.mark(AllocFlags::WMARK_HIGH);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(1_000 * MS);
        assert!(machine.free() > high, "{name}: {} pages free, {high} with the boost", machine.free());
        assert_eq!(machine.counter(Counter::Pageoutrun), 1, "{name}");
        assert!(lowest(&machine) < Some(10), "{name}: a boost alone would not press as hard");
    }
}

/// A boost is not worth a second pass where the first brings nothing (9.6.8).
#[test]
fn a_run_for_a_boost_ends_with_the_first_pass_in_vain() {
    for name in KERNELS {
        let (mut machine, _) = boosted(name, 1, PageFlags::PINNED);
        machine.run_for(1_000 * MS);
        assert_eq!((lowest(&machine), machine.counter(Counter::Pageoutrun)), (Some(12), 1), "{name}");
    }
}

/// Priorities of batches before the first page is written, and of those from then on: of anonymous memory, in laptop mode.
fn scanned_before_and_since_the_first_write(name: &str, direct: bool) -> [Vec<u8>; 2] {
    let laptop = policy(name, |policy| policy.sysctl.laptop_mode = 5);
    let mut machine = if direct { TestMachine::new(laptop, 256) } else { TestMachine::with_daemons(laptop, 256) };
    machine.mm.state.borrow_mut().owner.swap = 100_000;
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::ANON.with(PageFlags::DIRTY), 1);
    machine.mm.env.set_costs(Costs { write: 1_000 * MS, ..Costs::default() });
    if direct {
        let (mm, request) = (machine.mm.clone(), request(0, Gfp::KERNEL));
        machine.spawn(async move {
            mm.try_to_free_pages(&request, &task(2)).await;
        });
    } else {
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
    }
    while machine.counter(Counter::NrVmscanWrite) == 0 {
        assert!(machine.mm.env.now() < 1_000 * MS, "{name}: nothing is written");
        machine.run_for(100);
    }
    let before = scans(&machine).len();
    machine.run_for(MS / 10);
    let mut priorities: Vec<u8> = scans(&machine).into_iter().map(|(priority, _)| priority).collect();
    let since = priorities.split_off(before);
    [priorities, since]
}

/// `vm.laptop_mode` spares the disk until page cache and clean pages have been tried in earnest: kswapd writes below priority 10
/// (9.6.5), a request from the pass after the first of these on (10.3).
#[test]
fn in_laptop_mode_nothing_is_written_above_priority_9() {
    for name in KERNELS {
        for (direct, writes_at) in [(false, 9), (true, 8)] {
            let [before, since] = scanned_before_and_since_the_first_write(name, direct);
            assert!(before.contains(&(writes_at + 1)), "{name}, direct {direct}: {before:?}");
            assert!(before.iter().all(|&priority| priority >= writes_at), "{name}, direct {direct}: {before:?}");
            assert!(since.iter().all(|&priority| priority <= writes_at), "{name}, direct {direct}: {since:?}");
        }
    }
}
