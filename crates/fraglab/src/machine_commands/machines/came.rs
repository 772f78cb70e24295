//! What came out of a machine, in the same terms for all of them.

use crate::failure::Failure;
use crate::machine_commands::scenarios::Chosen;
use lab::outcome::Outcome;
use lab::timeline::Timeline;
use pagealloc::Policy;
use recording::pagelog::{ProcTexts, between};
use report::Facts;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use workload::RunReport;

/// What came out of a machine.
pub struct Came {
    /// What it was, in a line.
    pub about: String,
    /// What decided the run.
    pub facts: Facts,
    /// What its memory management did.
    pub outcome: Outcome,
    /// What the tasks did.
    pub run: RunReport,
    /// Size of its huge pages, bytes.
    pub huge_bytes: u64,
    /// The run over time, where that was kept.
    pub timeline: Option<Timeline>,
    /// Of a real kernel: what it is modelled by, with the settings that were in force, where that is known.
    pub in_force: Option<Policy>,
    /// A signal ended it early.
    pub interrupted: bool,
}

/// Counters and the state at the end, of a kernel that was not recorded.
pub fn from_proc(what: &str, before: &ProcTexts, after: &ProcTexts) -> Result<Outcome, Failure> {
    between(&Path::new(what).into(), before, after).map_err(|error| Failure::Input(error.to_string()))
}

/// About a run on a real kernel. Its events have no digest, and nothing says that two runs have the same.
pub fn facts_of_kernel(
    release: String,
    sysctls: BTreeMap<String, Option<u64>>,
    chosen: &Chosen,
    run: &RunReport,
) -> Facts {
    let seconds = Duration::from_nanos(run.elapsed).as_secs_f64();
    let seed = chosen.scenario.seed;
    Facts {
        preset: release,
        sysctls,
        seed,
        page_events: 0,
        replay_seconds: seconds,
        digest: 0,
        variant: chosen.variant.clone(),
        setup: BTreeMap::new(),
        unattributed: Vec::new(),
    }
}
