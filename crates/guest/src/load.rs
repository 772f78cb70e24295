//! The load: a scenario as the guest's task. The init starts this same binary as a process of its own for it, since it must
//! have one thread only; where the run is recorded, that process starts another one.

use crate::error::{Doing, GuestError};
use linux::host::{self, LoadOrder, Options, RECORDING_DIR, RUN_FILE};
use linux::record::{RecordOptions, Until, conduct};
use linux::vm::job::{RESULTS_DIR, SCRATCH_DIR};
use std::fs;
use std::path::Path;
use std::time::Duration;
use workload::{Saved, ScaleError, Scenario, Workload};

/// First argument of the process that runs a scenario, recorded if the order says so.
pub const LOAD: &str = "load";
/// First argument of the process that runs it beside a recorder.
const RECORDED_LOAD: &str = "recorded-load";

/// Does what the arguments say; `None` if they are none of these.
pub fn run(arguments: &[String]) -> Option<Result<(), GuestError>> {
    match arguments {
        [mode, order] if mode == LOAD => Some(read(order).and_then(|given| start(&given, order))),
        [mode, order] if mode == RECORDED_LOAD => Some(read(order).and_then(|given| bear(&given))),
        _ => None,
    }
}

fn read(path: &str) -> Result<LoadOrder, GuestError> {
    let text = fs::read(path).doing(|| format!("reading {path}"))?;
    serde_json::from_slice(&text).map_err(|error| GuestError::new(format!("{path}: {error}")))
}

/// Runs the scenario here, or beside a recorder.
fn start(order: &LoadOrder, path: &str) -> Result<(), GuestError> {
    let Some(events) = order.events().map_err(GuestError::new)? else { return bear(order) };
    let options = RecordOptions { events, ..RecordOptions::new(Path::new(RESULTS_DIR).join(RECORDING_DIR)) };
    let command = ["/proc/self/exe", RECORDED_LOAD, path].map(Into::into).to_vec();
    let until = Until { duration: None, command };
    let conducted = conduct(&options, &until, &mut |_| {}).map_err(|error| GuestError::new(error.to_string()))?;
    match (conducted.summary.failure, conducted.command) {
        (Some(failure), _) => Err(GuestError::new(format!("recording: {failure}"))),
        (None, Some(status)) if status.success() => Ok(()),
        (None, _) => Err(GuestError::new("the recording ended before the scenario, or the scenario failed")),
    }
}

/// Runs the scenario.
fn bear(order: &LoadOrder) -> Result<(), GuestError> {
    let workload = workload(order)?;
    let options = Options { scratch: SCRATCH_DIR.into(), time_limit: Duration::from_secs(u64::from(order.time_limit)) };
    let run = host::run(&*workload, &options).map_err(|error| GuestError::new(error.to_string()))?;
    let text = serde_json::to_vec(&run.report).map_err(|error| GuestError::new(error.to_string()))?;
    fs::write(Path::new(RESULTS_DIR).join(RUN_FILE), text).doing(|| format!("writing {RUN_FILE}"))
}

fn workload(order: &LoadOrder) -> Result<Box<dyn Workload>, GuestError> {
    if let Some(path) = &order.ops {
        let text = fs::read_to_string(path).doing(|| format!("reading {}", path.display()))?;
        let saved = Saved::parse(text).map_err(|error| GuestError::new(format!("{}: {error}", path.display())))?;
        return Ok(Box::new(saved));
    }
    let wrong = |error: workload::ScenarioError| GuestError::new(format!("the scenario: {error}"));
    let mut scenario = Scenario::parse(&order.scenario).map_err(wrong)?;
    if let Some(variant) = &order.variant {
        scenario = scenario.variant(variant).map_err(wrong)?;
    }
    scenario.scale(order.scale.parse().map_err(|error: ScaleError| GuestError::new(error.to_string()))?);
    scenario.seed = order.seed;
    if let Some(memory) = std::num::NonZero::new(order.memory_mib) {
        scenario.machine.memory_mib = memory;
    }
    Ok(scenario.workload())
}
