//! What shall hold of a study's runs: bars with a name, each computed from the runs and printed with what was measured.

use super::expression::Expression;
use super::results::{CellId, Results};
use super::statistic::{Statistic, estimate, ratio, slope};
use crate::stats::{self, ALPHA, Interval};
use crate::text::number;
use serde::Deserialize;

/// A bar.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What shall hold, in a sentence.
    pub says: String,
    /// How that is seen.
    pub test: Test,
    /// Why it does not hold, where that is known.
    pub cause: Option<String>,
}

/// How a bar is seen.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// A mean, as a multiple of another cell's.
    Ratio {
        /// Of what.
        figure: Expression,
        /// Of whom.
        of: CellId,
        /// Compared with whom.
        base: CellId,
        /// It is at least this.
        min: Option<f64>,
        /// It is at most this.
        max: Option<f64>,
    },
    /// A value over the runs.
    Value {
        /// Of what.
        figure: Expression,
        /// Of whom.
        of: CellId,
        /// Which value; the mean unless said.
        #[serde(default)]
        statistic: Statistic,
        /// It is at least this.
        min: Option<f64>,
        /// It is at most this.
        max: Option<f64>,
    },
    /// A mean lies between two other cells'.
    Between {
        /// Of what.
        figure: Expression,
        /// Of whom.
        of: CellId,
        /// Below it.
        low: CellId,
        /// Above it.
        high: CellId,
    },
    /// A series falls, rises, or at least does not fall.
    Trend {
        /// Name of the measure.
        series: String,
        /// Of whom.
        of: CellId,
        /// What it does.
        want: Want,
        /// By this share of its mean a repetition, at least: with many runs a trend that is next to nothing is beyond chance, too.
        #[serde(default)]
        by: f64,
    },
    /// Two cells' means differ by nothing that the runs would tell from chance.
    Unchanged {
        /// Of what.
        figure: Expression,
        /// Of whom.
        of: CellId,
        /// Compared with whom.
        base: CellId,
    },
    /// Ranks tell two cells apart, in this direction.
    Differs {
        /// Of what.
        figure: Expression,
        /// Of whom.
        of: CellId,
        /// Compared with whom.
        base: CellId,
        /// What it does.
        want: Want,
    },
    /// Means of several figures, the largest first.
    Descending {
        /// Of what.
        figures: Vec<Expression>,
        /// Of whom.
        of: CellId,
    },
    /// Shares are near the published ones.
    Points {
        /// Of what.
        figures: Vec<Expression>,
        /// What was published.
        published: Vec<f64>,
        /// Of whom.
        of: CellId,
        /// How far each may be off.
        points: f64,
    },
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Want {
    /// Down, beyond chance.
    Falls,
    /// Up, beyond chance.
    Rises,
    /// Not down beyond chance.
    DoesNotFall,
}

/// What came of a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it holds.
    pub outcome: Outcome,
    /// What was measured.
    pub measured: String,
}

/// Whether a bar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// The runs can't tell: nothing was measured, or so few runs that the test could not have come out otherwise.
    Open,
}

impl Outcome {
    fn of(holds: bool) -> Outcome {
        if holds { Outcome::Holds } else { Outcome::Fails }
    }

    /// As it is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Outcome::Holds => "PASS",
            Outcome::Fails => "MISS",
            Outcome::Open => "OPEN",
        }
    }

    /// As JSON has it.
    pub const fn holds(self) -> Option<bool> {
        match self {
            Outcome::Holds => Some(true),
            Outcome::Fails => Some(false),
            Outcome::Open => None,
        }
    }
}

impl Check {
    /// The cells that it needs.
    pub fn cells(&self) -> Vec<CellId> {
        self.test.cells()
    }

    /// Looks at the runs.
    pub fn look(&self, results: &Results) -> Finding {
        self.test.look(results)
    }
}

