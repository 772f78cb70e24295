//! Where a scenario can run: the simulated computer, a virtual machine with a real kernel, this host. Each fills the same
//! result.

mod came;
mod host;
pub mod in_force;
mod setup;
pub mod sim;
mod vm;

use crate::failure::Failure;
use crate::machine_commands::run_args::{On, RunArgs};
use crate::machine_commands::scenarios::Chosen;
use came::Came;
use in_force::InForce;
use lab::outcome::Sample;
use report::Ran;
use std::ops::ControlFlow;
use std::path::Path;
use workload::on_paper;

/// A column, and what others are to know of its machine.
pub struct Column {
    /// What is printed.
    pub ran: Ran,
    /// Settings of a real kernel.
    pub in_force: Option<InForce>,
    /// A signal ended the run early.
    pub interrupted: bool,
}

/// Runs a scenario on one machine, as a column. What comes out beside the result goes into `kept`, a directory that is made if it is
/// needed. `beside` are the real kernels in whose settings a simulated computer runs; `told` hears what it comes to, each virtual
/// second, and may end the run.
///
/// # Errors
/// When the machine can't run it; what went wrong in the scenario itself is part of the result.
pub fn run(
    on: &On,
    chosen: &Chosen,
    args: &RunArgs,
    kept: &Path,
    beside: &[InForce],
    told: &dyn Fn(&Sample) -> ControlFlow<()>,
) -> Result<Column, Failure> {
    let Came { about, mut facts, outcome, run, huge_bytes, timeline, in_force: policy, interrupted } = match on {
        On::Sim => sim::run(chosen, args, beside, told)?,
        On::Vm(kernel) => vm::run(kernel, chosen, args, kept)?,
        On::Host => host::run(chosen, args)?,
    };
    facts.setup.extend(setup::of(on, chosen, args, &about)?);
    let measures = chosen.workload.measures(&run, huge_bytes);
    let owed = on_paper(&*chosen.workload).digest();
    let name = column_name(on, chosen.variant.as_deref());
    let in_force = (*on != On::Sim).then(|| InForce { machine: name.clone(), policy });
    let ran = Ran { name, about, facts, outcome, run, huge_bytes, owed, measures, timeline };
    Ok(Column { ran, in_force, interrupted })
}

/// What would keep a machine from running the scenario, as far as it is known before.
///
/// # Errors
/// [`Failure::Usage`] for what the command line asks for, [`Failure::Host`] for what this host lacks.
pub fn check(on: &On, chosen: &Chosen, args: &RunArgs) -> Result<(), Failure> {
    match on {
        On::Sim => sim::check_run(chosen, args),
        On::Vm(_) => vm::check(chosen, args),
        On::Host => host::check(chosen, args),
    }
}

/// The name of a machine's column, with the variant behind a comma where there is one.
pub fn column_name(on: &On, variant: Option<&str>) -> String {
    match variant {
        Some(variant) => format!("{on},{variant}"),
        None => on.to_string(),
    }
}
