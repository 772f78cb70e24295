//! 6.18: what leaves, what stays, what is counted.

use super::world::*;
use crate::env::Queue;
use crate::event::MmEvent;
use crate::lru::LruList::*;
use crate::lru::LruvecId;
use crate::lru_kind::LruKind;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::{ScanControl, Shadow, ThrottleReason};
use crate::state::Mm;
use alloc::vec::Vec;
use pagealloc::policy::{ReclaimRounds, SplitParts, preset};
use pagealloc::{AllocFlags, Counter, FrameState, Gfp, Pfn, ZoneType};

fn reclaim(mm: &Mm<Toy>) -> u64 {
    let reclaimed = run(mm.try_to_free_pages(&request(0), &TASK));
    mm.check();
    reclaimed
}

/// One pass of kswapd over the node at a priority, for as many pages as it finds.
fn pass(mm: &Mm<Toy>, kswapd: bool, priority: u8) -> ScanControl {
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.kswapd, sc.priority, sc.may_writepage, sc.nr_to_reclaim) = (kswapd, priority, true, u64::MAX);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    mm.check();
    sc
}

#[test]
fn clean_page_cache_is_freed_oldest_first() {
    let mm = machine(linux_6_18());
    let pages = mm.fill(900, 0, PageFlags::NONE, 0);
    let free = mm.state.borrow().alloc.free_pages(ZONE);
    let reclaimed = reclaim(&mm);
    assert!(reclaimed >= 32, "{reclaimed}");
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), free + reclaimed);
    assert_eq!(mm.on(InactiveFile), 900 - reclaimed);
    for counter in [Counter::PgscanDirect, Counter::PgscanFile, Counter::PgstealDirect, Counter::PgstealFile] {
        assert_eq!(mm.count(counter), reclaimed, "{}", counter.name());
    }
    assert_eq!((mm.count(Counter::AllocstallMovable), mm.count(Counter::PgscanAnon)), (1, 0));
    let state = mm.state.borrow();
    let evicted: Vec<Pfn> = state.owner.evicted.iter().map(|&(_, pfn, _)| pfn).collect();
    assert_eq!(evicted, pages[..reclaimed as usize]);
    let ages: Vec<u64> = state.owner.evicted.iter().map(|&(.., shadow)| shadow.age).collect();
    assert_eq!(ages, (0..reclaimed).collect::<Vec<_>>(), "each eviction advances the clock");
    assert!(matches!(state.alloc.observer.0.first(), Some(MmEvent::VmscanDirectReclaimBegin { order: 0, .. })));
    assert_eq!(state.alloc.observer.0.last(), Some(&MmEvent::VmscanDirectReclaimEnd { nr_reclaimed: reclaimed }));
}

#[test]
fn used_pages_survive_one_look_and_are_activated_at_the_second() {
    let mm = machine(linux_6_18());
    mm.fill(64, 0, PageFlags::MAPPED, 0);
    mm.state.borrow_mut().owner.hot = (0..10).map(Tag).collect();
    let sc = pass(&mm, true, 0);
    assert_eq!((sc.nr_reclaimed, sc.nr_scanned), (54, 64));
    assert_eq!((mm.on(InactiveFile), mm.on(ActiveFile), mm.count(Counter::Pgactivate)), (10, 0, 0));
    pass(&mm, true, 0);
    assert_eq!((mm.on(InactiveFile), mm.on(ActiveFile), mm.count(Counter::Pgactivate)), (0, 10, 10));
    assert_eq!((mm.count(Counter::PgscanKswapd), mm.count(Counter::PgstealKswapd)), (74, 54));
}

