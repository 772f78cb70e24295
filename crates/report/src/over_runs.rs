//! One figure over several runs of the same thing: what is typical, how far they lie apart, how well the mean is known.

use crate::stats::{CONFIDENCE, mean, mean_interval};
use serde::Serialize;

/// Seeds that a policy needs at least for a difference to be told from chance (Mann-Whitney, p < 0.05).
pub(crate) const ENOUGH: usize = 4;

/// One figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Median ([`middle`]).
    pub median: u64,
    /// Smallest value.
    pub low: u64,
    /// Largest value.
    pub high: u64,
    /// Mean.
    pub mean: f64,
    /// Half the width of the mean's [`CONFIDENCE`] interval by Student's t; nothing of a single run.
    pub half_width: Option<f64>,
}

impl Summary {
    /// Of at least one value; nothing of none.
    pub fn of(values: &[u64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let floats: Vec<f64> = sorted.iter().map(|&value| value as f64).collect();
        let median = *middle(&sorted)?;
        Some(Summary { median, low, high, mean: mean(&floats)?, half_width: half_width(&floats) })
    }

    /// Difference between the largest and the smallest value.
    pub const fn range(&self) -> u64 {
        self.high - self.low
    }
}

/// The median of sorted values; of an even number the lower of the middle two, so that it is a figure that some run had.
pub fn middle<T>(sorted: &[T]) -> Option<&T> {
    sorted.get(sorted.len().saturating_sub(1) / 2)
}

/// Half the width of the mean's [`CONFIDENCE`] interval by Student's t; nothing of a single value.
pub fn half_width(values: &[f64]) -> Option<f64> {
    mean_interval(values, CONFIDENCE).map(|interval| (interval.high - interval.low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
