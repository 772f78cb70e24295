//! The multi-generational LRU, rule by rule (docs/mglru.md).

use super::world::*;
use crate::lru::{LruList, MAX_NR_GENS};
use crate::lru_kind::LruKind::{Anon, File};
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::{SWAP_CLUSTER_MAX, ScanControl};
use crate::state::Mm;
use alloc::vec::Vec;
use pagealloc::policy::{Policy, preset};
use pagealloc::{Counter, Gfp, Pfn, ZoneType};

pub(super) const FAULTED: PageFlags = PageFlags::ANON.with(PageFlags::MAPPED).with(PageFlags::DIRTY);

pub(super) fn generational(era: &str) -> Policy {
    let mut policy = preset(era).unwrap();
    policy.set_sysctl("lru_gen/enabled", 7).unwrap();
    policy
}

pub(super) fn linux_6_18() -> Mm<Toy> {
    machine(generational("linux-6.18"))
}

/// Sequence of the generation that a page counts in.
pub(super) fn seq(mm: &Mm<Toy>, pfn: Pfn) -> u64 {
    let state = mm.state.borrow();
    let (generations, generation) = (state.generations(NODE), state.pages.bits(pfn).generation() as u64);
    let oldest = generations.max_seq.saturating_sub(MAX_NR_GENS - 1);
    (oldest..=generations.max_seq).find(|seq| seq % MAX_NR_GENS == generation).unwrap()
}

pub(super) fn max_seq(mm: &Mm<Toy>) -> u64 {
    mm.state.borrow().generations(NODE).max_seq
}

pub(super) fn min_seq(mm: &Mm<Toy>) -> [u64; 2] {
    mm.state.borrow().generations(NODE).min_seq
}

/// A run of kswapd at a priority.
pub(super) fn run_at(priority: u8) -> ScanControl {
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.kswapd, sc.may_writepage, sc.priority, sc.nr_to_reclaim) = (true, true, priority, u64::MAX);
    sc
}

pub(super) fn shrink(mm: &Mm<Toy>, sc: &mut ScanControl) {
    run(mm.shrink_node(NODE, sc, &TASK));
    mm.check();
}

/// Passes of kswapd until there is a younger generation.
fn age_until(mm: &Mm<Toy>, youngest: u64) {
    for _ in 0..10 {
        if max_seq(mm) >= youngest {
            return;
        }
        run(mm.age_active_anon(NODE, &mut run_at(0), &TASK));
        shrink(mm, &mut run_at(0));
    }
    panic!("no generation {youngest}");
}

fn tags_evicted(mm: &Mm<Toy>) -> Vec<u32> {
    mm.state.borrow().owner.evicted.iter().map(|(tag, ..)| tag.0).collect()
}

// ---- 3: where pages enter

#[test]
fn pages_enter_by_how_they_came() {
    for (era, faulted, read, mapped) in
        [("linux-6.1", 3, 1, 3), ("linux-6.14", 2, 0, 2), ("linux-6.18", 2, 0, 2), ("linux-7.2", 2, 0, 1)]
    {
        let mm = machine(generational(era));
        let anon = mm.fill(1, 0, FAULTED, 0)[0];
        let file = mm.fill(1, 0, PageFlags::NONE, 1)[0];
        assert_eq!((seq(&mm, anon), seq(&mm, file), max_seq(&mm)), (faulted, read, 3), "{era}");
        assert_eq!((mm.on(LruList::ActiveAnon), mm.on(LruList::InactiveFile)), (1, 1), "the youngest two are active");
        let program = mm.fill(1, 0, PageFlags::MAPPED, 2)[0];
        assert_eq!(seq(&mm, program), mapped, "{era}: page cache that a fault brought in");
        mm.check();
    }
}

#[test]
fn migration_keeps_young_pages_young() {
    let mm = linux_6_18();
    let (anon, file) = (mm.fill(1, 0, FAULTED, 0)[0], mm.fill(1, 0, PageFlags::NONE, 1)[0]);
    let mut state = mm.state.borrow_mut();
    state.lru_del(anon);
    assert!(state.pages.flags(anon).contains(PageFlags::ACTIVE), "remembered while it is isolated");
    state.lru_putback(anon);
    state.lru_del(file);
    assert!(!state.pages.flags(file).contains(PageFlags::ACTIVE));
    state.lru_putback(file);
    drop(state);
    assert_eq!((seq(&mm, anon), seq(&mm, file)), (2, 0));
    mm.check();
}

