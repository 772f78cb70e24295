//! What the recorded kernel itself made of the load, in the shape of a replay's outcome.

use crate::error::{Error, SourceName};
use crate::proc::buddyinfo::FreeBlocks;
use crate::proc::pagetypeinfo::{self, PageTypeInfo};
use crate::proc::ticks::Tick;
use crate::proc::vmstat::{self, Vmstat};
use lab::outcome::{ExtfragAt, Outcome, Sample, ZoneEnd};
use pagealloc::{Migratetype, NR_ORDERS};
use std::collections::{BTreeMap, BTreeSet};

/// A tick and the time at which it ended, on the trace clock.
pub type TimedTick<'a> = (u64, &'a Tick);

/// The kernel's outcome from the first of the ticks to the last one in the window (trace time, ns). A counter that falls from one tick to the
/// next is not known from there on.
pub fn kernel_outcome(window: (u64, u64), extfrag: Vec<ExtfragAt>, ticks: &[TimedTick<'_>]) -> Outcome {
    let mut outcome = Outcome { extfrag, ..Outcome::default() };
    let Some((_, first)) = ticks.first() else { return outcome };
    let fragmenting =
        |until: u64| outcome.extfrag.iter().filter(|e| e.ts <= until && e.event.fragmenting()).count() as u64;
    let mut before = &first.vmstat;
    let mut fallen = BTreeSet::new();
    let samples = ticks.iter().map(|(ts, tick)| {
        fallen.extend(tick.vmstat.fallen_since(before));
        before = &tick.vmstat;
        let mut counters = counters(&first.vmstat, &tick.vmstat);
        counters.retain(|name, _| !fallen.contains(name.as_str()));
        Sample {
            ts: *ts,
            zones: zones(tick.pagetypeinfo.as_ref(), &tick.buddyinfo),
            counters,
            extfrag: fragmenting(*ts),
        }
    });
    outcome.series = samples.filter(|sample| sample.ts > window.0 && sample.ts <= window.1).collect();
    if let Some(last) = outcome.series.last() {
        outcome.counters = last.counters.clone();
        outcome.zones = last.zones.clone();
    }
    outcome
}

/// What `/proc` says at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcTexts {
    /// `/proc/vmstat`
    pub vmstat: String,
    /// `/proc/pagetypeinfo`, which only root may read.
    pub pagetypeinfo: Option<String>,
}

/// The kernel's outcome as far as `/proc` alone tells it, from one moment to another. `name` stands in errors.
///
/// # Errors
/// When one of the texts is not understood.
pub fn between(name: &SourceName, before: &ProcTexts, after: &ProcTexts) -> Result<Outcome, Error> {
    let (first, last) = (vmstat::parse(name, &before.vmstat)?, vmstat::parse(name, &after.vmstat)?);
    let info = after.pagetypeinfo.as_deref().map(|text| pagetypeinfo::parse(name, text)).transpose()?;
    Ok(Outcome {
        counters: counters(&first, &last),
        zones: zones(info.as_ref(), &[]),
        untraced: true,
        ..Outcome::default()
    })
}

fn counters(first: &Vmstat, last: &Vmstat) -> BTreeMap<String, u64> {
    last.since(first).map(|(name, delta)| (name.to_owned(), delta)).collect()
}

