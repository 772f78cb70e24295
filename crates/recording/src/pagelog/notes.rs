//! What a recording does not tell, though it should: said wherever a replay of it is printed.

use super::beside::Beside;
use super::build::MOST_MASKS;
use super::given::Start;
use super::task::MOST_TASKS;
use crate::Recording;

/// All that is to be said, a sentence each.
pub(super) fn of(recording: &Recording, start: &Start<'_>, beside: &Beside) -> Vec<String> {
    start.notes().chain(tick_cut_short(recording)).chain(unmarked(recording, beside)).chain(crowded(beside)).collect()
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