#[test]
fn pieces_of_a_huge_page_take_its_place() {
    let mm = linux_6_18();
    let huge = mm.fill(1, 4, FAULTED, 0)[0];
    let small = mm.fill(1, 0, FAULTED, 50)[0];
    assert!(mm.state.borrow_mut().split_huge_page(huge, CPU));
    mm.check();
    let state = mm.state.borrow();
    let list = &state.generations(NODE).lists[2][Anon][ZoneType::Normal as usize];
    let order: Vec<Pfn> = list.iter(&state.alloc.frames).collect();
    assert_eq!((order.len(), order[0], order[16]), (17, small, huge), "the head is the next to be scanned");
}

// ---- 2: what uses mean

#[test]
fn uses_through_descriptors_are_counted_but_move_nothing() {
    for (era, uses) in [("linux-6.1", 5), ("linux-6.18", 5)] {
        let mm = machine(generational(era));
        let file = mm.fill(1, 0, PageFlags::NONE, 0)[0];
        let entered = seq(&mm, file);
        for _ in 0..uses {
            mm.state.borrow_mut().mark_accessed(file);
        }
        let state = mm.state.borrow();
        assert!(state.pages.flags(file).contains(PageFlags::REFERENCED.with(PageFlags::WORKINGSET)), "{era}");
        assert_eq!(state.pages.bits(file).refs(), 3, "{era}: as far as bits count");
        drop(state);
        assert_eq!((seq(&mm, file), mm.count(Counter::Pgactivate)), (entered, 0));
    }
}

#[test]
fn walks_promote_at_once_or_at_the_second_look() {
    for (era, promoted_by) in [("linux-6.1", 1), ("linux-6.18", 2), ("linux-7.2", 1)] {
        let mm = machine(generational(era));
        let pages = mm.fill(2, 0, FAULTED, 0);
        // Something to evict, so that passes have a reason.
        mm.fill(300, 0, PageFlags::NONE, 100);
        mm.state.borrow_mut().owner.hot = [crate::owner::Tag(0)].into();
        for walk in 1..=2 {
            let before = max_seq(&mm);
            age_until(&mm, before + 1);
            let hot = seq(&mm, pages[0]);
            assert_eq!(hot >= before, walk >= promoted_by, "{era}, walk {walk}: {hot} of {before}");
            assert!(seq(&mm, pages[1]) <= hot);
        }
    }
}

#[test]
fn a_walk_passes_tables_that_the_one_before_found_sparse() {
    let mm = linux_6_18();
    let rules = mm.state.borrow().lru_gen.unwrap();
    let tables = [0, 512, 1_024].map(|first_tag| mm.fill(9, 0, FAULTED, first_tag));
    let looked_at = |hot: [u32; 3]| {
        mm.state.borrow_mut().owner.hot = hot.map(crate::owner::Tag).into();
        assert!(run(mm.age(NODE, 60, rules, &TASK)));
        let state = mm.state.borrow();
        let known = PageFlags::REFERENCED.with(PageFlags::WORKINGSET);
        tables.clone().map(|pages| pages.iter().filter(|pfn| state.pages.flags(**pfn).intersects(known)).count())
    };
    // One in use of nine is less than a cache line's worth.
    assert_eq!(looked_at([0, 1, 512]), [2, 1, 0], "nothing is known before the first, which looks at all of them");
    assert_eq!(looked_at([2, 513, 1_024]), [3, 1, 0]);
}