#[test]
fn executables_are_activated_at_the_first_look_and_rotate_while_used() {
    let mm = machine(linux_6_18());
    mm.fill(8, 0, PageFlags::MAPPED.with(PageFlags::EXEC), 0);
    mm.state.borrow_mut().owner.hot = (0..8).map(Tag).collect();
    pass(&mm, true, 0);
    assert_eq!(mm.on(ActiveFile), 8);
    pass(&mm, true, 0);
    assert_eq!((mm.on(ActiveFile), mm.count(Counter::Pgrefill), mm.count(Counter::Pgdeactivate)), (8, 8, 0));
    mm.state.borrow_mut().owner.hot.clear();
    pass(&mm, true, 0);
    assert_eq!(mm.count(Counter::Pgdeactivate), 8);
    assert!(mm.state.borrow().owner.evicted.iter().all(|(.., shadow)| shadow.workingset), "they were active once");
}

#[test]
fn anonymous_pages_are_written_once_and_freed_after_that() {
    let mm = machine(linux_6_18());
    mm.fill(32, 0, PageFlags::ANON, 0);
    let sc = pass(&mm, true, 0);
    assert_eq!((sc.nr_reclaimed, mm.on(InactiveAnon)), (0, 32));
    let writes = mm.env.writes.take();
    assert_eq!(writes.len(), 32);
    assert!(writes.iter().all(|&(_, kind)| kind == LruKind::Anon));
    assert_eq!((mm.count(Counter::PswpOut), mm.count(Counter::NrVmscanWrite)), (32, 32));
    assert_eq!(mm.state.borrow().nr_dirty_and_writeback(), (0, 32));
    assert_eq!(mm.state.borrow().owner.swap_free, 10_000 - 32);
    for (pfn, _) in writes {
        mm.end_writeback(pfn);
    }
    assert_eq!((mm.count(Counter::Pgrotated), mm.state.borrow().nr_dirty_and_writeback()), (32, (0, 0)));
    assert_eq!(pass(&mm, true, 0).nr_reclaimed, 32);
    assert_eq!((mm.count(Counter::PgstealAnon), mm.count(Counter::PswpOut)), (32, 32));
    assert_eq!(mm.on(InactiveAnon), 0);
}

#[test]
fn without_swap_anonymous_pages_are_not_scanned() {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.swap_free = 0;
    mm.fill(64, 0, PageFlags::ANON, 0);
    assert_eq!(reclaim(&mm), 0);
    assert_eq!((mm.count(Counter::PgscanAnon), mm.on(InactiveAnon)), (0, 64));
    assert_eq!(mm.state.borrow().zone_reclaimable_pages(ZONE), 0);
    assert_eq!(mm.count(Counter::AllocstallMovable), 2, "the second round walks everything (10.3)");
}

#[test]
fn rotated_pages_are_the_next_to_go() {
    let mm = machine(linux_6_18());
    let pages = mm.fill(64, 0, PageFlags::NONE, 0);
    let late = pages[63];
    mm.state.borrow_mut().set_dirty(late);
    pass(&mm, true, 0);
    assert_eq!(mm.count(Counter::NrVmscanImmediateReclaim), 1, "activated out of the way");
    assert_eq!(mm.on(ActiveFile), 1);
    mm.fill(10, 0, PageFlags::NONE, 100);
    mm.state.borrow_mut().set_writeback(late);
    mm.end_writeback(late);
    assert_eq!((mm.on(ActiveFile), mm.on(InactiveFile)), (0, 11));
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.priority, sc.nr_to_reclaim) = (3, 1);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    assert_eq!((sc.nr_reclaimed, mm.state.borrow().owner.evicted.last().unwrap().1), (1, late));
}

#[test]
fn nothing_but_dirty_pages_wakes_the_flushers() {
    let mm = machine(linux_6_18());
    mm.fill(32, 0, PageFlags::DIRTY, 0);
    assert_eq!(mm.state.borrow().nr_dirty_and_writeback(), (32, 0));
    pass(&mm, true, 0);
    assert_eq!((mm.env.flushers_woken.get(), mm.on(ActiveFile)), (1, 32));
    assert!(mm.state.borrow().nodes[0].reclaim.all_dirty);
    assert_eq!(mm.env.writes.borrow().len(), 0);
}

