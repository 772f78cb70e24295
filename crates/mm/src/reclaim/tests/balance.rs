//! Which kind is scanned, and how much of it? (10.5, 10.8)

use super::world::*;
use crate::lru::LruvecId;
use crate::pages::PageFlags;
use crate::reclaim::ScanControl;
use crate::reclaim::scan_balance::Balance;
use pagealloc::{Gfp, ZoneType};

const LISTS: LruvecId = LruvecId::Node(NODE);

fn control(priority: u8) -> ScanControl {
    ScanControl { priority, ..ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal) }
}

#[test]
fn the_last_priority_scans_both_kinds_whole_unless_anonymous_memory_is_to_be_spared() {
    for (swappiness, expected) in [(1, [100, 0, 300, 0]), (0, [0, 0, 300, 0])] {
        let mut policy = linux_6_18();
        policy.sysctl.swappiness = swappiness;
        let mm = machine(policy);
        mm.fill(100, 0, PageFlags::ANON, 0);
        mm.fill(300, 0, PageFlags::NONE, 100);
        let counts = mm.state.borrow_mut().scan_counts(LISTS, &control(0), &Balance::default());
        assert_eq!(counts, (expected, None), "vm.swappiness={swappiness}");
    }
}

/// Sixty of 200 for anonymous pages while neither kind has cost anything: 3.6 of 12, and 25.9 of 37.
#[test]
fn shares_of_a_scan_are_rounded_up_or_cut() {
    for (up, expected) in [(true, [4, 0, 26, 0]), (false, [3, 0, 25, 0])] {
        let mut policy = linux_6_18();
        policy.reclaim.rounds_scan_up = up;
        let mm = machine(policy);
        mm.fill(100, 0, PageFlags::ANON, 0);
        mm.fill(300, 0, PageFlags::NONE, 100);
        let (counts, _) = mm.state.borrow_mut().scan_counts(LISTS, &control(3), &Balance::default());
        assert_eq!(counts, expected);
    }
}

/// With 40 pages free and a high mark of 48.
fn file_is_tiny(file: u32, active_anon: u32, priority: u8) -> bool {
    let mm = machine(linux_6_18());
    mm.fill(active_anon, 0, PageFlags::ANON.with(PageFlags::ACTIVE), 0);
    mm.fill(1024 - 40 - file - active_anon, 0, PageFlags::ANON, 2000);
    mm.fill(file, 0, PageFlags::NONE, 4000);
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 40);
    mm.state.borrow().prepare_scan(LISTS, &control(priority)).file_is_tiny
}

#[test]
fn page_cache_that_would_not_bring_free_memory_above_high_is_left_alone() {
    assert!(file_is_tiny(8, 0, 3) && !file_is_tiny(9, 0, 3), "48 pages are not above the mark, 49 are");
    assert!(!file_is_tiny(8, 600, 3), "unless anonymous pages are to be deactivated first");
    assert!(!file_is_tiny(8, 400, 10) && file_is_tiny(8, 400, 9), "or the scan would take none of their 576");
}

#[test]
fn a_run_in_which_trimming_page_cache_failed_does_without_it() {
    let mm = machine(linux_6_18());
    mm.fill(300, 0, PageFlags::NONE, 0);
    let trims = |no_cache_trim_mode| {
        let sc = ScanControl { no_cache_trim_mode, ..control(3) };
        mm.state.borrow().prepare_scan(LISTS, &sc).cache_trim_mode
    };
    assert_eq!([false, true].map(trims), [true, false]);
}

#[test]
fn a_kind_of_which_pages_came_back_may_be_deactivated() {
    let mm = machine(linux_6_18());
    mm.fill(40, 0, PageFlags::NONE, 0);
    mm.fill(40, 0, PageFlags::ANON, 100);
    for snapshot in [[0, 0], [1, 0], [0, 1]] {
        mm.state.borrow_mut().nodes[0].lru.activated_snapshot = snapshot;
        let balance = mm.state.borrow().prepare_scan(LISTS, &control(3));
        assert_eq!(balance.may_deactivate, snapshot.map(|came_back| came_back > 0));
    }
}