#[test]
fn eviction_that_finds_many_in_use_has_the_next_walk_look_there() {
    let mm = linux_6_18();
    let rules = mm.state.borrow().lru_gen.unwrap();
    let pages = mm.fill(64, 0, FAULTED, 512);
    for _ in 0..2 {
        assert!(run(mm.age(NODE, 60, rules, &TASK)));
    }
    {
        let owner = &mut mm.state.borrow_mut().owner;
        (owner.hot, owner.near) = ((512..576).map(crate::owner::Tag).collect(), pages.clone());
    }
    assert!(!mm.state.borrow().generations(NODE).walk.takes_in(1), "the walks found nothing in use");
    for _ in 0..10 {
        shrink(&mm, &mut run_at(0));
    }
    assert!(mm.state.borrow().generations(NODE).walk.takes_in(1));
}

#[test]
fn without_walks_generations_age_all_the_same() {
    let mut policy = generational("linux-6.18");
    policy.set_sysctl("lru_gen/enabled", 1).unwrap();
    let mm = machine(policy);
    let page = mm.fill(1, 0, FAULTED, 0)[0];
    mm.state.borrow_mut().owner.hot = [crate::owner::Tag(0)].into();
    mm.fill(64, 0, PageFlags::NONE, 100);
    age_until(&mm, 4);
    assert!(!mm.state.borrow().pages.flags(page).contains(PageFlags::REFERENCED), "nobody looked");
}

// ---- 4: aging

#[test]
fn the_first_priority_does_without_aging() {
    let mm = linux_6_18();
    mm.fill(200, 0, FAULTED, 0);
    let mut sc = run_at(12);
    sc.nr_to_reclaim = SWAP_CLUSTER_MAX.into();
    shrink(&mm, &mut sc);
    assert_eq!((sc.nr_reclaimed, max_seq(&mm)), (0, 3), "nothing old, and too early to age");
    for priority in (0..8).rev() {
        if max_seq(&mm) == 3 {
            sc.priority = priority;
            shrink(&mm, &mut sc);
        }
    }
    assert_eq!(max_seq(&mm), 4);
    assert_eq!(mm.count(Counter::PgscanKswapd), 0, "a pass that ages does not evict");
}

#[test]
fn a_pass_of_7_2_that_has_to_age_evicts_one_batch_more() {
    for (era, scanned) in [("linux-6.18", 0), ("linux-7.2", 3)] {
        let mm = machine(generational(era));
        mm.fill(200, 0, FAULTED, 0);
        shrink(&mm, &mut run_at(7));
        assert_eq!(max_seq(&mm), 3, "{era}: finds that the two oldest generations are empty");
        shrink(&mm, &mut run_at(6));
        assert_eq!((max_seq(&mm), mm.count(Counter::PgscanKswapd)), (4, scanned), "{era}: a 64th of 200 pages is 3");
    }
}

#[test]
fn oldest_pages_join_the_next_generation_when_there_are_too_many() {
    let mm = linux_6_18();
    mm.fill(10, 0, PageFlags::NONE, 0);
    let anon = mm.fill(10, 0, FAULTED, 100);
    {
        let mut state = mm.state.borrow_mut();
        state.owner.swap_free = 10_000;
    }
    // Uses of page cache are forgotten on the way, and count as protected.
    let file = mm.fill(1, 0, PageFlags::NONE, 50)[0];
    (0..3).for_each(|_| mm.state.borrow_mut().mark_accessed(file));
    let rules = mm.state.borrow().lru_gen.unwrap();
    assert!(run(mm.age(NODE, 60, rules, &TASK)));
    mm.check();
    assert_eq!((max_seq(&mm), min_seq(&mm)[File]), (4, 1));
    assert_eq!((seq(&mm, file), mm.state.borrow().pages.bits(file).refs()), (1, 0));
    assert_eq!(seq(&mm, anon[0]), 2);
}

#[test]
fn without_swap_anonymous_pages_stay_where_they_are() {
    let mm = linux_6_18();
    let anon = mm.fill(100, 0, FAULTED, 0);
    mm.fill(400, 0, PageFlags::NONE, 1000);
    mm.state.borrow_mut().owner.swap_free = 0;
    for _ in 0..20 {
        shrink(&mm, &mut run_at(0));
    }
    assert_eq!((mm.count(Counter::PgscanAnon), mm.count(Counter::PgstealFile)), (0, 400));
    assert_eq!(mm.state.borrow().owner.evicted.len(), 400);
    assert!(anon.iter().all(|&pfn| !mm.state.borrow().pages.flags(pfn).contains(PageFlags::SWAPCACHE)));
}

