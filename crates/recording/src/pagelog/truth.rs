//! What the recorded kernel itself made of the load, in the shape of a replay's outcome.

use crate::proc::ticks::Tick;
use lab::outcome::{ExtfragAt, Outcome, Sample, ZoneEnd};
use pagealloc::{Migratetype, NR_ORDERS};
use std::collections::BTreeMap;

/// A tick and the time at which it ended, on the trace clock.
pub type TimedTick<'a> = (u64, &'a Tick);

/// The kernel's outcome from the first of the ticks to the last one in the window (trace time, ns).
pub fn kernel_outcome(window: (u64, u64), extfrag: Vec<ExtfragAt>, ticks: &[TimedTick<'_>]) -> Outcome {
    let mut outcome = Outcome { extfrag, ..Outcome::default() };
    let Some((_, first)) = ticks.first() else { return outcome };
    let fragmenting =
        |until: u64| outcome.extfrag.iter().filter(|e| e.ts <= until && e.event.fragmenting()).count() as u64;
    let samples = ticks.iter().map(|(ts, tick)| Sample {
        ts: *ts,
        zones: zones(tick),
        counters: counters(first, tick),
        extfrag: fragmenting(*ts),
    });
    outcome.series = samples.filter(|sample| sample.ts > window.0 && sample.ts <= window.1).collect();
    if let Some(last) = outcome.series.last() {
        outcome.counters = last.counters.clone();
        outcome.zones = last.zones.clone();
    }
    outcome
}

fn counters(first: &Tick, tick: &Tick) -> BTreeMap<String, u64> {
    tick.vmstat.since(&first.vmstat).map(|(name, delta)| (name.to_owned(), delta.max(0) as u64)).collect()
}

fn zones(tick: &Tick) -> Vec<ZoneEnd> {
    let Some(info) = &tick.pagetypeinfo else { return Vec::new() };
    let mut zones: Vec<ZoneEnd> = Vec::new();
    for row in &info.blocks {
        let mut zone = ZoneEnd { node: row.node as u8, name: row.zone.to_string(), ..ZoneEnd::default() };
        for (name, blocks) in info.migratetypes.iter().zip(&row.by_type) {
            if let Some(migratetype) = by_name(name) {
                zone.blocks[migratetype.index()] = *blocks;
            }
        }
        zones.push(zone);
    }
    for row in &info.free {
        let zone = zones.iter_mut().find(|zone| u32::from(zone.node) == row.node && *zone.name == *row.zone);
        let (Some(zone), Some(migratetype)) = (zone, by_name(&row.migratetype)) else { continue };
        for (order, count) in row.by_order.iter().enumerate().take(NR_ORDERS) {
            zone.free[migratetype.index()][order] = count.blocks;
        }
    }
    zones
}

fn by_name(name: &str) -> Option<Migratetype> {
    Migratetype::ALL.into_iter().find(|migratetype| migratetype.name() == name)
}
