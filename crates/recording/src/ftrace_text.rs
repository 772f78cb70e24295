//! ftrace's text: `trace`, `trace_pipe`, and what `trace-cmd report` prints.
//!
//! A line reads `comm-pid [cpu] flags seconds.fraction: event: payload`; a thread-group column
//! before the CPU and the flags may be missing. Comms may hold blanks, dashes and brackets. Lines
//! of `perf script` without call chains (blank for dash before the pid, `system:` before the event)
//! are understood too.

mod line;
mod order;

use std::collections::BTreeMap;
use std::path::Path;

use memchr::memchr;

use crate::error::{Error, SourceName};
use crate::event::{Event, Lost, Other, Record, parse_text};
use crate::gfp::GfpNames;
use crate::marker::Marker;
use crate::plausible::fault;
use crate::text_scan::decimal;
use crate::tracedat::LostEvents;
use line::{Head, Task, no_task};
use order::Order;

/// A trace as text, in memory.
#[derive(Debug)]
pub struct TextTrace {
    path: SourceName,
    bytes: Vec<u8>,
}

impl TextTrace {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read. Lines are looked at by [`TextTrace::records`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(Error::io(path, "reading"))?;
        Ok(Self::from_bytes(path, bytes))
    }

    /// Takes the contents of a file; `path` is only for messages.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Self {
        Self { path: path.as_ref().into(), bytes }
    }

    /// The name it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All records, in the order of the text.
    pub fn records(&self) -> TextRecords<'_> {
        TextRecords {
            path: &self.path,
            rest: &self.bytes,
            line: 0,
            order: Order::default(),
            gfp: GfpNames::default(),
            comms: BTreeMap::new(),
            last_pid: None,
            in_marker: false,
            lost: LostEvents::default(),
        }
    }
}

/// The records of a text; see [`TextTrace::records`]. After an error the iterator ends.
pub struct TextRecords<'a> {
    path: &'a SourceName,
    rest: &'a [u8],
    line: u64,
    order: Order,
    gfp: GfpNames,
    comms: BTreeMap<i32, Box<str>>,
    last_pid: Option<i32>,
    /// Whether the last record is a marker, whose text may go on for lines.
    in_marker: bool,
    lost: LostEvents,
}

impl TextRecords<'_> {
    /// The losses among the records that were handed out so far.
    pub fn lost(&self) -> LostEvents {
        self.lost
    }

    /// Number of the line that was read last.
    pub(crate) fn place(&self) -> u64 {
        self.line
    }

    /// Names of gfp flags that were met and are not known, with their counts.
    pub fn unknown_gfp(&self) -> &BTreeMap<Box<str>, u64> {
        self.gfp.unknown()
    }

    /// The name of a process among the records that were handed out so far.
    pub fn comm(&self, pid: i32) -> Option<&str> {
        self.comms.get(&pid).map(|name| &**name)
    }

    /// Looks at one line; `None` for those that are no records.
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Box<str>> {
        if let Some((cpu, count)) = parse_overwritten(line).map(|cpu| (cpu, None)).or_else(|| parse_lost(line)) {
            let lost = Lost { count, place: self.line };
            self.lost.add(&lost);
            let event = Event::Lost(lost);
            let ts_ns = self.order.last;
            return Ok(Some(Record { ts_ns, cpu, pid: 0, in_interrupt: false, event }));
        }
        if is_comment(line) {
            return Ok(None);
        }
        let Some(task) = Task::parse(line) else {
            return if self.in_marker { Ok(None) } else { Err(no_task(line)) };
        };
        let head = Head::parse(task)?;
        self.order.check(head.cpu, head.ts_ns)?;
        if self.last_pid != Some(head.pid) {
            let comm = || String::from_utf8_lossy(head.comm).into();
            self.comms.entry(head.pid).or_insert_with(comm);
            self.last_pid = Some(head.pid);
        }
        let event = parse_event(head.name, head.payload, &mut self.gfp)?;
        self.in_marker = matches!(event, Event::Marker(_));
        let Head { ts_ns, cpu, pid, in_interrupt, .. } = head;
        Ok(Some(Record { ts_ns, cpu, pid, in_interrupt, event }))
    }
}

