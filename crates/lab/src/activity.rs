//! What took time: the runs of kswapd, kcompactd, compaction and direct reclaim, and waits.

use mm::{MmEvent, Nanos};
use pagealloc::ZoneId;
use std::collections::{BTreeMap, VecDeque};

/// Most events kept of a run.
const MOST: usize = 1 << 20;

/// An event that begins, ends or is something that took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Nanoseconds on the run's clock.
    pub ts: Nanos,
    /// The event.
    pub event: MmEvent,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Who did it, or where.
    pub track: String,
    /// What.
    pub name: String,
    /// Start on the run's clock.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
}

/// Events of a run that tell what took time, as far as there is room for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activities {
    /// In the order of time.
    pub events: Vec<Activity>,
    /// Later events that there was no room for.
    pub dropped: u64,
}

impl Activities {
    /// Keeps an event if it is one that tells what took time.
    pub fn note(&mut self, ts: Nanos, event: &MmEvent) {
        if !tells_time(event) {
            return;
        }
        if self.events.len() < MOST {
            self.events.push(Activity { ts, event: *event });
        } else {
            self.dropped += 1;
        }
    }
}

const fn tells_time(event: &MmEvent) -> bool {
    use MmEvent::*;
    matches!(
        event,
        CompactionBegin { .. }
            | CompactionEnd { .. }
            | CompactionKcompactdSleep { .. }
            | CompactionKcompactdWake { .. }
            | VmscanKswapdSleep { .. }
            | VmscanKswapdWake { .. }
            | VmscanDirectReclaimBegin { .. }
            | VmscanDirectReclaimEnd { .. }
            | VmscanThrottled { .. }
            | FragmentationStall { .. }
            | OomKill { .. }
    )
}

/// Begins that wait for their end. Of a model's events nobody knows who it was: all are of task 0, and the one that began first
/// ends first. So a slice's length may be another's that ran at the same time on the same track; their sum is right.
#[derive(Default)]
pub struct Pairing {
    open: BTreeMap<(String, i32), VecDeque<(Nanos, String)>>,
    slices: Vec<Slice>,
}

impl Pairing {
    /// Something begins on a track, done by a task.
    pub fn begin(&mut self, ts: Nanos, track: String, task: i32, name: String) {
        self.open.entry((track, task)).or_default().push_back((ts, name));
    }

    /// Something begins of which only one can be open on a track: if one is, it goes on.
    pub fn awake(&mut self, ts: Nanos, track: String, name: String) {
        let open = self.open.entry((track, 0)).or_default();
        if open.is_empty() {
            open.push_back((ts, name));
        }
    }

    /// What began first on a track ends. `result` is added to its name.
    pub fn end(&mut self, ts: Nanos, track: String, task: i32, result: Option<&str>) {
        let key = (track, task);
        let Some((start, mut name)) = self.open.get_mut(&key).and_then(VecDeque::pop_front) else { return };
        if let Some(result) = result {
            name += ": ";
            name += result;
        }
        self.slices.push(Slice { track: key.0, name, start, end: ts });
    }

    /// Something ends that took so long.
    pub fn took(&mut self, ts: Nanos, track: String, name: String, duration: Nanos) {
        self.slices.push(Slice { track, name, start: ts.saturating_sub(duration), end: ts });
    }

    /// All slices by start; what is open ends with the run.
    pub fn finish(mut self, end: Nanos) -> Vec<Slice> {
        for ((track, _), open) in self.open {
            let left = open.into_iter().map(|(start, name)| Slice { track: track.clone(), name, start, end });
            self.slices.extend(left);
        }
        self.slices.sort_by(|a, b| (a.start, a.end, &a.track).cmp(&(b.start, b.end, &b.track)));
        self.slices
    }
}

/// The slices of a model's run. `zone` names a zone.
pub fn slices(activities: &Activities, end: Nanos, zone: impl Fn(ZoneId) -> String) -> Vec<Slice> {
    let mut pairing = Pairing::default();
    for Activity { ts, event } in &activities.events {
        pair(&mut pairing, *ts, event, &zone);
    }
    pairing.finish(end)
}

