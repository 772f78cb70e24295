//! Damaged input gives clear errors: never a panic, never silence.

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{fixture, tiny_trace};
use recording::{Error, Event, Record, Recording, TraceDat, container};

fn read(bytes: Vec<u8>) -> Result<Vec<Record>, Error> {
    common::read("damaged.dat", bytes)
}

fn failure(bytes: Vec<u8>) -> String {
    common::refused("damaged.dat", bytes)
}

/// Replaces the first occurrence of a text by one of the same length.
fn patched(old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = tiny_trace();
    let name = bytes.windows(14).position(|window| window == b"mm_page_alloc\n").unwrap();
    let at = name + bytes[name..].windows(old.len()).position(|window| window == old.as_bytes()).unwrap();
    bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    bytes
}

/// Offset of the first CPU's pages.
fn first_page(bytes: &[u8]) -> usize {
    let table = bytes.windows(10).position(|window| window == b"flyrecord\0").unwrap() + 10;
    u64::from_le_bytes(bytes[table..table + 8].try_into().unwrap()) as usize
}

#[test]
fn truncation_at_any_length_is_an_error_with_file_and_offset() {
    let small = fs::read(fixture("small.dat")).unwrap();
    let zstd = fs::read(fixture("zstd.dat")).unwrap();
    for bytes in [tiny_trace(), small, zstd] {
        let dense = (0..2000).chain((2000..bytes.len()).step_by(487)).chain([bytes.len() - 1]);
        let all = read(bytes.clone()).unwrap();
        for length in dense {
            match read(bytes[..length].to_vec()) {
                Err(error) => assert!(error.to_string().starts_with("damaged.dat: at byte "), "at {length}: {error}"),
                // Only padding at the end of the file may be missing.
                Ok(records) => assert!(records == all && length + 4096 > bytes.len()),
            }
        }
    }
}

#[test]
fn garbage_never_panics() {
    let whole = tiny_trace();
    let mut seed = 1_u64;
    let mut random = || {
        // xorshift64: the test must be the same on every run.
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize
    };
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random() % 30 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        // Either outcome is right; both must be reached without a panic.
        let _ = read(bytes).map(|records| records.len());
    }
    assert!(read(Vec::new()).is_err() && read(vec![0x17; 4096]).is_err());
}

#[test]
fn unknown_properties_and_fields_are_ignored() {
    let records = read(patched("signed:0;", "shiny:09;")).unwrap();
    assert_eq!(records.len(), read(tiny_trace()).unwrap().len());
}

#[test]
fn a_format_without_a_needed_field_is_named_when_the_event_occurs() {
    let error = failure(patched("unsigned long pfn;", "unsigned long fpn;"));
    assert!(error.contains("event mm_page_alloc: its format has no field pfn"), "{error}");
    let error = failure(patched("order;\toffset:16;\tsize:4;", "order;\toffset:16;\tsize:3;"));
    assert!(error.contains("field order of 3 bytes is no number"), "{error}");
    let error = failure(patched("gfp_flags;\toffset:24", "gfp_flags;\toffset:94"));
    assert!(error.contains("shorter than its event's format"), "{error}");
}

#[test]
fn lost_events_are_counted_and_stand_in_their_place() {
    let mut bytes = tiny_trace();
    let page = first_page(&bytes);
    // Bit 31 of the commit word: events before this page are missing.
    bytes[page + 8 + 3] |= 0x80;
    let trace = TraceDat::from_bytes("lost.dat", bytes).unwrap();
    let mut records = trace.records().unwrap();
    let first = records.next().unwrap().unwrap();
    assert!(matches!(&first.event, Event::Lost(lost) if lost.count.is_none()), "{first:?}");
    assert_eq!(records.by_ref().filter(|record| record.is_err()).count(), 0);
    assert_eq!((records.lost().gaps, records.lost().uncounted_gaps), (1, 1));
}

