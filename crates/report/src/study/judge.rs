//! Whether our figures agree with published ones. Hardware that nobody has any more made the absolute values; what is compared is
//! the change from the first column: same direction and ranking where the authors call a row a result, and a ratio within a factor
//! of two unless the row says otherwise. Shares are compared as they are.

use super::definition::{FACTOR, Row, Series, Study, Table};
use super::results::{CellId, Results};
use super::statistic::{estimate, ratio, slope};
use crate::stats::{ALPHA, Interval};
use crate::text::number;

/// What fell to zero where it was published may be left with this share of the first column's.
const NEXT_TO_NOTHING: f64 = 0.01;

/// How a row is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The ratio of a column to the first.
    Ratio,
    /// The value itself.
    Value,
    /// Change from one repetition to the next, as a share of the mean.
    Slope,
}

impl Kind {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Ratio => "ratio",
            Kind::Value => "value",
            Kind::Slope => "slope",
        }
    }
}

/// A published figure beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Table, row and column.
    pub row: String,
    /// What is compared.
    pub kind: Kind,
    /// As published; `None` of a question.
    pub published: Option<f64>,
    /// Ours, over all runs.
    pub ours: Option<f64>,
    /// Its 95 % interval, where several runs tell.
    pub interval: Option<Interval>,
    /// Whether they agree; `None` where that is not judged.
    pub agrees: Option<bool>,
    /// How they disagree.
    pub how: Option<String>,
    /// Why, as far as known.
    pub cause: Option<String>,
}

/// All verdicts of a study, in the order of its tables.
pub fn verdicts(study: &Study, results: &Results) -> Vec<Verdict> {
    let of_table = |table: &Table| {
        let rows = table.rows.iter().flat_map(|row| of_row(table, row, results));
        let series = table.series.iter().flat_map(|series| of_series(table, series, results));
        rows.chain(series).collect::<Vec<_>>()
    };
    study.tables.iter().flat_map(of_table).collect()
}

/// A row's samples in every column.
pub(super) fn samples(table: &Table, row: &Row, results: &Results) -> Vec<Vec<f64>> {
    table.cells(row).iter().map(|cell| results.samples(cell, &row.figure)).collect()
}

fn of_row(table: &Table, row: &Row, results: &Results) -> Vec<Verdict> {
    let samples = samples(table, row, results);
    let ours: Vec<Option<f64>> = samples.iter().map(|samples| row.statistic.of(samples)).collect();
    let name = |column: usize| match table.columns.len() {
        1 => format!("{}: {}", table.title, row.name),
        _ => format!("{}: {}, {}", table.title, row.name, table.columns[column]),
    };
    let published = |column: usize| row.published.get(column).copied().filter(|value| !value.is_nan());
    let mut verdicts = Vec::new();
    let first = usize::from(row.points.is_none());
    for column in first..table.columns.len() {
        let verdict = match row.points {
            Some(points) => {
                let (ours, interval) = estimate(&samples[column], row.statistic);
                let apart = ours.zip(published(column)).map(|(ours, published)| (ours - published).abs());
                let how = match apart {
                    None if published(column).is_some() => Some("we have no such figure".to_owned()),
                    Some(apart) if apart > points => Some(format!("{} points apart", number(apart))),
                    _ => None,
                };
                Verdict { kind: Kind::Value, published: published(column), ours, interval, how, ..blank(name(column)) }
            }
            None => {
                let (ratio, interval) = ratio(&samples[0], &samples[column], row.statistic);
                let base = published(0);
                let of_published = base.zip(published(column)).filter(|(base, _)| *base != 0.0);
                let how = base.zip(published(column)).and_then(|pair| {
                    let ours = ours[0].zip(ours[column]);
                    disagreement(row, column, pair, ours)
                        .or_else(|| ranking(row, column, &ours_by_column(&samples, row)))
                });
                let published = of_published.map(|(base, value)| value / base);
                Verdict { kind: Kind::Ratio, published, ours: ratio, interval, how, ..blank(name(column)) }
            }
        };
        verdicts.push(judged(verdict, row, published(column).is_some() && (first == 0 || published(0).is_some())));
    }
    verdicts
}

fn ours_by_column(samples: &[Vec<f64>], row: &Row) -> Vec<Option<f64>> {
    samples.iter().map(|samples| row.statistic.of(samples)).collect()
}

fn blank(row: String) -> Verdict {
    Verdict {
        row,
        kind: Kind::Ratio,
        published: None,
        ours: None,
        interval: None,
        agrees: None,
        how: None,
        cause: None,
    }
}