impl Iterator for TextRecords<'_> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let (line, rest) = match memchr(b'\n', self.rest) {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &[][..]),
            };
            self.rest = rest;
            self.line += 1;
            match self.parse(line) {
                Ok(None) => {}
                Ok(Some(record)) => return Some(Ok(record)),
                Err(problem) => {
                    self.rest = &[];
                    return Some(Err(Error::line(self.path, self.line, problem)));
                }
            }
        }
        None
    }
}

/// Headers, blank lines, stack traces, and what trace-cmd says about the file.
fn is_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.is_empty()
        || text.starts_with(b"#")
        || text.starts_with(b"=>")
        || text.starts_with(b"cpus=")
        || text.starts_with(b"version = ")
        || (text.starts_with(b"CPU ") && text.ends_with(b" is empty"))
}

/// `CPU:1 [LOST 23 EVENTS]`, or trace-cmd's `CPU:1 [23 EVENTS DROPPED]`; the number may be missing.
fn parse_lost(line: &[u8]) -> Option<(u16, Option<u64>)> {
    let rest = line.trim_ascii().strip_prefix(b"CPU:")?;
    let (cpu, digits) = decimal(rest)?;
    let words = rest[digits..].trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
    let number = match words.strip_prefix(b"LOST ") {
        Some(lost) => lost.strip_suffix(b"EVENTS")?,
        None => words.strip_suffix(b"EVENTS DROPPED")?,
    };
    let number = number.trim_ascii();
    let count = decimal(number).filter(|(_, digits)| *digits == number.len());
    if count.is_none() && !number.is_empty() {
        return None;
    }
    let count = count.map(|(count, _)| count);
    Some((u16::try_from(cpu).ok()?, count))
}

/// `##### CPU 1 buffer started ####`, before the first event of each CPU but the one that begins the text, and only if events of some CPU
/// were overwritten. It does not tell of which, so those of this one before here may be missing.
fn parse_overwritten(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"##### CPU ")?;
    let (cpu, digits) = decimal(rest)?;
    rest[digits..].starts_with(b" buffer started").then_some(())?;
    u16::try_from(cpu).ok()
}

