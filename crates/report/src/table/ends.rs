//! The sections below the figures, with the columns under one another: free blocks by type and order, latencies, replays.

use super::Facts;
use super::shown::Shown;
use crate::latency::{self, GfpClass, Latency};
use crate::over_runs::middle;
use crate::text::{LABEL_WIDTH, LINE_WIDTH, duration, heading, line};
use lab::outcome::Outcome;
use pagealloc::{Migratetype, NR_ORDERS, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Requests of an order: of one class, or all of them.
type Requests = (Order, Option<GfpClass>);

/// Prints all of them.
pub(super) fn print(text: &mut String, columns: &[Shown]) {
    let several = columns.iter().any(|column| column.runs.len() > 1);
    free_areas(text, columns, several);
    latencies(text, columns, several);
    replays(text, columns);
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    middle(&values).copied().unwrap_or(0)
}

/// A line of a column. A name that leaves no room for its figures has a line of its own above them.
fn named_line(text: &mut String, name: &str, width: usize, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let fits = name.len() + 2 < LABEL_WIDTH || name.len() + 2 + width * cells.len() <= LINE_WIDTH;
    if !fits {
        let _ = writeln!(text, "  {name}");
    }
    line(text, &format!("  {}", if fits { name } else { "" }), width, cells);
}

/// Free blocks of every type by order, one line a column: pagetypeinfo, with the columns under one another.
fn free_areas(text: &mut String, columns: &[Shown], several: bool) {
    let free = |column: &Shown| Migratetype::ALL.map(|migratetype| free_of(column, migratetype));
    let columns: Vec<_> = columns.iter().map(|column| (column, free(column))).collect();
    let all = || columns.iter().flat_map(|(_, types)| types);
    let orders = all().filter_map(|free| free.iter().rposition(|&blocks| blocks > 0)).max().unwrap_or(0).max(10);
    let widest = all().flatten().max().map_or(0, |count| count.to_string().len());
    let width = widest.max(4) + 1;
    let what = if several { "all zones, medians" } else { "all zones" };
    heading(text, &format!("Free blocks at the end, by type and order ({what})"));
    line(text, "", width, (0..=orders).map(|order| order.to_string()));
    for (index, migratetype) in Migratetype::ALL.into_iter().enumerate() {
        if columns.iter().all(|(_, types)| types[index].iter().all(|&n| n == 0)) {
            continue;
        }
        let _ = writeln!(text, "{}", migratetype.name());
        for (column, types) in &columns {
            if column.outcomes().any(|outcome| !outcome.zones.is_empty()) {
                named_line(text, column.name, width, types[index][..=orders].iter().map(u64::to_string));
            }
        }
    }
}

fn free_of(column: &Shown, migratetype: Migratetype) -> [u64; NR_ORDERS] {
    let count = |outcome: &Outcome, order: usize| {
        outcome.zones.iter().map(|zone| zone.free[migratetype.index()][order]).sum::<u64>()
    };
    std::array::from_fn(|order| median(column.outcomes().map(|outcome| count(outcome, order)).collect()))
}

fn latencies(text: &mut String, columns: &[Shown], several: bool) {
    let mut groups: BTreeMap<Requests, Vec<(&str, Latency)>> = BTreeMap::new();
    // Orders that were always served at once have nothing to tell.
    let requests = || columns.iter().flat_map(Shown::outcomes).flat_map(|outcome| &outcome.slow_requests);
    let slow: BTreeSet<Order> = requests().map(|request| request.order).collect();
    for column in columns {
        for (requests, latency) in latencies_of(column, &slow) {
            groups.entry(requests).or_default().push((column.name, latency));
        }
    }
    // Nor have groups that were all served without waiting: three lines of zeros each.
    groups.retain(|_, columns| columns.iter().any(|(_, latency)| latency.failed > 0 || latency.max > 0));
    if groups.is_empty() {
        return;
    }
    let what = match several {
        true => "virtual time, medians; left out: without any wait",
        false => "virtual time; those without any wait left out",
    };
    heading(text, &format!("Latency of requests by order and kind of mask ({what})"));
    line(text, "", 12, ["count", "failed", "p50", "p99", "max"].map(str::to_owned));
    for ((order, class), columns) in groups {
        let what = class.map_or("all requests, fast ones as 0", GfpClass::name);
        let slow = if class.is_some() { " on the slow path" } else { "" };
        let _ = writeln!(text, "order {order}, {what}{slow}");
        for (name, latency) in columns {
            let times = [latency.p50, latency.p99, latency.max].map(duration);
            let counts = [latency.count, latency.failed].map(|count| count.to_string());
            named_line(text, name, 12, counts.into_iter().chain(times));
        }
    }
}

/// Each figure's median over the runs. A run without such requests had none of them, and none that waited.
fn latencies_of(column: &Shown, slow: &BTreeSet<Order>) -> BTreeMap<Requests, Latency> {
    let mut by_group: BTreeMap<Requests, Vec<Latency>> = BTreeMap::new();
    for outcome in column.outcomes() {
        let orders = latency::by_order(outcome).into_iter().filter(|(order, _)| slow.contains(order));
        let orders = orders.map(|(order, latency)| ((order, None), latency));
        let classes = latency::by_class(&outcome.slow_requests).into_iter();
        let classes = classes.map(|((order, class), latency)| ((order, Some(class)), latency));
        for (requests, latency) in orders.chain(classes) {
            by_group.entry(requests).or_default().push(latency);
        }
    }
    let none = column.runs.len();
    let over_runs = |found: Vec<Latency>| {
        let median_of = |figure: fn(&Latency) -> u64| {
            let mut values: Vec<u64> = found.iter().map(figure).collect();
            values.resize(none, 0);
            median(values)
        };
        Latency {
            count: median_of(|latency| latency.count),
            failed: median_of(|latency| latency.failed),
            p50: median_of(|latency| latency.p50),
            p99: median_of(|latency| latency.p99),
            max: median_of(|latency| latency.max),
        }
    };
    by_group.into_iter().map(|(requests, found)| (requests, over_runs(found))).collect()
}

/// No times: the same replay prints the same table.
fn replays(text: &mut String, columns: &[Shown]) {
    let replays: Vec<(&str, Vec<&Facts>)> =
        columns.iter().map(|column| (column.name, column.facts().collect())).collect();
    if replays.iter().all(|(_, facts)| facts.is_empty()) {
        return;
    }
    heading(text, "Replays");
    for (name, facts) in replays {
        let Some(first) = facts.first() else { continue };
        let _ = writeln!(text, "{name}");
        match facts.as_slice() {
            [only] => {
                let _ = writeln!(text, "  preset {}, seed {}, digest {:016x}", only.preset, only.seed, only.digest);
            }
            seeds => {
                let _ = writeln!(text, "  preset {}", first.preset);
                for seed in seeds {
                    let _ = writeln!(text, "  seed {}, digest {:016x}", seed.seed, seed.digest);
                }
            }
        }
        let _ = writeln!(text, "  {} page events", first.page_events);
    }
}
