//! `fraglab validate`: how far is the model from the kernel?

use super::load;
use crate::backend::{Loaded, Truth, load_truth};
use crate::column_spec::RECORDED;
use crate::failure::{Failure, warn};
use crate::interrupt::Interrupt;
#[cfg(feature = "machines")]
use crate::machine_commands::grid;
use crate::output::{self, Format};
use crate::replays::{OverSeeds, over_seeds};
use crate::seeds::{self, Seeds};
use crate::settings::{Settings, changes};
use crate::validate_args::ValidateArgs;
use lab::outcome::Outcome;
use pagealloc::Policy;
use report::validate::{KernelSpread, Mirror, Pair, Prediction, Validation, mirror, predict};
use report::window;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

/// Prints the mirror, or with a pair the prediction; of a directory with a plan or of a scenario, the report of the grid.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    #[cfg(feature = "machines")]
    if let Some(done) = grid::run(args) {
        return done;
    }
    let Some(recording) = &args.recording else {
        return Err(Failure::Usage("there is neither a RECORDING nor a --scenario".to_owned()));
    };
    if let (Some(seed), Some(Seeds::Range(from, to))) = (args.seed, args.seeds) {
        let advice =
            format!("--seed {seed} says where the seeds begin, and --seeds {from}..{to} does: give one of them");
        return Err(Failure::Usage(advice));
    }
    each_once(args)?;
    let (validation, whole) = match &args.pair {
        None => mirror_of(recording, args)?,
        Some(_) if args.bars.is_some() => {
            return Err(Failure::Usage("--bars is for a mirror: a prediction has bars of its own".to_owned()));
        }
        Some(other) => prediction_of(recording, other, args)?,
    };
    let printed = match args.format.format {
        Format::Table => output::print(&validation.to_table()),
        Format::Json => output::print_json(&validation.to_json()),
        Format::Csv => output::print(&validation.to_csv()),
    };
    output::then(printed, whole)
}

/// A run is no distance from itself.
fn each_once(args: &ValidateArgs) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    let compared = args.recording.iter().chain(&args.pair).filter_map(|path| path.canonicalize().ok());
    seen.extend(compared);
    let twice = args.spread.iter().find(|path| path.canonicalize().is_ok_and(|path| !seen.insert(path)));
    twice.map_or(Ok(()), |path| {
        let name = path.display();
        Err(Failure::Usage(format!(
            "--spread {name}: this recording is compared already; give other runs of the kernel"
        )))
    })
}

/// What was found, and whether all seeds are in it.
type Found = (Validation, Result<(), Failure>);

fn replay_seeds(args: &ValidateArgs) -> RangeInclusive<u64> {
    args.seeds.unwrap_or(seeds::OF_REPLAYS).from(args.first_seed())
}

fn mirror_of(path: &Path, args: &ValidateArgs) -> Result<Found, Failure> {
    let loaded = load(path)?;
    let [others] = again(args, [&loaded.settings])?;
    let spread = spread((&loaded.name, &loaded.kernel), &others, window::length_ns(&loaded.kernel));
    let OverSeeds { outcomes: [models], whole } = replayed(&loaded, [(RECORDED, loaded.recorded()?)], args)?;
    let bars = args.bars.unwrap_or_default().set();
    let mirror = Mirror {
        rows: mirror(&loaded.kernel, &models, bars, &spread),
        recording: loaded.name,
        bars: bars.name,
        seeds: models.len(),
        seeds_asked: replay_seeds(args).count(),
        spread_of: names_of(&[spread]),
    };
    Ok((Validation::Mirror(mirror), whole))
}

fn prediction_of(path: &Path, other: &Path, args: &ValidateArgs) -> Result<Found, Failure> {
    let (loaded, truth) = (load(path)?, truth_of(other)?);
    let [like_before, like_after] = again(args, [&loaded.settings, &truth.settings])?;
    let theirs = format!("the settings of {}", truth.name);
    let policies = [(RECORDED, loaded.recorded()?), (theirs.as_str(), &truth.policy)];
    let OverSeeds { outcomes: [before, after], whole } = replayed(&loaded, policies, args)?;
    let pair = Pair {
        kernel_before: &loaded.kernel,
        model_before: &before,
        kernel_after: &truth.kernel,
        model_after: &after,
        same_work: false,
    };
    let window = pair.window_ns();
    let spreads = [
        spread((&loaded.name, &loaded.kernel), &like_before, window),
        spread((&truth.name, &truth.kernel), &like_after, window),
    ];
    let prediction = Prediction {
        rows: predict(pair, &spreads),
        changes: changes(&loaded.settings, &truth.settings),
        recording: loaded.name,
        pair: truth.name,
        window_seconds: window.map(|length| length as f64 / 1e9),
        seeds: before.len(),
        seeds_asked: replay_seeds(args).count(),
        spread_of: names_of(&spreads),
    };
    Ok((Validation::Prediction(prediction), whole))
}

fn replayed<const N: usize>(
    loaded: &Loaded,
    policies: [(&str, &Policy); N],
    args: &ValidateArgs,
) -> Result<OverSeeds<N>, Failure> {
    over_seeds(loaded, policies, replay_seeds(args), &args.engine, &Interrupt::watch())
}

/// Loads a recording that others are compared with; says what is to be said of it.
fn truth_of(path: &Path) -> Result<Truth, Failure> {
    let truth = load_truth(path)?;
    truth.caveats.iter().for_each(|said| warn(&format!("{}: {said}", truth.name)));
    Ok(truth)
}

/// The recordings of `--spread`, sorted by which of the settings they were made with.
fn again<const N: usize>(args: &ValidateArgs, settings: [&Settings; N]) -> Result<[Vec<Truth>; N], Failure> {
    let mut sorted = std::array::from_fn(|_| Vec::new());
    for path in &args.spread {
        let truth = truth_of(path)?;
        match settings.iter().position(|settings| changes(settings, &truth.settings).is_empty()) {
            Some(at) => sorted[at].push(truth),
            None => return Err(not_again(&truth, settings[0])),
        }
    }
    Ok(sorted)
}

fn not_again(truth: &Truth, settings: &Settings) -> Failure {
    let names: Vec<String> = changes(settings, &truth.settings).into_iter().map(|change| change.name).collect();
    let (name, names) = (&truth.name, names.join(", "));
    Failure::Usage(format!(
        "--spread {name}: it was made with other settings ({names}), so it shows no run-to-run spread"
    ))
}

fn spread(first: (&str, &Outcome), others: &[Truth], length_ns: Option<u64>) -> KernelSpread {
    let others = others.iter().map(|truth| (truth.name.as_str(), &truth.kernel));
    KernelSpread::of(std::iter::once(first).chain(others), length_ns)
}

/// Of spreads that are known: those of at least two recordings.
fn names_of(spreads: &[KernelSpread]) -> Vec<String> {
    spreads.iter().filter(|spread| spread.names.len() > 1).flat_map(|spread| spread.names.clone()).collect()
}
