//! What a recording does not tell, though it should: said wherever a replay of it is printed.

use super::beside::Beside;
use super::build::MOST_MASKS;
use super::given::Start;
use super::task::MOST_TASKS;
use crate::quote::cited;
use crate::{Recording, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// All that is to be said, a sentence each. `unknown_gfp`: names of gfp flags that are not known, with their counts.
pub(super) fn of(
    recording: &Recording,
    start: &Start<'_>,
    beside: &Beside,
    unknown_gfp: &BTreeMap<Box<str>, u64>,
) -> Vec<String> {
    let of_trace = other_traces(recording).chain(not_read(recording)).chain(unknown(unknown_gfp));
    let of_machine = nodes(recording).into_iter();
    let of_ticks = tick_cut_short(recording).into_iter().chain(unmarked(recording, beside));
    of_trace.chain(of_machine).chain(start.notes()).chain(of_ticks).chain(crowded(beside)).collect()
}

/// Files that may be page traces as well: only one is read.
fn other_traces(recording: &Recording) -> impl Iterator<Item = String> {
    let others = recording.other_page_traces.iter();
    others.map(|other| {
        format!("{} is not read: the page trace is {}", cited(other), cited(recording.page_trace_name().unwrap_or("")))
    })
}

/// What is to be said of a trace of several instances.
fn not_read(recording: &Recording) -> Option<String> {
    let Ok(Trace::Dat(trace)) = recording.page_trace() else { return None };
    let others: Vec<String> = trace.other_buffers().map(|buffer| buffer.called()).collect();
    let read = trace.main_buffer().called();
    let path = trace.path().display();
    (!others.is_empty())
        .then(|| format!("{path}: the events of {} are not read, only those of {read}", others.join(", ")))
}

/// Names of flags that a text has, and no bit stands for.
fn unknown(names: &BTreeMap<Box<str>, u64>) -> Option<String> {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.keys().take(SHOWN).map(|name| cited(name)).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    let events = names.values().fold(0, |sum: u64, events| sum.saturating_add(*events));
    let (shown, of) = (shown.join(", "), if names.len() == 1 { "a gfp flag that is" } else { "gfp flags that are" });
    (!names.is_empty()).then(|| format!("the trace has {of} not known, and left out: {shown}{more} ({events} in all)"))
}

/// A machine of several nodes whose recording does not say which CPUs are theirs.
fn nodes(recording: &Recording) -> Option<String> {
    let zones = &recording.snapshots.get("start")?.zoneinfo.as_ref()?.zones;
    let nodes: BTreeSet<u32> = zones.iter().filter(|zone| zone.managed > 0).map(|zone| zone.node).collect();
    let many = nodes.len();
    (many > 1 && !recording.topology.is_known()).then(|| {
        format!(
            "the machine has {many} nodes, and the recording does not say which CPUs are theirs (meta/sys/*_cpulist): each CPU is taken for \
             one of the node that most of its pages are of"
        )
    })
}

/// What is to be said if the last tick was cut short.
pub fn tick_cut_short(recording: &Recording) -> Option<String> {
    let line = recording.tick_cut_short?;
    let path = recording.name_of("ticks.txt");
    Some(format!("{}:{line}: the file ends inside the tick that begins here, which is left out", path.display()))
}

/// What the log has not enough places for.
fn crowded(beside: &Beside) -> impl Iterator<Item = String> {
    let kinds = [(beside.tasks, MOST_TASKS, "tasks"), (beside.masks, MOST_MASKS, "gfp masks")];
    kinds.into_iter().filter(|(seen, most, _)| seen > most).map(|(seen, most, what)| {
        format!("the trace has {seen} {what}, and a replay tells {most} apart: the last {} are one", seen - most + 1)
    })
}

/// Ticks that the trace should have marks of, and has not: it ends too early, or what a CPU wrote last is lost.
fn unmarked(recording: &Recording, beside: &Beside) -> Option<String> {
    let lacking: Vec<u64> = promised(recording).filter(|number| !beside.ticks.contains_key(number)).collect();
    let which = match lacking.as_slice() {
        [] => return None,
        [only] => format!("tick {only}"),
        [one, other] => format!("ticks {one} and {other}"),
        [first, .., last] if last - first + 1 == lacking.len() as u64 => format!("ticks {first} to {last}"),
        [first, .., last] => format!("{} ticks between {first} and {last}", lacking.len()),
    };
    let last = beside.ticks.keys().next_back().filter(|last| lacking.iter().all(|number| number > last));
    let so =
        last.map_or("what /proc said then is left out".to_owned(), |last| format!("the window ends at tick {last}"));
    Some(format!("the trace has no mark of {which}: {so}"))
}

/// Numbers of the ticks that lie in the page trace, unless it was damaged: all, or those before the place where it was cut.
fn promised(recording: &Recording) -> impl Iterator<Item = u64> {
    let cut = recording.cut_tag.as_deref();
    let last_tick = cut.and_then(|tag| tag.strip_prefix("tick")?.parse::<u64>().ok());
    let snapshot = cut.and_then(|tag| Some(recording.snapshots.get(tag)?.mono_ns?.0));
    recording.ticks.iter().filter_map(move |tick| {
        let is_in = match (cut, last_tick, snapshot) {
            (None, ..) => true,
            (_, Some(last), _) => tick.number <= last,
            (_, _, Some(until_ns)) => tick.end_ns <= until_ns,
            // Where that is only the trace knows.
            _ => false,
        };
        is_in.then_some(tick.number)
    })
}
