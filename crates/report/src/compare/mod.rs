//! Run directories side by side: several runs a variant, differences with what chance leaves of them.
//!
//! A replay with another seed is another draw of what a trace leaves open, not another machine: what is said here about
//! chance is about that. Layouts are those of the tools whose tables kernel developers post: mmtests, with its vmstat
//! block, and benchstat.

mod benchstat;
mod direction;
mod error;
mod export;
mod grouping;
mod layout;
mod mmtests;
mod rule;
mod run;
mod setup;
mod statistic;
mod trend;
mod variant;
mod vmstat;

pub use direction::{Better, Directions};
pub use error::CompareError;
pub use grouping::Selection;
pub use rule::{Rule, Verdict, change, improvement};
pub use run::{Measured, Replay, Run};
pub use trend::RowTrend;
pub use variant::Variant;

use crate::pattern::fits;
use grouping::{Grouped, Grouping};
use pagealloc::policy::closest;

/// What is to be compared how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The variant that the others are compared with; the first one otherwise.
    pub base: Option<String>,
    /// When a difference counts, and the layout.
    pub rule: Rule,
    /// Patterns of the rows that are shown; empty: headlines. Tables leave out what is zero everywhere and was not asked
    /// for by name.
    pub rows: Vec<String>,
    /// Which way rows are better.
    pub directions: Directions,
    /// All statistics of the mmtests layout instead of mean and deviation.
    pub full: bool,
    /// Make the recorded kernel a variant too.
    pub kernel: bool,
    /// Compare runs of different recordings.
    pub across: bool,
    /// Patterns of rows whose trend is wanted.
    pub trend: Vec<String>,
    /// Seconds that a point of a trend covers; otherwise every run is a point.
    pub every: Option<f64>,
}

/// Variants side by side, the baseline first.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub variants: Vec<Variant>,
    /// What to beware of.
    pub caveats: Vec<String>,
    options: Options,
    rows: Vec<String>,
    trends: Vec<RowTrend>,
}

impl Comparison {
    /// Reads and groups runs.
    ///
    /// # Errors
    /// [`CompareError`].
    pub fn read(selections: &[Selection], options: Options) -> Result<Comparison, CompareError> {
        let wanted = |row: &str| options.every.is_some() && trend::is_wanted(&options.trend, row);
        let grouping = Grouping { wanted: &wanted, kernel: options.kernel, across: options.across };
        let Grouped { mut variants, mut caveats } = grouping.group(selections)?;
        if let Some(base) = &options.base {
            let known = || variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(" ");
            let no_base = || CompareError::NoBase { name: base.clone(), known: known() };
            let at = variants.iter().position(|variant| variant.name == *base).ok_or_else(no_base)?;
            variants[..=at].rotate_right(1);
        }
        let known = row_names(&variants);
        check_directions(&options.directions, &known)?;
        let rows = match options.rows.as_slice() {
            [] => in_order(direction::HEADLINES.iter().copied(), &known),
            asked => asked_for(asked, &known)?,
        };
        let trends = trend::trends(&variants, &asked_for(&options.trend, &known)?, options.every);
        caveats.extend(no_kernel(&variants).filter(|_| options.kernel));
        caveats.extend(missing_rows(&variants, &rows));
        match options.every {
            None => caveats.extend(trend::caveat(&variants, &trends)),
            Some(_) => caveats.extend(trend::left_out(&variants, &trends)),
        }
        Ok(Comparison { variants, caveats, options, rows, trends })
    }

    /// Whether the model gets the row right under the settings that the recording was made with, as most of the runs
    /// measured it; nothing where none did.
    pub fn calibrated(&self, row: &str) -> Option<bool> {
        let runs = self.variants.iter().flat_map(|variant| &variant.runs).filter(|run| run.replay.is_some());
        let verdicts: Vec<bool> = runs.filter_map(|run| run.calibrated.get(row).copied()).collect();
        let not = verdicts.iter().filter(|calibrated| !**calibrated).count();
        (!verdicts.is_empty()).then_some(2 * not < verdicts.len())
    }

    /// Which way a row is better: as the user said, as it is known, or as the experiment that measured it says.
    fn better(&self, row: &str) -> Option<Better> {
        let measured = || self.variants.iter().flat_map(|variant| &variant.runs).find_map(|run| run.measured(row));
        self.options.directions.of(row).or_else(|| measured()?.better())
    }

