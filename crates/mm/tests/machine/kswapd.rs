//! kswapd end to end: does it keep memory free, does it hear its calls, does it give boosts back?

use crate::support::*;
use mm::{Env, MmEvent, PageFlags, Queue};
use pagealloc::policy::{ContinueReclaim, PRESETS};
use pagealloc::{AllocFlags, Counter, Gfp, NodeId, Policy, ZoneType};

/// A process reads through files of four times the memory, a page every 5 us.
fn stream(machine: &mut TestMachine, pages: u32) {
    let mm = machine.mm.clone();
    let done = machine.complete(3_600_000 * MS, async move {
        for _ in 0..pages {
            user_page(&mm, 0, PageFlags::NONE, 1).await.expect("file pages can always be reclaimed");
            mm.env.sleep(5_000).await;
        }
    });
    assert!(done.is_some(), "the stream came to a halt");
}

fn each_preset(test: impl Fn(&'static str, Policy)) {
    for preset in PRESETS {
        test(preset.name, policy(preset.name, |_| ()));
    }
}

#[test]
fn keeps_a_streaming_reader_off_direct_reclaim_in_every_preset() {
    each_preset(|name, policy| {
        let mut machine = TestMachine::with_daemons(policy, 32);
        stream(&mut machine, 4 * 32 * MIB);
        // Under defrag_mode kswapd may be at work for blocks when base pages run out; that is rare.
        assert!(machine.allocstalls() <= 1, "{name}: {} direct reclaims", machine.allocstalls());
        assert!(machine.counter(Counter::PgstealKswapd) > 2 * u64::from(32 * MIB), "{name}");
        machine.run_for(1_000 * MS);
        let (free, low) = (machine.free(), machine.mark(AllocFlags::WMARK_LOW));
        // The refill of a per-CPU list tests the mark once for a whole batch.
        assert!(free + 64 > low, "{name}: {free} pages free, low {low}");
        let high = machine.mark(AllocFlags::WMARK_HIGH);
        assert!(free < high + u64::from(16 * MIB), "{name}: {free} pages free, high {high}");
        machine.check();
    });
}

#[test]
fn tasks_reclaim_for_themselves_without_kswapd() {
    for name in ["linux-3.12", "linux-4.6", "linux-4.20", "linux-5.0", "linux-6.1", "linux-6.18"] {
        let mut machine = TestMachine::new(policy(name, |_| ()), 64);
        stream(&mut machine, 2 * 64 * MIB);
        assert!(machine.allocstalls() > 0, "{name}");
        assert_eq!(machine.counter(Counter::PgstealKswapd), 0, "{name}");
        assert!(machine.counter(Counter::PgstealDirect) > u64::from(48 * MIB), "{name}");
        assert_eq!(machine.watched(|seen| seen.failures), 0, "{name}");
        machine.check();
    }
}

/// kswapd's failures before and after direct reclaim for one page, while all page cache is used all the time and once it no longer is.
fn failures_around_direct_reclaim(name: &str, generations: u64) -> [u32; 2] {
    let mut policy = policy(name, |_| ());
    policy.set_sysctl("lru_gen/enabled", generations).expect("a kernel with generations");
    let mut machine = TestMachine::with_daemons(policy, 32);
    machine.mm.state.borrow_mut().owner.referenced = true;
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::MAPPED, 1);
    let ask = |machine: &mut TestMachine| {
        let mm = machine.mm.clone();
        let request = request(0, Gfp::KERNEL | Gfp::NORETRY);
        machine.complete(1_000 * MS, async move { mm.alloc_pages(&request, &task(2)).await });
        machine.mm.state.borrow().kswapd_failures(NODE)
    };
    ask(&mut machine);
    machine.run_for(10_000 * MS);
    let given_up = machine.mm.state.borrow().kswapd_failures(NODE);
    machine.mm.state.borrow_mut().owner.referenced = false;
    [given_up, ask(&mut machine)]
}

