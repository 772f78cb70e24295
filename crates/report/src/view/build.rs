//! A run of a view, from what a run left.

use super::{Bucket, Cell, Chunk, Events, Kind, Latency, Map, Run, Series, Slice, Zone, frames};
use crate::latency::{self, GfpClass};
use crate::matrix::{Matrix, type_name};
use crate::{Facts, Rows};
use lab::activity;
use lab::outcome::{EventClass, ExtfragAt, Outcome, SlowRequest};
use lab::timeline::{Bucket as Sampled, Timeline};
use pagealloc::Order;
use std::collections::BTreeMap;

/// Most fragmentation events of a run in a view.
const MOST_EVENTS: usize = 20_000;
/// Most slices of a run in a view.
const MOST_SLICES: usize = 4_000;
/// Every so many samples of the map stand in full.
const KEYFRAME_EVERY: u32 = 64;

/// What a run left.
#[derive(Clone, Debug)]
pub struct Ran<'a> {
    /// Column name.
    pub name: String,
    /// What ran.
    pub kind: Kind,
    /// Scenario that was run.
    pub scenario: Option<String>,
    /// Recording that was replayed, or that the kernel's side is read from.
    pub recording: Option<String>,
    /// Command line that repeats it.
    pub command: String,
    /// Policy, seed, digest.
    pub facts: Option<&'a Facts>,
    /// What came out.
    pub outcome: &'a Outcome,
    /// It over time, where that was kept.
    pub timeline: Option<&'a Timeline>,
}

/// Seconds since the start, of a time on the run's clock.
struct Clock(u64);

impl Clock {
    fn seconds(&self, ts: u64) -> f64 {
        ts.saturating_sub(self.0) as f64 / 1e9
    }
}

impl Run {
    /// The run as a view has it.
    pub fn of(ran: &Ran<'_>) -> Run {
        let outcome = ran.outcome;
        let nothing = Timeline::default();
        let timeline = ran.timeline.unwrap_or(&nothing);
        let clock = Clock(start(ran));
        let slices = slices(timeline, outcome, &clock);
        let of_model = ran.facts.filter(|_| ran.kind != Kind::Kernel);
        let facts = Facts::default();
        let facts = ran.facts.unwrap_or(&facts);
        Run {
            name: ran.name.clone(),
            group: ran.name.clone(),
            kind: ran.kind,
            scenario: ran.scenario.clone(),
            recording: ran.recording.clone(),
            policy: ran.name.clone(),
            preset: timeline.release.clone().unwrap_or_else(|| facts.preset.clone()),
            sysctls: facts.sysctls.clone(),
            seed: of_model.map(|facts| facts.seed),
            digest: of_model.map(|facts| format!("{:016x}", facts.digest)),
            command: ran.command.clone(),
            notes: notes(ran),
            clock_start_ns: clock.0,
            duration_s: clock.seconds(end(ran)),
            page_size: if ran.timeline.is_some() { timeline.machine.page_size } else { 4096 },
            pageblock_order: if ran.timeline.is_some() { timeline.machine.pageblock_order } else { 9 },
            zones: zones(timeline),
            clocks: clocks(timeline, &clock),
            series: series(timeline),
            map: map(timeline, &clock),
            events: events(&outcome.extfrag, &clock),
            events_total: outcome.extfrag.len() as u64,
            matrix: matrix(&outcome.extfrag),
            latency: latencies(outcome),
            counters: Rows::of(outcome).iter().map(|row| (row.name.clone(), row.value)).collect(),
            slices_total: slices.len() as u64,
            slices: longest(slices, MOST_SLICES),
        }
    }
}

fn start(ran: &Ran<'_>) -> u64 {
    match (ran.timeline, ran.outcome.series.first()) {
        (Some(timeline), _) => timeline.window.0,
        (None, Some(first)) => first.ts,
        (None, None) => 0,
    }
}

fn end(ran: &Ran<'_>) -> u64 {
    let last = ran.outcome.series.last().map_or(0, |sample| sample.ts);
    ran.timeline.map_or(last, |timeline| timeline.window.1)
}

