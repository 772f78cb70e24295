//! Other eras, other zones.

use super::world::*;
use crate::env::Queue;
use crate::lru::LruList::*;
use crate::lru::LruvecId;
use crate::lru_kind::LruKind;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::{PassTotals, ScanControl, cache_refaults};
use crate::state::{Mm, State};
use alloc::vec;
use alloc::vec::Vec;
use pagealloc::policy::{CompactionReady, DirtyPages, FileWrites, LruRule, Policy, ScanBalance, preset};
use pagealloc::{AllocFlags, Counter, Gfp, Machine, NodeId, Order, PageAllocator, Pfn, ZoneId, ZoneSpan, ZoneType};

/// DMA32 with 256 pages below Normal with 768.
fn two_zones(policy: Policy) -> Mm<Toy> {
    let mut plan = Machine::uniform(SMALL, 1, 1024, false);
    let zone = |kind, start, spanned| ZoneSpan {
        node: NODE,
        kind,
        start: Pfn(start),
        spanned,
        managed: vec![(Pfn(start), spanned)],
    };
    plan.zones = vec![zone(ZoneType::Dma32, 0, 256), zone(ZoneType::Normal, 256, 768)];
    let mut alloc = PageAllocator::new(&plan, policy, Seen::default()).unwrap();
    for zone in [ZoneId(0), ZoneId(1)] {
        alloc.set_watermarks(zone, 8, 10, 12, 14);
        alloc.set_pcp_limits(zone, 1, 0, 0);
    }
    Mm::new(State::new(alloc, ToyOwner { swap_free: 10_000, ..ToyOwner::default() }), ToyEnv::default())
}

/// Fills both zones with page cache: the oldest half in Normal.
fn fill_both(mm: &Mm<Toy>) {
    mm.fill(600, 0, PageFlags::NONE, 0);
    let mut state = mm.state.borrow_mut();
    for index in 0..100 {
        let request = pagealloc::Request::new(0, Gfp::KERNEL | Gfp::DMA32, CPU);
        let pfn = state.alloc.alloc_fast(&request).unwrap();
        state.lru_add(pfn, PageFlags::NONE, Tag(1000 + index));
    }
}

fn shrink(mm: &Mm<Toy>, highest: ZoneType) -> ScanControl {
    let mut sc = ScanControl::new(0, Gfp::KERNEL, highest);
    (sc.kswapd, sc.priority, sc.nr_to_reclaim) = (true, 0, u64::MAX);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    mm.check();
    sc
}

#[test]
fn pages_of_higher_zones_are_skipped_on_node_lists() {
    let mm = two_zones(linux_6_18());
    fill_both(&mm);
    let sc = shrink(&mm, ZoneType::Dma32);
    assert_eq!((sc.nr_reclaimed, sc.nr_scanned), (100, 100));
    assert_eq!(mm.count(Counter::PgskipNormal), 600, "skipped once: they went to the head");
    assert_eq!(mm.count(Counter::PgscanKswapd), 700, "scans count what was skipped");
    assert_eq!(mm.on(InactiveFile), 600);
}

#[test]
fn lists_of_zones_know_no_skipping() {
    let mut policy = linux_6_18();
    policy.reclaim.lru = LruRule::PerZone;
    let mm = two_zones(policy);
    fill_both(&mm);
    assert_eq!(mm.on(InactiveFile), 700);
    let sc = shrink(&mm, ZoneType::Dma32);
    assert_eq!((sc.nr_reclaimed, mm.count(Counter::PgskipNormal)), (100, 0));
    assert_eq!(mm.state.borrow().zones[1].lru.pages[InactiveFile as usize], 600);
    assert_eq!(mm.state.borrow().owner.evicted[0].2.zone, ZoneId(0));
    let reclaimed = run(mm.try_to_free_pages(&request(0), &TASK));
    assert!(reclaimed >= 32);
    mm.check();
}

