//! Whole recordings of real kernels, which are too large to ship; without them nothing is tested.

mod common;

use std::process::Command;

use common::recording;
use recording::{Event, Record, Recording, TextTrace, Trace};

#[test]
fn counts_of_the_classic_lru_recording_are_those_of_trace_cmd() {
    let Some(path) = recording("m512lru-d0-s21") else {
        return;
    };
    let recording = Recording::open(path).unwrap();
    let inspection = recording.inspect().unwrap();
    // Counted with `trace-cmd report` 3.1.6, which takes half a minute.
    for (name, count) in [
        ("mm_page_free", 1_976_410),
        ("mm_page_pcpu_drain", 1_918_038),
        ("mm_page_alloc", 1_865_021),
        ("mm_page_alloc_zone_locked", 1_823_742),
        ("mm_page_free_batched", 1_738_262),
        ("mm_filemap_add_to_page_cache", 188_941),
        ("mm_vmscan_lru_shrink_inactive", 36_620),
        ("mm_compaction_suitable", 30_006),
        ("mm_page_alloc_extfrag", 365),
        ("print", 129),
    ] {
        assert_eq!(inspection.events[name], count, "{name}");
    }
    assert_eq!(inspection.events.values().sum::<u64>(), 9_800_170);
    assert_eq!((inspection.lost.gaps, recording.snapshots.len(), recording.ticks.len()), (0, 7, 167));
}

#[test]
fn every_recording_opens() {
    for name in ["m512-d0-s1", "m512-d1-s1", "m512-d0-s2-xf", "m512-d0-s2-rep", "m512-d1-s2", "m512lru-d1-s21"] {
        let Some(path) = recording(name) else { return };
        let recording = Recording::open(path).unwrap();
        let rare = recording.rare_trace().unwrap();
        let lost = rare.records().unwrap().filter(|record| record.is_err()).count();
        assert_eq!((lost, recording.snapshots.contains_key("start")), (0, true), "{name}");
    }
}

/// What text cannot tell.
fn as_in_text(mut record: Record) -> Record {
    record.in_interrupt = false;
    match &mut record.event {
        Event::VmscanKswapdWake(wake) => wake.zid = None,
        Event::VmscanWakeupKswapd(wake) => wake.zid = None,
        _ => {}
    }
    record
}

#[test]
fn binary_and_text_of_one_trace_are_the_same_records() {
    let Some(path) = recording("m512lru-d0-s21") else {
        return;
    };
    let recording = Recording::open(path).unwrap();
    let Trace::Dat(trace) = recording.rare_trace().unwrap() else { panic!("text") };
    let file = std::env::temp_dir().join(format!("fraglab-rare-{}.dat", std::process::id()));
    let (bytes, _) = trace.cut(u64::MAX).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let output = Command::new("trace-cmd").arg("report").arg("-t").arg("-i").arg(&file).output();
    std::fs::remove_file(&file).unwrap();
    let Ok(output) = output else {
        println!("skipped: trace-cmd cannot be run");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = TextTrace::from_bytes("report", output.stdout);
    let mut records = text.records();
    let mut compared = 0_u64;
    for record in trace.records().unwrap() {
        let (binary, text) = (as_in_text(record.unwrap()), records.next().unwrap().unwrap());
        assert_eq!(binary, text, "record {compared}");
        compared += 1;
    }
    assert!(records.next().is_none() && records.unknown_gfp().is_empty());
    assert_eq!(compared, 331_877);
}
