//! Where views come from: a run directory has one; of a recording it is made, with a replay under its own settings beside it.

use crate::backend::{self, Loaded};
use crate::column_spec::ColumnSpec;
use crate::failure::{Failure, warn};
use crate::interrupt::Interrupt;
use crate::replay_args::EngineArgs;
use crate::replays::{Done, Wanted, replay_all};
use lab::timeline::Sampling;
use report::manifest::Provenance;
use report::view::{Subject, View, ViewError};
use report::{Column, Report};
use std::path::Path;

/// Seed of a replay that is made to be looked at.
const SEED: u64 = 1;

/// Whether a path is a run directory. Anything else is taken for a recording.
pub fn is_run_dir(path: &Path) -> bool {
    path.join("manifest.json").exists()
}

/// The view of a run directory or a recording.
pub fn load(path: &Path) -> Result<View, Failure> {
    if is_run_dir(path) { Ok(View::of_run_dir(path)?) } else { of_recording(path) }
}

/// The recorded kernel, and its replay if the recording tells its settings.
fn of_recording(path: &Path) -> Result<View, Failure> {
    let loaded = crate::commands::load(path)?;
    let kernel = backend::kernel_timeline(path, &loaded)?;
    let recorded = ColumnSpec::recorded();
    let replayed = match loaded.recorded() {
        Ok(_) => replay(&loaded, &recorded)?,
        Err(why) => {
            warn(&format!("there is no replay beside it: {why}"));
            None
        }
    };
    let mut columns = vec![Column { timeline: Some(&kernel), ..Column::kernel(&loaded.kernel) }];
    columns.extend(replayed.as_ref().map(|(replayed, facts)| Column {
        name: recorded.to_string(),
        outcome: &replayed.outcome,
        facts: Some(facts.clone()),
        timeline: replayed.timeline.as_ref(),
    }));
    let report = Report { recording: loaded.name.clone(), calibration: None, columns };
    Ok(View::of_report(&report, Subject::Recording, &provenance()))
}

fn replay(loaded: &Loaded, column: &ColumnSpec) -> Result<Option<Done>, Failure> {
    let policy = column.resolve(|| loaded.recorded().cloned())?;
    let wanted = Wanted { name: column.to_string(), policy, sampling: Some(Sampling::default()) };
    let (how, interrupt) = (EngineArgs::default(), Interrupt::none());
    let replays = replay_all(loaded, &[wanted], &[SEED], &how, &interrupt, &|_, _| {})?;
    Ok(replays.by_policy.into_iter().flatten().next())
}

/// The run of that name, or all of them.
///
/// # Errors
/// [`Failure::Usage`] when there is none of that name.
pub fn chosen<T>(runs: Vec<T>, only: Option<&str>, name: impl Fn(&T) -> &str) -> Result<Vec<T>, Failure> {
    let Some(only) = only else { return Ok(runs) };
    let names = runs.iter().map(|run| name(run).to_owned()).collect::<Vec<_>>().join("  ");
    let chosen: Vec<T> = runs.into_iter().filter(|run| name(run) == only).collect();
    if chosen.is_empty() {
        return Err(Failure::Usage(format!("no run is called `{only}`; there are: {names}")));
    }
    Ok(chosen)
}

/// Of this process.
pub fn provenance() -> Provenance {
    Provenance::of_this_process(env!("CARGO_PKG_VERSION"))
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Failure {
        match error {
            ViewError::SeveralSeeds { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Input(error.to_string()),
        }
    }
}
