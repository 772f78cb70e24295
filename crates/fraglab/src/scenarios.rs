//! Which scenario a command line means.

use crate::failure::Failure;
use crate::run_args::ScenarioArgs;
use std::fs;
use std::path::Path;
use workload::{Saved, Scenario, ScenarioError, Workload};

/// A scenario with the changes of the command line.
pub struct Chosen {
    /// The scenario.
    pub scenario: Scenario,
    /// Its file.
    pub text: String,
    /// What runs: the scenario's own workload, or a saved one.
    pub workload: Box<dyn Workload>,
}

/// Finds and reads the scenario, and the saved operations if there are any.
///
/// # Errors
/// [`Failure::Usage`] for an unknown name, [`Failure::Input`] for files that can't be used.
pub fn choose(args: &ScenarioArgs) -> Result<Chosen, Failure> {
    let text = text_of(&args.scenario)?;
    let mut scenario = Scenario::parse(&text).map_err(|error| Failure::Input(format!("{}: {error}", args.scenario)))?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    scenario.machine.memory_mib = args.memory.unwrap_or(scenario.machine.memory_mib);
    let workload: Box<dyn Workload> = match &args.ops {
        Some(path) => Box::new(read_saved(path)?),
        None => scenario.workload(),
    };
    Ok(Chosen { scenario, text, workload })
}

/// A name without slash and ending is one of the shipped; everything else is a path.
fn text_of(scenario: &str) -> Result<String, Failure> {
    match Scenario::shipped_text(scenario) {
        Ok(text) => Ok(text.to_owned()),
        Err(unknown) => match fs::read_to_string(scenario) {
            Ok(text) => Ok(text),
            Err(_) if !scenario.contains(['/', '.']) => Err(usage(&unknown)),
            Err(error) => Err(Failure::Input(format!("{scenario}: {error}"))),
        },
    }
}

fn usage(unknown: &ScenarioError) -> Failure {
    Failure::Usage(format!("{unknown}; or give the path of a TOML file"))
}

fn read_saved(path: &Path) -> Result<Saved, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Saved::parse(text).map_err(|error| wrong(error.to_string()))
}

/// Saves what runs. The file appears whole or not at all.
///
/// # Errors
/// [`Failure::Output`].
pub fn save(chosen: &Chosen, beyond: u64, path: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Output(format!("{}: {error}", path.display()));
    let about = format!("{}, seed {}: {}", chosen.scenario.name, chosen.scenario.seed, chosen.scenario.about);
    let name = path.file_name().ok_or_else(|| Failure::Usage(format!("{} names no file", path.display())))?;
    let fresh = path.with_file_name(format!(".{}.new-{}", name.to_string_lossy(), std::process::id()));
    let mut out = std::io::BufWriter::new(fs::File::create(&fresh).map_err(failed)?);
    workload::save(&*chosen.workload, &about, beyond, &mut out)
        .and_then(|()| out.into_inner().map_err(|error| error.into_error())?.sync_all())
        .and_then(|()| fs::rename(&fresh, path))
        .inspect_err(|_| {
            let _ = fs::remove_file(&fresh);
        })
        .map_err(failed)
}
