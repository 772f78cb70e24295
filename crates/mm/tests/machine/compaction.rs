//! Compaction end to end on a small machine: what it makes, what stops it, what it leaves behind.

use crate::support::*;
use mm::compaction::{CompactPriority, CompactResult};
use mm::{MmEvent, PageFlags, TaskContext, TaskFlags};
use pagealloc::policy::{CompactCapture, HandOver};
use pagealloc::{AllocFlags, Counter, FrameState, Geometry, Gfp, Machine, Pfn, Policy, ZoneId, ZoneType};
use std::cell::Cell;
use std::rc::Rc;

const SECOND: u64 = 1_000 * MS;
const MIB_OF_TESTS: u32 = 64;
const MODERN: &str = "linux-6.18";

/// Memory full of user pages, of which those that `kept` names stay and all others are free again.
fn sparse(policy: Policy, flags: PageFlags, kept: impl Fn(Pfn) -> bool) -> TestMachine {
    let machine = TestMachine::new(policy, MIB_OF_TESTS);
    populate(&machine, 0, |page| kept(page).then_some(flags));
    machine
}

fn checkerboard(policy: Policy, flags: PageFlags) -> TestMachine {
    sparse(policy, flags, |page| page.0 % 2 == 0)
}

pub(crate) fn add_flags(machine: &TestMachine, flags: PageFlags, which: impl Fn(Pfn) -> bool) {
    let mut state = machine.mm.state.borrow_mut();
    for pfn in (0..state.alloc.frames.len()).map(Pfn).filter(|&pfn| which(pfn)) {
        if state.alloc.frames.state(pfn) == FrameState::LRU {
            state.pages.add_flags(pfn, flags);
        }
    }
}

pub(crate) fn isolated(machine: &TestMachine) -> [i64; 2] {
    machine.mm.state.borrow().nodes[0].reclaim.isolated
}

fn free_blocks(machine: &TestMachine) -> u64 {
    machine.mm.state.borrow().alloc.free_pages_blocks(ZONE)
}

#[test]
fn every_kernel_makes_a_huge_page_of_a_checkerboard() {
    for preset in pagealloc::policy::PRESETS {
        let mut machine = checkerboard(policy(preset.name, |_| ()), PageFlags::ANON);
        assert_eq!(free_blocks(&machine), 0, "{}", preset.name);
        let captures = machine.mm.state.borrow().alloc.policy.compaction.capture != CompactCapture::Never;
        let (result, page) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        assert_eq!(result, CompactResult::Success, "{}", preset.name);
        assert!(page.is_some() || free_blocks(&machine) >= 512, "{}", preset.name);
        assert!(captures || page.is_none(), "{}", preset.name);
        assert_eq!(isolated(&machine), [0, 0], "{}", preset.name);
        assert!(machine.counter(Counter::PgmigrateSuccess) >= 256);
        assert_eq!(machine.counter(Counter::PgmigrateSuccess), machine.mm.state.borrow().owner.moved);
    }
}

#[test]
fn a_captured_page_is_the_requests_own() {
    // Pages of order 0 merge while they are freed one by one: the last of a window completes it.
    let mut machine = sparse(policy(MODERN, |_| ()), PageFlags::ANON, |page| page.0 % 4 == 0);
    let (result, page) = compact(&mut machine, 4, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(result, CompactResult::Success);
    let page = page.expect("a page is captured");
    let state = machine.mm.state.borrow();
    assert_eq!((state.alloc.frames.state(page), state.alloc.frames.order(page)), (FrameState::USED, 4));
}

#[test]
fn a_kernel_thread_captures_nothing() {
    let machine = &mut sparse(policy(MODERN, |_| ()), PageFlags::ANON, |page| page.0 % 4 == 0);
    let mm = machine.mm.clone();
    let thread = TaskContext { flags: TaskFlags::KTHREAD, ..task(2) };
    let run = async move {
        let request = request(4, Gfp::TRANSHUGE);
        mm.try_to_compact_pages(&request, AllocFlags::NONE, CompactPriority::SyncLight, &thread).await
    };
    assert_eq!(machine.complete(60 * SECOND, run), Some((CompactResult::Success, None)));
}

#[test]
fn one_page_that_stays_in_each_block_is_enough_to_fail() {
    let mut machine = checkerboard(policy(MODERN, |_| ()), PageFlags::ANON);
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 512 == 256);
    let (result, page) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!((result, page), (CompactResult::Complete, None));
    assert_eq!(free_blocks(&machine), 0);
}