#[test]
fn an_overfull_page_is_an_error() {
    let mut bytes = tiny_trace();
    let page = first_page(&bytes);
    bytes[page + 9] = 0xff;
    let error = failure(bytes);
    assert!(error.contains("more than fit"), "{error}");
}

#[test]
fn snapshots_of_another_machine_are_refused() {
    let out = std::env::temp_dir().join(format!("fraglab-mismatch-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let copy = |name: &str| fs::copy(fixture("tiny").join(name), out.join(name)).unwrap();
    for name in ["all-start-to-0.1s.dat.xz", "snap.tar.xz", "meta.tar.xz"] {
        copy(name);
    }
    let refused = |part: &str, bytes: &[u8]| {
        fs::write(out.join(part), bytes).unwrap();
        let result = Recording::open(&out).and_then(|recording| recording.inspect().map(drop));
        fs::remove_file(out.join(part)).unwrap();
        result.unwrap_err().to_string()
    };
    // A snapshot of half the memory, a zone that ends too late, and a machine whose last CPU is 0.
    let error = refused("mid.kpageflags", &[0; 8 * 65_536]);
    assert!(error.contains("snapshot mid has 65536 page frames, but start has 131072"), "{error}");
    let zoneinfo = b"Node 0, zone Normal\n  pages free 1\n  spanned 999999\n  start_pfn: 1\n";
    let error = refused("start.zoneinfo", zoneinfo);
    assert!(error.contains("zones end at 1000000"), "{error}");
    fs::create_dir_all(out.join("meta/sys")).unwrap();
    let error = refused("meta/sys/proc_cpuinfo", b"processor\t: 0\n");
    assert!(error.contains("events of CPU 1, but the machine's last one is 0"), "{error}");
    // With SMT off, numbers of CPUs have gaps.
    fs::write(out.join("meta/sys/proc_cpuinfo"), b"processor\t: 1\n").unwrap();
    let recording = Recording::open(&out).unwrap();
    assert!(recording.inspect().is_ok() && recording.cpus == Some(1));
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn page_frames_beyond_the_snapshots_are_refused() {
    let out = std::env::temp_dir().join(format!("fraglab-beyond-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("trace.dat"), tiny_trace()).unwrap();
    fs::write(out.join("start.kpageflags"), [0; 8 * 256]).unwrap();
    let error = Recording::open(&out).unwrap().inspect().unwrap_err().to_string();
    assert!(error.contains("the trace has page frame 0x1ffff, but the snapshots end at 0x100"), "{error}");
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn missing_things_are_named() {
    let error = Recording::open(fixture("nowhere")).unwrap_err().to_string();
    assert!(error.contains("opening failed"), "{error}");
    let empty = std::env::temp_dir().join(format!("fraglab-empty-{}", std::process::id()));
    fs::create_dir_all(&empty).unwrap();
    let error = Recording::open(&empty).unwrap_err().to_string();
    assert!(error.contains("a trace (all*.dat, trace.dat, trace.txt or rare.dat) is missing"), "{error}");
    fs::remove_dir_all(empty).unwrap();
}

#[test]
fn one_archive_is_a_recording_too() {
    let tiny = fixture("tiny");
    let entries = fs::read_dir(&tiny).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeMap<String, Vec<u8>> = entries
        .map(|path| (format!("tiny/{}", path.file_name().unwrap().display()), fs::read(&path).unwrap()))
        .collect();
    let archive = std::env::temp_dir().join(format!("fraglab-archive-{}.tar", std::process::id()));
    fs::write(&archive, container::pack_tar(&archive, &files).unwrap()).unwrap();
    let recording = Recording::open(&archive).unwrap();
    assert_eq!(recording.frames(), Some(131_072));
    assert_eq!(recording.inspect().unwrap(), Recording::open(tiny).unwrap().inspect().unwrap());
    fs::remove_file(archive).unwrap();
}
