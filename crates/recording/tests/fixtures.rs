//! The shipped fixtures are read as what they are.

mod common;

use common::{fixture, tiny_trace};
use recording::gfp::GfpNames;
use recording::pagelog::normalise;
use recording::replay::{ReplayError, ReplayOptions, recorded_policy, replay};
use recording::{CutPoint, Event, EventKind, Mark, Record, Recording, Trace, TraceDat};
use std::ops::ControlFlow;
use std::sync::Arc;

#[test]
fn a_directory_is_a_recording_with_all_its_parts() {
    let recording = Recording::open(fixture("tiny")).unwrap();
    assert_eq!(recording.kernel_version.as_deref(), Some("6.18.15+deb13-cloud-amd64"));
    assert_eq!((recording.cpus, recording.frames()), (Some(2), Some(131_072)));
    assert_eq!(recording.setting("vm.defrag_mode"), Some("0"));
    assert_eq!(recording.setting("transparent_hugepage/defrag"), Some("madvise"));
    assert_eq!(recording.setting("lru_gen/enabled"), Some("0x0000"));
    assert_eq!(recording.cut_tag.as_deref(), Some("0.1s"));
    assert_eq!((recording.ticks.len(), recording.ticks[0].pageblocks.len()), (1, 256));
    let start = &recording.snapshots["start"];
    assert_eq!(start.pages_in_use(), Some(24_250));
    assert_eq!(start.zoneinfo.as_ref().unwrap().managed(), 3840 + 114_635);
    assert_eq!(start.mono_ns, Some((5_238_681_252, 5_364_326_871)));
    assert!(recording.has_rare_trace() && recording.rare_trace().is_ok());
}

#[test]
fn the_trace_holds_what_trace_cmd_reports() {
    // Counts and the first event as `trace-cmd report` shows them for this file.
    let recording = Recording::open(fixture("tiny")).unwrap();
    let inspection = recording.inspect().unwrap();
    let count = |kind: EventKind| inspection.events[kind.name()];
    assert_eq!(count(EventKind::PageAlloc), 4616);
    assert_eq!(count(EventKind::PageAllocZoneLocked), 3403);
    assert_eq!(count(EventKind::PagePcpuDrain), 95);
    assert_eq!(count(EventKind::Marker), 5);
    assert_eq!(inspection.lost.gaps, 0);
    let first = recording.page_trace().unwrap().records().unwrap().next().unwrap().unwrap();
    assert_eq!((first.ts_ns, first.cpu, first.pid), (5_253_475_655, 0, 151));
    let Event::PageAlloc(alloc) = first.event else { panic!("{first:?}") };
    assert_eq!((alloc.pfn, alloc.order, alloc.migratetype), (Some(0x56e7), 0, 0));
    assert_eq!(alloc.gfp_flags, 0x44_0dc0);
}

#[test]
fn the_trace_says_what_its_gfp_bits_mean() {
    let trace = TraceDat::from_bytes("tiny", tiny_trace()).unwrap();
    let format = trace.formats().iter().find(|format| &*format.name == "mm_page_alloc").unwrap();
    let mut names = GfpNames::default();
    let flags = format.flags("gfp_flags");
    for (bits, name) in flags.iter().filter(|(_, name)| &**name != "__GFP_NO_OBJ_EXT") {
        assert_eq!(names.bits(name.as_bytes()), *bits, "{name}");
    }
    assert_eq!((flags.len(), names.unknown().len()), (38, 0));
}

#[test]
fn marks_are_in_the_trace_and_comms_have_names() {
    let trace = TraceDat::from_bytes("tiny", tiny_trace()).unwrap();
    let records: Vec<Record> = trace.records().unwrap().collect::<Result<_, _>>().unwrap();
    assert!(records.is_sorted_by_key(|record| record.ts_ns));
    let marks = records.iter().filter_map(|record| match &record.event {
        Event::Marker(marker) => marker.mark().map(|mark| matches!(mark, Mark::Snap("start", _))),
        _ => None,
    });
    assert_eq!(marks.filter(|is_start| *is_start).count(), 2);
    assert_eq!((trace.version(), trace.comm(151)), (6, Some("fragrec")));
}

#[test]
fn zstd_sections_of_version_7_are_unpacked() {
    let Trace::Dat(trace) = Trace::open(fixture("zstd.dat")).unwrap() else { panic!("text") };
    assert_eq!((trace.version(), trace.main_buffer().cpus().count()), (7, 2));
    let records = trace.records().unwrap().map(Result::unwrap);
    let extfrag = records.filter(|record| matches!(record.event, Event::PageAllocExtfrag(_)));
    // The recording's own table counts 396 below order 9 and 18 others.
    assert_eq!(extfrag.count(), 414);
}

#[test]
fn text_gives_the_same_kinds_of_records() {
    let recording = Recording::open(fixture("rare.trace")).unwrap();
    let inspection = recording.inspect().unwrap();
    assert_eq!(inspection.events["mm_vmscan_kswapd_wake"], 1);
    assert!(inspection.unknown_gfp.is_empty() && recording.snapshots.is_empty());
}

#[test]
fn a_cut_holds_every_event_up_to_its_time_and_can_be_cut_again() {
    let trace = TraceDat::from_bytes("tiny", tiny_trace()).unwrap();
    let all: Vec<Record> = trace.records().unwrap().map(Result::unwrap).collect();
    let until = all[all.len() / 2].ts_ns;
    let (bytes, kept) = trace.cut(until).unwrap();
    assert!(kept.iter().all(|cpu| cpu.kept <= cpu.of) && kept.iter().any(|cpu| cpu.kept < cpu.of));
    let short = TraceDat::from_bytes("short", bytes).unwrap();
    let part: Vec<Record> = short.records().unwrap().map(Result::unwrap).collect();
    let before = |records: &[Record]| records.iter().filter(|record| record.ts_ns <= until).count();
    assert_eq!(before(&part), before(&all));
    assert!(part.len() < all.len());

    let out = std::env::temp_dir().join(format!("fraglab-cut-{}", std::process::id()));
    let recording = Recording::open(fixture("tiny")).unwrap();
    assert_eq!(recording.cut(CutPoint::Tick(0), &out).unwrap(), "tick0");
    let cut = Recording::open(&out).unwrap();
    assert_eq!((cut.cut_tag.as_deref(), cut.ticks.len()), (Some("tick0"), 1));
    assert_eq!(cut.frames(), recording.frames());
    let beyond = recording.cut(CutPoint::Tick(77), &out).unwrap_err().to_string();
    assert!(beyond.contains("the end of tick 77 in the page trace (its last tick is 0) is missing; "), "{beyond}");
    std::fs::remove_dir_all(out).unwrap();
}

/// It went on to its end, whoever wanted it to stop.
#[test]
fn a_replay_ends_when_who_hears_of_its_progress_says_so() {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/demo");
    let recording = Recording::open(demo).unwrap();
    let log = Arc::new(normalise(&recording).unwrap().log);
    let policy = recorded_policy(&recording).unwrap();
    let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: false, sampling: None };
    let mut heard = Vec::new();
    let stopped = replay(&log, &options, &mut |share| {
        heard.push(share);
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(ReplayError::Stopped)), "{stopped:?}");
    assert_eq!(heard, [0.0]);
}
