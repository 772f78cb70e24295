//! `fraglab worker`: one run of a study, in a process of its own.

use crate::failure::Failure;
use crate::machine_commands::machines;
use crate::machine_commands::run_args::{On, RunArgs};
use crate::machine_commands::scenarios;
use crate::machine_commands::study_args::WorkerArgs;
use crate::output;
use report::study::RunFigures;
use std::ops::ControlFlow;

/// Runs, and prints the figures.
pub fn run(args: &WorkerArgs) -> Result<(), Failure> {
    let mut words = vec![args.scenario.clone()];
    words.extend(["--on", "sim", "--seed", &args.seed.to_string()].map(str::to_owned));
    words.extend(args.scale.iter().flat_map(|scale| ["--scale".to_owned(), scale.to_string()]));
    let run_args = RunArgs::parse(words).map_err(|error| Failure::Usage(error.to_string()))?;
    let chosen = scenarios::choose(&run_args.scenario, args.variant.as_deref())?;
    // Nothing but the figures comes out of a simulated computer: the directory is never made.
    let ran =
        machines::run(&On::Sim, &chosen, &run_args, &std::env::temp_dir(), &[], &|_| ControlFlow::Continue(()))?.ran;
    let text = serde_json::to_string(&RunFigures::of(&ran)).map_err(|error| Failure::Invariant(error.to_string()))?;
    output::print(&text)
}
