//! A column over the runs that stand in it.

use super::{Column, Facts, Report};
use crate::rows::Rows;
use crate::vmstat_block::{self, Value};
use crate::window;
use lab::outcome::Outcome;
use std::collections::BTreeMap;

/// A column: the same thing once, or once a seed.
pub(crate) struct Shown<'a> {
    /// What stands over it.
    pub name: &'a str,
    /// Its runs, at least one.
    pub runs: Vec<&'a Column<'a>>,
    /// Their rows.
    pub rows: Vec<Rows>,
    derived: Vec<BTreeMap<&'static str, Value>>,
}

impl<'a> Shown<'a> {
    /// The columns of reports that all have the same ones, one a seed. What is no replay is the same for every seed, and
    /// stands once.
    pub fn all(seeds: &'a [Report<'a>]) -> Vec<Shown<'a>> {
        let Some(first) = seeds.first() else { return Vec::new() };
        let runs = |at: usize, column: &'a Column<'a>| match column.facts {
            None => vec![column],
            Some(_) => seeds.iter().filter_map(|report| report.columns.get(at)).collect(),
        };
        first.columns.iter().enumerate().map(|(at, column)| Shown::of(&column.name, runs(at, column))).collect()
    }

    fn of(name: &'a str, runs: Vec<&'a Column<'a>>) -> Shown<'a> {
        let rows = runs.iter().map(|run| Rows::of(run.outcome)).collect();
        let derived = |run: &&Column| {
            vmstat_block::block(&run.outcome.counters, window::seconds(run.outcome)).into_iter().collect()
        };
        Shown { name, rows, derived: runs.iter().map(derived).collect(), runs }
    }

    /// Whether it is a policy's.
    pub fn is_replay(&self) -> bool {
        self.facts().next().is_some()
    }

    /// What is known of how its runs came about.
    pub fn facts(&self) -> impl Iterator<Item = &'a Facts> + Clone {
        self.runs.iter().filter_map(|run| run.facts.as_ref())
    }

    /// Its outcomes.
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.runs.iter().map(|run| run.outcome)
    }

    /// A row, of every run.
    pub fn row(&self, name: &str) -> Option<Vec<u64>> {
        Rows::values(&self.rows, name)
    }

    /// A derived figure, of the runs that know it.
    pub fn derived(&self, label: &str) -> Option<Vec<Value>> {
        let values: Vec<_> = self.derived.iter().filter_map(|block| block.get(label).copied()).collect();
        (!values.is_empty()).then_some(values)
    }

    /// What its runs could not attribute; nothing of a column that is no replay.
    pub fn departure(&self, name: &str) -> Option<Vec<u64>> {
        let find = |facts: &Facts| facts.unattributed.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        let counts: Vec<_> = self.facts().map(find).collect();
        counts.iter().any(Option::is_some).then(|| counts.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// Place of the column that the others are compared with.
pub(crate) fn first_policy(columns: &[Shown]) -> Option<usize> {
    columns.iter().position(Shown::is_replay)
}
