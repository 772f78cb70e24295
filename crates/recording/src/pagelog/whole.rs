//! From a recording to its page log and the kernel's own outcome.

use super::PageLog;
use super::beside::Beside;
use super::build::build;
use super::cpus_seen::CpusSeen;
use super::epoch::{LONGEST_GAP, LONGEST_TRACE, since_epoch};
use super::fault_time::FaultsInARow;
use super::infer;
use super::moves::PageArray;
use super::returns::shadows_kept;
use super::slab;
use super::start::{InUse, Snapshot};
use super::truth::{TimedTick, kernel_outcome};
use crate::event::{PageAlloc, PageFree};
use crate::marker::{Edge, Mark};
use crate::proc::kpage::PageFlags;
use crate::proc::pageblocks::PageBlock;
use crate::proc::pagestate::Frame;
use crate::proc::zoneinfo::ZoneInfo;
use crate::{Error, Event, Record, Recording, Trace, TraceRecords};
use lab::outcome::Outcome;
use pagealloc::{Counter, Geometry};

/// Last CPU that an operation of the log has room for.
const LAST_CPU: u16 = u8::MAX as u16;

/// A recording made ready: the demand, and what the kernel made of it.
pub struct Normalised {
    /// The demand.
    pub log: PageLog,
    /// The recorded kernel's outcome over the log's window.
    pub kernel: Outcome,
    /// What makes one doubt that the trace is whole, in sentences; mostly nothing.
    pub doubts: Vec<String>,
}

/// Normalises a recording.
///
/// # Errors
/// When it has no page-level trace or no start snapshot, and those of its parts.
pub fn normalise(recording: &Recording) -> Result<Normalised, Error> {
    let trace = recording.page_trace()?;
    let start = Start::of(recording)?;
    let thp = recording.setting("transparent_hugepage/enabled").is_some_and(|value| value != "never");
    let mut seen = CpusSeen::default();
    let (mut log, mut beside) = build(
        &start.snapshot(),
        since_epoch(followable(recording, trace, trace.records()?, &mut seen)),
        PageArray::of(recording),
        thp,
    )?;
    if log.ops.is_empty() {
        let advice = "let the trace run on after the start snapshot (its mark `SNAP start end`)";
        return Err(missing(recording, "the time after the start snapshot: an allocation or a free", advice));
    }
    log.dirty =
        timed_ticks(recording, &beside).filter_map(|(ts, tick)| Some((ts, tick.vmstat.get("nr_dirty")?))).collect();
    log.activated_by_use = activated_by_use(recording, &beside);
    let failures = Some(std::mem::take(&mut beside.failures));
    let kernel = Outcome { failures, ..outcome_of(recording, beside, log.window) };
    if let Some(&counted) = kernel.counters.get(Counter::WorkingsetRefaultFile.name()) {
        log.shadows_kept = shadows_kept(counted, log.attribution.refault_pages);
    }
    if let Some(scanned) = slab::scanned(&kernel.counters) {
        log.slabs_scanned = scanned;
    }
    Ok(Normalised { log, kernel, doubts: seen.doubts(recording)? })
}

/// What a simulated machine has to know of a recorded one to stand in for it.
pub struct MachineSeen {
    /// Memory in use at the start.
    pub in_use: InUse,
    /// Time that an anonymous fault took in the mean, with clearing and the first write, nanoseconds; `None` where the trace does
    /// not tell.
    pub fault_ns: Option<u32>,
}

/// The machine that a recording is of.
///
/// # Errors
/// When it has no page-level trace or no start snapshot, and those of its parts.
pub fn machine_seen(recording: &Recording) -> Result<MachineSeen, Error> {
    let mut faults = FaultsInARow::default();
    for record in recording.page_trace()?.records()? {
        faults.saw(&record?);
    }
    Ok(MachineSeen { in_use: Start::of(recording)?.snapshot().in_use(), fault_ns: faults.mean() })
}

/// The start snapshot, with what it does not tell inferred.
struct Start<'a> {
    frames: Vec<Frame>,
    blocks: Vec<PageBlock>,
    flags: &'a [PageFlags],
    zones: &'a ZoneInfo,
    inferred: bool,
}

impl<'a> Start<'a> {
    fn of(recording: &'a Recording) -> Result<Start<'a>, Error> {
        let advice =
            "record a snapshot named `start` with pagestate, kpageflags, pageblocks and zoneinfo beside the trace";
        let start = recording.snapshots.get("start").ok_or_else(|| missing(recording, "a start snapshot", advice))?;
        let zones =
            start.zoneinfo.as_ref().ok_or_else(|| missing(recording, "the start snapshot's zoneinfo", advice))?;
        if start.kpageflags.is_empty() {
            return Err(missing(recording, "the start snapshot's kpageflags", advice));
        }
        known_sizes(recording)?;
        let inferred = start.pagestate.is_empty();
        let frames = if inferred { infer::frames(&start.kpageflags, zones) } else { start.pagestate.clone() };
        let blocks = match (&start.pageblocks, recording.ticks.first().and_then(|tick| tick.pagetypeinfo.as_ref())) {
            (blocks, Some(counted)) if blocks.is_empty() => {
                infer::blocks(&frames, zones, counted, recording.page_trace()?.records()?)?
            }
            (blocks, _) => blocks.clone(),
        };
        Ok(Start { frames, blocks, flags: &start.kpageflags, zones, inferred })
    }

    fn snapshot(&self) -> Snapshot<'_> {
        let Start { frames, blocks, flags, zones, inferred } = self;
        Snapshot { frames, flags, blocks, zones, inferred: *inferred }
    }
}

