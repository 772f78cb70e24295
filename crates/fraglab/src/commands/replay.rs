//! `fraglab replay`: what would this machine have done under another policy?

use super::{load, replay_column};
use crate::cli::ReplayArgs;
use crate::column_spec::columns;
use crate::failure::Failure;
use crate::output::{self, Format};
use report::manifest::Provenance;
use report::{Column, Report, write_run};

/// Replays, prints, and leaves a run directory if asked to.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let specs = columns(&args.policies, &args.sets);
    for spec in &specs {
        spec.check()?;
    }
    let loaded = load(&args.recording)?;
    let mut replays = Vec::new();
    for spec in &specs {
        replays.push(replay_column(&loaded, spec, &args.engine)?);
    }
    let replayed = specs.iter().zip(&replays).map(|(spec, (replayed, facts))| Column {
        name: spec.to_string(),
        outcome: &replayed.outcome,
        facts: Some(facts.clone()),
    });
    let columns = std::iter::once(Column::kernel(&loaded.kernel)).chain(replayed).collect();
    let report = Report { recording: loaded.name.clone(), columns };
    if let Some(dir) = &args.output {
        write_run(dir, &report, &Provenance::of_this_process(env!("CARGO_PKG_VERSION")))?;
    }
    match args.format.format {
        Format::Table => output::print(&report.to_table()),
        Format::Json => output::print_json(&report.to_json()),
        Format::Csv => output::print(&report.to_csv()),
    }
}
