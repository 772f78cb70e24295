//! `fraglab compare`: what do the run directories tell when they are laid side by side?

use crate::compare_args::{CompareArgs, CompareFormat, CompareRule};
use crate::failure::{Failure, warn};
use crate::output;
use crate::run_spec::selections;
use report::compare::{CompareError, Comparison, Directions, Options, Rule};

/// Reads and prints.
pub fn run(args: &CompareArgs) -> Result<(), Failure> {
    if !args.trend.is_empty() && matches!(args.format, CompareFormat::Csv | CompareFormat::Benchstat) {
        return Err(Failure::Usage(
            "--trend is not in --format csv and benchstat: ask for json, or the table".to_owned(),
        ));
    }
    let selections = selections(&args.runs);
    let comparison = Comparison::read(&selections, options(args))?;
    for caveat in &comparison.caveats {
        warn(caveat);
    }
    match args.format {
        CompareFormat::Table => output::print(&comparison.to_table()),
        CompareFormat::Json => output::print_json(&comparison.to_json()),
        CompareFormat::Csv => output::print(&comparison.to_csv()),
        CompareFormat::Benchstat => output::print(&comparison.to_go_benchmarks()),
    }
}

fn options(args: &CompareArgs) -> Options {
    // `all` is easier to type in a shell than a quoted asterisk.
    let pattern = |pattern: &String| if pattern == "all" { "*".to_owned() } else { pattern.clone() };
    Options {
        base: args.base.clone(),
        rule: match args.stat {
            CompareRule::Mmtests => Rule::Mmtests,
            CompareRule::Mmtests2018 => Rule::Mmtests2018,
            CompareRule::Benchstat => Rule::Benchstat,
        },
        rows: args.rows.iter().map(pattern).collect(),
        directions: Directions { lower: args.lower.clone(), higher: args.higher.clone() },
        full: args.full,
        kernel: args.kernel,
        across: args.across,
        trend: args.trend.clone(),
        every: args.every,
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Failure {
        match error {
            CompareError::SameName(_)
            | CompareError::SeveralPolicies(_)
            | CompareError::DifferentRecordings { .. }
            | CompareError::BothDirections(_)
            | CompareError::NoBase { .. }
            | CompareError::NoRow { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Input(error.to_string()),
        }
    }
}