impl Test {
    /// The cells that it needs.
    pub(super) fn cells(&self) -> Vec<CellId> {
        match self {
            Test::Ratio { of, base, .. } | Test::Unchanged { of, base, .. } | Test::Differs { of, base, .. } => {
                vec![of.clone(), base.clone()]
            }
            Test::Between { of, low, high, .. } => vec![of.clone(), low.clone(), high.clone()],
            Test::Value { of, .. } | Test::Trend { of, .. } | Test::Descending { of, .. } | Test::Points { of, .. } => {
                vec![of.clone()]
            }
        }
    }

    /// What is wrong with it, if anything: a bar that nothing can miss.
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Test::Ratio { min: None, max: None, .. } | Test::Value { min: None, max: None, .. } => {
                Some("neither `min` nor `max` is given".to_owned())
            }
            Test::Points { figures, published, .. } if figures.len() != published.len() => {
                Some(format!("there are {} figures and {} published values", figures.len(), published.len()))
            }
            _ => None,
        }
    }

    /// Looks at the runs.
    pub(super) fn look(&self, results: &Results) -> Finding {
        let nothing = || Finding { outcome: Outcome::Open, measured: "not measured".to_owned() };
        self.finding(results).unwrap_or_else(nothing)
    }

    fn finding(&self, results: &Results) -> Option<Finding> {
        match self {
            Test::Ratio { figure, of, base, min, max } => {
                let [base, of] = [base, of].map(|cell| results.samples(cell, figure));
                let (value, interval) = ratio(&base, &of, Statistic::Mean);
                Some(bounded(value?, interval, *min, *max))
            }
            Test::Value { figure, of, statistic, min, max } => {
                let (value, interval) = estimate(&results.samples(of, figure), *statistic);
                Some(bounded(value?, interval, *min, *max))
            }
            Test::Between { figure, of, low, high } => {
                let mean = |cell| stats::mean(&results.samples(cell, figure));
                let (low, value, high) = (mean(low)?, mean(of)?, mean(high)?);
                let measured = format!("{}, {}, {}", number(low), number(value), number(high));
                Some(Finding { outcome: Outcome::of(low < value && value < high), measured })
            }
            Test::Trend { series, of, want, by } => {
                let (slope, Interval { low, high }, p) = slope(&results.series(of, series))?;
                let share = |share: f64| format!("{:+.2}%", 100.0 * share);
                let measured = format!("{} a repetition [{}, {}], p={p:.4}", share(slope), share(low), share(high));
                Some(Finding { outcome: Outcome::of(want.holds(slope, p) && slope.abs() >= *by), measured })
            }
            Test::Unchanged { figure, of, base } => {
                let change = Change::between(results, figure, base, of)?;
                Some(change.finding(change.p >= ALPHA))
            }
            Test::Differs { figure, of, base, want } => {
                let change = Change::between(results, figure, base, of)?;
                Some(change.finding(want.holds(change.to - change.from, change.p)))
            }
            Test::Descending { figures, of } => {
                let means = figures.iter().map(|figure| stats::mean(&results.samples(of, figure)));
                let means: Vec<f64> = means.collect::<Option<_>>()?;
                let measured = means.iter().map(|&mean| number(mean)).collect::<Vec<_>>().join(" > ");
                Some(Finding { outcome: Outcome::of(means.windows(2).all(|pair| pair[0] > pair[1])), measured })
            }
            Test::Points { figures, published, of, points } => {
                let means = figures.iter().map(|figure| stats::mean(&results.samples(of, figure)));
                let means: Vec<f64> = means.collect::<Option<_>>()?;
                let pairs = || means.iter().zip(published);
                let said: Vec<String> =
                    pairs().map(|(&ours, &published)| format!("{} ({})", number(ours), number(published))).collect();
                let holds = pairs().all(|(ours, published)| (ours - published).abs() <= *points);
                Some(Finding { outcome: Outcome::of(holds), measured: said.join(", ") })
            }
        }
    }
}

