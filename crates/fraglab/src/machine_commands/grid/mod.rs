//! `fraglab validate` over kernels x settings x seeds: recordings are made or found, compared, and put into one report.

mod cell_run;
mod evaluate;

use crate::failure::{Failure, warn};
use crate::machine_commands::grid_args::GridArgs;
use crate::machine_commands::run_args::ScenarioArgs;
use crate::machine_commands::scenarios;
use crate::output::{self, Format};
use crate::seeds::Seeds;
use crate::validate_args::ValidateArgs;
use cell_run::{Place, SCENARIO_FILE};
use linux::host::RECORDING_DIR;
use report::grid::Grid;
use report::grid::plan::{Axes, Axis, Plan, PlanError, Planned};
use std::fs;
use std::io;
use std::num::NonZero;
use std::path::Path;

/// Seeds of the workload, if the command line names none.
const WORKLOAD_SEEDS: Seeds = Seeds::Count(NonZero::new(3).unwrap());

/// What `validate` does if a grid is meant, by a scenario or by a directory with a plan; `None` if one recording is.
///
/// # Errors
/// When the command line or the directory is wrong, or not one cell could be compared. A cell that fails is part of the
/// report.
pub fn run(args: &ValidateArgs) -> Option<Result<(), Failure>> {
    if let (Some(scenario), Some(directory)) = (&args.grid.scenario, &args.grid.output) {
        return Some(make(scenario, directory, args));
    }
    let wrong = |advice: &str| Some(Err(Failure::Usage(advice.to_owned())));
    let recording = args.recording.as_ref()?;
    if !args.grid.sets.is_empty() {
        return wrong(
            "--set is for a --scenario; `fraglab replay RECORDING --set ...` replays under another setting, and \
             --pair OTHER predicts a recording that was made under one",
        );
    }
    match Plan::is_in(recording) {
        true if args.pair.is_some() || !args.spread.is_empty() => wrong(
            "a grid's plan says which recordings are compared: --pair and --spread are for one recording (name a cell's)",
        ),
        true if args.seeds.is_some() => wrong("a grid's recordings are replayed with --replays N; --seeds is for one"),
        true => Some(report(recording, args)),
        false if args.grid.replays.is_some() => {
            wrong("--replays is for a grid; --seeds N says how often one recording is replayed")
        }
        false => None,
    }
}

/// Runs what is missing of a grid, and reports all of it.
fn make(scenario: &str, directory: &Path, args: &ValidateArgs) -> Result<(), Failure> {
    let plan = plan(scenario, directory, args)?;
    let missing: Vec<&Planned> = plan.cells.iter().filter(|cell| !directory.join(&cell.recording).exists()).collect();
    let present = plan.cells.len() - missing.len();
    say!("{} cells, {present} of them recorded already", plan.cells.len());
    if !missing.is_empty() {
        linux::vm::check_host()?;
    }
    for (at, cell) in missing.iter().enumerate() {
        say!("cell {} of {}: {}", at + 1, missing.len(), cell.id.directory());
        match record(Place { directory, plan: &plan }, cell, &args.grid) {
            Ok(()) => {}
            Err(why @ (Failure::Output(_) | Failure::Ended { .. })) => return Err(why),
            Err(why) => warn(&format!("{}: {why}", cell.id.directory())),
        }
    }
    let grid = evaluate::evaluate(Place { directory, plan: &plan }, args)?;
    let files = [
        ("report.txt", grid.to_table()),
        ("report.csv", grid.to_csv()),
        ("report.json", format!("{:#}\n", grid.to_json())),
    ];
    let written = files.into_iter().try_for_each(|(name, text)| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(at(&path))
    });
    written.and(print(&grid, args.format.format))
}

/// The plan, written into its directory together with the scenario.
fn plan(scenario: &str, directory: &Path, args: &ValidateArgs) -> Result<Plan, Failure> {
    let GridArgs { kernels, sets, repeats, .. } = &args.grid;
    check_axes(sets)?;
    let chosen = ScenarioArgs { scenario: scenario.to_owned(), scale: None, seed: None, memory: None, ops: None };
    let chosen = scenarios::choose(&chosen, args.grid.variant.as_deref())?;
    let axes = Axes {
        kernels: kernels.clone(),
        settings: sets.clone(),
        seeds: args.seeds.unwrap_or(WORKLOAD_SEEDS).from(1).collect(),
        runs: repeats.get(),
    };
    let mut plan = Plan::new(&chosen.scenario.name, &chosen.text, &axes, RECORDING_DIR);
    plan.variant.clone_from(&args.grid.variant);
    plan.scale = args.grid.scale.map(|scale| scale.to_string());
    let plan = plan.continuing(directory)?;
    // A value that no kernel takes shall be found out before the first boot.
    plan.cells.iter().try_for_each(|cell| cell_run::check(Place { directory, plan: &plan }, &cell.id, &args.grid))?;
    fs::create_dir_all(directory).map_err(at(directory))?;
    let path = directory.join(SCENARIO_FILE);
    fs::write(&path, &chosen.text).map_err(at(&path))?;
    plan.write(directory).map_err(|error| Failure::Output(error.to_string()))?;
    Ok(plan)
}

/// A setting that is named twice would have both values in each cell, and the last one be in force.
fn check_axes(axes: &[Axis]) -> Result<(), Failure> {
    let name = |axis: &Axis| axis.name.trim_start_matches("vm.").to_owned();
    match axes.iter().enumerate().find(|(at, axis)| axes[..*at].iter().any(|other| name(other) == name(axis))) {
        Some((_, Axis { name, .. })) => Err(Failure::Usage(format!(
            "--set {name} is given twice: give all of its values in one, as {name}=VALUE,VALUE"
        ))),
        None => Ok(()),
    }
}

/// Boots a cell. Its directory appears whole or not at all.
fn record(place: Place, cell: &Planned, args: &GridArgs) -> Result<(), Failure> {
    let directory = place.directory;
    let target = directory.join("cells").join(cell.id.directory());
    let fresh = target.with_file_name(format!("{}.new", cell.id.directory()));
    for leftover in [&fresh, &target] {
        match fs::remove_dir_all(leftover) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(leftover)(error)),
            _ => {}
        }
    }
    fs::create_dir_all(&fresh).map_err(at(&fresh))?;
    cell_run::in_vm(place, &cell.id, args, &fresh)?;
    fs::rename(&fresh, &target).map_err(at(&target))
}

/// Prints the report of a directory with a plan.
fn report(directory: &Path, args: &ValidateArgs) -> Result<(), Failure> {
    let plan = Plan::read(directory)?;
    print(&evaluate::evaluate(Place { directory, plan: &plan }, args)?, args.format.format)
}

fn print(grid: &Grid, format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&grid.to_table()),
        Format::Json => output::print_json(&grid.to_json()),
        Format::Csv => output::print(&grid.to_csv()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::Output(format!("{}: {error}", path.display()))
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        match error {
            PlanError::NotAnAxis(_) | PlanError::OtherScenario { .. } => Failure::Usage(error.to_string()),
            PlanError::Damaged { .. } | PlanError::Io { .. } => Failure::Input(error.to_string()),
        }
    }
}
