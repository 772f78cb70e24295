//! Confidence intervals of one sample.

use super::summary::{mean, sorted, stddev};
use statrs::distribution::{Binomial, ContinuousCDF, Discrete, StudentsT};

/// Where the true figure lies with the level that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Interval of the mean by Student's t: right for figures that are about normal.
pub fn mean_interval(values: &[f64], level: f64) -> Option<Interval> {
    let (mean, error) = (mean(values)?, stddev(values)? / (values.len() as f64).sqrt());
    let half = error * student_quantile((values.len() - 1) as f64, level);
    Some(Interval { low: mean - half, high: mean + half })
}

/// Half width, in standard errors, of a two-sided interval of that level.
pub(super) fn student_quantile(degrees: f64, level: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are positive");
    student.inverse_cdf((1.0 + level) / 2.0)
}

/// Interval of the median between two order statistics, as benchstat chooses them: assumes nothing about the
/// distribution. Nothing if the sample is too small for the level (below 6 values at 0.95).
pub fn median_interval(values: &[f64], level: f64) -> Option<Interval> {
    let (low, high) = median_orders(values.len(), level)?;
    let sorted = sorted(values);
    Some(Interval { low: sorted[low - 1], high: sorted[high - 1] })
}

/// Fewest values that have a [`median_interval`] of that level.
pub fn samples_for_median_interval(level: f64) -> Option<usize> {
    (2..=50).find(|&n| median_orders(n, level).is_some())
}

/// Order statistics (counted from 1) that hold the median between them. How many of n values lie below the median is
/// binomial: starting at its mode, the likelier neighbour is taken in, the left one of equals, until the level is met.
fn median_orders(n: usize, level: f64) -> Option<(usize, usize)> {
    let below = Binomial::new(0.5, n as u64).ok()?;
    // Of the smaller of k and n - k, so that both sides of a symmetric pair are the same number.
    let probability = |k: usize| if k <= n { below.pmf(k.min(n - k) as u64) } else { 0.0 };
    // Nothing lies beyond `low` = 0, where -1 would be next.
    let left_of = |low: usize| low.checked_sub(1).map_or(0.0, probability);
    let mut low = n.div_ceil(2).saturating_sub(usize::from(n % 2 == 1));
    let mut high = low + 1;
    let mut covered = probability(low);
    while covered < level && (left_of(low) > 0.0 || probability(high) > 0.0) {
        if left_of(low) >= probability(high) {
            covered += left_of(low);
            low -= 1;
        } else {
            covered += probability(high);
            high += 1;
        }
    }
    (covered >= level && low >= 1 && high <= n).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `python3 -c "import scipy.stats as s; print(s.t.interval(.95, 4, 30.2, s.sem([24,30,31,29,37])))"`
    #[test]
    fn mean_by_student() {
        let interval = mean_interval(&[24.0, 30.0, 31.0, 29.0, 37.0], 0.95).expect("five values");
        assert!((interval.low - 24.415924463473246).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - 35.98407553652675).abs() < 1e-9, "{interval:?}");
        assert_eq!(mean_interval(&[1.0], 0.95), None);
    }

    /// The orders that benchstat (golang.org/x/perf of 2026-09) uses at level 0.95.
    #[test]
    fn orders_of_the_median() {
        let orders = |n| median_orders(n, 0.95);
        assert_eq!((orders(1), orders(5)), (None, None));
        assert_eq!(orders(6), Some((1, 6)));
        assert_eq!(orders(7), Some((1, 7)));
        assert_eq!(orders(8), Some((1, 7)));
        assert_eq!(orders(9), Some((2, 8)));
        assert_eq!(orders(10), Some((2, 9)));
        assert_eq!(samples_for_median_interval(0.95), Some(6));
    }

    #[test]
    fn median_between_order_statistics() {
        let values = [9.0, 1.0, 5.0, 3.0, 7.0, 8.0, 2.0, 6.0, 4.0, 10.0];
        assert_eq!(median_interval(&values, 0.95), Some(Interval { low: 2.0, high: 9.0 }));
        assert_eq!(median_interval(&values[..5], 0.95), None);
    }

    /// Coverage by counting: no interval is narrower than its level allows.
    #[test]
    fn the_level_is_kept() {
        for n in 6..=30_usize {
            let (low, high) = median_orders(n, 0.95).expect("large enough");
            let below = Binomial::new(0.5, n as u64).expect("valid");
            let covered: f64 = (low..high).map(|k| below.pmf(k as u64)).sum();
            assert!(covered >= 0.95 - 1e-12, "{n}: {covered}");
        }
    }
}
