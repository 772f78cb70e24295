//! The tables of a study as plain text: the document's rows with ours beside them, or below them where there are many columns.

use super::check::Outcome;
use super::definition::{Percent, Row, Series, Study, Table};
use super::judge::{Verdict, samples, verdicts};
use super::results::Results;
use super::statistic::{estimate, slope};
use super::tally::agreement;
use crate::compare::{Better, change, improvement};
use crate::stats::Interval;
use crate::text::{heading, number};
use std::fmt::Write;

/// Longest line of running text.
const LINE: usize = 100;
/// Widest label beside its figures.
const LABEL: usize = 44;
/// Width of a value, and of one with its percentage.
const VALUE: usize = 12;
const WITH_PERCENT: usize = 22;
/// Width of a column where there are many.
const WIDE: usize = 21;

/// The tables, what disagrees and why, and what shall hold.
pub fn text(study: &Study, results: &Results) -> String {
    let mut text = format!("{}: {}\n{}\n", study.name, study.title, study.document);
    for (scenario, size) in &results.sizes {
        let _ = writeln!(text, "{scenario}: {}", size.words);
    }
    let _ = writeln!(text, "{}", how_to_read(results));
    for answer in &study.answers {
        let _ = writeln!(text, "\n{}", wrapped(&answer.sentence(results), LINE));
    }
    for table in &study.tables {
        tables(&mut text, table, results);
    }
    text.push('\n');
    text.push_str(&disagreements(&verdicts(study, results)));
    text.push_str(&checks(study, results));
    for failed in &results.failed {
        let _ = writeln!(text, "Run lost: {} seed {}: {}", failed.cell, failed.seed, failed.why);
    }
    text
}

/// Which seeds ran, and what stands in the cells.
pub(super) fn how_to_read(results: &Results) -> String {
    match results.seeds.split_once(" to ") {
        Some((first, last)) if first == last => {
            format!("One run of each, seed {first}: no intervals, and no difference is told from chance")
        }
        _ => format!("Seeds {}; figures of ours are means over the runs, brackets are 95 % intervals", results.seeds),
    }
}

/// A paragraph in lines.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// One table.
pub(super) fn tables(text: &mut String, table: &Table, results: &Results) {
    heading(text, &table.title);
    let published = table.rows.iter().any(|row| !row.published.is_empty());
    if !table.rows.is_empty() {
        if published && table.columns.len() <= 2 { beside(text, table, results) } else { below(text, table, results) }
    }
    for row in &table.series {
        series(text, table, row, results);
    }
}

/// Two columns: the document's on the left, ours on the right.
fn beside(text: &mut String, table: &Table, results: &Results) {
    let label = table.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(LABEL);
    let width = |column: usize| if column == 0 { VALUE } else { WITH_PERCENT };
    let block: usize = (0..table.columns.len()).map(width).sum();
    let _ = writeln!(text, "{:label$}{:>block$} |{:>block$}", "", "published", "fraglab");
    let mut head = format!("{:label$}", "");
    for end in [" |", "  interval of the change"] {
        for (column, name) in table.columns.iter().enumerate() {
            let _ = write!(head, "{name:>width$}", width = width(column));
        }
        head.push_str(end);
    }
    let _ = writeln!(text, "{head}");
    for row in &table.rows {
        let samples = samples(table, row, results);
        let ours: Vec<Option<f64>> = samples.iter().map(|samples| row.statistic.of(samples)).collect();
        let theirs: Vec<Option<f64>> =
            (0..samples.len()).map(|at| row.published.get(at).copied().filter(|value| !value.is_nan())).collect();
        let mut line = format!("{:<label$}", row.name);
        for (values, end) in [(&theirs, " |"), (&ours, "")] {
            for (column, value) in values.iter().enumerate() {
                let cell = cell(*value, values[0].filter(|_| column > 0), table.percent(row));
                let _ = write!(line, " {cell:>width$}", width = width(column) - 1);
            }
            line.push_str(end);
        }
        let _ = writeln!(text, "{}{}", line, interval_of_change(row, &samples));
    }
}

/// The interval of what is compared: of the ratio as a change in percent, or of the last value.
fn interval_of_change(row: &Row, samples: &[Vec<f64>]) -> String {
    let between =
        |interval: Interval, unit: &str| format!("  [{}, {}]{unit}", number(interval.low), number(interval.high));
    match samples {
        [base, .., last] if row.points.is_none() => {
            let (_, interval) = super::statistic::ratio(base, last, row.statistic);
            let percent = |share: f64| (1000.0 * (share - 1.0)).round() / 10.0;
            let change = interval.map(|i| Interval { low: percent(i.low), high: percent(i.high) });
            change.map(|change| between(change, "%")).unwrap_or_default()
        }
        [.., last] => estimate(last, row.statistic).1.map(|interval| between(interval, "")).unwrap_or_default(),
        [] => String::new(),
    }
}