#[test]
fn before_5_9_one_use_activates_anonymous_pages() {
    let mut policy = linux_6_18();
    policy.reclaim.anon_workingset = false;
    policy.reclaim.cost_model = false;
    let mm = machine(policy);
    mm.fill(32, 0, PageFlags::ANON.with(PageFlags::MAPPED), 0);
    mm.state.borrow_mut().owner.hot = (0..4).map(Tag).collect();
    shrink(&mm, ZoneType::Normal);
    assert_eq!((mm.on(ActiveAnon), mm.on(InactiveAnon)), (4, 28));
    assert_eq!(mm.state.borrow().nodes[0].lru.cost[LruKind::Anon], 4, "rotated");
}

#[test]
fn kswapd_of_old_writes_page_cache_in_a_dirty_node() {
    let eras = [(FileWrites::Writes, 32, 32), (FileWrites::Activates, 0, 32), (FileWrites::Never, 0, 64)];
    for (rule, expected, immediate) in eras {
        let mut policy = linux_6_18();
        policy.reclaim.kswapd_file_writes = rule;
        let mm = machine(policy);
        let pages = mm.fill(32, 0, PageFlags::DIRTY, 0);
        let write = |mm: &Mm<Toy>| {
            let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
            (sc.kswapd, sc.priority, sc.may_writepage) = (true, 0, true);
            run(mm.shrink_node(NODE, &mut sc, &TASK));
        };
        write(&mm);
        for &pfn in &pages {
            mm.state.borrow_mut().deactivate(pfn);
        }
        write(&mm);
        assert_eq!(mm.env.writes.borrow().len(), expected, "{rule:?}");
        assert_eq!(mm.count(Counter::NrVmscanImmediateReclaim), immediate, "{rule:?}");
        assert_eq!(mm.count(Counter::PswpOut), 0);
        mm.check();
    }
}

#[test]
fn up_to_5_13_reclaim_asks_whoever_holds_a_clean_page_of_a_file() {
    for (name, lets_go, left) in [("linux-5.10", true, 0), ("linux-5.10", false, 1), ("linux-5.15", true, 1)] {
        let mm = machine(preset(name).unwrap());
        mm.state.borrow_mut().owner.lets_go = lets_go;
        let [page] = mm.fill(1, 0, PageFlags::NONE, 0)[..] else { panic!("a page") };
        mm.state.borrow_mut().pages.add_flags(page, PageFlags::PINNED);
        shrink(&mm, ZoneType::Normal);
        assert_eq!(mm.on(InactiveFile) + mm.on(ActiveFile), left, "{name}, {lets_go}");
    }
}

#[test]
fn what_swap_gives_back_starts_inactive_but_from_4_8_to_5_8() {
    for (name, active) in
        [("linux-3.11", false), ("linux-4.6", false), ("linux-4.8", true), ("linux-4.20", true), ("linux-6.18", false)]
    {
        let mm = machine(preset(name).unwrap());
        let flags = [false, true].map(|ahead| mm.state.borrow().swapped_in_flags(ahead));
        assert_eq!(flags.map(|flags| flags.contains(PageFlags::ACTIVE)), [active, false], "{name}");
        let [pfn] = mm.fill(1, 0, PageFlags::ANON, 0)[..] else { panic!("a page") };
        mm.state.borrow_mut().swapped_in(pfn);
        assert_eq!(
            mm.state.borrow().pages.flags(pfn).contains(PageFlags::ACTIVE),
            active,
            "{name}: read ahead, then wanted"
        );
    }
}

#[test]
fn up_to_4_10_dirty_pages_stay_and_kswapd_wakes_no_flushers() {
    for (rule, waits) in [(DirtyPages::StayAndStall, true), (DirtyPages::Stay, false)] {
        let mut policy = linux_6_18();
        policy.reclaim.dirty_pages = rule;
        policy.reclaim.kswapd_file_writes = FileWrites::Writes;
        let mm = machine(policy);
        mm.fill(32, 0, PageFlags::DIRTY, 0);
        let pass = || {
            let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
            (sc.kswapd, sc.priority, sc.may_writepage) = (true, 0, true);
            run(mm.shrink_node(NODE, &mut sc, &TASK));
        };
        pass();
        assert_eq!((mm.on(InactiveFile), mm.env.flushers_woken.get()), (32, 0), "{rule:?}");
        assert_eq!(
            (mm.env.waits.borrow().contains(&Queue::Congestion), mm.env.writes.borrow().len()),
            (waits, 0),
            "{rule:?}"
        );
        // The batch before told kswapd to write what it meets.
        pass();
        assert_eq!(mm.env.writes.borrow().len(), 32, "{rule:?}");
        mm.check();
    }
}

