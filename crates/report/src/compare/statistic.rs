//! The statistics that mmtests prints of a row, in its order.

use super::direction::Better;
use crate::stats;

/// A statistic of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    Min,
    Amean,
    Stddev,
    CoeffVar,
    Max,
    /// Mean of the best so many percent of the runs.
    BestAmean(u8),
}

/// Without `--full`: the mean, which is what can be starred, and how far runs lie apart.
pub(super) const BRIEF: &[Statistic] = &[Statistic::Amean, Statistic::Stddev];

pub(super) const FULL: &[Statistic] = &[
    Statistic::Min,
    Statistic::Amean,
    Statistic::Stddev,
    Statistic::CoeffVar,
    Statistic::Max,
    Statistic::BestAmean(50),
    Statistic::BestAmean(95),
    Statistic::BestAmean(99),
];

impl Statistic {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Statistic::Min => "Min",
            Statistic::Amean => "Amean",
            Statistic::Stddev => "Stddev",
            Statistic::CoeffVar => "CoeffVar",
            Statistic::Max => "Max",
            Statistic::BestAmean(50) => "BAmean-50",
            Statistic::BestAmean(95) => "BAmean-95",
            Statistic::BestAmean(_) => "BAmean-99",
        }
    }

    /// Of the runs that know the row; `None` where too few do.
    pub(super) fn of(self, values: &[f64], better: Option<Better>) -> Option<f64> {
        match self {
            Statistic::Min => values.iter().copied().reduce(f64::min),
            Statistic::Amean => stats::mean(values),
            Statistic::Stddev => stats::stddev(values),
            // Values that are all zero do not vary.
            Statistic::CoeffVar => {
                stats::stddev(values).map(|_| stats::coefficient_of_variation(values).unwrap_or(0.0))
            }
            Statistic::Max => values.iter().copied().reduce(f64::max),
            Statistic::BestAmean(percent) => best_mean(values, better?, percent),
        }
    }

    /// Spread is better when it is less, whatever the row.
    pub(super) fn better(self, row: Option<Better>) -> Option<Better> {
        match self {
            Statistic::Stddev | Statistic::CoeffVar => Some(Better::Lower),
            _ => row,
        }
    }
}

/// At least one run always counts.
fn best_mean(values: &[f64], better: Better, percent: u8) -> Option<f64> {
    let mut best = values.to_vec();
    best.sort_by(f64::total_cmp);
    if better == Better::Higher {
        best.reverse();
    }
    let count = (values.len() * usize::from(percent) / 100).max(1);
    stats::mean(best.get(..count)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_each_direction() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(Statistic::BestAmean(50).of(&values, Some(Better::Lower)), Some(1.5));
        assert_eq!(Statistic::BestAmean(50).of(&values, Some(Better::Higher)), Some(3.5));
        assert_eq!(Statistic::BestAmean(99).of(&values, Some(Better::Lower)), Some(2.0));
        assert_eq!(Statistic::BestAmean(50).of(&values[..1], Some(Better::Lower)), Some(1.0));
        assert_eq!(Statistic::BestAmean(50).of(&values, None), None);
    }

    #[test]
    fn single_runs_have_no_spread() {
        assert_eq!(Statistic::Stddev.of(&[1.0], None), None);
        assert_eq!(Statistic::CoeffVar.of(&[0.0, 0.0], None), Some(0.0));
    }
}