impl Want {
    fn holds(self, change: f64, p: f64) -> bool {
        match self {
            Want::Falls => change < 0.0 && p < ALPHA,
            Want::Rises => change > 0.0 && p < ALPHA,
            Want::DoesNotFall => change >= 0.0 || p >= ALPHA,
        }
    }
}

/// Means of two cells, and what Mann and Whitney say of the difference.
struct Change {
    from: f64,
    to: f64,
    /// 1 where all values are the same.
    p: f64,
    /// So few runs that no difference between them could be more than chance.
    too_few: Option<usize>,
}

impl Change {
    fn between(results: &Results, figure: &Expression, base: &CellId, of: &CellId) -> Option<Change> {
        let [base, of] = [base, of].map(|cell| results.samples(cell, figure));
        let (from, to) = (stats::mean(&base)?, stats::mean(&of)?);
        let test = stats::mann_whitney(&base, &of);
        let too_few = stats::smallest_p(base.len(), of.len()) >= ALPHA;
        Some(Change {
            from,
            to,
            p: test.map_or(1.0, |test| test.p),
            too_few: too_few.then(|| base.len().min(of.len())),
        })
    }

    fn finding(&self, holds: bool) -> Finding {
        let means = format!("{} to {}", number(self.from), number(self.to));
        match self.too_few {
            Some(runs) => {
                Finding { outcome: Outcome::Open, measured: format!("{means}; {runs} a side are too few runs to tell") }
            }
            None => Finding { outcome: Outcome::of(holds), measured: format!("{means}, p={:.4}", self.p) },
        }
    }
}

