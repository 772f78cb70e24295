//! Where a scenario can run: the simulated computer, a virtual machine with a real kernel, this host. Each fills the same
//! result.

mod host;
mod sim;
mod vm;

use crate::failure::Failure;
use crate::run_args::{On, RunArgs};
use crate::scenarios::Chosen;
use recording::pagelog::{ProcTexts, between};
use report::{Facts, Ran};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use workload::RunReport;

/// Runs a scenario on one machine. What comes out beside the result goes into `kept`, a directory that is made if it is
/// needed.
///
/// # Errors
/// When the machine can't run it; what went wrong in the scenario itself is part of the result.
pub fn run(on: &On, chosen: &Chosen, args: &RunArgs, kept: &Path) -> Result<Ran, Failure> {
    match on {
        On::Sim => sim::run(on.to_string(), chosen, args),
        On::Vm(kernel) => vm::run(on.to_string(), kernel, chosen, args, kept),
        On::Host => host::run(on.to_string(), chosen, args),
    }
}

/// Seconds after which a run ends.
fn time_limit(chosen: &Chosen, args: &RunArgs) -> u32 {
    args.time_limit.unwrap_or(chosen.scenario.time_limit).get()
}

/// Counters and the state at the end, of a kernel that was not recorded.
fn from_proc(what: &str, before: &ProcTexts, after: &ProcTexts) -> Result<lab::outcome::Outcome, Failure> {
    between(&Path::new(what).into(), before, after).map_err(|error| Failure::Input(error.to_string()))
}

/// About a run on a real kernel. Its events have no digest, and nothing says that two runs have the same.
fn facts_of_kernel(release: String, sysctls: BTreeMap<String, Option<u64>>, chosen: &Chosen, run: &RunReport) -> Facts {
    let seconds = Duration::from_nanos(run.elapsed).as_secs_f64();
    let seed = chosen.scenario.seed;
    Facts {
        preset: release,
        sysctls,
        seed,
        page_events: 0,
        replay_seconds: seconds,
        digest: 0,
        unattributed: Vec::new(),
    }
}
