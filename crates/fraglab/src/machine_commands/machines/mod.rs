//! Where a scenario can run: the simulated computer, a virtual machine with a real kernel, this host. Each fills the same
//! result.

mod host;
pub mod in_force;
pub mod sim;
mod vm;

use crate::failure::Failure;
use crate::machine_commands::run_args::{On, RunArgs};
use crate::machine_commands::scenarios::Chosen;
use in_force::InForce;
use lab::outcome::{Outcome, Sample};
use lab::timeline::Timeline;
use pagealloc::Policy;
use recording::pagelog::{ProcTexts, between};
use report::{Facts, Ran};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use workload::{RunReport, on_paper};

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
}

/// A column, and what others are to know of its machine.
pub struct Column {
    /// What is printed.
    pub ran: Ran,
    /// Settings of a real kernel.
    pub in_force: Option<InForce>,
}

/// Runs a scenario on one machine, as a column. What comes out beside the result goes into `kept`, a directory that is made if it is
/// needed. `beside` are the real kernels in whose settings a simulated computer runs; `told` hears what it comes to, each virtual
/// second.
///
/// # Errors
/// When the machine can't run it; what went wrong in the scenario itself is part of the result.
pub fn run(
    on: &On,
    chosen: &Chosen,
    args: &RunArgs,
    kept: &Path,
    beside: &[InForce],
    told: &dyn Fn(&Sample),
) -> Result<Column, Failure> {
    let Came { about, facts, outcome, run, huge_bytes, timeline, in_force: policy } = match on {
        On::Sim => sim::run(chosen, args, beside, told)?,
        On::Vm(kernel) => vm::run(kernel, chosen, args, kept)?,
        On::Host => host::run(chosen, args)?,
    };
    let measures = chosen.workload.measures(&run, huge_bytes);
    let owed = on_paper(&*chosen.workload).digest();
    let name = column_name(on, chosen.variant.as_deref());
    let in_force = (*on != On::Sim).then(|| InForce { machine: name.clone(), policy });
    let ran = Ran { name, about, facts, outcome, run, huge_bytes, owed, measures, timeline };
    Ok(Column { ran, in_force })
}

/// The name of a machine's column, with the variant behind a comma where there is one.
pub fn column_name(on: &On, variant: Option<&str>) -> String {
    match variant {
        Some(variant) => format!("{on},{variant}"),
        None => on.to_string(),
    }
}

/// Seconds after which a run ends.
pub fn time_limit(chosen: &Chosen, args: &RunArgs) -> u32 {
    args.time_limit.unwrap_or(chosen.scenario.time_limit).get()
}

/// Counters and the state at the end, of a kernel that was not recorded.
fn from_proc(what: &str, before: &ProcTexts, after: &ProcTexts) -> Result<Outcome, Failure> {
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
        variant: chosen.variant.clone(),
        unattributed: Vec::new(),
    }
}
