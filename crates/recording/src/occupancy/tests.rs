use super::frames::{Frames, Use};
use crate::pagelog::{StartCached, StartFrame, StartState, StartUse};
use crate::proc::pagestate::{Frame, PageState};
use pagealloc::{CpuId, Geometry, Machine, Migratetype, Pfn};

fn start() -> StartState {
    StartState {
        machine: Machine::uniform(Geometry::PAGES_4K, 1, 2048, false),
        zones: Vec::new(),
        free: vec![(Pfn(1024), 10)],
        pcp: vec![StartCached { pfn: Pfn(512), order: 0, cpu: CpuId(0) }],
        used: vec![StartFrame { pfn: Pfn(0), order: 9, object: 0, place: StartUse::Kernel }],
        blocks: vec![Migratetype::Unmovable; 4],
    }
}

fn bytes(frames: &Frames) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.bytes(&mut bytes);
    bytes
}

#[test]
fn blocks_fill_and_empty_with_their_pages() {
    let mut frames = Frames::new(&start());
    assert_eq!(frames.blocks(), 4);
    assert_eq!(bytes(&frames), [3 << 6, 1 << 2, 3 << 2, 3 << 2]);
    frames.set(1024u64.into(), 9, Use::Movable);
    frames.set_type(2, Migratetype::Movable);
    frames.set(1536u64.into(), 0, Use::Pinned);
    assert_eq!(bytes(&frames), [3 << 6, 1 << 2, 1 | 3 << 4, 3 << 2 | 1 << 6]);
    // What compaction moves without saying where takes free pages of the block, until it leaves.
    frames.arrived(3, 300);
    assert_eq!(bytes(&frames)[3], 2 << 2 | 2 << 4 | 1 << 6);
    frames.left_unseen(1600, 8);
    frames.left_unseen(1600, 8);
    assert_eq!(bytes(&frames)[3], 3 << 2 | 1 << 6);
}

#[test]
fn frames_beyond_memory_and_absurd_orders_do_no_harm() {
    let mut frames = Frames::new(&start());
    let before = bytes(&frames);
    frames.set(u64::MAX.into(), 14, Use::Pinned);
    frames.arrived(1 << 20, u16::MAX);
    frames.left_unseen(u64::MAX, 0);
    frames.set_type(1 << 20, Migratetype::Cma);
    assert_eq!((bytes(&frames), frames.of(u64::MAX), frames.order(u64::MAX)), (before, Use::Absent, 0));
}

#[test]
fn a_snapshot_sets_all_right() {
    let mut frames = Frames::new(&start());
    frames.arrived(2, 100);
    let mut snapshot = vec![Frame { state: PageState::Tail, order: 0 }; 2048];
    snapshot[0] = Frame { state: PageState::FreeHead, order: 9 };
    snapshot[1024] = Frame { state: PageState::Anonymous, order: 9 };
    snapshot[1536] = Frame { state: PageState::FreeHead, order: 9 };
    frames.take(&snapshot);
    assert_eq!(bytes(&frames), [3 << 2, 1 << 2, 3 << 4, 3 << 2]);
}