#[test]
fn up_to_3_10_kswapd_writes_page_cache_from_the_fourth_priority_on() {
    for (priority, kswapd, writes) in [(12, true, 0), (10, true, 0), (9, true, 32), (0, true, 32), (0, false, 0)] {
        let mut policy = linux_6_18();
        policy.reclaim.dirty_pages = DirtyPages::StayByPriority;
        policy.reclaim.kswapd_file_writes = FileWrites::Writes;
        let mm = machine(policy);
        mm.fill(32, 0, PageFlags::DIRTY, 0);
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        (sc.kswapd, sc.priority, sc.may_writepage) = (kswapd, priority, true);
        let mut totals = PassTotals::default();
        run(mm.shrink_inactive(LruvecId::Node(NODE), InactiveFile, 32, &mut sc, &mut totals, &TASK));
        let immediate = mm.count(Counter::NrVmscanImmediateReclaim);
        assert_eq!((mm.env.writes.borrow().len() as u64, immediate), (writes, 32 - writes), "{priority}, {kswapd}");
        assert!(mm.env.waits.borrow().is_empty() && mm.env.flushers_woken.get() == 0, "{priority}");
        assert_eq!(mm.on(ActiveFile), 0, "nothing is moved out of the way");
        mm.check();
    }
}

#[test]
fn up_to_5_2_the_lists_alone_say_what_is_scanned() {
    let cases = [
        (ScanBalance::ByLists, [true, true]),
        (ScanBalance::ByListsAndSize, [false, true]),
        (ScanBalance::ByListsKept, [false, true]),
        // Pages of the kind came back: reclaim looks elsewhere, too.
        (ScanBalance::ByDeactivation, [false, false]),
    ];
    for (rule, expected) in cases {
        let mut policy = linux_6_18();
        policy.reclaim.scan_balance = rule;
        let mm = machine(policy);
        mm.fill(40, 0, PageFlags::NONE, 0);
        mm.state.borrow_mut().nodes[0].lru.activated_snapshot = [0, 1];
        let only_file = [12, 3].map(|priority| {
            let sc = ScanControl { priority, ..ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal) };
            mm.state.borrow().prepare_scan(LruvecId::Node(NODE), &sc).cache_trim_mode
        });
        assert_eq!(only_file, expected, "{rule:?}");
    }
}

#[test]
fn without_workingset_refaults_are_not_known() {
    let mut policy = linux_6_18();
    policy.reclaim.workingset = false;
    let mm = machine(policy);
    let page = mm.fill(1, 0, PageFlags::NONE, 0)[0];
    mm.state.borrow_mut().refault(page, Default::default(), CPU);
    assert_eq!((mm.count(Counter::WorkingsetRefaultFile), mm.on(ActiveFile)), (0, 0));
}

#[test]
fn page_cache_that_comes_to_be_written_to_refaults_up_to_4_6() {
    let refaults = |name, gfp| cache_refaults(&preset(name).unwrap().reclaim, gfp);
    let write = Gfp::HIGHUSER_MOVABLE | Gfp::WRITE;
    let known = ["linux-4.6", "linux-4.8", "linux-6.18"]
        .map(|name| (refaults(name, Gfp::HIGHUSER_MOVABLE), refaults(name, write)));
    assert_eq!(known, [(true, true), (true, false), (true, false)]);
}

