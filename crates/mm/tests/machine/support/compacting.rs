//! One call of direct compaction, and memory for it to work on.

use super::{CPU, MS, TestMachine, request, task};
use mm::PageFlags;
use mm::compaction::{CompactPriority, CompactResult};
use pagealloc::{AllocFlags, FrameState, Gfp, Pfn};

/// No test's compaction takes longer.
const LIMIT: u64 = 60_000 * MS;

/// Hands out all pages that are left, of one order, in the allocator's turn. Those that `flags` has flags for are a user's, on the LRU; all
/// others are free again.
pub fn populate(machine: &TestMachine, order: u8, mut flags: impl FnMut(Pfn) -> Option<PageFlags>) {
    let mut state = machine.mm.state.borrow_mut();
    let gfp = if order > 0 { Gfp::HIGHUSER_MOVABLE | Gfp::COMP } else { Gfp::HIGHUSER_MOVABLE };
    let request = request(order, gfp);
    let mut others = Vec::new();
    while let Some(page) = state.alloc.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS) {
        match flags(page) {
            Some(flags) => {
                let tag = state.owner.adopt(page, order, 1);
                state.lru_add(page, flags, tag);
            }
            None => others.push(page),
        }
    }
    for page in others {
        state.alloc.free(page, CPU);
    }
    state.alloc.drain_all_pages(None);
}

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
