//! From recordings to the rows of a report: mirror, prediction to every other setting, operation stream.

use super::cell_run::{self, Place};
use crate::backend::{self, Loaded, Truth, load_truth};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::replays::over_seeds;
use crate::seeds::Seeds;
use crate::validate_args::ValidateArgs;
use lab::outcome::Outcome;
use pagealloc::Policy;
use report::bars::STREAM_3;
use report::grid::plan::Planned;
use report::grid::{Cell, CellId, Findings, Grid};
use report::validate::{KernelSpread, Pair, PredictionRow, mirror, predict};
use report::window;
use std::num::NonZero;
use std::ops::RangeInclusive;

/// A cell with what its kernel did.
struct Known<'a> {
    cell: &'a Planned,
    truth: Truth,
}

/// Compares everything that a plan has recordings of.
///
/// # Errors
/// [`Failure::Input`] when not one recording can be read, [`Failure::Invariant`] when the model contradicts itself.
pub fn evaluate(place: Place, args: &ValidateArgs) -> Result<Grid, Failure> {
    let Place { directory, plan } = place;
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
    let evaluation = Evaluation { place, known: &known, args };
    for one in &known {
        cells.push(Cell { id: one.cell.id.clone(), findings: evaluation.findings(one)? });
    }
    cells.sort_by(|a, b| a.id.cmp(&b.id));
    let replay_seeds = evaluation.seeds().count();
    Ok(Grid { scenario: plan.scenario.clone(), bars: args.bars.unwrap_or_default().set().name, replay_seeds, cells })
}

/// Replays of each recording, unless told otherwise.
const REPLAYS: NonZero<u64> = NonZero::new(5).expect("not zero");

fn failed(why: &Failure) -> Findings {
    Findings { problems: vec![why.to_string()], ..Findings::default() }
}

/// Whether two cells differ in their settings only.
fn is_pair(one: &CellId, other: &CellId) -> bool {
    let same = |id: &CellId| (id.kernel.clone(), id.seed, id.run);
    same(one) == same(other) && one.setting != other.setting
}

/// The cells that can be compared, and how that was asked for.
struct Evaluation<'a> {
    place: Place<'a>,
    known: &'a [Known<'a>],
    args: &'a ValidateArgs,
}

impl Evaluation<'_> {
    /// Recordings that others made come without the scenario: nothing to simulate, and no quotas that end all at the same work.
    fn knows_scenario(&self) -> bool {
        self.place.plan.scenario_text.is_some()
    }

    /// Seeds of the replays.
    fn seeds(&self) -> RangeInclusive<u64> {
        Seeds::Count(self.args.grid.replays.unwrap_or(REPLAYS)).from(self.args.first_seed())
    }

    fn findings(&self, one: &Known) -> Result<Findings, Failure> {
        let mut findings = match backend::load(&self.place.directory.join(&one.cell.recording)) {
            Ok(loaded) => self.of_replays(one, &loaded)?,
            Err(why @ Failure::Invariant(_)) => return Err(why),
            // A recording of rare events only is still the truth that others predict.
            Err(why) => failed(&why),
        };
        if self.knows_scenario() {
            self.stream(one, &mut findings);
        }
        Ok(findings)
    }

    /// A grid's recordings stay, and a command that a signal ends can be given again.
    fn replays(&self, loaded: &Loaded, name: &str, policy: &Policy) -> Result<Vec<Outcome>, Failure> {
        let [outcomes] =
            over_seeds(loaded, [(name, policy)], self.seeds(), &self.args.engine, &Interrupt::none())?.outcomes;
        Ok(outcomes)
    }

    /// The mirror, and a prediction of every cell that differs in its settings only.
    fn of_replays(&self, one: &Known, loaded: &Loaded) -> Result<Findings, Failure> {
        let before = self.replays(loaded, "its own settings", loaded.recorded()?)?;
        let length = if self.knows_scenario() { None } else { window::length_ns(&loaded.kernel) };
        let bars = self.args.bars.unwrap_or_default().set();
        let rows = mirror(&loaded.kernel, &before, bars, &self.spread(&one.cell.id, length));
        let mut findings = Findings { mirror: rows, ..Findings::default() };
        for other in self.known.iter().filter(|other| is_pair(&one.cell.id, &other.cell.id)) {
            findings.predictions.push(self.prediction(one, other, loaded, &before)?);
        }
        Ok(findings)
    }

    fn prediction(
        &self,
        one: &Known,
        other: &Known,
        loaded: &Loaded,
        before: &[Outcome],
    ) -> Result<(String, Vec<PredictionRow>), Failure> {
        let to = &other.cell.id.setting;
        let after = self.replays(loaded, to, &other.truth.policy)?;
        let pair = Pair {
            kernel_before: &loaded.kernel,
            model_before: before,
            kernel_after: &other.truth.kernel,
            model_after: &after,
            same_work: self.knows_scenario(),
        };
        let window = pair.window_ns();
        let spreads = [&one.cell.id, &other.cell.id].map(|id| self.spread(id, window));
        Ok((to.clone(), predict(pair, &spreads)))
    }

    /// The scenario on the simulated computer, beside what the kernel made of it over the whole run.
    fn stream(&self, one: &Known, findings: &mut Findings) {
        let (id, truth) = (&one.cell.id, &one.truth);
        match cell_run::simulated(self.place, one.cell, &truth.policy, &self.args.grid) {
            Ok(outcome) => findings.stream = mirror(&truth.kernel, &[outcome], &STREAM_3, &self.spread(id, None)),
            Err(why) => findings.problems.push(format!("simulated computer: {why}")),
        }
    }

    /// How far the runs of a cell's kernel with its settings lie apart.
    fn spread(&self, id: &CellId, length_ns: Option<u64>) -> KernelSpread {
        let is_alike = |known: &&Known| known.cell.id.kernel == id.kernel && known.cell.id.setting == id.setting;
        let alike = self.known.iter().filter(is_alike);
        KernelSpread::of(alike.map(|known| (known.truth.name.as_str(), &known.truth.kernel)), length_ns)
    }
}