/// Frames that both scanners look at where half of memory lies behind a hole that ends with this section.
fn scanned_beside_a_hole(sections: u32) -> [u64; 2] {
    let (geometry, half) = (Geometry::PAGES_4K, MIB_OF_TESTS / 2 * MIB);
    let mut zones = Machine::uniform(geometry, 2, half, false);
    let behind = Pfn(sections * geometry.section_pages());
    zones.zones[0].managed.push((behind, half));
    zones.zones[0].spanned = behind.0 + half;
    let mut machine = TestMachine::with_zones(policy(MODERN, |_| ()), &zones);
    populate(&machine, 0, |page| (page.0 % 2 == 0).then_some(PageFlags::ANON));
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 512 == 256);
    let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncFull);
    assert_eq!(result, CompactResult::Complete);
    [Counter::CompactMigrateScanned, Counter::CompactFreeScanned].map(|counter| machine.counter(counter))
}

#[test]
fn holes_are_not_scanned() {
    let (narrow, wide) = (scanned_beside_a_hole(2), scanned_beside_a_hole(9));
    assert!(narrow.iter().all(|scanned| *scanned > 0));
    assert_eq!(narrow, wide);
}

#[test]
fn failures_defer_the_zone_and_full_priority_ignores_that() {
    let mut machine = checkerboard(policy(MODERN, |_| ()), PageFlags::ANON);
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 512 == 256);
    let mut results = Vec::new();
    for _ in 0..4 {
        results.push(compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight).0);
    }
    // After the first failure every second attempt is refused, after the second three of four.
    let deferred: Vec<bool> = results.iter().map(|&result| result == CompactResult::Deferred).collect();
    assert_eq!(deferred, [false, true, false, true]);
    let (forced, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncFull);
    assert_eq!(forced, CompactResult::Complete);
}

#[test]
fn nofs_compaction_moves_anonymous_pages_only() {
    let gfp = Gfp::TRANSHUGE.without(Gfp::FS);
    let run = |name: &str, flags: PageFlags| {
        let mut machine = checkerboard(policy(name, |_| ()), flags);
        let (result, _) = compact(&mut machine, 9, gfp, CompactPriority::SyncLight);
        (result, machine.counter(Counter::PgmigrateSuccess))
    };
    assert_eq!(run(MODERN, PageFlags::NONE), (CompactResult::Complete, 0));
    assert_eq!(run(MODERN, PageFlags::ANON.with(PageFlags::SWAPCACHE)), (CompactResult::Complete, 0));
    assert_eq!(run(MODERN, PageFlags::ANON).0, CompactResult::Success);
    assert_eq!(run("linux-4.6", PageFlags::ANON), (CompactResult::Skipped, 0));
    assert_eq!(run("linux-4.6+nofs", PageFlags::ANON).0, CompactResult::Success);
    assert_eq!(run("linux-4.6+nofs", PageFlags::NONE).1, 0);
}

/// Every window of 16 pages holds one that stays, with movable ones before and behind it.
fn hopeless_windows(name: &str, priority: CompactPriority) -> (TestMachine, CompactResult) {
    let mut machine = checkerboard(policy(name, |_| ()), PageFlags::ANON);
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 16 == 4);
    let (result, _) = compact(&mut machine, 4, Gfp::TRANSHUGE, priority);
    (machine, result)
}