#[test]
fn kswapd_waits_when_it_meets_its_own_writes_again() {
    let mm = machine(linux_6_18());
    let pages = mm.fill(32, 0, PageFlags::NONE, 0);
    for &pfn in &pages {
        mm.state.borrow_mut().set_writeback(pfn);
    }
    pass(&mm, true, 0);
    assert!(mm.state.borrow().nodes[0].reclaim.all_writeback);
    assert_eq!(mm.on(ActiveFile), 32);
    assert_eq!(*mm.env.waits.borrow(), []);
    for &pfn in &pages {
        mm.state.borrow_mut().deactivate(pfn);
    }
    pass(&mm, true, 0);
    assert!(mm.env.waits.borrow().contains(&Queue::Writeback(NODE)));
    let throttled = MmEvent::VmscanThrottled {
        nid: NODE,
        usec_timeout: 100_000,
        usect_delayed: 100_000,
        reason: ThrottleReason::Writeback,
    };
    assert!(mm.state.borrow().alloc.observer.0.contains(&throttled));
}

#[test]
fn a_pinned_or_locked_page_stays() {
    let mm = machine(linux_6_18());
    let pages = mm.fill(3, 0, PageFlags::NONE, 0);
    mm.state.borrow_mut().pages.add_flags(pages[0], PageFlags::PINNED);
    mm.state.borrow_mut().set_unevictable(pages[1], true);
    assert_eq!(mm.on(Unevictable), 1);
    pass(&mm, true, 0);
    assert_eq!((mm.on(ActiveFile), mm.on(Unevictable), mm.on(InactiveFile)), (1, 1, 0));
    mm.state.borrow_mut().set_unevictable(pages[1], false);
    assert_eq!((mm.on(Unevictable), mm.on(InactiveFile)), (0, 1));
}

#[test]
fn a_huge_page_without_contiguous_swap_is_split() {
    let mm = machine(linux_6_18());
    let head = mm.fill(1, 4, PageFlags::ANON.with(PageFlags::MAPPED), 7)[0];
    assert_eq!(mm.on(InactiveAnon), 16);
    let sc = pass(&mm, true, 0);
    assert_eq!(sc.nr_scanned, 16, "each base page once");
    assert_eq!((mm.count(Counter::ThpSplitPage), mm.count(Counter::ThpSwpoutFallback)), (1, 1));
    assert_eq!((mm.count(Counter::PswpOut), mm.count(Counter::ThpSwpout)), (16, 0));
    let order: Vec<Pfn> = mm.env.writes.borrow().iter().map(|&(pfn, _)| pfn).collect();
    let parts = [0].into_iter().chain((1..16).rev());
    assert_eq!(order, parts.map(|index| head.add(index)).collect::<Vec<_>>());
    assert_eq!(mm.state.borrow().pages.tag(head.add(3)), Tag(703));
}

#[test]
fn a_huge_page_goes_to_contiguous_swap_whole() {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.contiguous_swap = true;
    let head = mm.fill(1, 4, PageFlags::ANON, 7)[0];
    pass(&mm, true, 0);
    assert_eq!((mm.count(Counter::ThpSplitPage), mm.count(Counter::ThpSwpout), mm.count(Counter::PswpOut)), (0, 1, 16));
    mm.end_writeback(head);
    assert_eq!(pass(&mm, true, 0).nr_reclaimed, 16);
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 1023, "all but the table of its cluster");
    let (_, _, shadow) = mm.state.borrow().owner.evicted[0];
    mm.state.borrow_mut().forget_swapped(shadow, CPU);
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 1024);
}

