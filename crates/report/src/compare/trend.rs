//! Does a row rise or fall: from run to run, or in the course of each run?

use super::{Comparison, Run, Variant};
use crate::pattern::fits;
use crate::rows::SUMMED_OVER_ZONES;
use crate::stats::{self, ALPHA, CONFIDENCE, Interval, Trend};
use crate::text::heading;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The trend of a row in a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct RowTrend {
    /// Row.
    pub row: String,
    /// Name of the variant.
    pub variant: String,
    /// What lies on the line: a run each, or a stretch of a run each.
    pub points: Vec<f64>,
    /// Runs whose slopes were averaged: those that know the row over time. One where the runs themselves are the points.
    pub lines: usize,
    /// Slope a point; nothing with fewer than three points.
    pub trend: Option<Trend>,
    /// Whether any run knows the row over time; always so where the runs themselves are the points.
    pub sampled: bool,
}

/// Whether a counter's samples are needed for rows that match the patterns: it is one of them, or a part of one.
pub(super) fn is_wanted(patterns: &[String], counter: &str) -> bool {
    let asked = |row: &str| patterns.iter().any(|pattern| fits(pattern, row));
    asked(counter) || SUMMED_OVER_ZONES.iter().any(|(sum, prefix)| counter.starts_with(prefix) && asked(sum))
}

/// Trends of rows in all variants.
pub(super) fn trends(variants: &[Variant], rows: &[String], every: Option<f64>) -> Vec<RowTrend> {
    let of = |row: &String, variant: &Variant| {
        let (row, variant_name) = (row.clone(), variant.name.clone());
        match every {
            None => {
                let points = variant.samples(&row);
                let trend = stats::trend(&points, CONFIDENCE);
                RowTrend { row, variant: variant_name, points, lines: 1, trend, sampled: true }
            }
            Some(every) => {
                let known = variant.runs.iter().filter_map(|run| Some(stretches(&series(run, &row)?, every)));
                let lines = those_with_slopes(known.collect());
                let (trend, points) = (over_lines(&lines), mean_line(&lines));
                RowTrend { row, variant: variant_name, points, lines: lines.len(), trend, sampled: !lines.is_empty() }
            }
        }
    };
    rows.iter().flat_map(|row| variants.iter().map(move |variant| of(row, variant))).collect()
}

/// Runs of one recording or scenario do not follow one another: what looks like a trend is the order of their seeds.
pub(super) fn caveat(variants: &[Variant], trends: &[RowTrend]) -> Option<String> {
    let independent = |variant: &&Variant| {
        let mut pairs = variant.runs.windows(2);
        variant.runs.len() > 1 && pairs.all(|pair| pair[0].replay.is_some() && pair[0].recording == pair[1].recording)
    };
    let variant = variants.iter().find(independent).filter(|_| !trends.is_empty())?;
    Some(format!(
        "the runs of {} are of one {} and do not follow one another: a trend over them is chance \
         (--every SECONDS looks into each run instead)",
        variant.name,
        if variant.runs[0].is_of_scenario() { "scenario" } else { "recording" }
    ))
}

/// A row over time; of one that is summed over zones the sum, sample by sample, as far as all of its zones are known.
fn series<'a>(run: &'a Run, row: &str) -> Option<Cow<'a, [(u64, u64)]>> {
    if let Some(samples) = run.series.get(row) {
        return Some(samples.into());
    }
    let (_, prefix) = SUMMED_OVER_ZONES.iter().find(|(sum, _)| *sum == row)?;
    let zones = || run.series.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, samples)| samples);
    let mut sums: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
    for &(ts, value) in zones().flatten() {
        let (known, sum) = sums.entry(ts).or_default();
        (*known, *sum) = (*known + 1, sum.saturating_add(value));
    }
    let all = zones().count();
    let sums: Vec<(u64, u64)> =
        sums.into_iter().filter(|(_, (known, _))| *known == all).map(|(ts, (_, sum))| (ts, sum)).collect();
    (!sums.is_empty()).then_some(sums.into())
}

/// Runs that are missing in a trend over time, and would make it look as if it were of all.
pub(super) fn left_out(variants: &[Variant], trends: &[RowTrend]) -> Vec<String> {
    let of = |trend: &RowTrend| {
        let runs = variants.iter().find(|variant| variant.name == trend.variant)?.runs.len();
        (1..runs).contains(&trend.lines).then(|| {
            format!(
                "the trend of {} in {} is that of {} of its {runs} runs: the others do not tell it over time, or not for long enough",
                trend.row, trend.variant, trend.lines
            )
        })
    };
    trends.iter().filter_map(of).collect()
}