#[test]
fn async_compaction_leaves_windows_that_cannot_be_freed() {
    let (thorough, _) = hopeless_windows("linux-4.6-rc1", CompactPriority::Async);
    let (hasty, _) = hopeless_windows("linux-4.6-rc1+skip-fixed", CompactPriority::Async);
    assert!(thorough.counter(Counter::PgmigrateSuccess) > 0);
    assert_eq!(hasty.counter(Counter::PgmigrateSuccess), 0, "nothing is moved in vain");
    let (before, after) =
        (thorough.counter(Counter::CompactMigrateScanned), hasty.counter(Counter::CompactMigrateScanned));
    assert!(after > 0 && after <= before, "{after} scanned, {before} without skipping");
    // Five frames of each window of sixteen, and of the whole zone, since nothing stops the scanners from meeting.
    assert_eq!(after % 5, 0);
    let (sync, _) = hopeless_windows("linux-4.6-rc1+skip-fixed", CompactPriority::SyncLight);
    assert!(sync.counter(Counter::PgmigrateSuccess) > 0, "sync compaction stays thorough");
}

#[test]
fn as_posted_the_skip_makes_isolated_counters_drift() {
    let drift = |name| isolated(&hopeless_windows(name, CompactPriority::Async).0);
    let [anon, file] = drift("linux-4.6-rc1+skip");
    assert!(anon < 0, "two pages a window are put back without having been counted: {anon}");
    assert_eq!(file, 0);
    assert_eq!(drift("linux-4.6-rc1+skip-fixed"), [0, 0]);
    assert_eq!(drift("linux-4.6-rc1"), [0, 0]);
}

#[test]
fn pinned_file_pages_fail_when_they_are_moved() {
    let mut machine = checkerboard(policy(MODERN, |_| ()), PageFlags::NONE);
    add_flags(&machine, PageFlags::PINNED, |page| page.0 % 512 == 256);
    compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
    assert!(machine.counter(Counter::PgmigrateFail) > 0);
    assert_eq!(isolated(&machine), [0, 0]);
}

#[test]
fn suitability_asks_for_room_and_for_fragmentation() {
    let suitable = |machine: &TestMachine, order| {
        let mut state = machine.mm.state.borrow_mut();
        let min = state.alloc.wmark(ZONE, AllocFlags::WMARK_MIN);
        state.compaction_suitable(ZONE, order, min, ZoneType::Normal)
    };
    let fragmented = checkerboard(policy(MODERN, |_| ()), PageFlags::ANON);
    assert!(suitable(&fragmented, 9));
    let strict = checkerboard(policy(MODERN, |policy| policy.sysctl.extfrag_threshold = 1000), PageFlags::ANON);
    assert!(!suitable(&strict, 9), "index 998 is within a threshold of 1000");
    assert!(suitable(&strict, 3), "only costly orders are judged by the index");
    // Room: min + gap(9) + low - min, and one page more.
    let marks = |machine: &TestMachine| machine.mark(AllocFlags::WMARK_LOW) + 1024;
    let full = sparse(policy(MODERN, |_| ()), PageFlags::ANON, |page| page.0 % 16 != 1);
    assert!(full.free() <= marks(&full));
    assert!(!suitable(&full, 9));
    assert!(fragmented.free() > marks(&fragmented));
}

#[test]
fn compact_node_makes_whole_blocks_of_all_that_is_free() {
    let mut machine = checkerboard(policy(MODERN, |_| ()), PageFlags::ANON);
    let free = machine.free();
    let mm = machine.mm.clone();
    machine.complete(60 * SECOND, async move { mm.compact_node(NODE, &task(2)).await }).expect("it ends");
    leaves_nothing_behind(&machine);
    machine.mm.state.borrow_mut().alloc.drain_all_pages(None);
    assert_eq!(machine.free(), free);
    assert!(free_blocks(&machine) * 10 > free * 9, "{} of {free} in whole blocks", free_blocks(&machine));
}

