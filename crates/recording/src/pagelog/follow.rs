//! How far can a log follow a trace?

use super::cpus_seen::CpusSeen;
use super::epoch::{LONGEST_GAP, LONGEST_TRACE};
use super::given::Start;
use crate::event::{PageAlloc, PageFree};
use crate::marker::{Edge, Mark};
use crate::record::Lost;
use crate::{Error, Event, Record, Recording, Trace, TraceRecords};
use std::collections::BTreeMap;

/// Last CPU that an operation of the log has room for.
const LAST_CPU: u16 = u8::MAX as u16;

/// The records as far as a log can follow them. From the start snapshot on, a loss is an error: pages that changed hands in it
/// would be misattributed from there on.
pub(super) struct Followed<'a> {
    recording: &'a Recording,
    trace: &'a Trace,
    start: &'a Start<'a>,
    records: TraceRecords<'a>,
    seen: &'a mut CpusSeen,
    frames: u64,
    /// Nothing may be lost any more.
    needed: bool,
    /// Times of the first and of the last record.
    span: Option<(u64, u64)>,
}

impl<'a> Followed<'a> {
    /// # Errors
    /// When the trace can't be read.
    pub fn new(
        recording: &'a Recording,
        trace: &'a Trace,
        start: &'a Start<'a>,
        seen: &'a mut CpusSeen,
    ) -> Result<Followed<'a>, Error> {
        let (records, frames) = (trace.records()?, recording.frames().unwrap_or(u64::MAX));
        Ok(Followed { recording, trace, start, records, seen, frames, needed: false, span: None })
    }

    /// Names of gfp flags in what was read so far that are not known, with their counts; of a text, as binary traces have bits.
    pub fn unknown_gfp(&self) -> BTreeMap<Box<str>, u64> {
        match &self.records {
            TraceRecords::Text(records) => records.unknown_gfp().clone(),
            TraceRecords::Dat(_) => BTreeMap::new(),
        }
    }

    fn check(&mut self, record: &Record) -> Result<(), Error> {
        if record.cpu > LAST_CPU {
            return Err(Error::TooManyCpus { path: self.trace.path().to_owned(), cpu: record.cpu, last: LAST_CPU });
        }
        let (first, last) = self.span.unwrap_or((record.ts_ns, record.ts_ns));
        let (gap, length) = (record.ts_ns.saturating_sub(last), record.ts_ns.saturating_sub(first));
        if gap > LONGEST_GAP || length > LONGEST_TRACE {
            return Err(too_late(self.trace, self.records.place(), gap, length));
        }
        self.span = Some((first, record.ts_ns));
        if let Some(lost) = loss(record, &mut self.needed) {
            let place = place_in(self.trace, lost).into();
            return Err(Error::Lost { path: self.trace.path().to_owned(), place, count: lost.count });
        }
        match &record.event {
            Event::PageAlloc(PageAlloc { pfn: Some(pfn), .. }) | Event::PageFree(PageFree { pfn, .. }) => {
                self.check_frame(*pfn)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn check_frame(&self, pfn: u64) -> Result<(), Error> {
        if pfn >= self.frames {
            return Err(self.recording.beyond_memory(pfn, self.frames));
        }
        if self.start.is_stray(pfn) {
            let problem = format!("no zone has page frame {pfn:#x}, and the page trace has events of it");
            return Err(self.recording.mismatch_of("start.zoneinfo", problem));
        }
        Ok(())
    }
}

impl Iterator for Followed<'_> {
    type Item = Result<Record, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let record = match self.records.next()? {
            Ok(record) => record,
            error => return Some(error),
        };
        self.seen.saw(&record);
        Some(self.check(&record).map(|()| record))
    }
}

/// The error of an event so much later than the one before it, and than the first.
#[cold]
fn too_late(trace: &Trace, place: u64, since_last: u64, since_first: u64) -> Error {
    let hours = |ns: u64| ns as f64 / 3.6e12;
    let problem = format!(
        "an event comes {:.1} hours after the one before it and {:.1} hours after the first, and a replay follows traces of up to {:.0} \
         hours without gaps of more than {:.0}",
        hours(since_last),
        hours(since_first),
        hours(LONGEST_TRACE),
        hours(LONGEST_GAP)
    );
    trace.wrong_at(place, problem, "if its time is right, cut the recording before it (`fraglab cut`)")
}

/// What was lost before this record, if all is needed by then: from the start snapshot on.
pub(super) fn loss<'a>(record: &'a Record, needed: &mut bool) -> Option<&'a Lost> {
    match &record.event {
        Event::Marker(marker) => *needed |= marker.mark() == Some(Mark::Snap("start", Edge::Begin)),
        // Text may say that nothing was lost.
        Event::Lost(lost) if *needed && lost.count != Some(0) => return Some(lost),
        _ => {}
    }
    None
}

/// Where in a trace a loss stands, as it follows the trace's name.
pub(super) fn place_in(trace: &Trace, lost: &Lost) -> String {
    match trace {
        Trace::Dat(_) => format!(": at byte {}", lost.place),
        Trace::Text(_) => format!(":{}", lost.place),
    }
}