fn judged(verdict: Verdict, row: &Row, is_published: bool) -> Verdict {
    match (&row.not_judged, is_published) {
        (None, true) => {
            let agrees = verdict.how.is_none();
            Verdict { agrees: Some(agrees), cause: row.cause.clone().filter(|_| !agrees), ..verdict }
        }
        (reason, _) => Verdict { agrees: None, how: None, cause: reason.clone(), ..verdict },
    }
}

/// How two changes differ by more than the row allows, if they do.
fn disagreement(row: &Row, column: usize, published: (f64, f64), ours: Option<(f64, f64)>) -> Option<String> {
    let Some(ours) = ours else { return Some("we have no such figure".to_owned()) };
    match (published, ours) {
        ((0.0, 0.0), (base, value)) => {
            (base != 0.0 || value != 0.0).then(|| format!("{} and {} where both were 0", number(base), number(value)))
        }
        // From nothing to something.
        ((0.0, _), (base, value)) => {
            let rose = value > 0.0 && base <= NEXT_TO_NOTHING * value;
            (!rose).then(|| format!("{} to {} instead of from 0 up", number(base), number(value)))
        }
        (_, (0.0, value)) => Some(format!("0 to {}: no ratio", number(value))),
        ((_, 0.0), (base, value)) => {
            let left = value / base;
            (left > NEXT_TO_NOTHING).then(|| format!("{} of it left instead of nothing", number(left)))
        }
        ((base, value), (our_base, our_value)) => {
            let (published, ours) = (value / base, our_value / our_base);
            let other_way = (published - 1.0) * (ours - 1.0) < 0.0;
            if row.significant && other_way && !row.noise.contains(&column) {
                return Some("the other direction".to_owned());
            }
            too_far(published, ours, row.within)
        }
    }
}

/// How far two changes of one direction are apart, if that is more than a factor of `within`. What is no number agrees with nothing.
fn too_far(published: f64, ours: f64, within: f64) -> Option<String> {
    let apart = (ours / published).max(published / ours);
    (apart.is_nan() || apart > within).then(|| format!("a factor of {} apart", number(apart)))
}

/// Columns that stand in another order than published, where the authors call the row a result.
fn ranking(row: &Row, column: usize, ours: &[Option<f64>]) -> Option<String> {
    if !row.significant || row.noise.contains(&column) {
        return None;
    }
    let value = |at: usize| row.published.get(at).copied().filter(|value| !value.is_nan());
    let swapped = |other: usize| {
        let (published, ours) = (value(column)? - value(other)?, ours[column]? - ours[other]?);
        (!row.noise.contains(&other) && published * ours < 0.0).then_some(other)
    };
    (0..row.published.len())
        .find_map(swapped)
        .map(|other| format!("another ranking: on the other side of column {}", other + 1))
}

/// A trend that the published series has must be there, within the usual factor; one that it has not must not.
fn of_series(table: &Table, series: &Series, results: &Results) -> Vec<Verdict> {
    let of_column = |(column, cell): (usize, &CellId)| {
        let ours = slope(&results.series(cell, &series.measure));
        let published = series.published.get(column).and_then(|series| slope(series));
        let how = published.and_then(|(published, _, p)| match ours {
            None => Some("we have no such series".to_owned()),
            Some((ours, _, our_p)) if p < ALPHA && our_p >= ALPHA => {
                Some(format!("no trend (p={our_p:.3}, {} a repetition)", percent(ours)))
            }
            Some((ours, _, _)) if p < ALPHA && ours * published < 0.0 => Some("the other direction".to_owned()),
            Some((ours, _, _)) if p < ALPHA => too_far(published, ours, FACTOR),
            Some((ours, _, our_p)) if p >= ALPHA && our_p < ALPHA => {
                Some(format!("a trend where there was none (p={our_p:.3}, {} a repetition)", percent(ours)))
            }
            Some(_) => None,
        });
        let row = format!("{}: trend of {}, {}", table.title, series.name, table.columns[column]);
        let agrees = published.map(|_| how.is_none());
        Verdict {
            row,
            kind: Kind::Slope,
            published: published.map(|(slope, _, _)| slope),
            ours: ours.map(|(slope, _, _)| slope),
            interval: ours.map(|(_, interval, _)| interval),
            cause: series.cause.clone().filter(|_| agrees == Some(false)),
            agrees,
            how,
        }
    };
    table.of.iter().enumerate().map(of_column).collect()
}

