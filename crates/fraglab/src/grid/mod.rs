//! `fraglab validate` over kernels x settings x seeds: recordings are made or found, compared, and put into one report.

mod evaluate;

use crate::cli::ValidateArgs;
use crate::failure::Failure;
use crate::output::{self, Format};
use report::grid::Grid;
use report::grid::plan::{Plan, PlanError};
use std::path::Path;

/// Prints the report of a directory with a plan.
///
/// # Errors
/// [`Failure::Input`] when the plan or all recordings can't be read.
pub fn report(directory: &Path, args: &ValidateArgs) -> Result<(), Failure> {
    let plan = Plan::read(directory)?;
    print(&evaluate::evaluate(directory, &plan, args)?, args.format.format)
}

fn print(grid: &Grid, format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&grid.to_table()),
        Format::Json => output::print_json(&grid.to_json()),
        Format::Csv => output::print(&grid.to_csv()),
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        match error {
            PlanError::NotAnAxis(_) | PlanError::OtherScenario { .. } => Failure::Usage(error.to_string()),
            PlanError::Damaged { .. } | PlanError::Io { .. } => Failure::Input(error.to_string()),
        }
    }
}