#[test]
fn anonymous_pages_stay_when_no_table_can_be_had() {
    let mut policy = linux_6_18();
    policy.sysctl.defrag_mode = 1;
    let mm = machine(policy);
    {
        // Every second page is free, all in Movable blocks: an unmovable request finds no whole block to claim.
        let mut state = mm.state.borrow_mut();
        let all = core::iter::from_fn(|| state.alloc.get_page_from_freelist(&request(0), AllocFlags::NO_WATERMARKS));
        let all: Vec<Pfn> = all.collect();
        all.iter().filter(|pfn| pfn.0 % 2 == 1).for_each(|&pfn| state.free_page(pfn, CPU));
    }
    let pages = mm.fill(40, 0, PageFlags::ANON, 0);
    pass(&mm, true, 0);
    assert_eq!((mm.count(Counter::PswpOut), mm.state.borrow().swap.nr_tables()), (0, 0));
    assert_eq!(mm.on(ActiveAnon) + mm.on(InactiveAnon), pages.len() as u64);
    assert_eq!(mm.count(Counter::Pgactivate), mm.count(Counter::PgscanAnon), "activated instead");
}

#[test]
fn a_partially_mapped_huge_page_is_split_first() {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.contiguous_swap = true;
    mm.fill(1, 4, PageFlags::ANON.with(PageFlags::PARTIALLY_MAPPED), 7);
    pass(&mm, true, 0);
    assert_eq!((mm.count(Counter::ThpSplitPage), mm.count(Counter::ThpSwpoutFallback)), (1, 0));
}

#[test]
fn what_was_given_back_of_a_huge_page_is_free_once_that_is_split_and_judged() {
    for isolated in [false, true] {
        let mm = machine(linux_6_18());
        mm.state.borrow_mut().owner.zapped = (0..16).filter(|index| index % 2 == 0).collect();
        let head = mm.fill(1, 4, PageFlags::ANON.with(PageFlags::PARTIALLY_MAPPED), 7)[0];
        let free = mm.state.borrow().alloc.free_pages(ZONE);
        if isolated {
            pass(&mm, true, 0);
            assert_eq!(mm.count(Counter::PswpOut), 9, "the parts in use, and the first");
            assert_eq!(mm.count(Counter::NrVmscanWrite), 16, "the others were to be written");
        } else {
            assert!(mm.state.borrow_mut().split_huge_page(head, CPU));
            assert_eq!(mm.on(ActiveAnon) + mm.on(InactiveAnon), 9);
        }
        mm.check();
        mm.state.borrow_mut().alloc.drain_all_pages(None);
        let tables = mm.state.borrow().swap.nr_tables() as u64;
        assert_eq!(mm.state.borrow().alloc.free_pages(ZONE) + tables - free, 7);
    }
}

#[test]
fn a_split_on_the_list_keeps_its_place() {
    let mm = machine(linux_6_18());
    let old = mm.fill(1, 0, PageFlags::ANON, 1)[0];
    let head = mm.fill(1, 4, PageFlags::ANON, 2)[0];
    let new = mm.fill(1, 0, PageFlags::ANON, 3)[0];
    assert!(mm.state.borrow_mut().split_huge_page(head, CPU));
    mm.check();
    let state = mm.state.borrow();
    let list = state.nodes[0].lru.lists[InactiveAnon as usize];
    let mut order: Vec<Pfn> = list.iter(&state.alloc.frames).collect();
    order.reverse();
    let pages = [0].into_iter().chain((1..16).rev()).map(|index| head.add(index));
    assert_eq!(order, [old].into_iter().chain(pages).chain([new]).collect::<Vec<_>>());
    assert_eq!(state.alloc.vmstat.get(Counter::ThpSplitPage), 1);
}

#[test]
fn parts_of_a_split_page_are_scanned_as_the_era_lists_them() {
    for (rule, last) in [(SplitParts::Ascending, 15), (SplitParts::Descending, 1)] {
        let mut policy = linux_6_18();
        policy.thp.split_parts = rule;
        let mm = machine(policy);
        let head = mm.fill(1, 4, PageFlags::ANON.with(PageFlags::PARTIALLY_MAPPED), 7)[0];
        pass(&mm, true, 0);
        let written: Vec<Pfn> = mm.env.writes.borrow().iter().map(|&(pfn, _)| pfn).collect();
        assert_eq!((written.len(), written[0], written[15]), (16, head, head.add(last)), "{rule:?}");
    }
}