/// Starts kcompactd on a checkerboard and asks it for a huge page.
fn kcompactd_on_a_checkerboard(policy: Policy) -> TestMachine {
    let mut machine = checkerboard(policy, PageFlags::ANON);
    machine.start_daemons();
    machine.mm.wakeup_kcompactd(NODE, 9, ZoneType::Normal);
    machine.run_for(400 * MS);
    leaves_nothing_behind(&machine);
    machine
}

#[test]
fn kcompactd_makes_one_block_without_defrag_mode_and_the_high_mark_in_blocks_with_it() {
    let plain = kcompactd_on_a_checkerboard(policy(MODERN, |_| ()));
    assert_eq!(plain.counter(Counter::CompactDaemonWake), 1);
    assert!(plain.counter(Counter::CompactDaemonMigrateScanned) > 0);
    let defrag = kcompactd_on_a_checkerboard(policy("linux-6.18+defrag", |_| ()));
    let (one, many) = (free_blocks(&plain), free_blocks(&defrag));
    assert!((512..2048).contains(&one), "{one} pages in blocks");
    assert!(many > defrag.mark(AllocFlags::WMARK_HIGH) && many > one, "{many} pages in blocks");
}

/// How often kcompactd set to work after kswapd was asked for a huge page once, on a checkerboard with plenty of free memory.
fn kcompactd_wakes_after_a_call(name: &str) -> u64 {
    kcompactd_wakes_after_calls(policy(name, |_| ()), 1)
}

/// The same, asked that many times 50 ms apart.
fn kcompactd_wakes_after_calls(policy: Policy, calls: u32) -> u64 {
    let mut machine = checkerboard(policy, PageFlags::ANON);
    machine.start_daemons();
    for _ in 1..calls {
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 9, ZoneType::Normal);
        machine.run_for(50 * MS);
    }
    machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 9, ZoneType::Normal);
    machine.run_for(if calls > 1 { 50 } else { 400 } * MS);
    machine.counter(Counter::CompactDaemonWake)
}

#[test]
fn kswapd_of_4_6_hands_the_order_over_without_having_reclaimed() {
    assert_eq!(kcompactd_wakes_after_a_call("linux-4.6"), 1);
    assert_eq!(kcompactd_wakes_after_a_call("linux-4.8"), 0, "it reads anew what is asked for: nothing");
}

/// How often kcompactd set to work after kswapd was asked for a huge page, and got the memory for one from page cache, beside a zone DMA of
/// which nothing is free.
fn kcompactd_wakes_beside_a_full_zone(policy: Policy) -> u64 {
    let zones = Machine::uniform(Geometry::PAGES_4K, 2, MIB_OF_TESTS * MIB, true);
    let mut machine = TestMachine::with_zones(policy, &zones);
    {
        let mut state = machine.mm.state.borrow_mut();
        let request = request(0, Gfp::HIGHUSER_MOVABLE);
        let mut others = Vec::new();
        while let Some(page) = state.alloc.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS) {
            match state.alloc.zone_of(page) {
                ZoneId(0) => {}
                // The kernel's, so that reclaim alone makes no huge page.
                _ if page.0 % 16 == 1 => {}
                _ if page.0 % 2 == 0 => {
                    let tag = state.owner.adopt(page, 0, 1);
                    state.lru_add(page, PageFlags::NONE, tag);
                }
                _ => others.push(page),
            }
        }
        others.into_iter().for_each(|page| state.alloc.free(page, CPU));
        state.alloc.drain_all_pages(None);
    }
    machine.start_daemons();
    machine.mm.wakeup_kswapd(ZoneId(1), Gfp::KERNEL, 9, ZoneType::Dma32);
    machine.run_for(400 * MS);
    assert!(machine.counter(Counter::PgstealKswapd) >= 1024, "memory for the page and as much again");
    machine.counter(Counter::CompactDaemonWake)
}