fn notes(ran: &Ran<'_>) -> Vec<String> {
    let mut notes = ran.timeline.map(|timeline| timeline.notes.clone()).unwrap_or_default();
    if ran.timeline.is_none() {
        notes.push("What happened over time was not kept.".to_owned());
    }
    if ran.outcome.untraced {
        notes.push("Nothing was traced: that there are no fragmentation events says nothing.".to_owned());
    }
    notes
}

fn zones(timeline: &Timeline) -> Vec<Zone> {
    let zone = |span: &lab::timeline::Span| Zone {
        node: span.node,
        name: span.name.clone(),
        first_block: span.first_block,
        blocks: span.blocks,
    };
    timeline.machine.zones.iter().map(zone).collect()
}

fn clocks(timeline: &Timeline, clock: &Clock) -> Vec<Chunk> {
    let times: Vec<f32> = timeline.tracks.times().iter().map(|ts| clock.seconds(*ts) as f32).collect();
    vec![Chunk::f32(&times)]
}

fn series(timeline: &Timeline) -> Vec<Series> {
    let exact = timeline.tracks.is_exact();
    let packed =
        |buckets: &[Sampled], part: fn(&Sampled) -> f32| Chunk::f32(&buckets.iter().map(part).collect::<Vec<_>>());
    let tells = |key: &lab::timeline::Key, buckets: &[Sampled]| {
        let known = buckets.iter().any(|bucket| !bucket.value.is_nan());
        let moves = buckets.iter().any(|bucket| bucket.value != 0.0 && !bucket.value.is_nan() || bucket.high > 0.0);
        known && (moves || key.name == "free_pages" || key.group == lab::timeline::Group::Events)
    };
    let kept = timeline.tracks.iter().filter(|(key, buckets)| tells(key, buckets));
    kept.map(|(key, buckets)| Series {
        name: key.name.clone(),
        label: key.label.clone(),
        unit: key.unit.name().to_owned(),
        group: key.group.name().to_owned(),
        zone: key.zone.clone(),
        times: 0,
        value: packed(buckets, |bucket| bucket.value),
        low: (!exact).then(|| packed(buckets, |bucket| bucket.low)),
        high: (!exact).then(|| packed(buckets, |bucket| bucket.high)),
    })
    .collect()
}

fn map(timeline: &Timeline, clock: &Clock) -> Option<Map> {
    let blocks = timeline.map.blocks();
    let times: Vec<f32> = timeline.map.times().map(|ts| clock.seconds(ts) as f32).collect();
    (!times.is_empty()).then(|| Map {
        times: Chunk::f32(&times),
        blocks: blocks as u32,
        keyframe_every: KEYFRAME_EVERY,
        frames: frames::pack_map(&timeline.map, KEYFRAME_EVERY),
    })
}

fn events(all: &[ExtfragAt], clock: &Clock) -> Events {
    let kept = thinned(all, MOST_EVENTS);
    let bytes = |of: fn(&ExtfragAt) -> u8| Chunk::u8(&kept.iter().map(|at| of(at)).collect::<Vec<_>>());
    let block = |at: &&ExtfragAt| at.event.pfn.0 >> at.event.pageblock_order;
    Events {
        time: Chunk::f32(&kept.iter().map(|at| clock.seconds(at.ts) as f32).collect::<Vec<_>>()),
        block: Chunk::u32(&kept.iter().map(block).collect::<Vec<_>>()),
        kind: bytes(|at| at.class() as u8),
        alloc_type: bytes(|at| at.event.alloc_migratetype as u8),
        block_type: bytes(|at| at.event.fallback_migratetype as u8),
        alloc_order: bytes(|at| at.event.alloc_order),
        fallback_order: bytes(|at| at.event.fallback_order),
    }
}

