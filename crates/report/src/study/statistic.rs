//! What is said of a figure over the runs of a cell, with its interval.

use crate::stats::{self, CONFIDENCE, Interval, bootstrap};
use serde::Deserialize;

/// Seed of intervals that are drawn: the same runs always give the same.
const SEED: u64 = 1;

/// What is said of a figure over the runs of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// Smallest.
    Min,
    /// Arithmetic mean.
    #[default]
    Mean,
    /// Largest.
    Max,
    /// Standard deviation.
    Stddev,
}

impl Statistic {
    /// Of samples; `None` of too few.
    pub fn of(self, samples: &[f64]) -> Option<f64> {
        match self {
            Statistic::Min => samples.iter().copied().reduce(f64::min),
            Statistic::Mean => crate::stats::mean(samples),
            Statistic::Max => samples.iter().copied().reduce(f64::max),
            Statistic::Stddev => crate::stats::stddev(samples),
        }
    }
}

/// A statistic with its interval.
pub(super) fn estimate(samples: &[f64], statistic: Statistic) -> (Option<f64>, Option<Interval>) {
    let interval = match statistic {
        Statistic::Mean => stats::mean_interval(samples, CONFIDENCE),
        _ => bootstrap::one(samples, |drawn| statistic.of(drawn), CONFIDENCE, SEED),
    };
    (statistic.of(samples), interval)
}

/// Ratio of two samples' statistics, with its interval.
pub(super) fn ratio(base: &[f64], values: &[f64], statistic: Statistic) -> (Option<f64>, Option<Interval>) {
    let figure = |a: &[f64], b: &[f64]| {
        let (a, b) = (statistic.of(a)?, statistic.of(b)?);
        (a != 0.0).then(|| b / a)
    };
    (figure(base, values), bootstrap::two(base, values, figure, CONFIDENCE, SEED))
}

/// Trend of a series, as a share of its mean.
pub(super) fn slope(series: &[f64]) -> Option<(f64, Interval, f64)> {
    let (trend, mean) = (stats::trend(series, CONFIDENCE)?, stats::mean(series).filter(|mean| *mean != 0.0)?);
    let interval = Interval { low: trend.interval.low / mean, high: trend.interval.high / mean };
    Some((trend.slope / mean, interval, trend.p))
}