#[test]
fn a_small_zone_that_is_full_kept_kcompactd_of_4_8_asleep() {
    let wakes = |all| {
        let policy = policy("linux-4.8", |policy| {
            policy.kswapd.sleeps_when_all_balanced = all;
            // The order is given up as on a machine whose marks are as large as twice a huge page.
            policy.kswapd.counts_each_pass = false;
        });
        kcompactd_wakes_beside_a_full_zone(policy)
    };
    assert_eq!(wakes(true), 0);
    assert!(wakes(false) > 0);
}

#[test]
fn frequent_calls_kept_kcompactd_asleep_at_first() {
    let wakes = |hands_over, calls| {
        kcompactd_wakes_after_calls(policy("linux-4.6", |p| p.kswapd.hands_over = hands_over), calls)
    };
    assert_eq!((wakes(HandOver::BeforeSleep, 1), wakes(HandOver::BeforeSleep, 20)), (1, 0));
    assert!(wakes(HandOver::BeforeNap, 20) > 0);
}

#[test]
fn kcompactd_left_out_the_highest_zone_at_first() {
    let wakes = |spares| {
        kcompactd_wakes_after_calls(policy("linux-4.6", |p| p.compaction.daemon.spares_highest_zone = spares), 1)
    };
    assert_eq!((wakes(true), wakes(false)), (0, 1), "the machine has one zone");
}

#[test]
fn proactive_compaction_lowers_the_score_of_a_quiet_node() {
    let score = |machine: &TestMachine| machine.mm.state.borrow().fragmentation_score_node(NODE);
    let run = |proactiveness| {
        let mut machine =
            checkerboard(policy(MODERN, |p| p.sysctl.compaction_proactiveness = proactiveness), PageFlags::ANON);
        machine.start_daemons();
        let before = score(&machine);
        machine.run_for(2 * SECOND);
        leaves_nothing_behind(&machine);
        (before, score(&machine))
    };
    let (before, after) = run(20);
    assert!(before > 90 && after <= 80, "score {before} before, {after} after");
    let (before, after) = run(0);
    assert_eq!(before, after);
}

#[test]
fn the_storm_fix_works_for_whole_blocks_and_captures_small_pages() {
    let mut machine = checkerboard(policy("linux-6.18+storm-fix", |_| ()), PageFlags::ANON);
    let mm = machine.mm.clone();
    let run = async move {
        let flags = AllocFlags::NOFRAGMENT;
        mm.try_to_compact_pages(&request(2, Gfp::KERNEL), flags, CompactPriority::SyncLight, &task(2)).await
    };
    let (result, page) = machine.complete(60 * SECOND, run).expect("it ends");
    leaves_nothing_behind(&machine);
    assert_eq!(result, CompactResult::Success);
    let promoted = |event: &MmEvent| matches!(event, MmEvent::CompactionTryToCompactPages { order: 9, .. });
    assert_eq!(machine.watched(|seen| seen.count(promoted)), 1);
    // A Movable block is not spoilt by capture; the request claims the whole one that was made.
    assert_eq!(page, None);
    assert!(free_blocks(&machine) >= 512);
}

#[test]
fn whole_blocks_for_kernel_memory_are_looked_for_among_movable_ones_from_7_2_on() {
    let looks = |name| {
        let mut machine = checkerboard(policy(name, |_| ()), PageFlags::ANON);
        compact(&mut machine, 9, Gfp::KERNEL, CompactPriority::Async);
        machine.counter(Counter::CompactMigrateScanned) > 0
    };
    assert_eq!(["linux-7.1", "linux-7.2"].map(looks), [false, true]);
}