// ---- 5: eviction

#[test]
fn the_oldest_page_cache_goes_first_and_in_order() {
    let mm = linux_6_18();
    mm.fill(300, 0, PageFlags::NONE, 0);
    mm.fill(100, 0, FAULTED, 1000);
    let mut sc = run_at(2);
    sc.nr_to_reclaim = 64;
    shrink(&mm, &mut sc);
    assert_eq!(tags_evicted(&mm), (0..64).collect::<Vec<_>>(), "one batch, from the tail");
    assert_eq!((mm.count(Counter::PgscanKswapd), mm.count(Counter::PgscanFile)), (64, 64));
    assert_eq!((sc.nr_reclaimed, mm.count(Counter::PgstealKswapd)), (64, 64));
}

#[test]
fn uses_that_are_told_late_are_counted_before_a_page_goes() {
    let mm = linux_6_18();
    mm.fill(300, 0, PageFlags::NONE, 0);
    mm.state.borrow_mut().owner.read_meanwhile.push(Tag(7));
    let mut sc = run_at(2);
    sc.nr_to_reclaim = 64;
    shrink(&mm, &mut sc);
    let state = mm.state.borrow();
    let uses: Vec<u8> = state.owner.evicted.iter().take(9).map(|(_, _, shadow)| shadow.uses).collect();
    assert_eq!(
        uses,
        [0, 0, 0, 0, 0, 0, 0, 2, 0],
        "two beyond the first; nothing tells yet that pages which are used come back: they go, too"
    );
}

#[test]
fn batches_of_6_18_look_at_no_more_than_the_pass_has_left() {
    for (era, scanned) in [("linux-6.14", 64), ("linux-6.18", 25)] {
        let mm = machine(generational(era));
        mm.fill(400, 0, PageFlags::NONE, 0);
        let mut sc = run_at(4);
        sc.nr_to_reclaim = 1;
        (sc.kswapd, sc.may_writepage) = (false, true);
        shrink(&mm, &mut sc);
        assert_eq!(mm.count(Counter::PgscanDirect), scanned, "{era}: a sixteenth of 400 pages is 25");
    }
}

#[test]
fn a_folio_of_many_pages_is_taken_out_of_the_page_cache_once() {
    let mm = linux_6_18();
    mm.fill(24, 0, PageFlags::NONE, 0);
    mm.fill(5, 3, PageFlags::NONE, 100);
    shrink(&mm, &mut run_at(0));
    assert_eq!(mm.env.shrunk.get(), (64, 64, 29), "pages looked at, pages freed, folios");
}

#[test]
fn dirty_page_cache_is_put_off_and_comes_back_to_be_evicted_next() {
    let mm = linux_6_18();
    let pages = mm.fill(70, 0, PageFlags::DIRTY, 0);
    mm.fill(70, 0, PageFlags::NONE, 100);
    shrink(&mm, &mut run_at(0));
    assert_eq!(mm.count(Counter::Pgrefill), 70, "sorted, not scanned");
    assert!(tags_evicted(&mm).iter().all(|&tag| tag >= 100));
    assert!(mm.state.borrow().pages.flags(pages[0]).contains(PageFlags::RECLAIM));
    mm.state.borrow_mut().set_writeback(pages[0]);
    mm.end_writeback(pages[0]);
    assert_eq!(mm.count(Counter::Pgrotated), 1);
    let oldest = min_seq(&mm)[File].max(max_seq(&mm) - 3);
    assert_eq!(seq(&mm, pages[0]), oldest);
    mm.check();
}

