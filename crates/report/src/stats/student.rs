//! Tests of two means by Student's t.

use super::Test;
use super::summary::{mean, variance};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// What both tests share: the difference of the means and its standard error's two parts.
struct Means {
    difference: f64,
    /// Variance of each mean.
    parts: [f64; 2],
}

impl Means {
    fn of(a: &[f64], b: &[f64]) -> Option<Means> {
        let part = |values: &[f64]| Some(variance(values)? / values.len() as f64);
        Some(Means { difference: mean(a)? - mean(b)?, parts: [part(a)?, part(b)?] })
    }

    /// `None` where the figures are beyond what their squares can be told of.
    fn test(&self, degrees: f64) -> Option<Test> {
        let error = (self.parts[0] + self.parts[1]).sqrt();
        let statistic = self.difference / error;
        let student = StudentsT::new(0.0, 1.0, degrees).ok().filter(|_| error.is_finite() && statistic.is_finite())?;
        Some(Test { statistic, p: 2.0 * student.cdf(-statistic.abs()) })
    }

    /// Figures that never vary: whether they differ is plain to see, and no matter of chance.
    fn constant(&self) -> Option<Test> {
        let p = if self.difference == 0.0 { 1.0 } else { 0.0 };
        let statistic = if self.difference == 0.0 { 0.0 } else { self.difference.signum() * f64::INFINITY };
        (self.parts == [0.0, 0.0]).then_some(Test { statistic, p })
    }
}

/// Whether a mean is other than zero. Needs two values.
pub fn one_sample(values: &[f64]) -> Option<Test> {
    // Against a constant zero, which adds no error: the degrees of freedom are the sample's.
    let means = Means { difference: mean(values)?, parts: [variance(values)? / values.len() as f64, 0.0] };
    means.constant().or_else(|| means.test((values.len() - 1) as f64))
}

/// Welch's test: the samples may vary differently. Each needs two values.
pub fn welch(a: &[f64], b: &[f64]) -> Option<Test> {
    let means = Means::of(a, b)?;
    let weight = |part: f64, n: usize| part.powi(2) / (n - 1) as f64;
    let [first, second] = means.parts;
    let degrees = (first + second).powi(2) / (weight(first, a.len()) + weight(second, b.len()));
    means.constant().or_else(|| means.test(degrees))
}

/// The test behind the stars of mmtests from October 2018 to November 2024: Welch's error with the degrees of freedom of
/// equal variances, n1 + n2 - 2. Each sample needs two values.
pub fn pooled_df(a: &[f64], b: &[f64]) -> Option<Test> {
    let means = Means::of(a, b)?;
    let degrees = (a.len() + b.len() - 2) as f64;
    means.constant().or_else(|| means.test(degrees))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(test: Option<Test>, statistic: f64, p: f64) {
        let test = test.expect("large enough");
        assert!((test.statistic - statistic).abs() < 1e-9, "{test:?}");
        assert!((test.p - p).abs() < 1e-9, "{test:?}");
    }

    const A: [f64; 5] = [24.0, 30.0, 31.0, 29.0, 37.0];
    const B: [f64; 5] = [27.0, 30.0, 32.0, 34.0, 35.0];
    const BASE: [f64; 4] = [5170.0, 4740.0, 2551.0, 2606.0];
    const FAIR: [f64; 4] = [5283.0, 5293.0, 4950.0, 3922.0];

    /// `scipy.stats.ttest_ind(a, b, equal_var=False)`
    #[test]
    fn welch_as_scipy() {
        near(welch(&A, &B), -0.5533985905294672, 0.5969802592371534);
        near(welch(&BASE, &FAIR), -1.4344225331250369, 0.22071772037048745);
    }

    /// `t = (mean(a) - mean(b)) / sqrt(var(a, ddof=1) / n + var(b, ddof=1) / m); 2 * scipy.stats.t.sf(abs(t), n + m - 2)`
    #[test]
    fn pooled_degrees_as_scipy() {
        near(pooled_df(&A, &B), -0.5533985905294672, 0.5951137741873432);
        near(pooled_df(&BASE, &FAIR), -1.4344225331250369, 0.20144972919202625);
    }

    /// `scipy.stats.ttest_1samp([-1, -3, -2], 0)`
    #[test]
    fn one_sample_as_scipy() {
        near(one_sample(&[-1.0, -3.0, -2.0]), -3.4641016151377544, 0.07417990022744862);
    }

    #[test]
    fn constants() {
        assert_eq!(welch(&[3.0, 3.0], &[3.0, 3.0]).map(|test| test.p), Some(1.0));
        assert_eq!(pooled_df(&[3.0, 3.0], &[4.0, 4.0]).map(|test| test.p), Some(0.0));
        assert_eq!(welch(&[3.0], &B), None);
    }

    /// Sums of 0.1 are rounded, and in samples of different sizes not alike: two constants that are the same were told apart.
    #[test]
    fn equal_constants_are_not_told_apart() {
        for test in [welch, pooled_df] {
            assert_eq!(test(&[0.1; 3], &[0.1; 6]).map(|test| test.p), Some(1.0));
        }
    }

    /// Their squares are infinite, or 0: a panic before.
    #[test]
    fn figures_without_squares_have_no_test() {
        assert_eq!(welch(&[1e308, -1e308], &[1e308, 1.0]), None);
        assert_eq!(welch(&[1e-90, 2e-90], &[3e-90, 5e-90]), None);
        assert_eq!(pooled_df(&[1e308, -1e308], &[1e308, 1.0]), None);
    }
}
