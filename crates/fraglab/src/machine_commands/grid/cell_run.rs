//! One cell on a machine: a `fraglab run` of the plan's scenario with the cell's seed and settings.

use crate::column_spec::ColumnSpec;
use crate::failure::Failure;
use crate::machine_commands::grid_args::GridArgs;
use crate::machine_commands::machines::{self, in_force};
use crate::machine_commands::run_args::RunArgs;
use crate::machine_commands::scenarios::{self, Chosen};
use lab::outcome::Outcome;
use pagealloc::Policy;
use report::grid::CellId;
use report::grid::plan::{Plan, Planned};
use std::ops::ControlFlow;
use std::path::Path;

/// The scenario of a grid, kept beside its plan.
pub const SCENARIO_FILE: &str = "scenario.toml";

/// A grid's directory and its plan.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// The plan.
    pub plan: &'a Plan,
}

fn run_args(place: Place, id: &CellId, words: &[String]) -> Result<RunArgs, Failure> {
    let scenario = place.directory.join(SCENARIO_FILE).display().to_string();
    let mut line = vec![scenario, "--seed".to_owned(), id.seed.to_string()];
    for (name, value) in id.settings() {
        line.extend(["--set".to_owned(), format!("{name}={value}")]);
    }
    for (option, value) in [("--variant", &place.plan.variant), ("--scale", &place.plan.scale)] {
        line.extend(value.iter().flat_map(|value| [option.to_owned(), value.clone()]));
    }
    line.extend_from_slice(words);
    RunArgs::parse(line).map_err(|error| Failure::Usage(reason(&error.to_string())))
}

/// The first paragraph of clap's message, without the word that every failure begins with anyway.
fn reason(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or_default().trim();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

fn limit(args: &GridArgs) -> Vec<String> {
    args.time_limit.map(|limit| vec!["--time-limit".to_owned(), limit.to_string()]).unwrap_or_default()
}

fn run(args: &RunArgs, kept: &Path) -> Result<Outcome, Failure> {
    let chosen: Chosen = scenarios::choose(&args.scenario, args.variants.first().map(String::as_str))?;
    let ran = machines::run(&args.on[0], &chosen, args, kept, &[], &|_| ControlFlow::Continue(()))?;
    Ok(ran.ran.outcome)
}

/// Whether the cell can be run at all, as far as its words tell.
///
/// # Errors
/// [`Failure::Usage`].
pub fn check(place: Place, id: &CellId, args: &GridArgs) -> Result<(), Failure> {
    vm_args(place, id, args).map(drop)
}

fn vm_args(place: Place, id: &CellId, args: &GridArgs) -> Result<RunArgs, Failure> {
    let words = ["--on", &format!("vm:{}", id.kernel), "--record", args.record.name()].map(str::to_owned);
    run_args(place, id, &[words.to_vec(), limit(args)].concat())
}

/// Boots the cell's kernel and leaves its results, the recording among them, in `kept`.
///
/// # Errors
/// Those of the machine.
pub fn in_vm(place: Place, id: &CellId, args: &GridArgs, kept: &Path) -> Result<(), Failure> {
    run(&vm_args(place, id, args)?, kept).map(drop)
}

/// Runs the cell on the simulated computer under the settings that were in force on its kernel, standing in for the recorded machine.
///
/// # Errors
/// Those of the simulated computer.
pub fn simulated(place: Place, cell: &Planned, recorded: &Policy, args: &GridArgs) -> Result<Outcome, Failure> {
    let preset: ColumnSpec = recorded.name.parse()?;
    let policy = preset.with(&in_force::changes(recorded)?).to_string();
    let recording = place.directory.join(&cell.recording).display().to_string();
    let words = ["--on", "sim", "--policy", &policy, "--machine-of", &recording].map(str::to_owned);
    let args = run_args(place, &cell.id, &[words.to_vec(), limit(args)].concat())?;
    run(&args, place.directory)
}