#[test]
fn up_to_4_8_a_zone_is_left_to_compaction_only_above_high_and_the_gap() {
    const ORDER: Order = 4;
    let ready = |rule, above_high: u64| {
        let mut policy = preset("linux-4.6").unwrap();
        policy.reclaim.compaction_ready = rule;
        let mm = machine(policy);
        let zone = ZoneId(0);
        let (free, high) = {
            let alloc = &mm.state.borrow().alloc;
            (alloc.free_pages(zone), alloc.wmark(zone, AllocFlags::WMARK_HIGH))
        };
        mm.fill((free - high - above_high) as u32, 0, PageFlags::NONE, 0);
        let sc = ScanControl::new(ORDER, Gfp::NOFS, ZoneType::Normal);
        mm.state.borrow_mut().compaction_ready(zone, &sc)
    };
    let rules = [CompactionReady::HighWithMargin, CompactionReady::High, CompactionReady::HighAndGap];
    assert_eq!(rules.map(|rule| ready(rule, 16)), [false, false, true], "the order is there");
    assert_eq!(rules.map(|rule| ready(rule, 40)), [false, true, true], "above the gap of 32");
    assert_eq!(rules.map(|rule| ready(rule, 100)), [true; 3]);
}

/// kswapd's failures on the nodes of a machine of two, once it has given both up and all of their memory is free.
fn failures_once_all_is_free(name: &str) -> [u32; 2] {
    let mut plan = Machine::uniform(SMALL, 1, 1024, false);
    let zone = |node, start| ZoneSpan {
        node: NodeId(node),
        kind: ZoneType::Normal,
        start: Pfn(start),
        spanned: 512,
        managed: vec![(Pfn(start), 512)],
    };
    plan.zones = vec![zone(0, 0), zone(1, 512)];
    let alloc = PageAllocator::new(&plan, preset(name).unwrap(), Seen::default()).unwrap();
    let mut state: State<Toy> = State::new(alloc, ToyOwner::default());
    for zone in [ZoneId(0), ZoneId(1)] {
        state.alloc.set_watermarks(zone, 8, 10, 500, 506);
        state.alloc.set_pcp_limits(zone, 1, 0, 0);
    }
    let pages: Vec<Pfn> = (0..900).map_while(|_| state.alloc.alloc_fast(&request(0))).collect();
    assert_eq!(pages.len(), 900);
    for node in [NodeId(0), NodeId(1)] {
        (0..16).for_each(|_| state.note_kswapd_failure(node));
        assert_eq!(state.kswapd_failures(node), 16, "{name}: nothing was freed since");
    }
    pages.iter().for_each(|&pfn| state.alloc.free(pfn, CPU));
    [NodeId(0), NodeId(1)].map(|node| state.kswapd_failures(node))
}

#[test]
fn since_6_18_frees_take_up_a_node_again_that_another_one_follows() {
    assert_eq!(["linux-6.17", "linux-6.18"].map(failures_once_all_is_free), [[16, 16], [0, 16]]);
}

/// What DMA32 has to reclaim while only Normal has pages on lists, and whether direct reclaim goes on without waiting.
fn with_an_idle_zone(name: &str) -> (u64, bool) {
    let mm = two_zones(preset(name).unwrap());
    // Normal alone is far below half of its reserve, both together are not.
    mm.fill(700, 0, PageFlags::NONE, 0);
    let mut state = mm.state.borrow_mut();
    state.alloc.set_watermarks(ZoneId(0), 100, 110, 120, 130);
    state.alloc.set_watermarks(ZoneId(1), 400, 410, 420, 430);
    (state.zone_reclaimable_pages(ZoneId(0)), state.allow_direct_reclaim(NODE))
}

#[test]
fn zones_without_pages_on_lists_are_reclaimable_by_their_free_pages_up_to_6_17() {
    let passed_over = (0, false);
    let by_free = (256, true);
    let eras = [
        "linux-5.0",
        "linux-5.4",
        "linux-6.1",
        "linux-6.1.165",
        "linux-6.6",
        "linux-6.12.29",
        "linux-6.17",
        "linux-6.18",
    ];
    let expected = [passed_over, by_free, passed_over, by_free, passed_over, by_free, by_free, passed_over];
    assert_eq!(eras.map(with_an_idle_zone), expected);
}