/// Logs and replays know pages of 4 KiB in blocks of 2 MiB: others are refused, not taken for these.
fn known_sizes(recording: &Recording) -> Result<(), Error> {
    let known = Geometry::PAGES_4K;
    let refused = |problem: String| Err(Error::Unsupported { path: recording.path.clone(), problem: problem.into() });
    if let Trace::Dat(trace) = recording.page_trace()?
        && trace.page_size() != 1 << known.page_shift
    {
        return refused(format!("pages of {} bytes cannot be replayed, those of 4096 can", trace.page_size()));
    }
    let types = recording.ticks.iter().find_map(|tick| tick.pagetypeinfo.as_ref());
    let known_order = u32::from(known.pageblock_order);
    match types.map(|types| types.pageblock_order) {
        Some(order @ 1..) if order != known_order => {
            refused(format!("pageblocks of order {order} cannot be replayed, those of order {known_order} can"))
        }
        _ => Ok(()),
    }
}

fn missing(recording: &Recording, what: &'static str, advice: &'static str) -> Error {
    Error::Missing { path: recording.path.clone(), what: what.into(), advice }
}

/// The recorded kernel's outcome over all of the recording, from its trace of rare events (or else its page trace) and
/// its ticks: what a prediction is compared with. A page-level trace is not needed.
///
/// # Errors
/// When it has no trace, and those of its parts.
pub fn kernel_alone(recording: &Recording) -> Result<Outcome, Error> {
    let trace = if recording.has_rare_trace() { recording.rare_trace()? } else { recording.page_trace()? };
    let mut beside = Beside::default();
    for record in trace.records()? {
        beside.follow(&record?);
    }
    let window = (beside.started.unwrap_or(0), u64::MAX);
    Ok(outcome_of(recording, beside, window))
}

fn outcome_of(recording: &Recording, mut beside: Beside, window: (u64, u64)) -> Outcome {
    let extfrag = std::mem::take(&mut beside.extfrag);
    kernel_outcome(window, extfrag, &timed_ticks(recording, &beside).collect::<Vec<_>>())
}

/// Pages activated outside of reclaim at each tick: all of `pgactivate` but what reclaim says of itself. With generations that is no measure
/// of uses, as walks of page tables promote pages, too.
fn activated_by_use(recording: &Recording, beside: &Beside) -> Vec<(u64, u64)> {
    let generations =
        recording.setting("lru_gen/enabled").is_some_and(|value| value.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
    let at_tick = |(ts, tick): TimedTick<'_>| {
        let by_reclaim = (*beside.activated_by_reclaim.get(&tick.number)?)?;
        Some((ts, tick.vmstat.get("pgactivate")?.saturating_sub(by_reclaim)))
    };
    if generations { Vec::new() } else { timed_ticks(recording, beside).filter_map(at_tick).collect() }
}

/// The ticks that the trace has a mark of, with its time.
fn timed_ticks<'a>(recording: &'a Recording, beside: &'a Beside) -> impl Iterator<Item = TimedTick<'a>> {
    recording.ticks.iter().filter_map(|tick| Some((*beside.ticks.get(&tick.number)?, tick)))
}

/// The records as far as a log can follow them. From the start snapshot on, a loss is an error: pages that changed hands in it
/// would be misattributed from there on.
fn followable(
    recording: &Recording,
    trace: &Trace,
    mut records: TraceRecords<'_>,
    seen: &mut CpusSeen,
) -> impl Iterator<Item = Result<Record, Error>> {
    let frames = recording.frames().unwrap_or(u64::MAX);
    let mut needed = false;
    let mut span = None;
    std::iter::from_fn(move || {
        let record = match records.next()? {
            Ok(record) => record,
            error => return Some(error),
        };
        if record.cpu > LAST_CPU {
            return Some(Err(Error::TooManyCpus { path: trace.path().to_owned(), cpu: record.cpu, last: LAST_CPU }));
        }
        let (first, last) = span.unwrap_or((record.ts_ns, record.ts_ns));
        if record.ts_ns.saturating_sub(last) > LONGEST_GAP || record.ts_ns.saturating_sub(first) > LONGEST_TRACE {
            return Some(Err(too_late(
                trace,
                records.place(),
                record.ts_ns.saturating_sub(last),
                record.ts_ns.saturating_sub(first),
            )));
        }
        span = Some((first, record.ts_ns));
        seen.saw(&record);
        match &record.event {
            Event::PageAlloc(PageAlloc { pfn: Some(pfn), .. }) | Event::PageFree(PageFree { pfn, .. })
                if *pfn >= frames =>
            {
                return Some(Err(recording.beyond_memory(*pfn, frames)));
            }
            Event::Marker(marker) => needed |= marker.mark() == Some(Mark::Snap("start", Edge::Begin)),
            Event::Lost(lost) if needed => {
                let place = match trace {
                    Trace::Dat(_) => format!(": at byte {}", lost.place),
                    Trace::Text(_) => format!(":{}", lost.place),
                };
                let path = trace.path().to_owned();
                return Some(Err(Error::Lost { path, place: place.into(), count: lost.count }));
            }
            _ => {}
        }
        Some(Ok(record))
    })
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
