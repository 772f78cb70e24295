//! Runs of the same thing, and what rows came to in them.

use super::run::Run;

/// Runs of the same thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name: the policy as it was asked for, or as the user named it.
    pub name: String,
    /// Its runs, in the order in which they were given.
    pub runs: Vec<Run>,
}

impl Variant {
    /// A row over the runs that know it, one value a run.
    pub fn samples(&self, row: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.value(row)).collect()
    }

    /// The same with every sample that was taken within the runs, as mmtests pools them.
    pub fn pooled(&self, row: &str) -> Vec<f64> {
        let pool: Vec<f64> =
            self.runs.iter().filter_map(|run| run.measured(row)).flat_map(|row| &row.samples).copied().collect();
        if pool.is_empty() { self.samples(row) } else { pool }
    }
}
