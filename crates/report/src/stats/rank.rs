//! The Mann-Whitney U test: does one sample tend to larger values than the other? Assumes nothing about distributions.

use super::Test;
use statrs::distribution::{ContinuousCDF, Normal};

/// Largest sample of which p is exact: beyond it the normal approximation is good, and counting takes long. With ties
/// the limit is lower, because ranks then count in halves. Both as in benchstat.
const EXACT: usize = 50;
const EXACT_WITH_TIES: usize = 25;

/// Two-sided test. `None` if a sample is empty, or if all values are equal and there is nothing to rank.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    let ranks = Ranks::of(a, b)?;
    let largest = a.len().max(b.len());
    let exact = largest <= if ranks.ties.is_empty() { EXACT } else { EXACT_WITH_TIES };
    let p = if exact { ranks.exact_p() } else { ranks.normal_p() };
    Some(Test { statistic: ranks.u(), p })
}

/// Smallest p that samples of these sizes can give: above the level, no difference would ever be found.
pub fn smallest_p(a: usize, b: usize) -> f64 {
    let ways = (1..=a.min(b)).fold(1.0, |ways, k| ways * (a.max(b) + k) as f64 / k as f64);
    (2.0 / ways).min(1.0)
}

/// Both samples ranked together. Ranks are doubled: the mean of tied ranks is then a whole number.
struct Ranks {
    /// Doubled ranks of all values in ascending order.
    all: Vec<usize>,
    /// Size of the first sample, and the sum of its doubled ranks.
    first: usize,
    first_sum: usize,
    /// Sizes of groups of equal values, from two on.
    ties: Vec<usize>,
}

impl Ranks {
    fn of(a: &[f64], b: &[f64]) -> Option<Ranks> {
        let mut values: Vec<(f64, bool)> = a.iter().map(|&value| (value, true)).collect();
        values.extend(b.iter().map(|&value| (value, false)));
        values.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut ranks = Ranks { all: Vec::new(), first: a.len(), first_sum: 0, ties: Vec::new() };
        for group in values.chunk_by(|left, right| left.0 == right.0) {
            let before = ranks.all.len();
            let doubled = 2 * before + group.len() + 1;
            ranks.all.extend(std::iter::repeat_n(doubled, group.len()));
            ranks.first_sum += doubled * group.iter().filter(|(_, first)| *first).count();
            if group.len() > 1 {
                ranks.ties.push(group.len());
            }
        }
        let all_equal = ranks.ties.first() == Some(&values.len());
        (!a.is_empty() && !b.is_empty() && !all_equal).then_some(ranks)
    }

    /// U of the first sample.
    fn u(&self) -> f64 {
        self.first_sum as f64 / 2.0 - (self.first * (self.first + 1)) as f64 / 2.0
    }

    /// Over all ways to choose the first sample among the values: how many have a rank sum as far out as this one, on
    /// the side where fewer have; doubled for the other side.
    fn exact_p(&self) -> f64 {
        let largest: usize = self.all.iter().sum();
        // ways[k][s]: choices of k values with doubled rank sum s.
        let mut ways = vec![vec![0.0_f64; largest + 1]; self.first + 1];
        ways[0][0] = 1.0;
        let mut reached = 0;
        for &rank in &self.all {
            reached += rank;
            for k in (1..=self.first).rev() {
                let (fewer, more) = ways.split_at_mut(k);
                let (from, to) = (&fewer[k - 1][..=reached - rank], &mut more[0][rank..=reached]);
                to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            }
        }
        let ways = &ways[self.first];
        let total: f64 = ways.iter().sum();
        let (below, above) = (ways[..=self.first_sum].iter().sum::<f64>(), ways[self.first_sum..].iter().sum::<f64>());
        (2.0 * below.min(above) / total).min(1.0)
    }

    /// Normal approximation, corrected for ties and for continuity.
    fn normal_p(&self) -> f64 {
        let (n, first) = (self.all.len() as f64, self.first as f64);
        let pairs = first * (n - first);
        let tied: f64 = self.ties.iter().map(|&size| (size as f64).powi(3) - size as f64).sum();
        let deviation = (pairs / 12.0 * (n + 1.0 - tied / (n * (n - 1.0)))).sqrt();
        let distance = ((self.u() - pairs / 2.0).abs() - 0.5).max(0.0);
        (2.0 * Normal::standard().cdf(-distance / deviation)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: &[f64], b: &[f64], statistic: f64, p: f64) {
        let test = mann_whitney(a, b).expect("something to rank");
        assert!((test.statistic - statistic).abs() < 1e-9 && (test.p - p).abs() < 1e-9, "{test:?}");
        let swapped = mann_whitney(b, a).expect("something to rank");
        assert!((swapped.p - p).abs() < 1e-9, "{swapped:?}");
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="exact")`
    #[test]
    fn exact_as_scipy() {
        near(&[1.0, 4.0, 6.0, 8.0, 9.0], &[2.0, 3.0, 5.0, 7.0, 10.0, 11.0], 13.0, 0.7922077922077921);
        near(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.0, 0.007936507936507936);
    }

    /// scipy's exact method refuses ties; over rank sums of all divisions instead:
    /// `scipy.stats.permutation_test((a, b), lambda x, y: rankdata([*x, *y])[:len(x)].sum(), n_resamples=inf)`
    #[test]
    fn exact_with_ties_as_scipy() {
        near(&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 3.0, 4.0, 4.0, 6.0, 7.0], 6.5, 0.12554112554112554);
        near(&[0.0; 5], &[0.0, 0.0, 0.0, 1.0, 2.0], 7.5, 0.4444444444444444);
        near(&[1.0, 1.0, 2.0], &[2.0, 2.0, 2.0, 9.0], 1.5, 0.22857142857142856);
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="asymptotic")`
    #[test]
    fn normal_approximation_as_scipy() {
        let a: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 101)).collect();
        let b: Vec<f64> = (0..55).map(|i| f64::from(i * 53 % 97 + 10)).collect();
        near(&a, &b, 1428.0, 0.21488656127174544);
    }

    #[test]
    fn nothing_to_rank() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[2.0, 2.0], &[2.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[2.0]).map(|test| test.p), Some(1.0), "single runs tell nothing");
    }

    #[test]
    fn smallest_p_is_that_of_samples_apart() {
        assert!((smallest_p(5, 5) - 0.007936507936507936).abs() < 1e-12);
        assert!((smallest_p(3, 3) - 0.1).abs() < 1e-12);
        assert_eq!(smallest_p(1, 1), 1.0);
    }
}
