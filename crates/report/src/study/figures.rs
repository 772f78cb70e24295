//! All that a study may ask of a run: rows, mmtests' derived rows, what the experiment measures, latencies, each under one name.

use crate::latency;
use crate::scenario::workload_figures;
use crate::{Ran, Rows, measures, vmstat_block};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is kept of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFigures {
    /// Digest of the event stream.
    pub event_digest: String,
    /// Digest of the operations; `None` if the run was cut short.
    pub workload_digest: Option<String>,
    /// Figures by name.
    pub figures: BTreeMap<String, f64>,
    /// Samples in the order in which they were taken, by name: `measure.NAME`.
    pub series: BTreeMap<String, Vec<f64>>,
}

impl RunFigures {
    /// Figures of a run.
    pub fn of(ran: &Ran) -> RunFigures {
        let digest = |digest: u64| format!("{digest:016x}");
        let mut figures: BTreeMap<String, f64> = BTreeMap::new();
        figures.extend(Rows::of(&ran.outcome).iter().map(|row| (row.name.clone(), row.value as f64)));
        figures.extend(workload_figures(ran).map(|(name, value)| (name, value as f64)));
        let seconds = ran.run.elapsed as f64 / 1e9;
        let block = vmstat_block::block(&ran.outcome.counters, Some(seconds));
        let named = |label: &str| format!("vmstat.{}", label.replace(' ', "_"));
        figures.extend(block.into_iter().map(|(label, value)| (named(label), value.number())));
        figures.extend(measures::values(&ran.measures));
        figures.extend(latencies(ran));
        figures.extend(stalls(&ran.outcome.fragment_stalls));
        let nodes = ran.outcome.extfrag_by_node.iter().enumerate();
        figures.extend(nodes.map(|(node, &events)| (format!("extfrag.node{node}"), events as f64)));
        if let Some((user, system)) = ran.outcome.cpu_ns {
            figures.extend(
                [("cpu.user_s", user), ("cpu.system_s", system)].map(|(name, ns)| (name.to_owned(), ns as f64 / 1e9)),
            );
        }
        figures.insert("hang".to_owned(), f64::from(u8::from(ran.run.hang.is_some())));
        let series =
            ran.measures.iter().map(|measure| (format!("{}{}", measures::PREFIX, measure.name), &measure.samples));
        RunFigures {
            event_digest: digest(ran.facts.digest),
            workload_digest: ran.run.digest().map(digest),
            figures,
            series: series.map(|(name, samples)| (name, samples.clone())).collect(),
        }
    }
}

/// `fragment_stall.total_ms`, the share of stalls that lasted one jiffy, and how many lasted how long.
fn stalls(micros: &[u64]) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::from([("fragment_stall.total_ms".to_owned(), micros.iter().sum::<u64>() as f64 / 1e3)]);
    // The kernel counts whole jiffies: the shortest there is.
    if let Some(&jiffy) = micros.iter().min() {
        let shortest = micros.iter().filter(|&&stall| stall == jiffy).count();
        figures.insert("fragment_stall.shortest_percent".to_owned(), 100.0 * shortest as f64 / micros.len() as f64);
    }
    for stall in micros {
        *figures.entry(format!("fragment_stall.us{stall}")).or_default() += 1.0;
    }
    figures
}

/// `latency.orderN.CLASS.WHAT` of requests that took the slow path, and `requests.orderN` of all.
fn latencies(ran: &Ran) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for ((order, class), latency) in latency::by_class(&ran.outcome.slow_requests) {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let what = [
            ("count", latency.count as f64),
            ("failed", latency.failed as f64),
            ("p50_us", micros(latency.p50)),
            ("p99_us", micros(latency.p99)),
            ("max_us", micros(latency.max)),
        ];
        figures.extend(what.map(|(what, value)| (format!("latency.order{order}.{}.{what}", class.name()), value)));
    }
    let orders = latency::by_order(&ran.outcome).into_iter();
    figures.extend(orders.map(|(order, latency)| (format!("requests.order{order}"), latency.count as f64)));
    figures
}
