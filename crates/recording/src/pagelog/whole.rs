//! From a recording to its page log and the kernel's own outcome.

use super::PageLog;
use super::build::build;
use super::start;
use super::truth::kernel_outcome;
use crate::outcome::Outcome;
use crate::{Error, Recording};

/// A recording made ready: the demand, and what the kernel made of it.
pub struct Normalised {
    /// The demand.
    pub log: PageLog,
    /// The recorded kernel's outcome over the log's window.
    pub kernel: Outcome,
}

/// Normalises a recording.
///
/// # Errors
/// When it has no page-level trace or no start snapshot, and those of its parts.
pub fn normalise(recording: &Recording) -> Result<Normalised, Error> {
    let trace = recording.page_trace()?;
    let missing = |what: &'static str, advice: &'static str| Error::Missing {
        path: recording.path.clone(),
        what: what.into(),
        advice,
    };
    let advice = "record a snapshot named `start` with pagestate, kpageflags, pageblocks and zoneinfo beside the trace";
    let start = recording.snapshots.get("start").ok_or_else(|| missing("a start snapshot", advice))?;
    let zones = start.zoneinfo.as_ref().ok_or_else(|| missing("the start snapshot's zoneinfo", advice))?;
    if start.pagestate.is_empty() || start.kpageflags.len() != start.pagestate.len() {
        return Err(missing("the start snapshot's pagestate and kpageflags", advice));
    }
    let snapshot =
        start::Snapshot { frames: &start.pagestate, flags: &start.kpageflags, blocks: &start.pageblocks, zones };
    let thp = recording.setting("transparent_hugepage/enabled").is_some_and(|value| value != "never");
    let (log, beside) = build(&snapshot, trace.records()?, thp)?;
    let timed = recording.ticks.iter().filter_map(|tick| Some((*beside.ticks.get(&tick.number)?, tick)));
    let ticks: Vec<_> = timed.collect();
    let kernel = kernel_outcome(&log, beside.extfrag, &ticks);
    Ok(Normalised { log, kernel })
}