    /// What stands behind the line of a row.
    fn mark(&self, row: &str) -> &'static str {
        if self.calibrated(row) == Some(false) { " !" } else { "" }
    }

    /// What the runs are of: the recording, or all of them.
    pub fn recordings(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for run in self.variants.iter().flat_map(|variant| &variant.runs) {
            if !names.contains(&run.recording.as_str()) {
                names.push(&run.recording);
            }
        }
        names
    }

    /// Rows of a table: without those that are zero everywhere, unless they were asked for by name.
    fn rows_worth_a_line(&self) -> Vec<&str> {
        let tells = |row: &str| self.variants.iter().any(|variant| variant.samples(row).iter().any(|&v| v != 0.0));
        let named = |row: &str| self.options.rows.iter().any(|asked| asked == row);
        self.rows.iter().map(String::as_str).filter(|row| named(row) || tells(row)).collect()
    }

    /// The table in the layout of the rule.
    pub fn to_table(&self) -> String {
        let mut text = layout::legend(self);
        match self.options.rule {
            Rule::Benchstat => benchstat::table(&mut text, self),
            Rule::Mmtests | Rule::Mmtests2018 => mmtests::table(&mut text, self),
        }
        vmstat::table(&mut text, self);
        trend::table(&mut text, self);
        text
    }
}

/// Names of all rows that any run has, in the order in which they are documented.
fn row_names(variants: &[Variant]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in variants.iter().flat_map(|variant| &variant.runs) {
        let mut after = 0;
        let measured = run.measures.iter().map(|measured| &measured.row);
        for row in measured.chain(run.rows.iter().map(|row| &row.name)) {
            match names.iter().position(|name| name == row) {
                Some(at) => after = at + 1,
                None => {
                    names.insert(after, row.clone());
                    after += 1;
                }
            }
        }
    }
    names
}

/// Rows that match any of the patterns, in the order of the patterns.
fn in_order<'a>(patterns: impl Iterator<Item = &'a str>, known: &[String]) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for pattern in patterns {
        let fresh: Vec<_> = known.iter().filter(|row| fits(pattern, row) && !rows.contains(row)).cloned().collect();
        rows.extend(fresh);
    }
    rows
}

/// Rows that were asked for. A pattern that matches none is a mistake that must not pass for an absent row.
fn asked_for(asked: &[String], known: &[String]) -> Result<Vec<String>, CompareError> {
    for pattern in asked {
        if !known.iter().any(|row| fits(pattern, row)) {
            let suggestion = suggestion(pattern, known);
            return Err(CompareError::NoRow { pattern: pattern.clone(), suggestion });
        }
    }
    Ok(in_order(asked.iter().map(String::as_str), known))
}

/// A row that nobody has got no direction, and one that has two has none.
fn check_directions(directions: &Directions, known: &[String]) -> Result<(), CompareError> {
    let (lower, higher) = (asked_for(&directions.lower, known)?, asked_for(&directions.higher, known)?);
    match lower.into_iter().find(|row| higher.contains(row)) {
        Some(row) => Err(CompareError::BothDirections(row)),
        None => Ok(()),
    }
}

fn suggestion(pattern: &str, known: &[String]) -> Option<String> {
    closest(pattern, known.iter().map(String::as_str)).map(str::to_owned)
}

/// What was asked for with `kernel`, and nobody has.
fn no_kernel(variants: &[Variant]) -> Option<String> {
    let recorded = variants.iter().flat_map(|variant| &variant.runs).any(|run| run.replay.is_none());
    (!recorded).then(|| {
        "no run is beside a recorded kernel (those of scenarios are not), so that there is none to compare".to_owned()
    })
}

/// Rows that only some runs of a variant know.
fn missing_rows(variants: &[Variant], rows: &[String]) -> Vec<String> {
    let mut caveats = Vec::new();
    for variant in variants {
        let partly = |row: &&String| (1..variant.runs.len()).contains(&variant.samples(row).len());
        let partly: Vec<&str> = rows.iter().filter(partly).map(String::as_str).collect();
        if !partly.is_empty() {
            caveats.push(format!(
                "not all runs of {} know {}: fewer values count there",
                variant.name,
                partly.join(", ")
            ));
        }
    }
    caveats
}
