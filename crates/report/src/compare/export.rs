//! The comparison for programs: JSON and CSV.

use super::{Comparison, Variant, change};
use super::{setup, vmstat};
use crate::csv::field;
use crate::json::SCHEMA_VERSION;
use crate::stats::{self, CONFIDENCE, Interval, bootstrap};
use serde_json::{Value, json};
use std::fmt::Write;

/// Seed of the intervals of changes: the same runs always give the same interval.
const SEED: u64 = 1;

/// A row of a variant in figures.
struct Figures {
    values: Vec<f64>,
    interval: Option<Interval>,
    /// Against the baseline; nothing of the baseline itself.
    against: Option<Against>,
}

/// A row of a variant against the baseline.
struct Against {
    change: Option<f64>,
    interval: Option<Interval>,
    mann_whitney: Option<f64>,
    welch: Option<f64>,
    /// By the rule in force; `None` of single runs.
    significant: Option<bool>,
}

impl Comparison {
    fn figures(&self, row: &str, variant: usize) -> Figures {
        let (base, values) = (self.variants[0].samples(row), self.variants[variant].samples(row));
        let of_means = |a: &[f64], b: &[f64]| change(stats::mean(a)?, stats::mean(b)?);
        let against = (variant > 0).then(|| Against {
            change: of_means(&base, &values),
            interval: bootstrap::two(&base, &values, of_means, CONFIDENCE, SEED),
            mann_whitney: both_repeat(&base, &values).then(|| stats::mann_whitney(&base, &values).map_or(1.0, |t| t.p)),
            welch: stats::welch(&base, &values).map(|test| test.p),
            significant: self.options.rule.judge(&base, &values).map(|verdict| verdict.significant),
        });
        Figures { interval: stats::median_interval(&values, CONFIDENCE), values, against }
    }

    /// The comparison as one JSON object.
    pub fn to_json(&self) -> Value {
        let blocks: Vec<_> = self.variants.iter().map(vmstat::block).collect();
        let vmstat = vmstat::labels(&blocks).into_iter().map(|label| {
            let numbers = blocks.iter().map(|block| block.get(label).map(|value| value.number()));
            json!({"row": label, "values": numbers.collect::<Vec<_>>()})
        });
        json!({
            "schema": "fraglab.compare",
            "version": SCHEMA_VERSION,
            "recordings": self.recordings(),
            "base": self.variants[0].name,
            "rule": self.options.rule.name(),
            "variants": self.variants.iter().map(variant).collect::<Vec<_>>(),
            "rows": self.rows.iter().map(|row| self.row(row)).collect::<Vec<_>>(),
            "vmstat": vmstat.collect::<Vec<_>>(),
            "trends": self.trends.iter().map(trend).collect::<Vec<_>>(),
            "caveats": self.caveats,
        })
    }

    fn row(&self, row: &str) -> Value {
        let variants = (0..self.variants.len()).map(|at| {
            let Figures { values, interval, against } = self.figures(row, at);
            let mut object = json!({
                "name": self.variants[at].name,
                "values": values,
                "mean": stats::mean(&values),
                "stddev": stats::stddev(&values),
                "median": stats::median(&values),
                "median_low": interval.map(|interval| interval.low),
                "median_high": interval.map(|interval| interval.high),
            });
            if let Some(against) = against {
                object["change"] = against.change.into();
                object["change_low"] = against.interval.map(|interval| interval.low).into();
                object["change_high"] = against.interval.map(|interval| interval.high).into();
                object["p_mann_whitney"] = against.mann_whitney.into();
                object["p_welch"] = against.welch.into();
                object["significant"] = against.significant.into();
            }
            object
        });
        let better = self.better(row).map(|better| better.name());
        let calibrated = self.calibrated(row);
        json!({"row": row, "better": better, "calibrated": calibrated, "variants": variants.collect::<Vec<_>>()})
    }

    /// One line a row and variant.
    pub fn to_csv(&self) -> String {
        let mut text = String::from(
            "row,better,calibrated,variant,n,mean,stddev,median,median_low,median_high,change,change_low,change_high,\
             p_mann_whitney,p_welch,significant\n",
        );
        for row in &self.rows {
            let better = self.better(row).map_or("", |better| better.name());
            let calibrated = flag(self.calibrated(row));
            for (at, variant) in self.variants.iter().enumerate() {
                let Figures { values, interval, against } = self.figures(row, at);
                let against = against.as_ref();
                let change = against.and_then(|against| against.interval);
                let numbers = [
                    stats::mean(&values),
                    stats::stddev(&values),
                    stats::median(&values),
                    interval.map(|interval| interval.low),
                    interval.map(|interval| interval.high),
                    against.and_then(|against| against.change),
                    change.map(|interval| interval.low),
                    change.map(|interval| interval.high),
                    against.and_then(|against| against.mann_whitney),
                    against.and_then(|against| against.welch),
                ];
                let name = field(&variant.name);
                let _ = write!(text, "{},{better},{calibrated},{name},{}", field(row), values.len());
                for number in numbers {
                    let _ = write!(text, ",{}", number.map(|number| number.to_string()).unwrap_or_default());
                }
                let significant = against.and_then(|against| against.significant);
                let _ = writeln!(text, ",{}", flag(significant));
            }
        }
        text
    }
}

/// `1`, `0`, or nothing where it is not known.
fn flag(known: Option<bool>) -> &'static str {
    match known {
        None => "",
        Some(true) => "1",
        Some(false) => "0",
    }
}

/// Single runs have no p.
fn both_repeat(a: &[f64], b: &[f64]) -> bool {
    a.len() > 1 && b.len() > 1
}

fn variant(variant: &Variant) -> Value {
    let runs = variant.runs.iter().map(|run| {
        json!({
            "dir": run.dir.display().to_string(),
            "recording": run.recording,
            "policy": run.column,
            "seed": run.replay.as_ref().map(|replay| replay.seed),
            "event_digest": run.replay.as_ref().map(|replay| &replay.event_digest),
        })
    });
    let replay = variant.runs[0].replay.as_ref();
    json!({
        "name": variant.name,
        "preset": replay.map(|replay| &replay.preset),
        "sysctls": replay.map(|replay| &replay.sysctls),
        "setup": setup::told(variant).and_then(|replay| replay.setup.as_ref()),
        "runs": runs.collect::<Vec<_>>(),
        "seconds": vmstat::seconds(variant),
    })
}

fn trend(trend: &super::RowTrend) -> Value {
    json!({
        "row": trend.row,
        "variant": trend.variant,
        "points": trend.points,
        "lines": trend.lines,
        "slope": trend.trend.map(|trend| trend.slope),
        "low": trend.trend.map(|trend| trend.interval.low),
        "high": trend.trend.map(|trend| trend.interval.high),
        "p": trend.trend.map(|trend| trend.p),
        "verdict": trend.verdict(),
    })
}
