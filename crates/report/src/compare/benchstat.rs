//! The table of benchstat, medians with their intervals and what Mann-Whitney says, and the Go benchmark text that
//! benchstat itself reads.

use super::layout::{banks, header, in_room};
use super::rule::Rule;
use super::{Comparison, Variant, change};
use crate::stats::{self, ALPHA, CONFIDENCE, Interval};
use crate::text::heading;
use std::fmt::Write;

/// Width of a median with its interval, and of a difference with its p.
const MEDIAN: usize = 19;
/// Of which the median itself has so much.
const ROOM: usize = MEDIAN - 10;
const DIFFERENCE: usize = 26;

/// Every row once: medians, and the plain change from the baseline.
pub(super) fn table(text: &mut String, comparison: &Comparison) {
    heading(text, "Medians (changes are plain: positive is more)");
    let rows = comparison.rows_worth_a_line();
    let label = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for (at, bank) in banks(comparison, label, MEDIAN, MEDIAN + DIFFERENCE).into_iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let columns = bank.iter().flat_map(|&variant| {
            let median = (comparison.variants[variant].name.as_str(), MEDIAN);
            std::iter::once(median).chain((variant > 0).then_some(("vs base", DIFFERENCE)))
        });
        header(text, label, columns);
        for row in &rows {
            let mut line = format!("{row:<label$}");
            for &variant in &bank {
                let median = median(&comparison.variants[variant].samples(row));
                let _ = write!(line, " {median:>width$}", width = MEDIAN - 1);
                if variant > 0 {
                    let _ = write!(line, " {:>width$}", difference(comparison, row, variant), width = DIFFERENCE - 1);
                }
            }
            let _ = writeln!(text, "{}{}", line.trim_end(), comparison.mark(row));
        }
    }
    footer(text, comparison);
}

/// `47 +-   9%`; `+- inf` where there are too few runs for an interval.
fn median(values: &[f64]) -> String {
    let Some(median) = stats::median(values) else { return "-".to_owned() };
    let around = match stats::median_interval(values, CONFIDENCE) {
        None => "inf ".to_owned(),
        Some(Interval { low, high }) if low == high => "0%".to_owned(),
        // An interval that reaches 0 is no share of the median, as for benchstat.
        Some(Interval { low, .. }) if low <= 0.0 => "? ".to_owned(),
        Some(Interval { low, high }) => format!("{:.0}%", 100.0 * (high - median).max(median - low) / median),
    };
    let digits = usize::from(median.fract() != 0.0);
    format!("{} +-{around:>6}", in_room(median, digits, ROOM))
}

fn difference(comparison: &Comparison, row: &str, variant: usize) -> String {
    let (base, values) = (comparison.variants[0].samples(row), comparison.variants[variant].samples(row));
    let (Some(from), Some(to)) = (stats::median(&base), stats::median(&values)) else { return "-".to_owned() };
    let size =
        if base.len() == values.len() { format!("{}", base.len()) } else { format!("{}+{}", base.len(), values.len()) };
    let verdict = Rule::Benchstat.judge(&base, &values);
    let sign = match (verdict, change(from, to)) {
        (Some(verdict), Some(change)) if verdict.significant => format!("{:+.2}%", 100.0 * change),
        (Some(verdict), None) if verdict.significant => "?".to_owned(),
        _ => "~".to_owned(),
    };
    match verdict.and_then(|verdict| verdict.p) {
        Some(p) => format!("{sign} (p={p:.3} n={size})"),
        None => format!("{sign} (n={size})"),
    }
}

fn footer(text: &mut String, comparison: &Comparison) {
    let _ = writeln!(text, "\n{}", Rule::Benchstat.explained());
    text.push_str(
        "Seeds stand for what a trace leaves open; that another recording would differ as much, no p says.\n",
    );
    let fewest = comparison.variants.iter().map(|variant| variant.runs.len()).min().unwrap_or(0);
    match stats::samples_for_median_interval(CONFIDENCE) {
        Some(needed) if fewest < needed => {
            let _ = writeln!(text, "inf: an interval of the median at 95% needs {needed} runs.");
        }
        _ => {}
    }
    text.push_str(&too_few_runs(comparison));
}

/// A line about variants that have too few runs for any difference from the baseline to be told.
fn too_few_runs(comparison: &Comparison) -> String {
    let [base, others @ ..] = comparison.variants.as_slice() else { return String::new() };
    let smallest = |variant: &Variant| stats::smallest_p(base.runs.len(), variant.runs.len());
    match others.iter().filter(|variant| smallest(variant) >= ALPHA).count() {
        0 => String::new(),
        all if all == others.len() => {
            "With so few runs no difference can reach p < 0.05: 4 runs a variant are enough.\n".to_owned()
        }
        some => format!(
            "{some} of the {} variants beside the baseline can't reach p < 0.05 with so few runs: 4 a variant are enough.\n",
            others.len()
        ),
    }
}

impl Comparison {
    /// Go benchmark text: one line a run and row, `policy` telling the variants apart (`benchstat -col policy`).
    pub fn to_go_benchmarks(&self) -> String {
        let mut text = format!("recording: {}\n", self.recordings().join(" "));
        for variant in &self.variants {
            let _ = writeln!(text, "policy: {}", variant.name);
            for run in &variant.runs {
                for row in &self.rows {
                    if let Some(value) = run.value(row) {
                        let _ = writeln!(text, "BenchmarkReplay/row={row} 1 {value} {}", run.unit(row));
                    }
                }
            }
        }
        text
    }
}
