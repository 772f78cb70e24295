//! One call of direct compaction.

use super::{MS, TestMachine, request, task};
use mm::compaction::{CompactPriority, CompactResult};
use pagealloc::{AllocFlags, FrameState, Gfp, Pfn};

/// No test's compaction takes longer.
const LIMIT: u64 = 60_000 * MS;

/// Direct compaction of the only zone, and all that must hold afterwards.
pub fn compact(
    machine: &mut TestMachine,
    order: u8,
    gfp: Gfp,
    priority: CompactPriority,
) -> (CompactResult, Option<Pfn>) {
    let mm = machine.mm.clone();
    let held = machine.mm.state.borrow().owner.held_by(1);
    let run = async move { mm.try_to_compact_pages(&request(order, gfp), AllocFlags::NONE, priority, &task(2)).await };
    let answer = machine.complete(LIMIT, run).expect("compaction ends");
    leaves_nothing_behind(machine);
    assert_eq!(machine.mm.state.borrow().owner.held_by(1), held, "no page is lost");
    answer
}

pub fn leaves_nothing_behind(machine: &TestMachine) {
    machine.check();
    let state = machine.mm.state.borrow();
    let temporary = |pfn: &Pfn| matches!(state.alloc.frames.state(*pfn), FrameState::TARGET | FrameState::ISOLATED);
    assert_eq!((0..state.alloc.frames.len()).map(Pfn).find(temporary), None, "a target or isolated page was left");
}