/// What a counter grew by in each whole stretch of its samples.
fn stretches(samples: &[(u64, u64)], seconds: f64) -> Vec<f64> {
    let Some(&(first, mut before)) = samples.first() else { return Vec::new() };
    let end = |stretch: usize| first.saturating_add((seconds * 1e9 * (stretch + 1) as f64) as u64);
    let mut grown = Vec::new();
    let (mut until, mut last) = (first, before);
    for &(ts, value) in samples {
        // A stretch ends with the last sample inside it.
        while ts > end(grown.len()) {
            grown.push(last as f64 - before as f64);
            before = last;
        }
        (until, last) = (ts, value);
    }
    if until == end(grown.len()) {
        grown.push(last as f64 - before as f64);
    }
    grown
}

/// Lines that are long enough for a slope; all, if none is.
fn those_with_slopes(lines: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let (long, short): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| stats::trend(line, CONFIDENCE).is_some());
    if long.is_empty() { short } else { long }
}

/// The line of a variant: one run's own, or the mean of its runs' slopes, each of which is then one sample.
fn over_lines(lines: &[Vec<f64>]) -> Option<Trend> {
    if let [line] = lines {
        return stats::trend(line, CONFIDENCE);
    }
    let slopes: Vec<f64> = lines.iter().filter_map(|line| Some(stats::trend(line, CONFIDENCE)?.slope)).collect();
    let test = stats::one_sample(&slopes)?;
    Some(Trend { slope: stats::mean(&slopes)?, interval: stats::mean_interval(&slopes, CONFIDENCE)?, p: test.p })
}

/// Point by point the mean over runs, as far as all of them go.
fn mean_line(lines: &[Vec<f64>]) -> Vec<f64> {
    let shortest = lines.iter().map(Vec::len).min().unwrap_or(0);
    (0..shortest).filter_map(|at| stats::mean(&lines.iter().map(|line| line[at]).collect::<Vec<_>>())).collect()
}

impl RowTrend {
    /// `falls`, `rises`, or that neither can be told.
    pub fn verdict(&self) -> &'static str {
        match self.trend {
            None if !self.sampled => "not sampled over time",
            None => "too few points",
            Some(trend) if trend.p >= ALPHA => "no trend",
            Some(trend) if trend.slope < 0.0 => "falls",
            Some(_) => "rises",
        }
    }
}