/// Zones as /proc/pagetypeinfo has them; `all`: /proc/buddyinfo, which counts every list to its end.
pub(crate) fn zones(info: Option<&PageTypeInfo>, all: &[FreeBlocks]) -> Vec<ZoneEnd> {
    let Some(info) = info else { return Vec::new() };
    let mut zones: Vec<ZoneEnd> = Vec::new();
    for row in &info.blocks {
        // Machines with more nodes than that are not replayed either.
        let Ok(node) = u8::try_from(row.node) else { continue };
        let mut zone = ZoneEnd { node, name: row.zone.to_string(), ..ZoneEnd::default() };
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
    count_to_the_end(&mut zones, info, all);
    zones
}

/// Gives what the kernel left uncounted of a list to its type; of several such lists of an order, to the first one's.
fn count_to_the_end(zones: &mut [ZoneEnd], info: &PageTypeInfo, all: &[FreeBlocks]) {
    for row in info.free.iter().filter(|row| row.by_order.iter().any(|count| count.at_least)) {
        let zone = zones.iter_mut().find(|zone| u32::from(zone.node) == row.node && *zone.name == *row.zone);
        let of_zone = all.iter().find(|of| of.node == row.node && of.zone == row.zone);
        let (Some(zone), Some(of_zone), Some(migratetype)) = (zone, of_zone, by_name(&row.migratetype)) else {
            continue;
        };
        let counts = row.by_order.iter().zip(&of_zone.by_order).enumerate().take(NR_ORDERS);
        for (order, (_, blocks)) in counts.filter(|(_, (count, _))| count.at_least) {
            let counted = zone.free.iter().fold(0, |sum: u64, of| sum.saturating_add(of[order]));
            zone.free[migratetype.index()][order] += blocks.saturating_sub(counted);
        }
    }
}

fn by_name(name: &str) -> Option<Migratetype> {
    Migratetype::ALL.into_iter().find(|migratetype| migratetype.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A last tick whose figure was cut short shows as if it were right, unless it is compared with the one before.
    #[test]
    fn a_counter_that_fell_is_unknown_from_there_on() {
        let tick = |pgscan: u64| {
            let text = format!("pgfree {pgscan}\npgscan_kswapd {pgscan}\n").replace("pgfree 1023", "pgfree 102378");
            Tick {
                vmstat: vmstat::parse(&Path::new("ticks.txt").into(), &text).expect("well formed"),
                ..Tick::default()
            }
        };
        let ticks = [tick(5), tick(99_000), tick(1023), tick(103_000)];
        let timed: Vec<TimedTick<'_>> = (1..).zip(&ticks).collect();
        let outcome = kernel_outcome((1, 9), Vec::new(), &timed);
        let known = outcome.series.iter().map(|sample| sample.counters.contains_key("pgscan_kswapd"));
        assert_eq!(known.collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(outcome.counters.keys().collect::<Vec<_>>(), ["pgfree"]);
    }

    /// 100,000 blocks of order 0 are 400 MB: larger machines seemed to have no more.
    #[test]
    fn lists_that_pagetypeinfo_does_not_count_to_their_end_are_counted_by_buddyinfo() {
        let name = Path::new("ticks.txt").into();
        let rows = |node: u32| {
            format!(
                "Node {node}, zone Normal, type Unmovable 7 >100000\nNode {node}, zone Normal, type Movable >100000 >100000\n"
            )
        };
        let blocks = "Number of blocks type Unmovable Movable\nNode 0, zone Normal 1 2\nNode 1, zone Normal 1 2\n";
        let info = pagetypeinfo::parse(&name, &(rows(0) + &rows(1) + blocks)).expect("well formed");
        let all = crate::proc::buddyinfo::parse(&name, "Node 0, zone Normal 300007 300000\nNode 1, zone Normal 5 5\n");
        let free = |all: &[FreeBlocks]| -> Vec<[u64; 4]> {
            let of = |zone: &ZoneEnd| {
                let [unmovable, movable] =
                    [Migratetype::Unmovable, Migratetype::Movable].map(|of| zone.free[of.index()]);
                [unmovable[0], unmovable[1], movable[0], movable[1]]
            };
            zones(Some(&info), all).iter().map(of).collect()
        };
        let capped = [7, 100_000, 100_000, 100_000];
        assert_eq!(free(&all.expect("well formed")), [[7, 200_000, 300_000, 100_000], capped]);
        assert_eq!(free(&[]), [capped; 2], "where it is not known");
    }

    #[test]
    fn proc_alone_knows_counters_and_no_events() {
        let at = |pgfree: u64| ProcTexts { vmstat: format!("nr_free_pages 5\npgfree {pgfree}\n"), pagetypeinfo: None };
        let outcome = between(&Path::new("proc").into(), &at(7), &at(9)).expect("well formed");
        assert_eq!(outcome.counters["pgfree"], 2);
        assert!(!outcome.counters.contains_key("nr_free_pages"), "a level is no count");
        assert!(outcome.untraced && outcome.zones.is_empty());
    }
}