#[test]
fn a_node_that_was_given_up_is_taken_up_again_on_progress_and_from_7_1_on_once_it_is_balanced() {
    for (name, generations, expected) in [
        ("linux-6.12", 0, [16, 0]),
        ("linux-6.19", 0, [16, 0]),
        ("linux-7.1", 0, [16, 16]),
        ("linux-7.3", 0, [16, 16]),
        ("linux-7.3", 7, [16, 16]),
    ] {
        assert_eq!(failures_around_direct_reclaim(name, generations), expected, "{name}, {generations}");
    }
}

#[test]
fn in_6_6_kswapd_never_gives_up_on_generations() {
    let given_up = |generations| failures_around_direct_reclaim("linux-6.6", generations)[0];
    assert_eq!([given_up(0), given_up(7)], [16, 1]);
}

/// With free memory between low and high, and kswapd asleep: does a call reach it?
fn hears_call_between_marks(name: &'static str) -> bool {
    let wide = |policy: &mut Policy| policy.sysctl.min_free_kbytes = Some(8192);
    let mut machine = TestMachine::with_daemons(policy(name, wide), 64);
    let pages = fill(&machine, PageFlags::NONE, 1);
    // Just above low: the state that 3.11 overlooks.
    let low = machine.mark(AllocFlags::WMARK_LOW);
    let mut taken = pages.iter();
    while machine.free() <= low + 8 {
        free_page(&machine, *taken.next().unwrap());
        machine.mm.state.borrow_mut().alloc.drain_all_pages(None);
    }
    assert!(machine.free() < machine.mark(AllocFlags::WMARK_HIGH));
    machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
    machine.run_for(50 * MS);
    machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::VmscanWakeupKswapd { .. }))) > 0
}

#[test]
fn linux_3_11_misses_a_wakeup_that_3_12_hears() {
    assert!(!hears_call_between_marks("linux-3.11"));
    assert!(hears_call_between_marks("linux-3.12"));
    assert!(hears_call_between_marks("linux-4.6"));
    assert!(hears_call_between_marks("linux-6.18"));
}

#[test]
fn up_to_3_10_the_pressure_rises_to_the_last_priority() {
    for (name, expected) in [("linux-3.10", 0), ("linux-3.11", 1), ("linux-4.6", 1)] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 64);
        fill(&machine, PageFlags::PINNED, 1);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(10_000 * MS);
        let lowest = machine.watched(|seen| {
            let priority = |event: &MmEvent| match event {
                MmEvent::VmscanLruShrinkInactive { priority, .. } => Some(*priority),
                _ => None,
            };
            seen.mm.iter().filter_map(priority).min()
        });
        assert_eq!(lowest, Some(expected), "{name}");
        let (scanned, all) = (machine.counter(Counter::PgscanKswapd), u64::from(64 * MIB));
        assert!(scanned < 20 * all, "{name}: a hopeless zone ends the run, {scanned} pages of {all} scanned");
    }
}

#[test]
fn up_to_3_10_a_round_begins_anew_once_it_has_pages() {
    for (name, anew) in [("linux-3.10", true), ("linux-3.11", false)] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 64);
        fill(&machine, PageFlags::NONE, 1);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(10_000 * MS);
        let high = machine.mark(AllocFlags::WMARK_HIGH);
        assert!(machine.free() >= high, "{name}: {} pages free, high {high}", machine.free());
        let wakes = machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::VmscanKswapdWake { .. })));
        assert_eq!(machine.counter(Counter::Pageoutrun) > wakes as u64, anew, "{name}");
    }
}

