//! Several runs of the same thing in a few numbers: what is typical, how far they lie apart, how well the mean is known.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability that a confidence interval holds what it is an interval of.
pub const CONFIDENCE: f64 = 0.95;

/// One figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Median; of an even number of runs the lower of the middle two.
    pub median: u64,
    /// Smallest value.
    pub low: u64,
    /// Largest value.
    pub high: u64,
    /// Mean.
    pub mean: f64,
    /// Half the width of the [`CONFIDENCE`] interval of the mean by Student's t; nothing of a single run.
    pub half_width: Option<f64>,
}

impl Summary {
    /// Of at least one value; nothing of none.
    pub fn of(values: &[u64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let as_floats: Vec<f64> = sorted.iter().map(|&value| value as f64).collect();
        let Interval { mean, half_width } = interval(&as_floats)?;
        Some(Summary { median: sorted[(sorted.len() - 1) / 2], low, high, mean, half_width })
    }

    /// Difference between the largest and the smallest value.
    pub const fn range(&self) -> u64 {
        self.high - self.low
    }
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Half the width of the [`CONFIDENCE`] interval by Student's t; nothing of a single value.
    pub half_width: Option<f64>,
}

/// Mean of at least one value; nothing of none.
pub fn interval(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = || (squares / (n - 1.0) / n).sqrt();
    let half_width = t_quantile(values.len()).map(|t| t * standard_error());
    Some(Interval { mean, half_width })
}

/// Factor of the standard error of `runs` runs.
fn t_quantile(runs: usize) -> Option<f64> {
    let freedom = runs.checked_sub(1).filter(|&freedom| freedom > 0)?;
    let distribution = StudentsT::new(0.0, 1.0, freedom as f64).ok()?;
    Some(distribution.inverse_cdf(0.5 + CONFIDENCE / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 95 % quantiles as every table of Student's t has them.
    #[test]
    fn quantiles_are_students() {
        for (runs, expected) in [(2, 12.706), (3, 4.303), (5, 2.776), (11, 2.228), (31, 2.042)] {
            let t = t_quantile(runs).expect("more than one run");
            assert!((t - expected).abs() < 0.001, "{runs} runs: {t}");
        }
        assert_eq!(t_quantile(1), None);
    }

    #[test]
    fn summaries() {
        let summary = Summary::of(&[4, 1, 2, 3, 10]).expect("five values");
        assert_eq!((summary.median, summary.low, summary.high, summary.range(), summary.mean), (3, 1, 10, 9, 4.0));
        // Standard deviation sqrt(50/4), standard error that over sqrt 5, times 2.776.
        let half = summary.half_width.expect("five values");
        assert!((half - 4.390).abs() < 0.001, "{half}");
        assert_eq!(Summary::of(&[7]).map(|one| (one.median, one.half_width)), Some((7, None)));
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1, 2]).map(|two| two.median), Some(1));
    }
}