/// At most so many events: first those that changed a block's type, evenly, then of the others every n-th.
fn thinned(all: &[ExtfragAt], most: usize) -> Vec<&ExtfragAt> {
    if all.len() <= most {
        return all.iter().collect();
    }
    let changed = all.iter().filter(|at| at.class() != EventClass::Pollute).count();
    let changed_every = changed.div_ceil(most).max(1);
    let room = most.saturating_sub(changed.div_ceil(changed_every));
    let others_every = (all.len() - changed).checked_div(room).map_or(usize::MAX, |every| every + 1);
    let (mut of_changed, mut of_others) = (0, 0);
    let kept = all.iter().filter(|at| {
        let (count, every) = match at.class() {
            EventClass::Pollute => (&mut of_others, others_every),
            EventClass::Claim | EventClass::Steal => (&mut of_changed, changed_every),
        };
        *count += 1;
        usize::is_multiple_of(*count, every)
    });
    kept.collect()
}

fn matrix(all: &[ExtfragAt]) -> Vec<Cell> {
    let counts = Matrix::of(all);
    let cells = counts.cells().flat_map(|(wanted, from, cell)| {
        let of = move |severity: &str, ownership: Option<&str>, count| Cell {
            alloc: type_name(wanted),
            fallback: type_name(from),
            severity: severity.to_owned(),
            ownership: ownership.map(str::to_owned),
            count,
        };
        [
            of("fragmenting", Some("kept"), cell.fragmenting_kept),
            of("fragmenting", Some("changed"), cell.fragmenting_changed),
            of("whole", None, cell.whole_block),
        ]
    });
    cells.filter(|cell| cell.count > 0).collect()
}

fn latencies(outcome: &Outcome) -> Vec<Latency> {
    let slow = |order: Order| outcome.slow_requests.iter().filter(move |request| request.order == order);
    let orders = latency::by_order(outcome).into_iter().map(|(order, of)| {
        let at_once = outcome.fast_requests[usize::from(order)];
        entry(order, "all", of, buckets(at_once, slow(order)))
    });
    let classes = latency::by_class(&outcome.slow_requests).into_iter().map(|((order, class), of)| {
        let requests = slow(order).filter(|request| GfpClass::of(request.gfp) == class);
        entry(order, class.name(), of, buckets(0, requests))
    });
    orders.chain(classes).collect()
}

fn entry(order: Order, class: &str, of: latency::Latency, buckets: Vec<Bucket>) -> Latency {
    Latency {
        order,
        class: class.to_owned(),
        count: of.count,
        failed: of.failed,
        p50_ns: of.p50,
        p99_ns: of.p99,
        max_ns: of.max,
        buckets,
    }
}

fn buckets<'a>(at_once: u64, requests: impl Iterator<Item = &'a SlowRequest>) -> Vec<Bucket> {
    let mut counts = BTreeMap::from([(0, at_once)]);
    for request in requests {
        let upto =
            if request.duration == 0 { 0 } else { request.duration.checked_next_power_of_two().unwrap_or(u64::MAX) };
        *counts.entry(upto).or_default() += 1;
    }
    let filled = counts.into_iter().filter(|(_, count)| *count > 0);
    filled.map(|(upto_ns, count)| Bucket { upto_ns, count }).collect()
}

/// What took time, for a view.
fn slices(timeline: &Timeline, outcome: &Outcome, clock: &Clock) -> Vec<Slice> {
    let of = |slice: activity::Slice| Slice {
        start_s: clock.seconds(slice.start),
        end_s: clock.seconds(slice.end),
        track: slice.track,
        name: slice.name,
    };
    everything_that_took_time(timeline, outcome).map(of).collect()
}

/// What took time: what the machinery did, and requests that had to wait.
pub(crate) fn everything_that_took_time<'a>(
    timeline: &'a Timeline,
    outcome: &'a Outcome,
) -> impl Iterator<Item = activity::Slice> + 'a {
    let waited = outcome.slow_requests.iter().filter(|request| request.duration > 0).map(|request| {
        let failed = if request.served { "" } else { ", failed" };
        let name = format!("order {} {}{failed}", request.order, GfpClass::of(request.gfp).name());
        activity::Slice { track: "stall".to_owned(), name, start: request.ts, end: request.ts + request.duration }
    });
    timeline.slices.iter().cloned().chain(waited)
}