/// Pages that kswapd reclaims for a block of the largest order, where there is enough free memory for compaction but no such block can come
/// about. Passes end once they have what they set out for; those of these kernels would go on until they have twice the block.
fn reclaimed_for_a_block_in_vain(name: &'static str) -> u64 {
    let short_passes = policy(name, |policy| policy.reclaim.continues = ContinueReclaim::WhileInactive);
    let mut machine = TestMachine::with_daemons(short_passes, 64);
    let pages = fill(&machine, PageFlags::NONE, 1);
    let mut state = machine.mm.state.borrow_mut();
    pages.iter().filter(|page| page.0 % 8 == 0).for_each(|page| state.pages.add_flags(*page, PageFlags::PINNED));
    drop(state);
    pages.iter().filter(|page| page.0 % 4 == 1).for_each(|page| free_page(&machine, *page));
    machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 10, ZoneType::Normal);
    machine.run_for(1_000 * MS);
    machine.counter(Counter::PgstealKswapd)
}

#[test]
fn up_to_4_11_each_pass_has_to_reclaim_enough_to_leave_the_rest_to_compaction() {
    let [of_a_pass, of_the_run] = ["linux-4.9-rc1", "linux-4.20"].map(reclaimed_for_a_block_in_vain);
    // Twice the block is enough; a pass sets out for the high mark, some hundred pages.
    assert!((2_048..4_096).contains(&of_the_run), "{of_the_run} pages");
    assert!(of_a_pass > 2 * of_the_run, "{of_a_pass} pages, {of_the_run} where the whole run counts");
}

#[test]
fn a_boosted_run_takes_the_boost_back() {
    for name in ["linux-5.0", "linux-6.1", "linux-6.18"] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
        // Blocks half full of file pages, so that an unmovable request has to claim one.
        let pages = fill(&machine, PageFlags::NONE, 1);
        for page in pages.iter().filter(|page| page.0 % 4 == 0) {
            free_page(&machine, *page);
        }
        let mm = machine.mm.clone();
        let page = machine.complete(1_000 * MS, async move { kernel_page(&mm, 0, 1).await });
        assert!(page.flatten().is_some(), "{name}");
        assert!(machine.watched(|seen| !seen.extfrag.is_empty()), "{name}: no fallback");
        machine.run_for(1_000 * MS);
        assert_eq!(machine.mm.state.borrow().alloc.boost(ZONE), 0, "{name}: the boost is still there");
        // All free pages are above the mark: there is nothing to reclaim for but the boost.
        assert!(machine.counter(Counter::PgstealKswapd) > 0, "{name}: nothing was reclaimed");
        assert!(machine.counter(Counter::Pageoutrun) > 0, "{name}: kswapd was not woken");
    }
}

/// A boost is worth dropping clean page cache, not writing or swapping (9.6.3).
#[test]
fn a_run_for_a_boost_alone_leaves_anonymous_memory_alone() {
    for name in ["linux-5.0", "linux-6.1", "linux-6.18"] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
        let mut state = machine.mm.state.borrow_mut();
        state.owner.swap = 100_000;
        for number in 0..40_000 {
            let movable = request(0, Gfp::HIGHUSER_MOVABLE);
            let page = state.alloc.get_page_from_freelist(&movable, AllocFlags::NO_WATERMARKS).expect("there is room");
            let tag = state.owner.adopt(page, 0, 1);
            // Page cache that is mostly active is not what reclaim trims before all else (10.5).
            let flags = [PageFlags::NONE, PageFlags::ACTIVE, PageFlags::ACTIVE, PageFlags::ANON][number % 4];
            state.lru_add(page, flags, tag);
        }
        state.alloc.fast_boost(ZONE);
        drop(state);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(1_000 * MS);
        assert!(machine.counter(Counter::PgstealKswapd) > 0, "{name}: nothing was reclaimed");
        assert_eq!([Counter::PgscanAnon, Counter::PswpOut].map(|what| machine.counter(what)), [0; 2], "{name}");
        let (mm, kernel) = (machine.mm.clone(), request(0, Gfp::KERNEL));
        machine.complete(1_000 * MS, async move { mm.try_to_free_pages(&kernel, &task(2)).await });
        assert!(machine.counter(Counter::PgscanAnon) > 0, "{name}: who reclaims for a request does scan them");
    }
}

