//! From recordings to the rows of a report: mirror, prediction to every other setting, operation stream.

use super::cell_run::{self, Place};
use crate::backend::{self, Loaded, Truth, load_truth};
use crate::failure::Failure;
use crate::replays::over_seeds;
use crate::seeds::Seeds;
use crate::validate_args::ValidateArgs;
use lab::outcome::Outcome;
use report::bars::STREAM_3;
use report::grid::plan::{Plan, Planned};
use report::grid::{Cell, CellId, Findings, Grid};
use report::validate::{KernelSpread, Pair, mirror, predict};
use report::window;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::Path;

/// A cell with what its kernel did.
struct Known<'a> {
    cell: &'a Planned,
    truth: Truth,
}

/// Compares everything that a plan has recordings of.
///
/// # Errors
/// [`Failure::Input`] when not one recording can be read, [`Failure::Invariant`] when the model contradicts itself.
pub fn evaluate(directory: &Path, plan: &Plan, args: &ValidateArgs) -> Result<Grid, Failure> {
    let mut known = Vec::new();
    let mut cells = Vec::new();
    for cell in &plan.cells {
        match load_truth(&directory.join(&cell.recording)) {
            Ok(truth) => known.push(Known { cell, truth }),
            Err(why) => cells.push(Cell { id: cell.id.clone(), findings: failed(&why) }),
        }
    }
    if known.is_empty() {
        let reason = cells.first().and_then(|cell| cell.findings.problems.first()).cloned().unwrap_or_default();
        return Err(Failure::Input(format!("{}: no recording can be read: {reason}", directory.display())));
    }
    // Recordings that others made come without the scenario: nothing to simulate, and no quotas that end all at the same work.
    let scenario_known = plan.scenario_text.is_some();
    for one in &known {
        let mut findings = findings(directory, one, &known, scenario_known, args)?;
        if scenario_known {
            stream(Place { directory, plan }, one, &known, args, &mut findings);
        }
        cells.push(Cell { id: one.cell.id.clone(), findings });
    }
    cells.sort_by(|a, b| a.id.cmp(&b.id));
    let replay_seeds = seeds(args).count();
    Ok(Grid { scenario: plan.scenario.clone(), bars: args.bars.unwrap_or_default().set().name, replay_seeds, cells })
}

/// Replays of each recording, unless told otherwise.
const REPLAYS: NonZero<u64> = NonZero::new(5).expect("not zero");

/// Seeds of the replays.
fn seeds(args: &ValidateArgs) -> RangeInclusive<u64> {
    Seeds::Count(args.grid.replays.unwrap_or(REPLAYS)).from(args.seed)
}

/// The scenario on the simulated computer, beside what the kernel made of it over the whole run.
fn stream(place: Place, one: &Known, all: &[Known], args: &ValidateArgs, findings: &mut Findings) {
    let (id, truth) = (&one.cell.id, &one.truth);
    match cell_run::simulated(place, one.cell, &truth.policy, &args.grid) {
        Ok(outcome) => findings.stream = mirror(&truth.kernel, &[outcome], &STREAM_3, &spread(all, id, None)),
        Err(why) => findings.problems.push(format!("simulated computer: {why}")),
    }
}

fn failed(why: &Failure) -> Findings {
    Findings { problems: vec![why.to_string()], ..Findings::default() }
}

fn findings(
    directory: &Path,
    one: &Known,
    all: &[Known],
    same_work: bool,
    args: &ValidateArgs,
) -> Result<Findings, Failure> {
    let loaded = match backend::load(&directory.join(&one.cell.recording)) {
        Ok(loaded) => loaded,
        Err(why @ Failure::Invariant(_)) => return Err(why),
        // A recording of rare events only is still the truth that others predict.
        Err(why) => return Ok(failed(&why)),
    };
    let before = over_seeds(&loaded, loaded.recorded()?, "its own settings", seeds(args), &args.engine)?;
    let length = if same_work { None } else { window::length_ns(&loaded.kernel) };
    let rows = mirror(&loaded.kernel, &before, args.bars.unwrap_or_default().set(), &spread(all, &one.cell.id, length));
    let mut findings = Findings { mirror: rows, ..Findings::default() };
    for other in all.iter().filter(|other| is_pair(&one.cell.id, &other.cell.id)) {
        findings.predictions.push(prediction(one, other, all, &loaded, &before, same_work, args)?);
    }
    Ok(findings)
}

/// Whether two cells differ in their settings only.
fn is_pair(one: &CellId, other: &CellId) -> bool {
    let same = |id: &CellId| (id.kernel.clone(), id.seed, id.run);
    same(one) == same(other) && one.setting != other.setting
}

fn prediction(
    one: &Known,
    other: &Known,
    all: &[Known],
    loaded: &Loaded,
    before: &[Outcome],
    same_work: bool,
    args: &ValidateArgs,
) -> Result<(String, Vec<report::validate::PredictionRow>), Failure> {
    let to = &other.cell.id.setting;
    let after = over_seeds(loaded, &other.truth.policy, to, seeds(args), &args.engine)?;
    let pair = Pair {
        kernel_before: &loaded.kernel,
        model_before: before,
        kernel_after: &other.truth.kernel,
        model_after: &after,
        same_work,
    };
    let window = pair.window_ns();
    let spreads = [&one.cell.id, &other.cell.id].map(|id| spread(all, id, window));
    Ok((to.clone(), predict(pair, &spreads)))
}

/// How far the runs of a cell's kernel with its settings lie apart.
fn spread(all: &[Known], id: &CellId, length_ns: Option<u64>) -> KernelSpread {
    let alike = all.iter().filter(|known| known.cell.id.kernel == id.kernel && known.cell.id.setting == id.setting);
    KernelSpread::of(alike.map(|known| (known.truth.name.as_str(), &known.truth.kernel)), length_ns)
}
