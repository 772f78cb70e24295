//! Proactive compaction: when does it begin, and where does it stop? (11.14, 11.16)

use crate::support::*;
use mm::compaction::CompactResult;
use mm::{MmEvent, PageFlags};
use pagealloc::policy::PRESETS;
use pagealloc::{Counter, Gfp, ZoneType};

const SECOND: u64 = 1_000 * MS;
/// Blocks of [`scattered`].
const BLOCKS: u32 = 32;

/// A zone of 32 blocks with daemons asleep, every second page of it free: each whole block lowers the score by a sixteenth.
fn scattered(name: &str, proactiveness: u32, flags: PageFlags) -> TestMachine {
    let policy = policy(name, |policy| policy.sysctl.compaction_proactiveness = proactiveness);
    let mut machine = TestMachine::new(policy, 2 * BLOCKS);
    // Pages on a CPU's list would not be free memory.
    machine.mm.state.borrow_mut().alloc.set_pcp_limits(ZONE, 1, 0, 0);
    populate(&machine, 0, |page| (page.0 % 2 == 0).then_some(flags));
    machine.start_daemons();
    machine
}

/// The fragmentation score of the zone for huge pages.
fn score(machine: &TestMachine) -> u32 {
    let state = machine.mm.state.borrow();
    state.alloc.fragmentation_score(ZONE, state.alloc.geometry.pmd_order)
}

fn runs(machine: &TestMachine) -> usize {
    machine.watched(|seen| seen.count(|event| matches!(event, MmEvent::CompactionBegin { .. })))
}

fn results(machine: &TestMachine) -> Vec<CompactResult> {
    let result = |event: &MmEvent| match event {
        MmEvent::CompactionEnd { status, .. } => Some(*status),
        _ => None,
    };
    machine.watched(|seen| seen.mm.iter().filter_map(result).collect())
}

fn proactive_kernels() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name).filter(|name| policy(name, |_| ()).kswapd.proactive_compaction)
}

/// The score when a run has ended with success.
fn score_after_a_run(name: &str, proactiveness: u32) -> u32 {
    let mut machine = scattered(name, proactiveness, PageFlags::ANON);
    assert_eq!(score(&machine), 100, "{name}");
    machine.run_for(2 * SECOND);
    leaves_nothing_behind(&machine);
    assert_eq!(results(&machine), [CompactResult::Success], "{name}");
    score(&machine)
}

/// Once four blocks of the sixteen that the free pages would fill are whole, three quarters of these pages are outside of such blocks.
#[test]
fn a_run_ends_with_success_as_soon_as_the_score_is_no_longer_above_the_low_mark() {
    // Marks 75 and 85, and then 74 and 84, for which a fifth block is needed.
    assert!(proactive_kernels().count() > 0);
    for name in proactive_kernels() {
        let scores = [25, 26].map(|proactiveness| score_after_a_run(name, proactiveness));
        assert_eq!(scores, [75, 68], "{name}");
    }
}

/// A node whose score is 99: it is the zones' weighted by size, over one more page than there is.
#[test]
fn a_run_begins_above_the_high_mark_and_not_at_it() {
    // High marks of 99 and 98.
    for (proactiveness, expected) in [(11, 0), (12, 1)] {
        let mut machine = scattered("linux-6.18", proactiveness, PageFlags::ANON);
        assert_eq!(machine.mm.state.borrow().fragmentation_score_node(NODE), 99);
        machine.run_for(SECOND);
        assert_eq!(runs(&machine), expected, "vm.compaction_proactiveness={proactiveness}");
    }
}

/// Wakes kswapd, which then takes for ever over its first step.
fn have_kswapd_run(machine: &TestMachine) {
    machine.mm.env.set_costs(Costs { resched: 3_600 * SECOND, ..Costs::default() });
    machine.mm.state.borrow_mut().alloc.fast_boost(ZONE);
    machine.mm.wakeup_kswapd(ZONE, Gfp::KERNEL, 0, ZoneType::Normal);
}

#[test]
fn no_run_begins_while_kswapd_runs() {
    let mut machine = scattered("linux-6.18", 20, PageFlags::ANON);
    have_kswapd_run(&machine);
    machine.run_for(5 * SECOND);
    assert_eq!((runs(&machine), machine.counter(Counter::Pageoutrun)), (0, 1));
}

/// What kswapd frees may be all that is needed, and it wants the CPU and the locks (11.14.2).
#[test]
fn a_run_gives_way_to_kswapd_before_its_next_block() {
    let mut machine = scattered("linux-6.18", 20, PageFlags::ANON);
    while machine.counter(Counter::PgmigrateSuccess) == 0 {
        machine.run_for(MS / 100);
    }
    assert_eq!(results(&machine), [], "it is amid its first block");
    have_kswapd_run(&machine);
    machine.run_for(5 * SECOND);
    assert_eq!(results(&machine), [CompactResult::PartialSkipped]);
    assert!(score(&machine) > 80, "the low mark was reached all the same");
    let moved = machine.counter(Counter::PgmigrateSuccess);
    assert!(moved <= 256, "{moved} pages moved, more than the block had");
}

/// Half a second until the next look; 64 times as long after a run that has not lowered the score.
#[test]
fn after_a_run_in_vain_the_next_one_is_32_seconds_away() {
    let mut machine = scattered("linux-6.18", 20, PageFlags::ANON.with(PageFlags::PINNED));
    machine.run_for(31 * SECOND);
    assert_eq!((runs(&machine), results(&machine)), (1, vec![CompactResult::Complete]));
    machine.run_for(3 * SECOND);
    assert_eq!(runs(&machine), 2);
    machine.run_for(30 * SECOND);
    assert_eq!(runs(&machine), 2);
}