#[test]
fn page_cache_that_is_written_to_again_is_not_reclaimed_as_soon_as_it_is_clean() {
    let mm = machine(linux_6_18());
    for (kind, keeps) in [(PageFlags::NONE, false), (PageFlags::ANON.with(PageFlags::SWAPCACHE), true)] {
        let page = mm.fill(1, 0, kind.with(PageFlags::RECLAIM), 0)[0];
        mm.state.borrow_mut().set_dirty(page);
        assert_eq!(mm.state.borrow().pages.flags(page).contains(PageFlags::RECLAIM), keeps, "{kind:?}");
    }
}

#[test]
fn a_page_freed_while_it_is_written_waits_for_its_write() {
    let mm = machine(linux_6_18());
    let page = mm.fill(1, 0, PageFlags::DIRTY, 0)[0];
    mm.state.borrow_mut().set_writeback(page);
    mm.state.borrow_mut().free_page(page, CPU);
    mm.check();
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 1023);
    assert_eq!(mm.state.borrow().alloc.frames.state(page), FrameState::USED);
    mm.end_writeback(page);
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 1024);
    assert_eq!(mm.state.borrow().nr_dirty_and_writeback(), (0, 0));
}

#[test]
fn a_quick_refault_is_activated_and_permits_deactivation() {
    let mm = machine(linux_6_18());
    mm.fill(100, 0, PageFlags::ACTIVE, 0);
    let page = mm.fill(1, 0, PageFlags::NONE, 200)[0];
    let near = Shadow { age: 0, workingset: true, ..Shadow::default() };
    mm.state.borrow_mut().nodes[0].lru.nonresident_age = 100;
    mm.state.borrow_mut().owner.swap_free = 0;
    mm.state.borrow_mut().refault(page, near, CPU);
    assert_eq!(mm.on(ActiveFile), 101);
    for counter in [Counter::WorkingsetRefaultFile, Counter::WorkingsetActivateFile, Counter::WorkingsetRestoreFile] {
        assert_eq!(mm.count(counter), 1, "{}", counter.name());
    }
    assert_eq!(mm.state.borrow().nodes[0].lru.nonresident_age, 101);
    let far = mm.fill(1, 0, PageFlags::NONE, 201)[0];
    mm.state.borrow_mut().nodes[0].lru.nonresident_age = 102;
    mm.state.borrow_mut().refault(far, near, CPU);
    assert_eq!((mm.count(Counter::WorkingsetRefaultFile), mm.count(Counter::WorkingsetActivateFile)), (2, 1));
    mm.state.borrow_mut().snapshot_refaults(NODE);
    assert_eq!(mm.state.borrow().nodes[0].lru.activated_snapshot, [0, 1]);
}

#[test]
fn until_statistics_are_flushed_reclaim_compares_lists_as_they_were() {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.swap_free = 900;
    mm.fill(300, 0, PageFlags::ANON.with(PageFlags::MAPPED), 0);
    mm.fill(200, 0, PageFlags::NONE, 300);
    mm.fill(100, 0, PageFlags::ACTIVE, 500);
    mm.state.borrow_mut().flush_stats();
    pass(&mm, true, 2);
    assert_eq!((mm.count(Counter::PgscanFile), mm.count(Counter::PgscanAnon)), (50, 0), "there is page cache to trim");
    let page = mm.fill(1, 0, PageFlags::NONE, 600)[0];
    mm.state.borrow_mut().refault(page, Shadow { workingset: true, ..Shadow::default() }, CPU);
    pass(&mm, true, 2);
    assert_eq!((mm.count(Counter::PgscanAnon), mm.count(Counter::Pgrefill)), (0, 0), "the refault is not seen yet");
    mm.state.borrow_mut().flush_stats();
    pass(&mm, true, 2);
    assert!(mm.count(Counter::PgscanAnon) > 0 && mm.count(Counter::Pgrefill) > 0, "now it is");
}

