//! Are the files beside a trace of the same run? A recorder marks in the trace when it begins and when it ends to read them, and writes down
//! `CLOCK_MONOTONIC` in between: the first mark comes before the time in the file, the last one after it. So by any first mark the trace's
//! clock is no further ahead of the file's than by any last mark, however long the recorder waited for a CPU.

use crate::marker::{Edge, Mark};
use crate::proc::ticks::Tick;
use crate::{Error, Recording};
use std::collections::BTreeMap;

/// What clocks may be off besides, nanoseconds: those of two CPUs with the trace clock `local` by a jiffy or two.
const SLACK_NS: i128 = 20_000_000;

/// Clocks may run apart by one in so many: twice what the kernel lets NTP make of it (500 in a million).
const DRIFT: i128 = 1000;

const TICKS: &str = "ticks.txt";

/// A mark, and the time beside it.
#[derive(Clone, Debug)]
struct Timed {
    mark: String,
    file: String,
    trace_ns: u64,
    /// How far the trace's clock is ahead.
    ahead: i128,
    edge: Edge,
}

/// The marks of a trace, by time.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks(Vec<(u64, What, Edge)>);

#[derive(Clone, Debug)]
enum What {
    Tick(u64),
    Snap(String),
}

impl Clocks {
    /// The trace has a mark.
    pub fn saw(&mut self, ts: u64, mark: Option<Mark<'_>>) {
        match mark {
            Some(Mark::Tick(number, edge)) => self.0.push((ts, What::Tick(number), edge)),
            Some(Mark::Snap(tag, edge)) => self.0.push((ts, What::Snap(tag.to_owned()), edge)),
            Some(Mark::Workload(_)) | None => {}
        }
    }

    /// Whether the times in the files are those of the trace; of files that have none, nothing is known.
    ///
    /// # Errors
    /// When a file is of another run.
    pub fn check(&self, recording: &Recording) -> Result<(), Error> {
        // Of a recording of days there are many.
        let ticks: BTreeMap<u64, &Tick> = recording.ticks.iter().map(|tick| (tick.number, tick)).collect();
        let timed = self.0.iter().filter_map(|(ts, what, edge)| timed(recording, &ticks, *ts, what, *edge));
        let timed: Vec<Timed> = timed.collect();
        let of_ticks: Vec<&Timed> = timed.iter().filter(|one| one.file == TICKS).collect();
        // If the ticks are at odds among themselves, it is not the snapshot that is wrong.
        let odd = at_odds(&of_ticks).or_else(|| at_odds(&timed.iter().collect::<Vec<_>>()));
        let Some((one, other)) = odd else { return Ok(()) };
        let (wrong, right) = if one.file == TICKS && other.file != TICKS { (other, one) } else { (one, other) };
        let apart = wrong.ahead.abs_diff(right.ahead) / 1_000_000;
        let problem =
            format!("its time at the trace's mark `{}` is {apart} ms off, by the time of `{}`", wrong.mark, right.mark);
        Err(recording.mismatch_of(&wrong.file, problem))
    }
}

fn timed(recording: &Recording, ticks: &BTreeMap<u64, &Tick>, trace_ns: u64, what: &What, edge: Edge) -> Option<Timed> {
    let (mark, file, (begin, end)) = match what {
        What::Tick(number) => {
            let tick = ticks.get(number)?;
            (format!("TICK {number}"), TICKS.to_owned(), (tick.begin_ns, tick.end_ns))
        }
        What::Snap(tag) => (format!("SNAP {tag}"), format!("{tag}.mono_ns"), recording.snapshots.get(tag)?.mono_ns?),
    };
    let (word, mono) = match edge {
        Edge::Begin => ("begin", begin),
        Edge::End => ("end", end),
    };
    Some(Timed { mark: format!("{mark} {word}"), file, trace_ns, ahead: i128::from(trace_ns) - i128::from(mono), edge })
}

/// Of all first and last marks those two that can least be of one run, if they can't; `marks` are by time.
fn at_odds<'a>(marks: &[&'a Timed]) -> Option<(&'a Timed, &'a Timed)> {
    let after = worst(marks.iter().copied(), -1);
    let before = worst(marks.iter().rev().copied(), 1);
    let (apart, first, last) = after.into_iter().chain(before).max_by_key(|(apart, ..)| *apart)?;
    (apart > SLACK_NS).then_some((first, last))
}

/// Of pairs in which the first mark is met after the last one, as time goes on (-1) or back (1), the one that is furthest apart, and by how
/// much more than drift.
fn worst<'a>(marks: impl Iterator<Item = &'a Timed>, direction: i128) -> Option<(i128, &'a Timed, &'a Timed)> {
    let drifted = |one: &Timed| one.ahead + direction * i128::from(one.trace_ns) / DRIFT;
    let mut last: Option<&Timed> = None;
    let mut worst: Option<(i128, &Timed, &Timed)> = None;
    for one in marks {
        if one.edge == Edge::End {
            last = last.filter(|last| drifted(last) <= drifted(one)).or(Some(one));
        } else if let Some(last) = last {
            let apart = drifted(one) - drifted(last);
            worst = worst.filter(|(most, ..)| *most >= apart).or(Some((apart, one, last)));
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn timed(trace_ms: u64, ahead_ms: i128, edge: Edge) -> Timed {
        let (mark, file) = (String::new(), String::new());
        Timed { mark, file, trace_ns: trace_ms * MS, ahead: ahead_ms * i128::from(MS), edge }
    }

    fn are_at_odds(marks: &[Timed]) -> bool {
        at_odds(&marks.iter().collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn waits_and_drift_are_no_other_run() {
        // The recorder waited before it wrote a time down, and after it had.
        let waits = [timed(0, -400, Edge::Begin), timed(1, 0, Edge::Begin), timed(2, 300, Edge::End)];
        assert!(!are_at_odds(&waits));
        let drifted = |ahead: i128| [timed(0, ahead, Edge::Begin), timed(100_000, 0, Edge::End)];
        assert!(!are_at_odds(&drifted(119)) && are_at_odds(&drifted(121)));
        let back = |ahead: i128| [timed(0, 0, Edge::End), timed(100_000, ahead, Edge::Begin)];
        assert!(!are_at_odds(&back(119)) && are_at_odds(&back(121)));
        // What is near tells more than what is far.
        let near = [timed(0, 110, Edge::Begin), timed(1000, 80, Edge::End), timed(100_000, 0, Edge::End)];
        assert!(are_at_odds(&near) && !are_at_odds(&near[1..]) && !are_at_odds(&[near[0].clone(), near[2].clone()]));
        let at_once = |ahead: i128| [timed(5, 0, Edge::End), timed(5, ahead, Edge::Begin)];
        assert!(!are_at_odds(&at_once(20)) && are_at_odds(&at_once(21)));
        assert!(!are_at_odds(&[timed(1, 9999, Edge::Begin)]), "nothing to compare it with");
    }
}