#[test]
fn blocks_scanned_in_vain_are_skipped_until_kswapd_resets_the_hints() {
    // Every third page free: the reset looks at every eighth, and would never see a free one on a checkerboard.
    let mut machine = sparse(policy(MODERN, |_| ()), PageFlags::ANON, |page| page.0 % 3 != 1);
    add_flags(&machine, PageFlags::PINNED, |_| true);
    let scanned = |machine: &mut TestMachine| {
        let before = machine.counter(Counter::CompactMigrateScanned);
        compact(machine, 4, Gfp::TRANSHUGE, CompactPriority::Async);
        machine.counter(Counter::CompactMigrateScanned) - before
    };
    let first = scanned(&mut machine);
    let second = scanned(&mut machine);
    // One or two frames of each window of 16: the first page stays. The last block is where pages would go.
    assert!((31 * 32..=2 * 31 * 32).contains(&first), "{first} frames scanned");
    assert_eq!(second, 0);
    machine.mm.state.borrow_mut().reset_isolation_suitable(NODE);
    let third = scanned(&mut machine);
    assert!(third * 2 > first, "{third} frames scanned after the reset");
}

#[test]
fn up_to_6_2_isolation_passes_over_what_the_fast_search_finds() {
    let first_block = |name: &str| {
        // The lists that the search looks at, those of larger orders, hold pages of the lower half only.
        let kept = |page: Pfn| if page.0 < 8192 { page.0 % 32 >= 16 } else { page.0.is_multiple_of(2) };
        let mut machine = sparse(policy(name, |_| ()), PageFlags::ANON, kept);
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        let taken = |event: &MmEvent| match event {
            MmEvent::CompactionIsolateMigratepages { nr_taken, .. } => Some(*nr_taken),
            _ => None,
        };
        let state = machine.mm.state.borrow();
        state.alloc.observer.mm.iter().find_map(taken)
    };
    assert_eq!(["linux-6.1", "linux-6.12"].map(first_block), [Some(0), Some(32)]);
}

#[test]
fn a_batch_that_is_unmapped_first_frees_no_frame_before_that() {
    let comes_from_the_batch = |unmaps_first: bool| {
        let policy = policy(MODERN, |policy| policy.compaction.unmaps_batch_first = unmaps_first);
        let mut machine = checkerboard(policy, PageFlags::ANON);
        let (mm, got) = (machine.mm.clone(), Rc::new(Cell::new(None)));
        let answer = got.clone();
        machine.spawn(async move {
            while mm.state.borrow().owner.moved == 0 {
                mm.env.sleep(1).await;
            }
            answer.set(mm.alloc_pages(&request(0, Gfp::HIGHUSER_MOVABLE), &task(3)).await);
        });
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        got.get().expect("a page is left").0.is_multiple_of(2)
    };
    // Pages in use have even numbers at first: an even frame is one that the batch has left, on top of the CPU's list.
    assert_eq!([false, true].map(comes_from_the_batch), [true, false]);
}

#[test]
fn a_run_that_found_a_lock_taken_ends_after_its_block() {
    let run = |held: PageFlags| {
        let mut machine = sparse(policy(MODERN, |_| ()), PageFlags::ANON, |page| page.0 % 4 >= 2);
        add_flags(&machine, held.with(PageFlags::SWAPCACHE), |page| page.0 % 512 == 2);
        machine.mm.env.take_locks();
        let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::Async);
        let scanned = |event: &MmEvent| match event {
            MmEvent::CompactionIsolateMigratepages { start, end, nr_taken, .. } => Some((start.0, end.0, *nr_taken)),
            _ => None,
        };
        (result, machine.mm.state.borrow().alloc.observer.mm.iter().filter_map(scanned).collect::<Vec<_>>())
    };
    // The whole block at once, to be off the lock soon.
    assert_eq!(run(PageFlags::PINNED), (CompactResult::Contended, vec![(0, 512, 256)]));
    assert_eq!(run(PageFlags::NONE), (CompactResult::Success, vec![(0, 512, 256)]), "the goal is looked at first");
}

#[test]
fn runs_are_the_same_every_time() {
    let run = || {
        let mut machine = checkerboard(policy(MODERN, |_| ()), PageFlags::ANON);
        compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::Async);
        machine.watched(|seen| seen.mm.clone())
    };
    assert_eq!(run(), run());
}