/// Nothing unless asked for.
pub(super) fn table(text: &mut String, comparison: &Comparison) {
    if comparison.trends.is_empty() {
        return;
    }
    let title = match comparison.options.every {
        None => "Trend from run to run, in the order in which they were given".to_owned(),
        Some(every) => format!("Trend in the course of a run, a point being what {every} s add"),
    };
    heading(text, &title);
    let rows = comparison.trends.iter().map(|trend| trend.row.len());
    let variants = comparison.trends.iter().map(|trend| trend.variant.len() + 2);
    let label = rows.chain(variants).max().unwrap_or(0);
    let _ = writeln!(text, "{:label$}{:>8}{:>14}{:>30}{:>9}", "", "points", "slope", "95% interval", "p");
    let mut row = "";
    for trend in &comparison.trends {
        if trend.row != row {
            row = &trend.row;
            let _ = writeln!(text, "{row}");
        }
        let points = if trend.lines > 1 {
            format!("{}x{}", trend.lines, trend.points.len())
        } else {
            trend.points.len().to_string()
        };
        let _ = write!(text, "  {:<width$}{points:>8}", trend.variant, width = label - 2);
        if let Some(Trend { slope, interval: Interval { low, high }, p }) = trend.trend {
            let interval = format!("{low:.2} to {high:.2}");
            let _ = write!(text, "{slope:>14.2}{interval:>30}{p:>9.4}");
        }
        let _ = writeln!(text, "  {}", trend.verdict());
    }
    match comparison.options.every {
        None => {
            text.push_str("Slope a run, by least squares. Says something only of runs that followed one another.\n")
        }
        Some(_) => {
            text.push_str("Slope a point, by least squares; of several runs the mean of theirs (Student's t).\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A run that knows these counters over time, a sample a second.
    fn run(counters: &[(&str, &[u64])]) -> Run {
        let samples =
            |values: &[u64]| values.iter().enumerate().map(|(at, &value)| (at as u64 * SECOND, value)).collect();
        Run {
            dir: "run".into(),
            recording: "demo".into(),
            recording_digest: None,
            version: String::new(),
            column: "recorded".into(),
            replay: None,
            measures: Vec::new(),
            rows: crate::Rows::default(),
            calibrated: BTreeMap::new(),
            seconds: Some(10.0),
            series: counters.iter().map(|&(name, values)| (name.to_owned(), samples(values))).collect(),
        }
    }

    /// The last one ends with the run: it was left out.
    #[test]
    fn stretches_end_at_the_last_sample_inside() {
        let squares: Vec<(u64, u64)> = (0..=10).map(|at| (at * SECOND, at * at)).collect();
        assert_eq!(stretches(&squares, 2.0), [4.0, 12.0, 20.0, 28.0, 36.0]);
        assert_eq!(stretches(&squares, 3.0), [9.0, 27.0, 45.0], "the last second is no whole stretch");
        assert_eq!(stretches(&squares, 1e12), [0.0; 0], "none is whole");
        assert_eq!(stretches(&[], 2.0), [0.0; 0]);
    }

    #[test]
    fn what_is_split_by_zone_is_summed() {
        let run = run(&[("allocstall_normal", &[0, 1, 2, 3, 4]), ("allocstall_dma32", &[0, 10, 20, 30, 40])]);
        assert_eq!(stretches(&series(&run, "allocstall").expect("in zones"), 1.0), [11.0; 4]);
        assert!(series(&run, "pgalloc").is_none());
        // A zone's counter fell, and is unknown from there on: the sum fell with it.
        let run = self::run(&[("allocstall_normal", &[0, 1, 2]), ("allocstall_dma32", &[0, 10, 20, 30, 40])]);
        assert_eq!(stretches(&series(&run, "allocstall").expect("in zones"), 1.0), [11.0; 2]);
        assert!(
            is_wanted(&["allocstall".into()], "allocstall_normal") && !is_wanted(&["pgfree".into()], "pgalloc_dma")
        );
    }

    /// Each was counted as a line without any point, so that no point was common to all.
    #[test]
    fn runs_that_do_not_know_a_row_have_no_line() {
        let runs = vec![run(&[("pgfree", &[0, 1, 3, 6, 10])]), run(&[]), run(&[("pgfree", &[0, 2, 5, 9, 14])])];
        let variants = [Variant { name: "v".into(), runs }];
        let found = trends(&variants, &["pgfree".to_owned()], Some(1.0));
        assert_eq!((found[0].lines, found[0].points.as_slice()), (2, &[1.5, 2.5, 3.5, 4.5][..]));
        assert_eq!(found[0].trend.map(|trend| trend.slope), Some(1.0));
        assert!(left_out(&variants, &found)[0].contains("is that of 2 of its 3 runs"));
        let unknown = trends(&variants, &["pgalloc".to_owned()], Some(1.0));
        assert_eq!((unknown[0].lines, unknown[0].verdict()), (0, "not sampled over time"));
        assert!(left_out(&variants, &unknown).is_empty());
    }

    #[test]
    fn several_runs_are_a_sample_of_slopes() {
        let lines = [vec![3.0, 2.0, 1.0], vec![9.0, 6.0, 3.0], vec![5.0, 3.0, 1.0]];
        let trend = over_lines(&lines).expect("three lines");
        assert!((trend.slope + 2.0).abs() < 1e-12);
        // scipy.stats.ttest_1samp([-1, -3, -2], 0)
        assert!((trend.p - 0.07417990022744862).abs() < 1e-9, "{trend:?}");
        assert_eq!(mean_line(&lines), [17.0 / 3.0, 11.0 / 3.0, 5.0 / 3.0]);
    }

    #[test]
    fn a_trend_is_told_from_chance_at_one_in_twenty() {
        let verdict = |slope: f64, p: f64| {
            let trend = Some(Trend { slope, interval: Interval { low: slope - 1.0, high: slope + 1.0 }, p });
            let (row, variant) = ("r".to_owned(), "v".to_owned());
            RowTrend { row, variant, points: vec![0.0; 3], lines: 1, trend, sampled: true }.verdict()
        };
        let verdicts = [verdict(-1.0, 0.049), verdict(1.0, 0.049), verdict(-1.0, 0.05), verdict(1.0, 0.09)];
        assert_eq!(verdicts, ["falls", "rises", "no trend", "no trend"]);
    }
}