/// Where there is nothing to reclaim, a run for a boost has no page; since 6.19 that says nothing of the node (9.6.10).
#[test]
fn up_to_6_18_a_fruitless_run_for_a_boost_counts_as_a_failure() {
    for (name, failures) in [("linux-6.1", 1), ("linux-6.18", 1), ("linux-6.19", 0)] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
        machine.mm.state.borrow_mut().alloc.fast_boost(ZONE);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        machine.run_for(1_000 * MS);
        assert_eq!(machine.counter(Counter::Pageoutrun), 1, "{name}");
        assert_eq!(machine.mm.state.borrow().kswapd_failures(NODE), failures, "{name}");
    }
}

#[test]
fn the_posted_series_leaves_what_a_refill_boosts_after_it_woke_kswapd() {
    for (name, stays) in [("linux-4.20+patch3", true), ("linux-5.0", false)] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 256);
        machine.run_for(1_000 * MS);
        let raise = |machine: &TestMachine| machine.mm.state.borrow_mut().alloc.fast_boost(ZONE);
        raise(&machine);
        machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
        raise(&machine);
        machine.run_for(1_000 * MS);
        assert!(machine.counter(Counter::Pageoutrun) > 0, "{name}: kswapd was not woken");
        let left = machine.mm.state.borrow().alloc.boost(ZONE);
        assert_eq!(left, if stays { 512 } else { 0 }, "{name}");
    }
}

#[test]
fn a_run_that_nobody_asked_for_forgets_its_zones_up_to_5_2() {
    for (name, forgets) in [("linux-4.20+patch3", true), ("linux-6.1", false)] {
        let mut machine = TestMachine::with_daemons(policy(name, |_| ()), 2_560);
        machine.run_for(1_000 * MS);
        machine.mm.state.borrow_mut().alloc.fast_boost(ZONE);
        machine.mm.env.wake(Queue::Kswapd(NodeId(0)));
        machine.run_for(1_000 * MS);
        assert!(machine.counter(Counter::Pageoutrun) > 0, "{name}: kswapd was not woken");
        let left = machine.mm.state.borrow().alloc.boost(ZONE);
        assert_eq!(left > 0, forgets, "{name}: {left} pages of boost are left");
    }
}

/// What became of anonymous memory that is swapped out to a device that takes `write` ns for a page.
fn swapped_out(name: &str, write: u64) -> [u64; 4] {
    let mut policy = policy(name, |_| ());
    policy.set_sysctl("lru_gen/enabled", 7).expect("a kernel with generations");
    policy.set_sysctl("swappiness", 200).expect("within its range");
    let mut machine = TestMachine::new(policy, 32);
    machine.mm.env.set_costs(Costs { write, ..Costs::default() });
    machine.mm.state.borrow_mut().owner.swap = 100_000;
    fill_to(&machine, AllocFlags::WMARK_MIN, PageFlags::ANON.with(PageFlags::MAPPED).with(PageFlags::DIRTY), 1);
    let (mm, request) = (machine.mm.clone(), request(0, Gfp::KERNEL));
    machine.complete(1_000 * MS, async move { mm.try_to_free_pages(&request, &task(2)).await });
    machine.check();
    [Counter::PswpOut, Counter::PgscanAnon, Counter::PgstealAnon, Counter::Pgrotated].map(|what| machine.counter(what))
}

#[test]
fn pages_whose_writes_end_while_their_batch_is_judged_leave_with_it() {
    for name in ["linux-6.1", "linux-6.6", "linux-6.14", "linux-6.18", "linux-7.3"] {
        let [written, scanned, reclaimed, rotated] = swapped_out(name, 10);
        assert!(written >= 32, "{name}");
        assert_eq!([scanned, reclaimed, rotated], [written, written, 0], "{name}: all in time, scanned once");
        let [written, scanned, reclaimed, rotated] = swapped_out(name, 100_000);
        assert_eq!(scanned, written + reclaimed, "{name}: those written too late are scanned a second time");
        assert!(rotated > 0, "{name}: {written} {reclaimed}");
    }
}