#[test]
fn dirty_page_cache_is_judged_and_activated_since_7_2() {
    let mm = machine(generational("linux-7.2"));
    let pages = mm.fill(64, 0, PageFlags::DIRTY, 0);
    shrink(&mm, &mut run_at(0));
    assert_eq!((mm.count(Counter::Pgrefill), mm.count(Counter::PgscanFile)), (0, 64), "scanned, not sorted");
    assert_eq!((mm.count(Counter::NrVmscanImmediateReclaim), mm.count(Counter::Pgactivate)), (64, 64));
    assert!(mm.state.borrow().pages.flags(pages[0]).contains(PageFlags::RECLAIM));
    assert_eq!(seq(&mm, pages[0]), max_seq(&mm) - 1, "out of the way until it is clean");
    mm.state.borrow_mut().set_writeback(pages[0]);
    mm.end_writeback(pages[0]);
    assert_eq!(mm.count(Counter::Pgrotated), 1);
    assert_eq!(seq(&mm, pages[0]), min_seq(&mm)[File].max(max_seq(&mm) - 3));
    mm.check();
}

#[test]
fn flushers_are_woken_when_all_page_cache_was_dirty() {
    for (era, woken) in [("linux-6.1", 0), ("linux-6.18", 1), ("linux-7.2", 1)] {
        let mm = machine(generational(era));
        mm.fill(70, 0, PageFlags::DIRTY, 0);
        shrink(&mm, &mut run_at(0));
        assert_eq!(mm.env.flushers_woken.get().min(1), woken, "{era}");
    }
}

#[test]
fn runs_that_may_not_write_or_unmap_are_skipped() {
    let mm = linux_6_18();
    mm.fill(300, 0, PageFlags::NONE, 0);
    mm.state.borrow_mut().owner.slab_objects = Some(10_000);
    let mut sc = run_at(0);
    sc.may_writepage = false;
    shrink(&mm, &mut sc);
    let mut sc = run_at(0);
    sc.may_unmap = false;
    shrink(&mm, &mut sc);
    assert_eq!((mm.count(Counter::PgscanKswapd), mm.count(Counter::SlabsScanned)), (0, 0));
}

#[test]
fn a_large_target_starts_at_a_lower_priority() {
    let first = |era: &str, pages: u32, target: u64| {
        let mm = machine(generational(era));
        mm.fill(pages, 0, PageFlags::NONE, 0);
        let mut sc = run_at(12);
        sc.nr_to_reclaim = target;
        shrink(&mm, &mut sc);
        sc.priority
    };
    // 512 to 1023 pages and 65 to 128: 9 - 7 = 2, but not below 6.
    assert_eq!(first("linux-6.18", 600, 100), 6);
    assert_eq!(first("linux-6.18", 600, 32), 12, "direct reclaim asks for less than a batch");
    assert_eq!(first("linux-6.1", 600, 100), 12);
}

#[test]
fn kswapd_stops_when_zones_are_safe() {
    let mm = linux_6_18();
    mm.fill(800, 0, PageFlags::NONE, 0);
    // 224 pages are free; the high mark is 48.
    let mut sc = run_at(0);
    shrink(&mm, &mut sc);
    assert_eq!(sc.nr_reclaimed, 64, "one batch");
}

#[test]
fn swapped_pages_are_scanned_twice() {
    let mut policy = generational("linux-6.18");
    policy.set_sysctl("swappiness", 200).unwrap();
    let mm = machine(policy);
    mm.fill(128, 0, FAULTED, 0);
    let pass = |mm: &Mm<Toy>| shrink(mm, &mut run_at(0));
    (0..6).for_each(|_| pass(&mm));
    assert_eq!((mm.count(Counter::PswpOut), mm.count(Counter::PgscanAnon)), (128, 128));
    let writes: Vec<_> = mm.env.writes.borrow_mut().drain(..).collect();
    writes.iter().for_each(|&(pfn, _)| mm.end_writeback(pfn));
    assert_eq!(mm.count(Counter::Pgrotated), 128);
    mm.check();
    (0..6).for_each(|_| pass(&mm));
    assert_eq!((mm.count(Counter::PgstealAnon), mm.count(Counter::PgscanAnon)), (128, 256));
}

#[test]
fn classic_kernels_know_no_generations() {
    let mut policy = preset("linux-5.0").unwrap();
    assert!(policy.set_sysctl("lru_gen/enabled", 1).is_err());
    policy.sysctl.lru_gen = 7;
    assert!(machine(policy).state.borrow().lru_gen.is_none());
}
