//! When a difference counts: the rules behind the stars, and the percentages beside them.

use super::direction::Better;
use crate::stats::{self, ALPHA};

/// The rule that a comparison is judged by; it also decides the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// mmtests since November 2024: the means are further apart than both half widths, 1.96 standard deviations each.
    #[default]
    Mmtests,
    /// mmtests from October 2018 to November 2024, as in the postings of those years: t-test with n1 + n2 - 2 degrees of
    /// freedom, p < 0.10.
    Mmtests2018,
    /// benchstat: Mann-Whitney U, p < 0.05.
    Benchstat,
}

/// Level of the t-test of [`Rule::Mmtests2018`].
const LEVEL_2018: f64 = 0.10;
/// Standard deviations that half an interval of [`Rule::Mmtests`] has.
const HALF_WIDTH: f64 = 1.96;

/// What a rule says about a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Whether it counts.
    pub significant: bool,
    /// p, where the rule has one.
    pub p: Option<f64>,
}

impl Rule {
    /// Judges a difference. A single run tells nothing of chance, and is never judged: `None`.
    pub fn judge(self, base: &[f64], values: &[f64]) -> Option<Verdict> {
        if base.len() < 2 || values.len() < 2 {
            return None;
        }
        match self {
            Rule::Mmtests => {
                let distance = (stats::mean(base)? - stats::mean(values)?).abs();
                let widths = HALF_WIDTH * (stats::stddev(base)? + stats::stddev(values)?);
                Some(Verdict { significant: distance > widths, p: None })
            }
            Rule::Mmtests2018 => Some(below(stats::pooled_df(base, values)?.p, LEVEL_2018)),
            // Values that are all the same: as sure as can be that nothing differs.
            Rule::Benchstat => Some(below(stats::mann_whitney(base, values).map_or(1.0, |test| test.p), ALPHA)),
        }
    }

    /// The rule in a sentence, for below a table.
    pub(super) const fn explained(self) -> &'static str {
        match self {
            Rule::Mmtests => "*: means further apart than 1.96 (s1 + s2), the rule of mmtests since November 2024.",
            Rule::Mmtests2018 => "*: t-test with n1 + n2 - 2 degrees of freedom, p < 0.10 (mmtests, 2018 to 2024).",
            Rule::Benchstat => {
                "~: Mann-Whitney U does not tell them apart (p >= 0.05); +-: 95% interval of the median."
            }
        }
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Mmtests => "mmtests",
            Rule::Mmtests2018 => "mmtests-2018",
            Rule::Benchstat => "benchstat",
        }
    }
}

fn below(p: f64, level: f64) -> Verdict {
    Verdict { significant: p < level, p: Some(p) }
}

/// mmtests' percentage: positive is better, in every row that has a direction. From a baseline of zero it is 100 where
/// more is better and -99 where less is, and no ratio at all. Unlike in mmtests, where a drop to zero of what should be
/// high is no difference, it is -100 here.
pub fn improvement(better: Better, base: f64, value: f64) -> f64 {
    match better {
        _ if base == value => 0.0,
        Better::Higher if base == 0.0 => 100.0,
        Better::Higher => 100.0 * value / base - 100.0,
        Better::Lower if base == 0.0 => -99.0,
        Better::Lower => 100.0 - 100.0 * value / base,
    }
}

/// Change relative to the baseline; of a baseline of zero there is none, unless nothing changed.
pub fn change(base: f64, value: f64) -> Option<f64> {
    if base == value { Some(0.0) } else { (base != 0.0).then(|| (value - base) / base) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(better: Better, base: f64, value: f64) -> String {
        format!("{:.2}", improvement(better, base, value))
    }

    /// Percentages of the postings of 2013, 2016 and 2018.
    #[test]
    fn posted_percentages() {
        use Better::{Higher, Lower};
        assert_eq!(printed(Higher, 5170.0, 5283.0), "2.19");
        assert_eq!(printed(Higher, 4740.0, 5293.0), "11.67");
        assert_eq!(printed(Lower, 55.0, 18.0), "67.27");
        assert_eq!(printed(Lower, 1606035.0, 1799717.0), "-12.06");
        assert_eq!(printed(Lower, 245184.0, 0.0), "100.00");
        assert_eq!(printed(Lower, 1090.23, 559.31), "48.70");
        assert_eq!(printed(Lower, 539.69, 614.88), "-13.93");
        assert_eq!(printed(Lower, 0.0, 172.19), "-99.00");
        assert_eq!(printed(Higher, 0.0, 1.68), "100.00");
        assert_eq!(printed(Higher, 4.0, 0.0), "-100.00");
        assert_eq!(printed(Lower, 0.0, 0.0), "0.00");
    }

    /// The success rates of 2016 were posted as -12.50% and read as a loss: more is better.
    #[test]
    fn stress_highalloc_has_the_right_sign() {
        let better = crate::compare::Directions::default().of("success.1").expect("has a direction");
        assert_eq!(printed(better, 24.0, 27.0), "12.50");
        assert_eq!(printed(Better::Lower, 24.0, 27.0), "-12.50", "what mmtests printed");
    }

    #[test]
    fn single_runs_are_never_judged() {
        for rule in [Rule::Mmtests, Rule::Mmtests2018, Rule::Benchstat] {
            assert_eq!(rule.judge(&[1.0], &[1000.0, 1001.0]), None);
            assert_eq!(rule.judge(&[1.0, 1.0], &[1000.0]), None);
        }
    }

    /// The same samples: the rule of 2018 marks what today's does not.
    #[test]
    fn eras_differ() {
        let (base, values) = ([10.0, 12.0, 11.0, 13.0, 9.0], [13.0, 15.0, 12.0, 14.0, 16.0]);
        assert!(!Rule::Mmtests.judge(&base, &values).expect("judged").significant);
        let of_2018 = Rule::Mmtests2018.judge(&base, &values).expect("judged");
        assert!(of_2018.significant && of_2018.p.expect("a t-test has it") < 0.05);
        let far = values.map(|value| value + 10.0);
        assert!(Rule::Mmtests.judge(&base, &far).expect("judged").significant);
    }

    #[test]
    fn figures_that_never_vary() {
        for rule in [Rule::Mmtests, Rule::Mmtests2018] {
            assert!(rule.judge(&[3.0; 5], &[4.0; 5]).expect("judged").significant);
            assert!(!rule.judge(&[3.0; 5], &[3.0; 5]).expect("judged").significant);
        }
        let same = Rule::Benchstat.judge(&[3.0; 5], &[3.0; 5]).expect("judged");
        assert_eq!((same.significant, same.p), (false, Some(1.0)));
    }

    #[test]
    fn no_change_from_zero() {
        assert_eq!((change(0.0, 3.0), change(0.0, 0.0), change(4.0, 0.0)), (None, Some(0.0), Some(-1.0)));
    }
}
