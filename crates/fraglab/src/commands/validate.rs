//! `fraglab validate`: how far is the model from the kernel?

use super::{load, replay_policy};
use crate::backend::{Loaded, load_truth};
use crate::cli::{EngineArgs, ValidateArgs};
use crate::column_spec::RECORDED;
use crate::failure::Failure;
use crate::output::{self, Format};
use lab::outcome::Outcome;
use pagealloc::Policy;
use report::validate::{Pair, Validation, mirror, predict};
use std::path::Path;

/// Prints the mirror, or with a pair the prediction.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let validation = match &args.pair {
        None => mirror_of(&args.recording, args)?,
        Some(other) => prediction_of(&args.recording, other, args)?,
    };
    match args.format.format {
        Format::Table => output::print(&validation.to_table()),
        Format::Json => output::print_json(&validation.to_json()),
        Format::Csv => output::print(&validation.to_csv()),
    }
}

fn mirror_of(path: &Path, args: &ValidateArgs) -> Result<Validation, Failure> {
    let loaded = load(path)?;
    let models = over_seeds(&loaded, loaded.recorded()?, RECORDED, args)?;
    Ok(Validation::Mirror { rows: mirror(&loaded.kernel, &models), recording: loaded.name })
}

fn prediction_of(path: &Path, other: &Path, args: &ValidateArgs) -> Result<Validation, Failure> {
    let (loaded, truth) = (load(path)?, load_truth(other)?);
    let before = over_seeds(&loaded, loaded.recorded()?, RECORDED, args)?;
    let after = over_seeds(&loaded, &truth.policy, &format!("the settings of {}", truth.name), args)?;
    let pair =
        Pair { kernel_before: &loaded.kernel, model_before: &before, kernel_after: &truth.kernel, model_after: &after };
    let window_seconds = pair.window_ns().map(|length| length as f64 / 1e9);
    Ok(Validation::Prediction { rows: predict(pair), recording: loaded.name, pair: truth.name, window_seconds })
}

/// The same replay with as many seeds as asked for, the first of them `--seed`.
fn over_seeds(loaded: &Loaded, policy: &Policy, name: &str, args: &ValidateArgs) -> Result<Vec<Outcome>, Failure> {
    let first = args.engine.seed;
    let replay = |seed: u64| {
        let engine = EngineArgs { seed, check: args.engine.check };
        Ok(replay_policy(loaded, policy, name, &engine)?.0.outcome)
    };
    (first..first.saturating_add(args.seeds.get())).map(replay).collect()
}