/// At most so many slices, the longest, by start.
pub(super) fn longest(mut slices: Vec<Slice>, most: usize) -> Vec<Slice> {
    if slices.len() > most {
        let length = |slice: &Slice| slice.end_s - slice.start_s;
        slices.sort_by(|a, b| length(b).total_cmp(&length(a)));
        slices.truncate(most);
    }
    slices.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    slices
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::{Extfrag, Gfp, Migratetype, Pfn};

    fn event(ts: u64, class: EventClass) -> ExtfragAt {
        let event = Extfrag {
            pfn: Pfn(ts as u32 * 512),
            alloc_order: 0,
            fallback_order: if class == EventClass::Claim { 9 } else { 3 },
            alloc_migratetype: Migratetype::Unmovable,
            fallback_migratetype: Migratetype::Movable,
            change_ownership: class != EventClass::Pollute,
            pageblock_order: 9,
        };
        ExtfragAt { ts, event }
    }

    #[test]
    fn thinning_keeps_what_changed_blocks() {
        let all: Vec<ExtfragAt> = (0..1000)
            .map(|ts| event(ts, if ts % 100 == 7 { EventClass::Steal } else { EventClass::Pollute }))
            .collect();
        let kept = thinned(&all, 100);
        assert!(kept.len() <= 100 && kept.len() > 80, "{}", kept.len());
        assert_eq!(kept.iter().filter(|at| at.class() == EventClass::Steal).count(), 10);
        assert!(kept.is_sorted_by_key(|at| at.ts));
        let all: Vec<ExtfragAt> = (0..1000).map(|ts| event(ts, EventClass::Claim)).collect();
        assert_eq!(thinned(&all, 100).len(), 100);
    }

    #[test]
    fn an_outcome_becomes_a_run() {
        let slow =
            |duration, served| SlowRequest { ts: 5_000_000_000, order: 9, gfp: Gfp::TRANSHUGE, duration, served };
        let mut outcome = Outcome {
            extfrag: vec![event(1, EventClass::Claim), event(2, EventClass::Steal), event(3, EventClass::Pollute)],
            slow_requests: vec![slow(1_000, true), slow(3_000_000, false)],
            ..Outcome::default()
        };
        outcome.fast_requests[9] = 7;
        let facts = Facts { digest: 0xab, seed: 3, preset: "linux-6.18".into(), ..Facts::default() };
        let ran = Ran {
            name: "sim".into(),
            kind: Kind::Simulated,
            scenario: Some("demo".into()),
            recording: None,
            command: "fraglab run demo".into(),
            facts: Some(&facts),
            outcome: &outcome,
            timeline: None,
        };
        let run = Run::of(&ran);
        assert_eq!((run.seed, run.digest.as_deref(), run.events_total), (Some(3), Some("00000000000000ab"), 3));
        assert_eq!(run.events.kind.to_u8().expect("own chunk"), [0, 1, 2]);
        assert_eq!(run.events.block.to_u32().expect("own chunk"), [1, 2, 3]);
        let counts: Vec<_> = run.matrix.iter().map(|cell| (cell.ownership.as_deref(), cell.count)).collect();
        assert_eq!(counts, [(Some("kept"), 1), (Some("changed"), 1), (None, 1)]);
        let all = &run.latency[0];
        assert_eq!((all.class.as_str(), all.count, all.failed), ("all", 9, 1));
        let bars: Vec<_> = all.buckets.iter().map(|bar| (bar.upto_ns, bar.count)).collect();
        assert_eq!(bars, [(0, 7), (1024, 1), (1 << 22, 1)]);
        assert_eq!((run.slices.len(), run.slices[1].name.as_str()), (2, "order 9 thp, failed"));
        assert!(run.map.is_none() && !run.notes.is_empty());
    }
}
