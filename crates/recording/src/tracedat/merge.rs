//! The events of all CPUs in the order of time.

use crate::error::{Error, SourceName};
use crate::event::{Event, Lost, Record};
use crate::plausible::fault;
use crate::tracedat::options::TscToNs;
use crate::tracedat::page::{CpuStream, Entry};
use crate::tracedat::schema::{Context, Problem, Schema};

/// How the clock's units become nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockScale {
    pub(crate) tsc: Option<TscToNs>,
    pub(crate) offset_ns: i64,
}

impl ClockScale {
    #[inline]
    pub(crate) fn to_ns(self, units: u64) -> u64 {
        let ns = match self.tsc {
            None => units,
            Some(tsc) => {
                let elapsed = units.saturating_sub(tsc.offset);
                ((u128::from(elapsed) * u128::from(tsc.mult)) >> tsc.shift) as u64
            }
        };
        ns.saturating_add_signed(self.offset_ns)
    }
}

/// Events that the ring buffer lost, as far as the pages tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// Places at which events are missing.
    pub gaps: u64,
    /// Events missing at the places that say how many.
    pub counted: u64,
    /// Places that do not say how many.
    pub uncounted_gaps: u64,
}

impl LostEvents {
    /// Adds one gap.
    pub(crate) fn add(&mut self, lost: &Lost) {
        self.gaps += 1;
        match lost.count {
            Some(count) => self.counted = self.counted.saturating_add(count),
            None => self.uncounted_gaps += 1,
        }
    }
}

/// A CPU's stream with its next entry taken out, so that it can be compared.
struct Head<'a> {
    cpu: u16,
    time: u64,
    entry: Entry<'a>,
    stream: CpuStream<'a>,
}

/// All records of a buffer in the order of time; of equal times the lower CPU comes first.
///
/// Made by [`crate::TraceDat::records`]. Lost events appear as [`Event::Lost`] in their place and
/// are summed up in [`Records::lost`]. After an error the iterator ends.
pub struct Records<'a> {
    path: &'a SourceName,
    schema: &'a Schema,
    scale: ClockScale,
    /// In the order of CPUs; a CPU without further entries is taken out.
    heads: Vec<Head<'a>>,
    lost: LostEvents,
    /// File offset of the page that the last record was in.
    place: u64,
    /// An error that a CPU's first or next entry gave; told once the records before it are out.
    failure: Option<Error>,
}

impl<'a> Records<'a> {
    /// Merges the streams of CPUs.
    pub(crate) fn new(
        path: &'a SourceName,
        schema: &'a Schema,
        scale: ClockScale,
        streams: Vec<(u16, CpuStream<'a>)>,
    ) -> Self {
        let mut records = Self {
            path,
            schema,
            scale,
            heads: Vec::with_capacity(streams.len()),
            lost: LostEvents::default(),
            place: 0,
            failure: None,
        };
        for (cpu, mut stream) in streams {
            match stream.next() {
                Ok(Some((time, entry))) => records.heads.push(Head { cpu, time, entry, stream }),
                Ok(None) => {}
                Err(error) => records.failure = records.failure.take().or(Some(error)),
            }
        }
        records.heads.sort_by_key(|head| head.cpu);
        records
    }

    /// The losses among the records that were handed out so far.
    pub fn lost(&self) -> LostEvents {
        self.lost
    }

    /// File offset of the page that the last record was in.
    pub(crate) fn place(&self) -> u64 {
        self.place
    }

    /// The CPU whose next entry is the earliest.
    #[inline]
    fn earliest(&self) -> Option<usize> {
        let mut best = 0;
        let mut time = self.heads.first()?.time;
        for (index, head) in self.heads.iter().enumerate().skip(1) {
            if head.time < time {
                (best, time) = (index, head.time);
            }
        }
        Some(best)
    }

    /// Takes the entry of that CPU and fetches its next one.
    #[inline]
    fn take(&mut self, index: usize) -> Result<Record, Error> {
        let head = &mut self.heads[index];
        self.place = head.stream.page_offset();
        let (cpu, time, entry) = (head.cpu, head.time, head.entry);
        let decoded = match entry {
            Entry::Event(record) => self.schema.decode(self.path, record),
            Entry::Lost(count) => {
                let lost = Lost { count, place: self.place };
                self.lost.add(&lost);
                Ok((Context { pid: 0, in_interrupt: false }, Event::Lost(lost)))
            }
        };
        let (Context { pid, in_interrupt }, event) = decoded.map_err(|problem| match problem {
            Problem::Short => head.stream.malformed("the record before here is shorter than its event's format"),
            Problem::Unusable(error) => error,
        })?;
        if let Some(problem) = fault(&event) {
            return Err(head.stream.malformed(problem));
        }
        match head.stream.next() {
            Ok(Some((next, entry))) if next >= time => (head.time, head.entry) = (next, entry),
            Ok(Some((next, _))) => self.failure = Some(backwards(head, next)),
            Ok(None) => drop(self.heads.remove(index)),
            Err(error) => self.failure = Some(error),
        }
        let ts_ns = self.scale.to_ns(time);
        Ok(Record { ts_ns, cpu, pid, in_interrupt, event })
    }
}

/// A CPU writes its events in the order of their times, interrupts included, so there is no skew to allow for. Which of two pages has the
/// wrong time, the one before or this one, nothing tells.
#[cold]
fn backwards(head: &Head<'_>, next: u64) -> Error {
    let problem = format!(
        "the time of CPU {} goes back here, from {} to {next}: pages are damaged, repeated or out of order, or the clock was set",
        head.cpu, head.time
    );
    let advice = "cut the recording before it, or record with `-C global` or `-C mono`";
    Error::malformed(head.stream.path(), head.stream.page_offset(), problem, advice)
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failure.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let index = self.earliest()?;
        let result = self.take(index);
        if result.is_err() {
            self.failure = None;
            self.heads.clear();
        }
        Some(result)
    }
}
