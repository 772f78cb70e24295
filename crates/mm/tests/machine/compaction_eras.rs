//! What scanners remember, where they stop, and who ends a run, era by era.

use crate::support::*;
use mm::compaction::{CompactPriority, CompactResult};
use mm::{MmEvent, PageFlags};
use pagealloc::policy::{CachedPositions, TargetScan};
use pagealloc::{BlockId, Counter, FrameState, Geometry, Gfp, Machine, Migratetype, Pfn, Policy, ZoneType};

const MIB_OF_TESTS: u32 = 64;

fn checkerboard(policy: Policy, flags: impl Fn(Pfn) -> PageFlags) -> TestMachine {
    let machine = TestMachine::new(policy, MIB_OF_TESTS);
    populate(&machine, 0, |page| page.0.is_multiple_of(2).then(|| flags(page)));
    machine
}

/// The first frame that the migrate scanner looks at in each run.
fn starts(machine: &TestMachine) -> Vec<u32> {
    let begin = |event: &MmEvent| match event {
        MmEvent::CompactionBegin { migrate_pfn, .. } => Some(migrate_pfn.0),
        _ => None,
    };
    machine.watched(|seen| seen.mm.iter().filter_map(begin).collect())
}

#[test]
fn since_5_1_positions_are_kept_one_block_further_than_runs_have_come() {
    let mut machine = stubborn(policy("linux-6.18", |_| ()), |page| page.0 % 512 < 100);
    // Who finds a lock taken ends with the first block. Its end is rounded up once more.
    machine.mm.env.take_locks();
    for _ in 0..2 {
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::Async);
    }
    assert_eq!(starts(&machine)[1], 1024);
}

/// Memory of which all pages stay but those that `moves` names.
fn stubborn(policy: Policy, moves: impl Fn(Pfn) -> bool) -> TestMachine {
    checkerboard(policy, |page| if moves(page) { PageFlags::ANON } else { PageFlags::ANON.with(PageFlags::PINNED) })
}

#[test]
fn up_to_5_0_a_scan_for_nothing_hints_its_block_wherever_it_began() {
    // The first 32 pages are taken in one scan, the second begins amid the block and finds nothing.
    let mut machine = stubborn(policy("linux-4.20", |_| ()), |page| page.0 < 64);
    compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert!(machine.mm.state.borrow().alloc.skip(BlockId(0)));
}

#[test]
fn a_position_that_all_runs_share_is_moved_no_more_once_pages_are_isolated() {
    let starts_with = |positions| {
        let policy = policy("linux-4.6", |policy| policy.compaction.positions = positions);
        let mut machine = stubborn(policy, |page| (1024..1088).contains(&page.0));
        // The first run defers the next ones.
        while starts(&machine).len() < 2 {
            compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        }
        starts(&machine)
    };
    assert_eq!(starts_with(CachedPositions::PerMode), [0, 0], "the scanners met");
    assert_eq!(starts_with(CachedPositions::One), [0, 512], "the last block in vain before pages were isolated");
}

#[test]
fn a_target_that_the_mark_forbids_ends_the_run_since_4_8() {
    let ends_with = |scan| {
        let mut machine =
            checkerboard(policy("linux-4.8", |policy| policy.compaction.target_scan = scan), |_| PageFlags::ANON);
        let free = machine.free();
        machine.mm.state.borrow_mut().alloc.set_watermarks(ZONE, free - 8, free - 4, free, free);
        let mm = machine.mm.clone();
        machine.complete(1_000 * MS, async move { mm.compact_node(NODE, &task(1)).await });
        let end = |event: &MmEvent| match event {
            MmEvent::CompactionEnd { status, .. } => Some(*status),
            _ => None,
        };
        machine.watched(|seen| seen.mm.iter().filter_map(end).next_back())
    };
    assert_eq!(ends_with(TargetScan::ToTheMark), Some(CompactResult::Contended));
    assert_eq!(ends_with(TargetScan::PastTheMark), Some(CompactResult::Complete));
}

#[test]
fn light_runs_of_4_6_isolate_what_is_being_written_and_fail_to_move_it() {
    let failed = |name: &str| {
        let mut machine = checkerboard(policy(name, |_| ()), |_| PageFlags::ANON);
        let mut state = machine.mm.state.borrow_mut();
        for pfn in (0..state.alloc.frames.len()).map(Pfn) {
            if state.alloc.frames.state(pfn) == FrameState::LRU {
                state.set_writeback(pfn);
            }
        }
        drop(state);
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        machine.counter(Counter::PgmigrateFail) > 0
    };
    assert_eq!(["linux-4.6", "linux-4.8"].map(failed), [true, false]);
}

#[test]
fn kcompactd_takes_a_zone_from_end_to_end_behind_one_that_it_began_anew() {
    const DMA32: u32 = 16 * MIB;
    let zones = Machine::uniform(Geometry::PAGES_4K, 2, MIB_OF_TESTS * MIB, true);
    let mut machine = TestMachine::with_zones(policy("linux-6.18", |_| ()), &zones);
    populate(&machine, 0, |page| page.0.is_multiple_of(2).then_some(PageFlags::ANON));
    // Moves the positions of the higher zone away from its ends.
    compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    let direct = starts(&machine);
    assert!(direct.len() == 2 && direct[1] > DMA32, "{direct:?}");
    machine.start_daemons();
    machine.mm.wakeup_kcompactd(NODE, 9, ZoneType::Dma32);
    machine.run_for(400 * MS);
    assert_eq!(starts(&machine)[2..], [0, DMA32], "zone DMA had not been begun before");
}

#[test]
fn kernels_3_x_ask_for_room_before_they_see_that_there_is_nothing_to_do() {
    // All memory is free, 800 pages of it above the mark. The request wants 512 there, and room is 1024.
    let ends_with = |room_first| {
        let policy = policy("linux-6.18", |policy| policy.compaction.room_first = room_first);
        let mut machine = TestMachine::new(policy, MIB_OF_TESTS);
        let mark = machine.free() - 800;
        machine.mm.state.borrow_mut().alloc.set_watermarks(ZONE, mark, mark, mark, mark);
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight).0
    };
    assert_eq!([true, false].map(ends_with), [CompactResult::Skipped, CompactResult::Success]);
}

#[test]
fn async_runs_for_costly_orders_need_room_outside_of_cma_since_6_15() {
    let skipped = |room_outside_cma, order, priority| {
        let policy = policy("linux-6.18", |policy| policy.compaction.room_outside_cma = room_outside_cma);
        let mut machine = checkerboard(policy, |_| PageFlags::ANON);
        let blocks = machine.mm.state.borrow().alloc.frames.len() / 512;
        for block in (0..blocks).map(BlockId) {
            machine.mm.state.borrow_mut().alloc.set_block_type(block, Migratetype::Cma);
        }
        compact(&mut machine, order, Gfp::TRANSHUGE, priority).0 == CompactResult::Skipped
    };
    assert!(skipped(true, 9, CompactPriority::Async));
    assert!(!skipped(true, 9, CompactPriority::SyncLight));
    assert!(!skipped(true, 3, CompactPriority::Async));
    assert!(!skipped(false, 9, CompactPriority::Async));
}