fn parse_event(name: &[u8], payload: &[u8], gfp: &mut GfpNames) -> Result<Event, Box<str>> {
    let text = match name {
        b"tracing_mark_write" => Some(payload),
        // trace-cmd puts the writing function or its address before the text.
        b"print" => Some(memchr(b':', payload).map_or(payload, |colon| payload[colon + 1..].trim_ascii_start())),
        _ => None,
    };
    if let Some(text) = text {
        let text = String::from_utf8_lossy(text).into();
        return Ok(Event::Marker(Marker { text }));
    }
    let lossy = |bytes| String::from_utf8_lossy(bytes).into_owned();
    match parse_text(name, payload, gfp) {
        Ok(Some(event)) => fault(&event).map_or(Ok(event), Err),
        Ok(None) => Ok(Event::Other(Other { name: lossy(name).into() })),
        Err(key) => Err(format!("{} has no readable `{}`", lossy(name), key.trim()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{PageAlloc, PageFree};

    fn records(text: &str) -> Result<Vec<Record>, Error> {
        TextTrace::from_bytes("trace", text.into()).records().collect()
    }

    fn one(text: &str) -> Record {
        records(text).unwrap().remove(0)
    }

    #[test]
    fn columns_may_be_missing_and_comms_may_be_odd() {
        let free = Event::PageFree(PageFree { pfn: 0x1a010, order: 0 });
        for line in [
            "        fl-burst-154     [001] d..2.    24.807133: mm_page_free: page=00000000186b09b8 pfn=0x1a010 order=0",
            "        fl-burst-154   [001]    24.807133: mm_page_free:         page=0x1a010 pfn=0x1a010 order=0",
            "        fl-burst-154   (    12) [001] .....    24.807133000: mm_page_free: page=x pfn=106512 order=0",
            "fl-burst   154 [001]    24.807133: kmem:mm_page_free: page=0x1a010 pfn=0x1a010 order=0",
        ] {
            let record = one(line);
            assert_eq!((record.ts_ns, record.cpu, record.pid), (24_807_133_000, 1, 154), "{line}");
            assert!(!record.in_interrupt);
            assert_eq!(record.event, free);
        }
        let text = "  a b-[3] c-7-154  [001] 1.000001: mm_page_free: page=x pfn=0x1 order=0\n";
        let trace = TextTrace::from_bytes("trace", text.into());
        let mut iter = trace.records();
        assert_eq!(iter.next().unwrap().unwrap().pid, 154);
        assert_eq!(iter.comm(154), Some("a b-[3] c-7"));
    }

    #[test]
    fn the_third_flag_tells_interrupts() {
        let told =
            |flags: &str| one(&format!("x-1 [000] {flags} 1.5: mm_page_free: page=x pfn=1 order=0")).in_interrupt;
        assert!(["d.h1.", "..s2.", "dNH..", "d.Z.."].into_iter().all(told));
        assert!(!["d..2.", ".....", "bN.1.", ""].into_iter().any(told));
    }

    #[test]
    fn failed_allocations_have_no_pfn() {
        let text = "x-1 [000] 1.000001: mm_page_alloc: page=(nil) pfn=0x0 order=5 migratetype=1 gfp_flags=GFP_KERNEL|__GFP_ZERO";
        let expected = PageAlloc { pfn: None, order: 5, gfp_flags: 0xdc0, migratetype: 1 };
        assert_eq!(one(text).event, Event::PageAlloc(expected));
    }

    #[test]
    fn losses_are_counted_and_stand_in_their_place() {
        let text =
            "x-1 [000] 1.000001: mm_page_free: page=x pfn=1 order=0\nCPU:1 [LOST 23 EVENTS]\nCPU:0 [EVENTS DROPPED]\n";
        let trace = TextTrace::from_bytes("trace", text.into());
        let mut iter = trace.records();
        let kinds: Vec<_> = iter.by_ref().map(|record| record.unwrap().event.name().to_owned()).collect();
        assert_eq!(kinds, ["mm_page_free", "lost", "lost"]);
        let expected = LostEvents { gaps: 2, counted: 23, uncounted_gaps: 1 };
        assert_eq!(iter.lost(), expected);
    }

    #[test]
    fn a_cpu_whose_oldest_events_were_overwritten_lost_them() {
        let text = "# tracer: nop\nx-1 [000] 1.5: mm_page_free: page=x pfn=1 order=0\n##### CPU 1 buffer started ####\n\
                    x-1 [001] 1.6: mm_page_free: page=x pfn=1 order=0\n";
        let records = records(text).unwrap();
        let lost = Event::Lost(Lost { count: None, place: 3 });
        assert_eq!((records.len(), records[1].cpu, &records[1].event), (3, 1, &lost));
    }

    /// Whoever looks at all that stands before each bracket takes 10^12 steps.
    #[test]
    fn the_time_of_a_line_goes_by_its_length() {
        let begun = std::time::Instant::now();
        for (blanks, brackets) in [(" ", "["), (" ", "[1]"), ("x", ")[1]"), ("x", "7[1]"), ("x-1 [0] 1.5: a", ":a")] {
            let many = if blanks.len() == 1 { 1_000_000 } else { 1 };
            let line = blanks.repeat(many) + &brackets.repeat(1_000_000);
            assert!(records(&line).is_err(), "{blanks}{brackets}");
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn texts_that_go_back_in_time_are_refused() {
        let line = |cpu: u16, ms: u64| format!("x-1 [00{cpu}] 1.{ms:03}000: mm_page_free: page=x pfn=1 order=0\n");
        let read = |lines: &[(u16, u64)]| records(&lines.iter().map(|(cpu, ms)| line(*cpu, *ms)).collect::<String>());
        // Each CPU's clock may lag behind others a little.
        assert_eq!(read(&[(0, 100), (1, 95), (0, 100), (1, 97)]).unwrap().len(), 4);
        for lines in [[(0, 100), (1, 89)], [(0, 100), (0, 99)]] {
            let error = read(&lines).unwrap_err().to_string();
            assert!(error.starts_with("trace:2: the time 1.0") && error.contains("lines are repeated"), "{error}");
        }
    }

    #[test]
    fn malformed_lines_are_errors_with_their_number() {
        for (text, problem) in [
            ("# header\n\ngarbage\n", "trace:3: the line has no `comm-pid [cpu]`"),
            ("x-1 [000] soon: mm_page_free: pfn=1", "trace:1: the line has no `seconds.fraction:` after the CPU"),
            ("x-1 [000] 1.5: mm page", "trace:1: the line has no `event:` after the time"),
            ("x-1 [000] 1.5: mm_page_free: page=1 order=0", "trace:1: mm_page_free has no readable `pfn=`"),
            (
                "x-1 [000] 1.5: mm_page_free: pfn=1 order=64",
                "trace:1: mm_page_free of order 64, and no kernel has one above order 18",
            ),
            (
                "x-1 [000] 1.5: mm_page_alloc_extfrag: pfn=1 alloc_order=0 fallback_order=-1 pageblock_order=9 \
                 alloc_migratetype=0 fallback_migratetype=1 fragmenting=1 change_ownership=0",
                "trace:1: mm_page_alloc_extfrag of order -1, and no kernel has one above order 14",
            ),
        ] {
            assert_eq!(records(text).unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn what_follows_an_event_without_being_one_is_passed_over() {
        let text = "x-1 [000] ..... 1.5: mm_page_free: page=x pfn=1 order=0\nx-1 [000] ..... 1.5: <stack trace>\n => a\n => b\n\
                    x-1 [000] ..... 1.6: <user stack trace>\n =>  <00007f00>\nx-1 [000] ..... 1.7: tracing_mark_write: one\ntwo\n\n  three\n\
                    x-1 [000] ..... 1.8: mm_page_free: page=x pfn=1 order=0\n";
        let names =
            |text: &str| records(text).map(|all| all.iter().map(|one| one.event.name().to_owned()).collect::<Vec<_>>());
        assert_eq!(names(text).unwrap(), ["mm_page_free", "kernel_stack", "user_stack", "print", "mm_page_free"]);
        let error = names(&format!("{text}four\n")).unwrap_err().to_string();
        assert_eq!(error, "trace:12: the line has no `comm-pid [cpu]`");
    }

    #[test]
    fn texts_of_other_forms_are_refused_with_advice() {
        for (line, advice) in [
            (
                "  cc1-7         0d.h1.   12us+: mm_page_free: page=x pfn=1 order=0",
                "write `nolatency-format` to trace_options",
            ),
            ("cc1-7 [000] ..... 12345: mm_page_free: page=x pfn=1 order=0", "write `global` or `mono` to trace_clock"),
        ] {
            let error = records(line).unwrap_err().to_string();
            assert!(error.starts_with("trace:1: the line has no `") && error.contains(advice), "{error}");
        }
    }

    #[test]
    fn markers_and_unknown_events_keep_their_text_and_name() {
        let record = one("x-1 [001] ...1. 4.442847: tracing_mark_write: TICK 0 begin");
        let Event::Marker(marker) = record.event else { panic!("no marker") };
        assert_eq!(&*marker.text, "TICK 0 begin");
        let record = one("x-1 [000] 5.257836: print:                0xffffffff814d2d8a: TICK 0 begin");
        assert_eq!(record.event, Event::Marker(marker));
        assert_eq!(one("x-1 [000] 5.2: sched_switch: a=b").event.name(), "sched_switch");
    }
}