/// Many columns: ours below the document's, and the interval below that.
fn below(text: &mut String, table: &Table, results: &Results) {
    let label = table.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).min(LABEL);
    // Where nothing was published, nobody asks whose figures these are.
    let whose = if table.rows.iter().any(|row| !row.published.is_empty()) { 11 } else { 0 };
    let mut unknown = Vec::new();
    let mut head = format!("{:width$}", "", width = label + whose);
    table.columns.iter().for_each(|name| {
        let _ = write!(head, " {name:>width$}", width = WIDE - 1);
    });
    let _ = writeln!(text, "{}", head.trim_end());
    for row in &table.rows {
        let samples = samples(table, row, results);
        let estimates: Vec<_> = samples.iter().map(|samples| estimate(samples, row.statistic)).collect();
        if whose == 0 && estimates.iter().all(|(value, _)| value.is_none()) {
            unknown.push(row.name.as_str());
            continue;
        }
        let line = |text: &mut String, name: &str, who: &str, cells: Vec<String>| {
            let mut line = if whose == 0 { format!("{name:<label$}") } else { format!("{name:<label$} {who:<10}") };
            cells.iter().for_each(|cell| {
                let _ = write!(line, " {cell:>width$}", width = WIDE - 1);
            });
            let _ = writeln!(text, "{}", line.trim_end());
        };
        let values = |values: &[Option<f64>]| {
            let base = values.first().copied().flatten();
            let one = |(at, value): (usize, &Option<f64>)| cell(*value, base.filter(|_| at > 0), table.percent(row));
            values.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        let mut name = row.name.as_str();
        if !row.published.is_empty() {
            let published: Vec<_> = row.published.iter().map(|value| Some(*value).filter(|v| !v.is_nan())).collect();
            line(text, name, "published", values(&published));
            name = "";
        }
        line(text, name, "fraglab", values(&estimates.iter().map(|(value, _)| *value).collect::<Vec<_>>()));
        let interval = |i: Interval| format!("[{}, {}]", number(i.low), number(i.high));
        // A single run tells of no interval.
        if estimates.iter().any(|(_, interval)| interval.is_some()) {
            line(text, "", "", estimates.iter().map(|(_, i)| i.map(interval).unwrap_or_default()).collect());
        }
    }
    if !unknown.is_empty() {
        let _ = writeln!(text, "{}", wrapped(&format!("in no run: {}", unknown.join(", ")), LINE));
    }
}

/// A value with its percentage.
fn cell(value: Option<f64>, base: Option<f64>, percent: Percent) -> String {
    let Some(value) = value else { return "-".to_owned() };
    let share = base.and_then(|base| match percent {
        Percent::Change => change(base, value).map(|change| 100.0 * change),
        Percent::LowerIsBetter => Some(improvement(Better::Lower, base, value)),
        Percent::HigherIsBetter => Some(improvement(Better::Higher, base, value)),
        Percent::None => None,
    });
    match share {
        Some(share) => format!("{} ({share:+.1}%)", number(value)),
        None => number(value),
    }
}

fn series(text: &mut String, table: &Table, row: &Series, results: &Results) {
    let _ = writeln!(text, "{}", row.name);
    for (column, cell) in table.of.iter().enumerate() {
        let ours = results.series(cell, &row.measure);
        let theirs = row.published.get(column).map(Vec::as_slice).unwrap_or_default();
        for (who, series) in [("published", theirs), ("fraglab", &ours)] {
            if series.is_empty() {
                continue;
            }
            let trend = slope(series).map(|(slope, i, p)| {
                let share = |share: f64| format!("{:+.2}%", 100.0 * share);
                format!("; trend {} [{}, {}] a repetition, p={p:.4}", share(slope), share(i.low), share(i.high))
            });
            let values: Vec<String> = series.iter().map(|&value| number(value)).collect();
            let name = &table.columns[column];
            let _ = writeln!(text, "  {name}, {who}: {}{}", values.join(" "), trend.unwrap_or_default());
        }
    }
}

/// One line a row that disagrees.
pub(super) fn disagreements(verdicts: &[Verdict]) -> String {
    let share = agreement(verdicts);
    if share.whole == 0 {
        return String::new();
    }
    let mut text = format!("{share} published figures agree\n");
    for verdict in verdicts.iter().filter(|verdict| verdict.agrees == Some(false)) {
        let _ = writeln!(text, "  {}", disagreement(verdict));
    }
    text
}

/// A row that disagrees, in a sentence.
pub(super) fn disagreement(verdict: &Verdict) -> String {
    let said = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let around = verdict.interval.map(|i| format!(" [{}, {}]", number(i.low), number(i.high))).unwrap_or_default();
    let kind = match verdict.kind {
        super::judge::Kind::Ratio => "ratio ",
        super::judge::Kind::Value => "",
        super::judge::Kind::Slope => "slope ",
    };
    format!(
        "{}: published {kind}{}, ours {}{around}: {}. Cause: {}",
        verdict.row,
        said(verdict.published),
        said(verdict.ours),
        verdict.how.as_deref().unwrap_or("-"),
        verdict.cause.as_deref().unwrap_or("not known"),
    )
}

/// One line a bar.
pub(super) fn checks(study: &Study, results: &Results) -> String {
    let mut text = String::new();
    for check in &study.checks {
        let finding = check.look(results);
        let _ = writeln!(text, "{} {}: {}", finding.outcome.word(), check.says, finding.measured);
        if let (Outcome::Fails, Some(cause)) = (finding.outcome, &check.cause) {
            let _ = writeln!(text, "     cause: {cause}");
        }
    }
    text
}
