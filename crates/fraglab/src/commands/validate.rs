//! `fraglab validate`: how far is the model from the kernel?

use super::{load, replay_policy};
use crate::cli::{EngineArgs, ValidateArgs};
use crate::column_spec::RECORDED;
use crate::failure::Failure;
use crate::output::{self, Format};
use report::validate::{Pair, Validation, mirror, predict};
use std::path::Path;

/// Prints the mirror, or with a pair the prediction.
pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let validation = match &args.pair {
        None => mirror_of(&args.recording, &args.engine)?,
        Some(other) => prediction_of(&args.recording, other, &args.engine)?,
    };
    match args.format.format {
        Format::Table => output::print(&validation.to_table()),
        Format::Json => output::print_json(&validation.to_json()),
        Format::Csv => output::print(&validation.to_csv()),
    }
}

fn mirror_of(path: &Path, engine: &EngineArgs) -> Result<Validation, Failure> {
    let loaded = load(path)?;
    let (model, _) = replay_policy(&loaded, loaded.recorded()?, RECORDED, engine)?;
    Ok(Validation::Mirror { rows: mirror(&loaded.kernel, &model.outcome), recording: loaded.name })
}

fn prediction_of(path: &Path, other: &Path, engine: &EngineArgs) -> Result<Validation, Failure> {
    let (loaded, truth) = (load(path)?, load(other)?);
    let (before, _) = replay_policy(&loaded, loaded.recorded()?, RECORDED, engine)?;
    let (after, _) = replay_policy(&loaded, truth.recorded()?, &format!("the settings of {}", truth.name), engine)?;
    let pair = Pair {
        kernel_before: &loaded.kernel,
        model_before: &before.outcome,
        kernel_after: &truth.kernel,
        model_after: &after.outcome,
    };
    let window_seconds = pair.window_ns().map(|length| length as f64 / 1e9);
    Ok(Validation::Prediction { rows: predict(pair), recording: loaded.name, pair: truth.name, window_seconds })
}
