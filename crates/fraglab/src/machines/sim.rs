//! The simulated computer.

use super::time_limit;
use crate::column_spec::{ColumnSpec, RECORDED};
use crate::failure::Failure;
use crate::run_args::RunArgs;
use crate::scenarios::Chosen;
use anstream::eprintln;
use pagealloc::Policy;
use pagealloc::policy::SYSCTLS;
use report::{Facts, Ran};
use simulator::{MachineSpec, Simulation, SimulationError};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Runs the scenario in virtual time.
pub fn run(name: String, chosen: &Chosen, args: &RunArgs) -> Result<Ran, Failure> {
    let spec = spec(chosen, args)?;
    let (column, policy) = policy(chosen, args)?;
    let simulated = Simulation::run(&*chosen.workload, &spec, &policy, chosen.scenario.seed).map_err(failure)?;
    let (virtual_seconds, wall_seconds) = (simulated.virtual_seconds, simulated.wall_seconds);
    eprintln!("sim: {virtual_seconds:.1} virtual seconds in {wall_seconds:.1} s");
    let facts = Facts {
        preset: policy.name.to_owned(),
        sysctls: SYSCTLS.iter().map(|info| (info.name.to_owned(), info.get(&policy.sysctl))).collect(),
        seed: chosen.scenario.seed,
        page_events: 0,
        replay_seconds: wall_seconds,
        digest: simulated.digest,
        unattributed: Vec::new(),
    };
    Ok(Ran {
        name,
        facts,
        about: format!("{column}, event digest {:016x}", simulated.digest),
        outcome: simulated.outcome,
        run: simulated.report,
        huge_bytes: spec.page() << spec.geometry.pmd_order,
    })
}

fn failure(error: SimulationError) -> Failure {
    match error {
        SimulationError::Machine(_) => Failure::Usage(error.to_string()),
        SimulationError::Broken { .. } | SimulationError::Stuck { .. } => Failure::Invariant(error.to_string()),
    }
}

/// The policy with the scenario's sysctls, and then the command line's; and its name.
fn policy(chosen: &Chosen, args: &RunArgs) -> Result<(ColumnSpec, Policy), Failure> {
    let mut settings: Vec<_> = chosen
        .scenario
        .sysctls()
        .map(|(name, value)| format!("vm.{name}={value}").parse())
        .collect::<Result<_, _>>()?;
    settings.extend(args.sets.iter().cloned());
    let column = args.policy.clone().with(&settings);
    let no_recording = || Err(Failure::Usage(format!("a scenario has no `{RECORDED}` settings: name a preset")));
    let policy = column.resolve(no_recording)?;
    Ok((column, policy))
}

fn spec(chosen: &Chosen, args: &RunArgs) -> Result<MachineSpec, Failure> {
    let mut spec = MachineSpec::of(&chosen.scenario);
    spec.cpus = args.cpus.unwrap_or(chosen.scenario.machine.cpus).get();
    spec.nodes = args.nodes.unwrap_or(chosen.scenario.machine.nodes).get();
    if u16::from(spec.nodes) > spec.cpus {
        return Err(Failure::Usage(format!("{} nodes need as many CPUs: give --cpus {0}", spec.nodes)));
    }
    spec.time_limit = Some(u64::from(time_limit(chosen, args)) * NANOS_PER_SECOND);
    Ok(spec)
}
