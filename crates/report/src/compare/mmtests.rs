//! The table of mmtests: statistic, row, and for every variant a value with its percentage in brackets, positive being
//! better; asterisks instead of the brackets where the difference counts.

use super::direction::Better;
use super::layout::{banks, header, in_room};
use super::rule::{Rule, improvement};
use super::statistic::{BRIEF, FULL, Statistic};
use super::{Comparison, change};
use crate::text::heading;
use std::fmt::Write;

/// Width of a value, and of a percentage without its sign, as in mmtests since 2017.
const VALUE: usize = 12;
const PERCENT: usize = 7;
/// Width of a column: value, blank, brackets, percentage, `%`.
const COLUMN: usize = VALUE + PERCENT + 4;

/// All rows: those with a direction, then those without.
pub(super) fn table(text: &mut String, comparison: &Comparison) {
    let direction = |row: &str| comparison.better(row);
    let (judged, neutral): (Vec<&str>, Vec<&str>) =
        comparison.rows_worth_a_line().into_iter().partition(|row| direction(row).is_some());
    let statistics = if comparison.options.full { FULL } else { BRIEF };
    let from_zero = section(text, comparison, "Rows with a better direction (positive is better)", &judged, statistics);
    let neutral_too = section(text, comparison, "Rows without one (positive is more)", &neutral, statistics);
    footer(text, comparison, from_zero || neutral_too);
}

/// Returns whether a percentage is of a baseline of zero, which has no ratio.
fn section(text: &mut String, comparison: &Comparison, title: &str, rows: &[&str], list: &[Statistic]) -> bool {
    if rows.is_empty() {
        return false;
    }
    heading(text, title);
    let statistic_width = list.iter().map(|statistic| statistic.name().len()).max().unwrap_or(0);
    let row_width = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let label = statistic_width + 1 + row_width;
    let mut from_zero = false;
    for (at, bank) in banks(comparison, label, COLUMN, COLUMN).into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        header(text, label, bank.iter().map(|&variant| (comparison.variants[variant].name.as_str(), COLUMN)));
        for &statistic in list {
            for row in rows {
                let cells: Vec<Cell> = bank.iter().map(|&variant| cell(comparison, statistic, row, variant)).collect();
                if cells.iter().all(|cell| cell.value.is_none()) {
                    continue;
                }
                from_zero |= cells.iter().any(|cell| cell.from_zero);
                let mut line = format!("{:<statistic_width$} {row:<row_width$}", statistic.name());
                cells.iter().for_each(|cell| line.push_str(&cell.to_string()));
                let _ = writeln!(text, "{}{}", line.trim_end(), comparison.mark(row));
            }
        }
    }
    from_zero
}

/// A value beside the baseline's.
struct Cell {
    value: Option<f64>,
    percent: Option<f64>,
    starred: bool,
    from_zero: bool,
}

fn cell(comparison: &Comparison, statistic: Statistic, row: &str, variant: usize) -> Cell {
    let better = comparison.better(row);
    let samples = |at: usize| comparison.variants[at].pooled(row);
    let (base, values) = (samples(0), samples(variant));
    let (base_value, value) = (statistic.of(&base, better), statistic.of(&values, better));
    // Samples of a single run say nothing of how runs differ.
    let repeated = [0, variant].iter().all(|&at| comparison.variants[at].runs.len() > 1);
    let judged = statistic == Statistic::Amean && variant > 0 && repeated;
    let verdict = judged.then(|| comparison.options.rule.judge(&base, &values)).flatten();
    let percent = match (base_value, value) {
        (Some(base), Some(value)) => percent(statistic.better(better), base, value),
        _ => None,
    };
    Cell {
        value,
        percent,
        starred: verdict.is_some_and(|verdict| verdict.significant),
        from_zero: base_value == Some(0.0) && percent.is_some_and(|percent| percent != 0.0),
    }
}

/// Of a row without a direction the plain change.
fn percent(better: Option<Better>, base: f64, value: f64) -> Option<f64> {
    match better {
        Some(better) => Some(improvement(better, base, value)),
        None => change(base, value).map(|change| 100.0 * change),
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.value.map_or_else(|| "-".to_owned(), |value| in_room(value, 2, VALUE - 1));
        let percent = self.percent.map_or_else(|| "- ".to_owned(), |percent| format!("{percent:.2}%"));
        let (open, close) = if self.starred { ('*', '*') } else { ('(', ')') };
        let bracket = match self.value {
            None => " ".repeat(COLUMN - VALUE),
            Some(_) => format!(" {open}{percent:>width$}{close}", width = PERCENT + 1),
        };
        // A percentage that is wider than usual takes its room from the value, so that columns stay below each other, and a gap remains.
        write!(f, " {value:>width$}{bracket}", width = COLUMN.saturating_sub(bracket.len() + 1))
    }
}

/// Differences that the rule in force does not mark, while their ranks tell them apart: mmtests' rule of today measures
/// by the spread of single runs, so that it passes over differences that many runs make sure, or that one outlier hides.
fn told_apart_without_star(comparison: &Comparison) -> usize {
    let by_ranks = |row: &str, variant: usize| {
        let (base, values) = (comparison.variants[0].samples(row), comparison.variants[variant].samples(row));
        Rule::Benchstat.judge(&base, &values).is_some_and(|verdict| verdict.significant)
    };
    // As the cell is marked: by all samples of the runs.
    let unmarked =
        |row: &str, variant: usize| by_ranks(row, variant) && !cell(comparison, Statistic::Amean, row, variant).starred;
    let others = 1..comparison.variants.len();
    let rows = comparison.rows_worth_a_line();
    rows.into_iter().map(|row| others.clone().filter(|&variant| unmarked(row, variant)).count()).sum()
}

fn footer(text: &mut String, comparison: &Comparison, from_zero: bool) {
    if comparison.variants.len() < 2 {
        return;
    }
    let _ = writeln!(text, "\n{}", comparison.options.rule.explained());
    let unmarked = told_apart_without_star(comparison);
    if unmarked > 0 {
        let _ = writeln!(text, "Mann-Whitney (p < 0.05) tells {unmarked} more apart, which --stat benchstat shows.");
    }
    text.push_str(
        "Seeds stand for what a trace leaves open; that another recording would differ as much, no star says.\n",
    );
    if comparison.variants.iter().any(|variant| variant.runs.len() < 2) {
        text.push_str("A variant of a single run has no deviation and gets no star.\n");
    }
    if from_zero {
        text.push_str("From a baseline of 0: -99% where less is better, 100% where more is, as mmtests; no ratio.\n");
    }
}