fn bounded(value: f64, interval: Option<Interval>, min: Option<f64>, max: Option<f64>) -> Finding {
    let around = interval.map(|i| format!(" [{}, {}]", number(i.low), number(i.high))).unwrap_or_default();
    let bound = match (min, max) {
        (Some(min), Some(max)) => format!(", wanted {} to {}", number(min), number(max)),
        (Some(min), None) => format!(", wanted at least {}", number(min)),
        (None, Some(max)) => format!(", wanted at most {}", number(max)),
        (None, None) => String::new(),
    };
    let holds = min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max);
    Finding { outcome: Outcome::of(holds), measured: format!("{}{around}{bound}", number(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::RunFigures;

    fn results() -> Results {
        let runs = |values: &[f64]| {
            let run = |&value: &f64| RunFigures {
                figures: [("f".to_owned(), value), ("g".to_owned(), 2.0 * value)].into(),
                series: [("m".to_owned(), vec![value, value - 1.0, value - 2.1, value - 2.9])].into(),
                ..RunFigures::default()
            };
            values.iter().map(run).collect::<Vec<_>>()
        };
        let cell = |name: &str| name.parse::<CellId>().expect("a cell");
        let runs = [
            (cell("s:a"), runs(&[10.0, 11.0, 12.0, 13.0, 14.0])),
            (cell("s:b"), runs(&[100.0, 110.0, 120.0, 130.0, 140.0])),
        ];
        Results { runs: runs.into(), ..Results::default() }
    }

    fn finding(test: &str) -> Finding {
        let check: Check = toml::from_str(&format!("says = \"it holds\"\ntest = {test}")).expect("a check");
        check.look(&results())
    }

    #[test]
    fn bars_are_computed_from_the_runs() {
        let ratio = finding("{ kind = \"ratio\", figure = \"f\", of = \"s:b\", base = \"s:a\", max = 9.0 }");
        assert!(
            ratio.outcome == Outcome::Fails
                && ratio.measured.starts_with("10 [")
                && ratio.measured.ends_with("at most 9"),
            "{ratio:?}"
        );
        assert!(
            finding("{ kind = \"value\", figure = \"f\", of = \"s:a\", min = 12, max = 12 }").outcome == Outcome::Holds
        );
        assert!(
            finding("{ kind = \"differs\", figure = \"f\", of = \"s:b\", base = \"s:a\", want = \"rises\" }").outcome
                == Outcome::Holds
        );
        assert!(
            finding("{ kind = \"unchanged\", figure = \"f\", of = \"s:b\", base = \"s:a\" }").outcome == Outcome::Fails
        );
        assert!(
            finding("{ kind = \"unchanged\", figure = \"f\", of = \"s:a\", base = \"s:a\" }").outcome == Outcome::Holds
        );
        assert!(finding("{ kind = \"descending\", figures = [\"g\", \"f\"], of = \"s:a\" }").outcome == Outcome::Holds);
        assert!(
            finding("{ kind = \"trend\", series = \"m\", of = \"s:a\", want = \"falls\" }").outcome == Outcome::Holds
        );
        assert!(
            finding("{ kind = \"trend\", series = \"m\", of = \"s:a\", want = \"does-not-fall\" }").outcome
                == Outcome::Fails
        );
        assert!(
            finding("{ kind = \"trend\", series = \"m\", of = \"s:a\", want = \"falls\", by = 0.9 }").outcome
                == Outcome::Fails,
            "not by as much"
        );
        assert!(
            finding("{ kind = \"points\", figures = [\"f\"], published = [20], of = \"s:a\", points = 8 }").outcome
                == Outcome::Holds
        );
        assert!(
            finding("{ kind = \"points\", figures = [\"f\"], published = [20], of = \"s:a\", points = 7 }").outcome
                == Outcome::Fails
        );
        let between = "{ kind = \"between\", figure = \"f\", of = \"s:b\", low = \"s:a\", high = \"s:b\" }";
        assert!(finding(between).outcome == Outcome::Fails, "not above itself");
    }

    #[test]
    fn too_few_runs_tell_of_no_difference() {
        let look = |test: &str, runs: usize| {
            let mut results = results();
            results.runs.values_mut().for_each(|cell| cell.truncate(runs));
            toml::from_str::<Check>(&format!("says = \"it holds\"\ntest = {test}")).expect("a check").look(&results)
        };
        let differs = "{ kind = \"differs\", figure = \"f\", of = \"s:b\", base = \"s:a\", want = \"rises\" }";
        let unchanged = "{ kind = \"unchanged\", figure = \"f\", of = \"s:b\", base = \"s:a\" }";
        for test in [differs, unchanged] {
            let finding = look(test, 3);
            assert_eq!(finding.measured, "11 to 110; 3 a side are too few runs to tell");
            assert_eq!(finding.outcome, Outcome::Open);
        }
        // One run a side, or three, that happen to be equal tell no more: they passed for unchanged.
        let same = "{ kind = \"unchanged\", figure = \"f\", of = \"s:a\", base = \"s:a\" }";
        assert_eq!([1, 3, 4].map(|runs| look(same, runs).outcome), [Outcome::Open, Outcome::Open, Outcome::Holds]);
        assert_eq!(look(differs, 4).outcome, Outcome::Holds);
        assert_eq!(look(unchanged, 4).outcome, Outcome::Fails);
    }

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let unknown = finding("{ kind = \"value\", figure = \"h\", of = \"s:a\", max = 1.0 }");
        assert_eq!(unknown, Finding { outcome: Outcome::Open, measured: "not measured".into() });
        let nobody = finding("{ kind = \"unchanged\", figure = \"f\", of = \"s:c\", base = \"s:a\" }");
        assert_eq!(nobody.outcome, Outcome::Open);
    }

    #[test]
    fn a_direction_is_beyond_chance_below_one_in_twenty() {
        let holds = |want: Want| {
            [(-1.0, 0.04), (-1.0, 0.06), (1.0, 0.06), (1.0, 0.04)].map(|(change, p)| want.holds(change, p))
        };
        assert_eq!(holds(Want::Falls), [true, false, false, false]);
        assert_eq!(holds(Want::Rises), [false, false, false, true]);
        assert_eq!(holds(Want::DoesNotFall), [false, true, true, true]);
        assert!([Want::Falls, Want::Rises].iter().all(|want| !want.holds(0.0, 0.0)), "no change has no direction");
    }
}
