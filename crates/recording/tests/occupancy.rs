//! How right the block map of a recorded kernel is between its snapshots.

mod common;

use lab::timeline::Sampling;
use recording::occupancy::kernel_timeline;
use recording::pagelog::normalise;
use recording::{Edge, Event, Mark, Recording};

/// The map is looked at so often.
const SAMPLING: Sampling = Sampling { numbers: 1_000_000_000, map: 50_000_000 };

/// Trace times at which a snapshot after the start ended.
fn snapshots(recording: &Recording) -> Vec<u64> {
    let trace = recording.page_trace().expect("a trace");
    let ends = trace.records().expect("readable").filter_map(|record| {
        let record = record.expect("undamaged");
        let Event::Marker(marker) = &record.event else { return None };
        let Some(Mark::Snap(tag, Edge::End)) = marker.mark() else { return None };
        (tag != "start" && recording.snapshots.contains_key(tag)).then_some(record.ts_ns)
    });
    ends.collect()
}

/// Types, and blocks whose every share is at most one third off, as inferred just before a snapshot and as it told: the figures
/// in docs/view-format.md.
#[test]
fn what_is_inferred_is_near_what_the_next_snapshot_tells() {
    let Some(path) = common::recording("m512-d0-s1") else { return };
    let recording = Recording::open(&path).expect("readable");
    let normalised = normalise(&recording).expect("complete");
    let (log, kernel) = (&normalised.log, &normalised.kernel);
    let within = |end: &u64| *end > log.window.0 && *end <= log.window.1;
    let end = snapshots(&recording).into_iter().find(within).expect("a snapshot in the window");
    let timeline = kernel_timeline(&recording, log, kernel, SAMPLING).expect("readable");
    let (mut inferred, mut told) = (Vec::new(), Vec::new());
    let mut times = timeline.map.times();
    timeline.map.replay(|_, whole| match times.next() {
        Some(time) if time <= end => inferred = whole.to_vec(),
        _ if told.is_empty() => told = whole.to_vec(),
        _ => {}
    });
    let share = |byte: u8, shift: u8| i32::from(byte >> shift & 3);
    let off = |shift: u8| inferred.iter().zip(&told).map(move |(a, b)| (share(*a, shift) - share(*b, shift)).abs());
    let right = |shift: u8| off(shift).filter(|off| *off == 0).count();
    println!("right: types {}, free {}, movable {}, pinned {}", right(0), right(2), right(4), right(6));
    assert_eq!((inferred.len(), right(0)), (256, 256), "ticks and events tell all types");
    let near =
        off(2).zip(off(4)).zip(off(6)).filter(|((free, movable), pinned)| (*free).max(*movable).max(*pinned) <= 1);
    let near = near.count();
    println!("all shares within a third: {near}");
    assert!(near >= 218, "only {near} of 256 blocks are near what the snapshot tells");
}
