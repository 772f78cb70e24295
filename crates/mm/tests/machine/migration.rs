//! Migration end to end: what becomes of compound pages, and of pages that find no target.

use crate::support::*;
use mm::PageFlags;
use mm::compaction::{CompactPriority, CompactResult};
use pagealloc::{Counter, FrameState, Gfp, Pfn};

const MIB_OF_TESTS: u32 = 64;
const MODERN: &str = "linux-6.18";

/// Compound pages of order 2 on every second place.
fn compound_checkerboard(name: &str) -> TestMachine {
    let machine = TestMachine::new(policy(name, |_| ()), MIB_OF_TESTS);
    populate(&machine, 2, |page| (page.0 / 4 % 2 == 0).then_some(PageFlags::ANON));
    machine
}

#[test]
fn compound_pages_below_the_target_order_move_since_6_9() {
    let mut machine = compound_checkerboard(MODERN);
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(result, CompactResult::Success);
    assert!(machine.counter(Counter::PgmigrateSuccess) >= 256);
    let mut machine = compound_checkerboard("linux-6.1");
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!((result, machine.counter(Counter::PgmigrateSuccess)), (CompactResult::Complete, 0));
    // A request of their own order gains nothing by moving them.
    let mut machine = compound_checkerboard(MODERN);
    compact(&mut machine, 2, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(machine.counter(Counter::PgmigrateSuccess), 0);
}

#[test]
fn compound_pages_without_a_target_are_split() {
    // Compound pages low in the zone, single free pages above them: no target is large enough.
    let mut machine = TestMachine::new(policy(MODERN, |_| ()), MIB_OF_TESTS);
    let mut large = 0;
    populate(&machine, 2, |_| {
        large += 1;
        (large <= 1024).then_some(PageFlags::ANON)
    });
    populate(&machine, 0, |page| (page.0 % 2 == 0).then_some(PageFlags::ANON));
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(result, CompactResult::Success);
}

/// Memory without a free block larger than a page, and the lowest frame of it. The lowest 32 frames hold a dirty page of a file, of order 2
/// (it can't be split), an anonymous one of that order (it can), and single pages.
fn compound_pages_below_single_ones(singles: PageFlags) -> (TestMachine, Pfn) {
    let machine = TestMachine::new(policy(MODERN, |_| ()), MIB_OF_TESTS);
    let low = Pfn(0);
    populate(&machine, 2, |page| match page.0 {
        0 => Some(PageFlags::DIRTY),
        4 => Some(PageFlags::ANON),
        _ => None,
    });
    let flags = |page: Pfn| {
        if page < low.add(32) { Some(singles) } else { page.0.is_multiple_of(2).then_some(PageFlags::ANON) }
    };
    populate(&machine, 0, flags);
    let state = machine.mm.state.borrow();
    assert_eq!([low, low.add(4)].map(|page| state.alloc.frames.order(page)), [2, 2]);
    assert!((1..=10).all(|order| state.alloc.nr_free(ZONE, order) == 0));
    drop(state);
    (machine, low)
}

#[test]
fn what_was_split_does_not_move_if_another_page_finds_no_target() {
    let (mut machine, low) = compound_pages_below_single_ones(PageFlags::ANON);
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(result, CompactResult::Contended);
    // The single pages came first, then the anonymous page was split, then there was nothing for the file's.
    assert_eq!(machine.counter(Counter::PgmigrateSuccess), 24);
    assert_eq!(machine.counter(Counter::PgmigrateFail), 4, "what was split is not counted");
    let state = machine.mm.state.borrow();
    let orders = [0, 4, 5, 6, 7].map(|offset| (low.add(offset), state.alloc.frames.order(low.add(offset))));
    assert_eq!(orders.map(|(_, order)| order), [2, 0, 0, 0, 0]);
    assert!(orders.iter().all(|(page, _)| state.alloc.frames.state(*page) == FrameState::LRU));
}

#[test]
fn what_stays_gives_its_target_back() {
    let (mut machine, low) =
        compound_pages_below_single_ones(PageFlags::ANON.with(PageFlags::PINNED).with(PageFlags::SWAPCACHE));
    let free = machine.mm.state.borrow().alloc.free_pages(ZONE);
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(result, CompactResult::Contended);
    assert_eq!((machine.counter(Counter::PgmigrateSuccess), machine.counter(Counter::PgmigrateFail)), (0, 24 + 4));
    let state = machine.mm.state.borrow();
    assert_eq!(state.alloc.frames.order(low), 2);
    drop(state);
    machine.mm.state.borrow_mut().alloc.drain_all_pages(None);
    assert_eq!(machine.mm.state.borrow().alloc.free_pages(ZONE), free);
}

#[test]
fn up_to_4_20_metadata_moves_that_a_journal_holds_and_has_had_written() {
    let moved = |name: &str, flags: PageFlags| {
        let mut machine = TestMachine::new(policy(name, |_| ()), MIB_OF_TESTS);
        machine.mm.state.borrow_mut().owner.lets_go = true;
        populate(&machine, 0, |page| page.0.is_multiple_of(2).then_some(flags));
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        machine.counter(Counter::PgmigrateSuccess)
    };
    assert!(moved("linux-4.20", PageFlags::PINNED) > 0);
    assert_eq!(moved("linux-4.20", PageFlags::PINNED.with(PageFlags::DIRTY)), 0);
    assert_eq!(moved("linux-5.0", PageFlags::PINNED), 0);
}

/// Parts of a page of order 2 with these flags that has to be split, in the order in which they move.
fn parts_moved(name: &str, flags: PageFlags, say: impl FnOnce(&mut TestOwner)) -> Vec<u32> {
    let mut machine = TestMachine::new(policy(name, |_| ()), MIB_OF_TESTS);
    say(&mut machine.mm.state.borrow_mut().owner);
    populate(&machine, 2, |page| (page.0 == 4).then_some(flags));
    populate(&machine, 0, |page| (page.0 >= 8 && page.0.is_multiple_of(2)).then_some(PageFlags::ANON));
    compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    let state = machine.mm.state.borrow();
    state.owner.left.iter().filter(|page| (4..8).contains(&page.0)).map(|page| page.0 - 4).collect()
}

fn is_split(flags: PageFlags, splits_dirty: bool, faults: bool) -> bool {
    let say = |owner: &mut TestOwner| (owner.splits_dirty, owner.faults) = (splits_dirty, faults);
    parts_moved(MODERN, flags, say).len() == 4
}

#[test]
fn what_is_dirty_is_split_where_its_filesystem_lets_go_of_it() {
    assert_eq!([false, true].map(|splits_dirty| is_split(PageFlags::DIRTY, splits_dirty, false)), [false, true]);
    assert!(is_split(PageFlags::NONE, false, false), "a clean one is split anyway");
    assert!(is_split(PageFlags::ANON.with(PageFlags::DIRTY), false, false), "anonymous memory has no filesystem");
}

#[test]
fn page_cache_that_somebody_faults_on_is_not_split() {
    assert_eq!([false, true].map(|faults| is_split(PageFlags::MAPPED, false, faults)), [true, false]);
    assert!(is_split(PageFlags::NONE, false, true), "nobody faults on what is not mapped");
    assert!(
        is_split(PageFlags::ANON.with(PageFlags::MAPPED), false, true),
        "who faults on anonymous memory holds nothing"
    );
}

#[test]
fn parts_of_a_split_page_move_as_they_are_listed_the_first_one_last() {
    let moved = |name| parts_moved(name, PageFlags::ANON, |_| ());
    assert_eq!(["linux-6.12", "linux-6.14"].map(moved), [[3, 2, 1, 0]; 2]);
    assert_eq!(["linux-6.16", "linux-6.18", "linux-7.3"].map(moved), [[1, 2, 3, 0]; 3]);
}