#[test]
fn a_write_costs_32_rotations_and_up_to_6_1_rotations_cost_nothing() {
    let cost = |policy: &str| {
        let mm = machine(preset(policy).unwrap());
        mm.fill(800, 0, PageFlags::NONE, 0);
        mm.state.borrow_mut().note_cost(LruvecId::Node(NODE), LruKind::File, 3, 4);
        mm.state.borrow().nodes[0].lru.cost
    };
    assert_eq!([cost("linux-6.6"), cost("linux-6.1.116")], [[0, 100], [0, 3]]);
}

#[test]
fn in_7_3_passes_take_costs_from_flushed_statistics() {
    let mm = machine(preset("linux-7.3").unwrap());
    mm.fill(800, 0, PageFlags::NONE, 0);
    let id = LruvecId::Node(NODE);
    let mut state = mm.state.borrow_mut();
    state.note_cost(id, LruKind::File, 3, 4);
    assert_eq!(state.nodes[0].lru.cost, [0, 0], "no pass has begun");
    state.take_costs(id);
    assert_eq!(state.nodes[0].lru.cost, [0, 100], "nothing was flushed yet: statistics are as they are");
    state.flush_stats();
    state.note_cost(id, LruKind::File, 20, 0);
    state.take_costs(id);
    assert_eq!(state.nodes[0].lru.cost, [0, 100], "not flushed yet");
    state.flush_stats();
    state.take_costs(id);
    assert_eq!(state.nodes[0].lru.cost, [0, 185], "740, halved twice to be within a quarter of the lists");
    state.take_costs(id);
    assert_eq!(state.nodes[0].lru.cost, [0, 185], "taken once");
}

#[test]
fn two_uses_activate_unmapped_page_cache() {
    let mm = machine(linux_6_18());
    let page = mm.fill(1, 0, PageFlags::NONE, 0)[0];
    mm.state.borrow_mut().mark_accessed(page);
    assert_eq!(mm.on(ActiveFile), 0);
    mm.state.borrow_mut().mark_accessed(page);
    mm.check();
    assert_eq!((mm.on(ActiveFile), mm.count(Counter::Pgactivate)), (1, 1));
    assert_eq!(mm.state.borrow().nodes[0].lru.nonresident_age, 1);
}

#[test]
fn slab_pages_count_as_reclaimed() {
    let mm = machine(linux_6_18());
    let slab: Vec<Pfn> = (0..2).map(|_| mm.state.borrow_mut().alloc.alloc_fast(&request(0)).unwrap()).collect();
    mm.state.borrow_mut().owner.slab_objects = Some(300);
    mm.state.borrow_mut().owner.slab_pages = slab;
    let sc = pass(&mm, true, 0);
    assert_eq!((sc.nr_reclaimed, mm.count(Counter::SlabsScanned)), (2, 300));
    assert_eq!(mm.state.borrow().alloc.free_pages(ZONE), 1024);
}

/// Objects that a pass at priority 0 scans, with this mask, and what is deferred after it.
fn slab_pass(gfp: Gfp, spare_slab: bool) -> (u64, u64) {
    let mm = machine(linux_6_18());
    mm.state.borrow_mut().owner.slab_objects = Some(300);
    mm.state.borrow_mut().owner.slab_needs_fs = true;
    let mut sc = ScanControl { priority: 0, spare_slab, ..ScanControl::new(0, gfp, ZoneType::Normal) };
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    let deferred = mm.state.borrow().nodes[0].reclaim.deferred.first().copied();
    (mm.count(Counter::SlabsScanned), deferred.unwrap_or(0))
}

