//! From a recording to its page log and the kernel's own outcome.

use super::PageLog;
use super::beside::Beside;
use super::build::build;
use super::cpus_seen::CpusSeen;
use super::epoch::since_epoch;
use super::fault_time::FaultsInARow;
use super::follow::{Followed, loss, place_in};
use super::given::{Start, missing};
use super::moves::PageArray;
use super::notes;
use super::returns::shadows_kept;
use super::slab;
use super::start::InUse;
use super::truth::{TimedTick, kernel_outcome};
use crate::proc::swaps;
use crate::{Error, Recording, Trace};
use lab::outcome::Outcome;
use pagealloc::Counter;

/// A recording made ready: the demand, and what the kernel made of it.
pub struct Normalised {
    /// The demand.
    pub log: PageLog,
    /// The recorded kernel's outcome over the log's window.
    pub kernel: Outcome,
    /// What makes one doubt that the trace is whole, and what the recording does not tell and should, a sentence each.
    pub notes: Vec<String>,
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
    let mut followed = Followed::new(recording, trace, &start, &mut seen)?;
    let (mut log, mut beside) = build(&start.snapshot(), since_epoch(&mut followed), PageArray::of(recording), thp)?;
    let unknown_gfp = followed.unknown_gfp();
    beside.clocks.check(recording)?;
    both_kinds(trace, beside.page_events)?;
    if log.ops.is_empty() {
        let advice = "let the trace run on after the start snapshot (its mark `SNAP start end`)";
        return Err(missing(recording, "the time after the start snapshot: an allocation or a free", advice));
    }
    let notes =
        seen.doubts(recording)?.into_iter().chain(notes::of(recording, &start, &beside, &unknown_gfp)).collect();
    recording.topology.describe(&mut log.start.machine);
    if let Some(pages) = swap_pages(recording) {
        log.swap_pages = pages;
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
    Ok(Normalised { log, kernel, notes })
}

/// Swap of the machine, where the recording tells it. Replays are of pages of 4 KiB.
fn swap_pages(recording: &Recording) -> Option<u64> {
    let (_, swaps) = recording.files.read_text("meta/sys/proc_swaps").ok()??;
    swaps::pages(&swaps, 4)
}

/// Whether a trace has allocations and frees. Of a trace with one of them only, nothing is known that a replay needs.
fn both_kinds(trace: &Trace, (allocations, frees): (u64, u64)) -> Result<(), Error> {
    let lacks = match (allocations, frees) {
        (0, 1..) => "mm_page_alloc",
        (1.., 0) => "mm_page_free",
        _ => return Ok(()),
    };
    let problem =
        format!("the page trace has no {lacks} events; record kmem:mm_page_alloc and kmem:mm_page_free for a replay");
    Err(Error::Unsupported { path: trace.path().to_owned(), problem: problem.into() })
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

/// The recorded kernel's outcome over all of the recording, from its trace of rare events (or else its page trace) and
/// its ticks: what a prediction is compared with. A page-level trace is not needed.
///
/// # Errors
/// When it has no trace, or one that lost events, and those of its parts.
pub fn kernel_alone(recording: &Recording) -> Result<Outcome, Error> {
    let trace = if recording.has_rare_trace() { recording.rare_trace()? } else { recording.page_trace()? };
    let mut beside = Beside::default();
    let mut needed = false;
    for record in trace.records()? {
        let record = record?;
        if let Some(lost) = loss(&record, &mut needed) {
            let place = place_in(trace, lost).into();
            return Err(Error::LostCounted { path: trace.path().to_owned(), place, count: lost.count });
        }
        beside.follow(&record);
    }
    beside.clocks.check(recording)?;
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
