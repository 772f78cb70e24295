//! Traces that lack events, have some twice, or have them in another order: refused at their place, or told of, and never followed in
//! silence.

mod common;

use common::tiny_trace;
use recording::pagelog::normalise;
use recording::{Error, Event, Record, Recording, Trace, TraceDat};
use std::path::{Path, PathBuf};

fn read(bytes: Vec<u8>) -> Result<Vec<Record>, Error> {
    common::read("broken.dat", bytes)
}

fn refused(bytes: Vec<u8>) -> String {
    common::refused("broken.dat", bytes)
}

/// Offset of the entry of a CPU in the table of version 6: offset and size of its pages.
fn entry(bytes: &[u8], cpu: usize) -> usize {
    bytes.windows(10).position(|window| window == b"flyrecord\0").unwrap() + 10 + 16 * cpu
}

fn number(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Offset of a page of a CPU.
fn page(bytes: &[u8], cpu: usize, page: usize) -> usize {
    number(bytes, entry(bytes, cpu)) + 4096 * page
}

#[test]
fn cpus_that_share_bytes_are_refused() {
    let mut bytes = tiny_trace();
    let (first, second) = (entry(&bytes, 0), entry(&bytes, 1));
    bytes.copy_within(first..first + 16, second);
    let error = refused(bytes);
    assert!(error.contains("the data of CPUs 0 and 1 overlap"), "{error}");
    let mut bytes = tiny_trace();
    let grown = (number(&bytes, first + 8) + 4096) as u64;
    bytes[first + 8..first + 16].copy_from_slice(&grown.to_le_bytes());
    let error = refused(bytes);
    assert!(
        error.contains(&format!("at byte {}: the data of CPUs 0 and 1 overlap", page(&tiny_trace(), 1, 0))),
        "{error}"
    );
}

#[test]
fn a_page_of_zeros_among_others_is_refused() {
    let mut bytes = tiny_trace();
    let at = page(&bytes, 0, 3);
    bytes[at..at + 4096].fill(0);
    let error = refused(bytes);
    assert!(error.starts_with(&format!("broken.dat: at byte {at}: a ring-buffer page was never written")), "{error}");
}

/// The trace with one more option at the beginning of the others.
fn with_option(mut bytes: Vec<u8>, id: u16, data: &[u8]) -> Vec<u8> {
    let option = [&id.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat();
    for cpu in [0, 1] {
        let at = entry(&bytes, cpu);
        let moved = (number(&bytes, at) + option.len()) as u64;
        bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    }
    let options = bytes.windows(10).position(|window| window == b"options  \0").unwrap() + 10;
    bytes.splice(options..options, option);
    bytes
}

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo")
}

/// The first seconds of the demo, to the end of tick 2.
fn demo_trace() -> Vec<u8> {
    let recording = Recording::open(demo()).unwrap();
    let Trace::Dat(trace) = recording.page_trace().unwrap() else { panic!("text") };
    let ends = |record: &Record| matches!(&record.event, Event::Marker(mark) if &*mark.text == "TICK 2 end");
    let end = trace.records().unwrap().map(Result::unwrap).find(ends).unwrap();
    trace.cut(end.ts_ns).unwrap().0
}

/// What is said of the demo with this trace, beside that it ends before the ticks do: it is cut short here.
fn doubts(trace: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for part in ["snap.tar.xz", "meta.tar.xz", "ticks.txt.xz"] {
        std::fs::copy(demo().join(part), dir.path().join(part)).unwrap();
    }
    std::fs::write(dir.path().join("trace.dat"), trace).unwrap();
    let notes = normalise(&Recording::open(dir.path()).unwrap()).unwrap().notes;
    notes.into_iter().filter(|note| !note.contains("has no mark of ticks")).collect()
}

#[test]
fn a_cpu_without_events_is_told() {
    let mut bytes = demo_trace();
    assert_eq!(doubts(&bytes), [""; 0]);
    let size = entry(&bytes, 1) + 8;
    bytes[size..size + 8].fill(0);
    let said = doubts(&bytes);
    assert!(said.len() == 1 && said[0].contains("trace.dat: no event of CPU 1, of a machine of 2:"), "{said:?}");
}

#[test]
fn a_cpu_that_lacks_the_end_of_its_pages_is_told() {
    let mut bytes = demo_trace();
    let size = entry(&bytes, 1) + 8;
    let eighth = (number(&bytes, size) / 4096 / 8 * 4096) as u64;
    bytes[size..size + 8].copy_from_slice(&eighth.to_le_bytes());
    let said = doubts(&bytes);
    assert!(said.len() == 1 && said[0].contains("CPU 1 ends long before others"), "{said:?}");
}

#[test]
fn losses_that_only_the_statistics_know_are_told() {
    let trace = demo_trace();
    let with = |counts: &str| with_option(trace.clone(), 2, format!("CPU: 0\nentries: 5\n{counts}\n\0").as_bytes());
    let stats = |counts: &str| doubts(&with(counts));
    assert_eq!(stats("overrun: 0\ncommit overrun: 0\ndropped events: 0"), [""; 0]);
    for (counts, lost) in [("dropped events: 7", 7), ("overrun: 3\ncommit overrun: 4", 7), ("overrun: 3", 3)] {
        let said = stats(counts);
        let wanted = format!("trace.dat: the kernel's statistics count {lost} lost events of which no page says where");
        assert!(said.len() == 1 && said[0].contains(&wanted), "{said:?}");
    }
    // A page that says so, before the start snapshot, accounts for what was overwritten.
    let mut marked = with("overrun: 3\ndropped events: 2");
    let commit = page(&marked, 0, 0) + 8;
    marked[commit + 3] |= 0x80;
    assert!(doubts(&marked)[0].contains("statistics count 2 lost events"));
}

#[test]
fn times_that_go_back_are_refused_at_their_page() {
    let change = |at: usize, change: &dyn Fn(&mut [u8])| {
        let mut bytes = tiny_trace();
        let at = page(&bytes, 0, at);
        change(&mut bytes[at..]);
        refused(bytes)
    };
    let at = |number: usize| {
        format!("broken.dat: at byte {}: the time of CPU 0 goes back here", page(&tiny_trace(), 0, number))
    };
    let repeated = change(3, &|page| page.copy_within(..4096, 4096));
    assert!(repeated.starts_with(&at(4)), "{repeated}");
    // A time far ahead is met when the next page does not follow it.
    let ahead = change(3, &|page| page[5] |= 1);
    assert!(ahead.starts_with(&at(4)), "{ahead}");
    let zero = change(3, &|page| page[..8].fill(0));
    assert!(zero.starts_with(&at(3)), "{zero}");
}

#[test]
fn clocks_that_count_something_else_than_nanoseconds_are_refused() {
    let with_clock = |clock: &str| {
        let mut bytes = tiny_trace();
        let own = bytes.windows(12).position(|window| window == b"options  \0\x04\0").unwrap() + 10;
        // An option of the future: the last one of a kind counts.
        bytes[own] = 99;
        with_option(bytes, 4, format!("{clock}\n\0").as_bytes())
    };
    for clock in ["local [mono] counter", "[mono_raw]", "[boot]", "[tai]", "[perf]", "[global]", "[local]"] {
        assert!(read(with_clock(clock)).is_ok(), "{clock}");
    }
    for clock in ["uptime", "ppc-tb", "s390-tod", "banana", "counter", "x86-tsc"] {
        let error = refused(with_clock(&format!("local [{clock}]")));
        assert!(
            error.contains(&format!("the trace clock `{clock}` does not tell nanoseconds; record with")),
            "{error}"
        );
    }
}

#[test]
fn a_trace_instance_is_read_once_and_without_its_empty_cpus() {
    let mut bytes = with_option(tiny_trace(), 3, b"12345678one\0");
    let names = bytes.windows(4).position(|window| window == b"one\0").unwrap();
    let table = bytes.len() as u64;
    bytes[names - 8..names].copy_from_slice(&table.to_le_bytes());
    bytes.extend_from_slice(b"flyrecord\0");
    bytes.resize(bytes.len() + 2 * 16, 0);
    let trace = TraceDat::from_bytes("instance.dat", bytes.clone()).unwrap();
    assert_eq!((trace.buffers().len(), &*trace.buffers()[1].name, trace.buffers()[1].cpus().count()), (2, "one", 0));

    let option = bytes[names - 14..names + 4].to_vec();
    for cpu in [0, 1] {
        let at = entry(&bytes, cpu);
        let moved = (number(&bytes, at) + option.len()) as u64;
        bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    }
    bytes.splice(names - 14..names - 14, option);
    let error = TraceDat::from_bytes("instance.dat", bytes).unwrap_err().to_string();
    assert!(error.contains("two options point at one trace instance"), "{error}");
}