fn percent(share: f64) -> String {
    format!("{:+.2}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: &str) -> Row {
        toml::from_str(&format!("name = \"r\"\nfigure = \"f\"\n{fields}")).expect("a row")
    }

    fn how(fields: &str, published: (f64, f64), ours: (f64, f64)) -> Option<String> {
        disagreement(&row(fields), 1, published, Some(ours))
    }

    #[test]
    fn ratios_agree_within_a_factor() {
        assert_eq!(how("", (100.0, 50.0), (8.0, 2.0)), None, "exactly a factor of two");
        assert_eq!(how("", (100.0, 50.0), (8.0, 1.9)).as_deref(), Some("a factor of 2.11 apart"));
        assert_eq!(how("within = 3.0", (100.0, 50.0), (8.0, 1.9)), None);
        assert_eq!(disagreement(&row(""), 1, (1.0, 2.0), None).as_deref(), Some("we have no such figure"));
    }

    #[test]
    fn directions_count_where_the_authors_say_so() {
        let (published, ours) = ((100.0, 90.0), (100.0, 110.0));
        assert_eq!(how("", published, ours), None);
        assert_eq!(how("significant = true", published, ours).as_deref(), Some("the other direction"));
        assert_eq!(how("significant = true\nnoise = [1]", published, ours), None);
    }

    #[test]
    fn zeros_have_no_ratio() {
        assert_eq!((how("", (9.0, 0.0), (500.0, 5.0)), how("", (0.0, 0.0), (0.0, 0.0))), (None, None));
        assert_eq!(how("", (9.0, 0.0), (500.0, 50.0)).as_deref(), Some("0.10 of it left instead of nothing"));
        assert_eq!(how("", (0.0, 9.0), (0.0, 3.0)), None);
        assert!(how("", (0.0, 9.0), (2.0, 3.0)).is_some() && how("", (0.0, 0.0), (0.0, 1.0)).is_some());
        assert!(how("", (3.0, 9.0), (0.0, 3.0)).is_some());
    }

    #[test]
    fn rankings() {
        let row = row("significant = true\npublished = [10.0, 5.0, 1.0]");
        assert_eq!(ranking(&row, 2, &[Some(9.0), Some(3.0), Some(2.0)]), None);
        let swapped = ranking(&row, 2, &[Some(9.0), Some(2.0), Some(3.0)]);
        assert_eq!(swapped.as_deref(), Some("another ranking: on the other side of column 2"));
    }

    /// A study with one cell, whose runs have a share of 40 % and these series.
    fn verdicts_of(table: &str, ours: &[f64]) -> Vec<Verdict> {
        let head = "name = \"n\"\ntitle = \"t\"\ndocument = \"d\"\nlimits = [\"none\"]\n";
        let head = format!("{head}[[table]]\ntitle = \"T\"\ncolumns = [\"a\"]\nof = [\"s:a\"]\n");
        let study = Study::parse(&(head + table)).expect("a study");
        let run = crate::study::RunFigures {
            figures: [("f".to_owned(), 40.0)].into(),
            series: [("m".to_owned(), ours.to_vec())].into(),
            ..Default::default()
        };
        let runs = [("s:a".parse::<CellId>().expect("a cell"), vec![run])];
        verdicts(&study, &Results { runs: runs.into(), ..Results::default() })
    }

    #[test]
    fn shares_agree_within_their_points() {
        let how = |published: u32| {
            let row = format!("[[table.row]]\nname = \"r\"\nfigure = \"f\"\npublished = [{published}]\npoints = 5\n");
            verdicts_of(&row, &[]).remove(0).how
        };
        assert_eq!([how(45), how(35)], [None, None]);
        assert_eq!(how(46).as_deref(), Some("6 points apart"));
    }

    /// A slope that was published is judged as a share of the mean: 10 in 65 a repetition, and half or twice that agrees.
    #[test]
    fn a_trend_agrees_within_a_factor_of_two() {
        let how = |ours: &[f64]| {
            let series = "[[table.series]]\nname = \"s\"\nmeasure = \"m\"\npublished = [[80, 70, 60, 50]]\n";
            verdicts_of(series, ours).remove(0).how
        };
        let falling = |by: f64| [1.5, 0.5, -0.5, -1.5].map(|at| 65.0 + at * by);
        assert_eq!([how(&falling(20.0)), how(&falling(5.0))], [None, None]);
        assert_eq!(how(&falling(4.0)).as_deref(), Some("a factor of 2.50 apart"));
        assert_eq!(how(&falling(-10.0)).as_deref(), Some("the other direction"));
        assert!(how(&[65.0, 66.0, 64.0, 65.0]).is_some_and(|how| how.starts_with("no trend (p=")), "there is none");
        assert_eq!(how(&[]).as_deref(), Some("we have no such series"));
    }
}
