//! Huge pages that go in parts, from the trace to the replay.

mod common;

use common::fixture;
use pagealloc::policy::preset;
use recording::Recording;
use recording::container::read_file;
use recording::pagelog::{OpKind, PageLog, normalise};
use recording::replay::{ReplayOptions, Replayed, replay};
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Head of the huge page.
const HEAD: u64 = 0x8000;
/// The task that has it, and another one.
const OWNER: u64 = 2;
const OTHER: u64 = 3;

/// A trace, a microsecond an event, behind the start snapshot.
struct Trace(String, u64);

impl Trace {
    fn new() -> Trace {
        let mark = |us: u64, text: &str| format!("x-1 [000] 1.{us:06}: tracing_mark_write: {text}\n");
        let mut trace =
            Trace(mark(0, "SNAP start begin") + &mark(1, "SNAP start end") + &mark(2, "TICK 0 end"), 1_000_010);
        // The trace tells of batches.
        trace.says(OTHER, "mm_page_free_batched: page=x pfn=0x1");
        let huge = format!("mm_page_alloc: page=x pfn={HEAD:#x} order=9 migratetype=1 gfp_flags=GFP_TRANSHUGE");
        trace.says(OWNER, &huge);
        trace
    }

    fn says(&mut self, pid: u64, event: &str) {
        self.1 += 1;
        self.0 += &format!("x-{pid} [000] {}.{:06}: {event}\n", self.1 / 1_000_000, self.1 % 1_000_000);
    }

    fn pause(&mut self) {
        self.1 += 200_000;
    }

    fn frees(&mut self, pid: u64, parts: std::ops::Range<u64>) {
        for part in parts {
            self.says(pid, &format!("mm_page_free: page=x pfn={:#x} order=0", HEAD + part));
        }
    }

    /// Frees some parts inside reclaim.
    fn reclaims(&mut self, pid: u64, parts: std::ops::Range<u64>, in_batch: bool) {
        self.says(pid, "mm_vmscan_direct_reclaim_begin: order=0 gfp_flags=GFP_KERNEL");
        self.frees(pid, parts.clone());
        for part in parts.filter(|_| in_batch) {
            self.says(pid, &format!("mm_page_free_batched: page=x pfn={:#x}", HEAD + part));
        }
        self.says(pid, "mm_vmscan_direct_reclaim_end: nr_reclaimed=0");
    }

    fn replayed(mut self) -> (Arc<PageLog>, Replayed) {
        self.says(1, "tracing_mark_write: TICK 1 end");
        let dir = tempfile::tempdir().expect("a temporary directory");
        for part in ["snap.tar.xz", "meta.tar.xz"] {
            fs::copy(fixture("tiny").join(part), dir.path().join(part)).expect("copied");
        }
        let ticks = read_file(&fixture("tiny/ticks.txt.xz")).expect("shipped");
        fs::write(dir.path().join("ticks.txt"), ticks).expect("written");
        // The marks of these traces follow each other faster than a snapshot is taken.
        fs::write(dir.path().join("start.mono_ns"), "5238681252 5238681300\n").expect("written");
        fs::write(dir.path().join("trace.txt"), self.0).expect("written");
        let log = Arc::new(normalise(&Recording::open(dir.path()).expect("readable")).expect("complete").log);
        let policy = preset("linux-6.18").expect("a preset");
        let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: true, sampling: None };
        let replayed = replay(&log, &options, &mut |_| ControlFlow::Continue(())).expect("a sound replay");
        (log, replayed)
    }
}

fn count(log: &PageLog, kind: OpKind) -> usize {
    log.ops.iter().filter(|op| op.kind == kind).count()
}

fn splits(replayed: &Replayed) -> u64 {
    replayed.outcome.counters["thp_split_page"]
}

/// Free pages at the end, without those on per-CPU lists.
fn free_pages(replayed: &Replayed) -> u64 {
    let by_type = replayed.outcome.zones.iter().flat_map(|zone| zone.free);
    by_type.flat_map(|orders| orders.into_iter().enumerate()).map(|(order, blocks)| blocks << order).sum()
}

#[test]
fn what_was_unmapped_is_free_when_the_kernel_splits_the_page() {
    let mut trace = Trace::new();
    trace.pause();
    trace.reclaims(OTHER, 0..256, false);
    trace.pause();
    let (log, replayed) = trace.replayed();
    assert_eq!(
        (count(&log, OpKind::FreePart), count(&log, OpKind::Free), log.attribution.frees_of_parts),
        (256, 0, 256)
    );
    let owner = log.ops.iter().find(|op| op.kind == OpKind::ThpFault).expect("a fault").task;
    assert!(log.ops.iter().all(|op| op.kind != OpKind::FreePart || op.task == owner), "not whoever reclaims");
    assert_eq!(splits(&replayed), 1);
}

#[test]
fn the_rest_goes_with_its_own_frees() {
    let mut whole = Trace::new();
    whole.pause();
    whole.frees(OWNER, 0..512);
    let mut parts = Trace::new();
    parts.pause();
    parts.reclaims(OTHER, 0..256, false);
    parts.pause();
    parts.frees(OWNER, 256..512);
    let ((at_once, whole), (log, parts)) = (whole.replayed(), parts.replayed());
    assert_eq!((count(&at_once, OpKind::Free), splits(&whole)), (1, 0), "a split that shows in nothing else");
    assert_eq!((count(&log, OpKind::FreePart), count(&log, OpKind::Free), splits(&parts)), (256, 256, 1));
    let kept = free_pages(&whole).abs_diff(free_pages(&parts));
    assert!(kept < 256, "{kept} pages are on per-CPU lists, or were kept");
}

#[test]
fn what_reclaim_swapped_out_is_left_to_the_models() {
    let mut trace = Trace::new();
    trace.pause();
    trace.reclaims(OTHER, 0..12, true);
    trace.pause();
    trace.frees(OWNER, 12..512);
    let (log, replayed) = trace.replayed();
    assert_eq!((count(&log, OpKind::FreePart), count(&log, OpKind::Free), splits(&replayed)), (0, 1, 0));
}

/// Compaction takes free frames without an event: the page that moved there, and that reclaim frees in a batch, is another one.
#[test]
fn a_frame_that_is_freed_once_more_held_another_page() {
    let mut trace = Trace::new();
    trace.pause();
    trace.reclaims(OTHER, 0..256, false);
    trace.reclaims(OTHER, 0..256, true);
    let (log, _) = trace.replayed();
    assert_eq!(count(&log, OpKind::FreePart), 256);
}