#[test]
fn what_a_shrinker_may_not_do_without_the_filesystem_is_owed() {
    assert_eq!(slab_pass(Gfp::KERNEL, false), (300, 300));
    assert_eq!(slab_pass(Gfp::NOFS, false), (0, 600));
    assert_eq!(slab_pass(Gfp::KERNEL, true), (0, 0), "a boosted run of 5.0 leaves slab alone");
}

#[test]
fn a_short_inactive_list_is_refilled_in_the_first_round() {
    let mm = machine(linux_6_18());
    mm.fill(900, 0, PageFlags::ACTIVE, 0);
    mm.fill(16, 0, PageFlags::NONE, 1000);
    mm.state.borrow_mut().owner.hot = (1000..1016).map(Tag).collect();
    // 900 active to 16 inactive pages: deactivation is due at once.
    assert!(reclaim(&mm) >= 32);
    assert!(mm.count(Counter::Pgrefill) > 0);
    assert_eq!(mm.count(Counter::AllocstallMovable), 1);
}

/// Active pages that the swap device has already, beside more inactive ones that it does not have: a request without I/O can't write these,
/// and may not deactivate those before two rounds have brought nothing (10.3).
#[test]
fn a_fruitless_run_ends_with_forced_deactivation() {
    for (rounds, forced) in [(ReclaimRounds::Again, false), (ReclaimRounds::AgainAndByForce, true)] {
        let mut policy = linux_6_18();
        policy.reclaim.rounds = rounds;
        let mm = machine(policy);
        mm.fill(200, 0, PageFlags::ANON, 0);
        mm.fill(150, 0, PageFlags::ANON.with(PageFlags::SWAPCACHE).with(PageFlags::ACTIVE), 1000);
        let noio = pagealloc::Request::new(0, Gfp::HIGHUSER_MOVABLE.without(Gfp::IO | Gfp::FS), CPU);
        let reclaimed = run(mm.try_to_free_pages(&noio, &TASK));
        mm.check();
        assert_eq!(mm.count(Counter::AllocstallMovable), if forced { 3 } else { 2 });
        assert_eq!([reclaimed > 0, mm.count(Counter::Pgdeactivate) > 0], [forced; 2]);
        let state = mm.state.borrow();
        assert!(state.owner.evicted.iter().all(|(tag, ..)| tag.0 >= 1000), "none of those that a write is due for");
    }
}

#[test]
fn direct_reclaim_waits_for_the_reserve() {
    let mm = machine(linux_6_18());
    mm.fill(900, 0, PageFlags::NONE, 0);
    assert!(mm.state.borrow_mut().allow_direct_reclaim(NODE));
    mm.state.borrow_mut().alloc.set_watermarks(ZONE, 400, 410, 420, 430);
    assert!(!mm.state.borrow_mut().allow_direct_reclaim(NODE), "124 free, half of min is 200");
    let nofs = pagealloc::Request::new(0, Gfp::NOFS, CPU);
    run(mm.try_to_free_pages(&nofs, &TASK));
    assert_eq!(mm.count(Counter::PgscanDirectThrottle), 1);
    assert_eq!(mm.env.waits.borrow().first(), Some(&Queue::Pfmemalloc(NODE)));
}

#[test]
fn too_many_isolated_pages_turn_direct_reclaim_away() {
    let mm = machine(linux_6_18());
    mm.fill(80, 0, PageFlags::NONE, 0);
    mm.state.borrow_mut().nodes[0].reclaim.isolated[LruKind::File] = 11;
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    sc.priority = 0;
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    assert_eq!(sc.nr_reclaimed, 0, "11 of 80 is more than an eighth");
    assert!(mm.env.waits.borrow().contains(&Queue::Isolated(NODE)));
    mm.state.borrow_mut().nodes[0].reclaim.isolated[LruKind::File] = 10;
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    assert_eq!(mm.state.borrow().nodes[0].reclaim.isolated[LruKind::File], 10);
    assert!(sc.nr_reclaimed >= 32);
}