fn pair(pairing: &mut Pairing, ts: Nanos, event: &MmEvent, zone: &impl Fn(ZoneId) -> String) {
    const MICROSECOND: u64 = 1_000;
    match *event {
        MmEvent::CompactionBegin { zone: of, mode, .. } => {
            pairing.begin(ts, format!("compaction {}", zone(of)), 0, format!("{mode:?}").to_ascii_lowercase());
        }
        MmEvent::CompactionEnd { zone: of, status, .. } => {
            pairing.end(ts, format!("compaction {}", zone(of)), 0, Some(status.name()));
        }
        MmEvent::CompactionKcompactdWake { nid, order } => {
            pairing.awake(ts, format!("kcompactd node {}", nid.0), format!("order {order}"));
        }
        MmEvent::CompactionKcompactdSleep { nid } => pairing.end(ts, format!("kcompactd node {}", nid.0), 0, None),
        MmEvent::VmscanKswapdWake { nid, order } => {
            pairing.awake(ts, format!("kswapd node {}", nid.0), format!("order {order}"));
        }
        MmEvent::VmscanKswapdSleep { nid } => pairing.end(ts, format!("kswapd node {}", nid.0), 0, None),
        MmEvent::VmscanDirectReclaimBegin { order, .. } => {
            pairing.begin(ts, "direct reclaim".to_owned(), 0, format!("order {order}"));
        }
        MmEvent::VmscanDirectReclaimEnd { .. } => pairing.end(ts, "direct reclaim".to_owned(), 0, None),
        MmEvent::VmscanThrottled { usect_delayed, reason, .. } => {
            pairing.took(ts, "throttled".to_owned(), format!("{reason:?}"), usect_delayed * MICROSECOND);
        }
        MmEvent::FragmentationStall { duration, .. } => {
            pairing.took(ts, "fragment stall".to_owned(), "fragment_stall".to_owned(), duration * MICROSECOND);
        }
        MmEvent::OomKill { pid } => pairing.took(ts, "oom".to_owned(), format!("killed {pid}"), 0),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::{Gfp, NodeId};

    #[test]
    fn begins_and_ends_become_slices_and_what_is_open_ends_with_the_run() {
        let mut seen = Activities::default();
        let begin = |order| MmEvent::VmscanDirectReclaimBegin { order, gfp_flags: Gfp::KERNEL };
        let nid = NodeId(0);
        seen.note(1, &MmEvent::VmscanKswapdWake { nid, order: 3 });
        seen.note(2, &begin(0));
        seen.note(3, &MmEvent::VmscanKswapdWake { nid, order: 9 });
        seen.note(4, &begin(9));
        seen.note(5, &MmEvent::VmscanDirectReclaimEnd { nr_reclaimed: 1 });
        seen.note(6, &MmEvent::CompactionWakeupKcompactd { nid, order: 9 });
        seen.note(7, &MmEvent::VmscanKswapdSleep { nid });
        seen.note(
            9_000,
            &MmEvent::VmscanThrottled {
                nid,
                usec_timeout: 1,
                usect_delayed: 2,
                reason: mm::reclaim::ThrottleReason::Writeback,
            },
        );
        assert_eq!(seen.events.len(), 7, "a wake-up call takes no time");
        let slices = slices(&seen, 10_000, |_| unreachable!("no compaction"));
        let short: Vec<_> = slices.iter().map(|s| (s.track.as_str(), s.name.as_str(), s.start, s.end)).collect();
        assert_eq!(
            short,
            [
                ("kswapd node 0", "order 3", 1, 7),
                ("direct reclaim", "order 0", 2, 5),
                ("direct reclaim", "order 9", 4, 10_000),
                ("throttled", "Writeback", 7_000, 9_000),
            ]
        );
    }
}
