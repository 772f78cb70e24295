//! The simulated computer.

use super::time_limit;
use crate::column_spec::{ColumnSpec, RECORDED};
use crate::failure::Failure;
use crate::run_args::RunArgs;
use crate::scenarios::Chosen;
use anstream::eprintln;
use lab::timeline::Sampling;
use mm::thp::{ThpDefrag, ThpEnabled};
use pagealloc::Policy;
use pagealloc::policy::SYSCTLS;
use report::{Facts, Ran};
use simulator::{MachineSpec, Simulation, SimulationError};

/// Size of a huge page of the simulated machine.
const HUGE_BYTES: u64 = 2 << 20;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Runs the scenario in virtual time.
pub fn run(name: String, chosen: &Chosen, args: &RunArgs) -> Result<Ran, Failure> {
    let spec = spec(chosen, args)?;
    let (column, policy) = policy(chosen, args)?;
    let (workload, seed) = (&*chosen.workload, chosen.scenario.seed);
    // Followed only if what is seen is kept.
    let simulated = match &args.output {
        Some(_) => Simulation::followed(workload, &spec, &policy, seed, Sampling::default()),
        None => Simulation::run(workload, &spec, &policy, seed),
    };
    let simulated = simulated.map_err(failure)?;
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
        huge_bytes: HUGE_BYTES,
        timeline: simulated.timeline,
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
    let machine = &chosen.scenario.machine;
    if args.nodes.unwrap_or(machine.nodes).get() > 1 {
        return Err(Failure::Usage("the simulated computer has one node so far".to_owned()));
    }
    let mut spec = MachineSpec::guest(u64::from(machine.memory_mib.get()) << 20);
    spec.cpus = args.cpus.unwrap_or(machine.cpus).get();
    spec.swap = u64::from(machine.swap_mib) << 20;
    spec.time_limit = Some(u64::from(time_limit(chosen, args)) * NANOS_PER_SECOND);
    let settings = &chosen.scenario.settings;
    if let Some(enabled) = settings.thp_enabled {
        spec.thp.enabled = match enabled {
            workload::ThpEnabled::Always => ThpEnabled::Always,
            workload::ThpEnabled::Madvise => ThpEnabled::Madvise,
            workload::ThpEnabled::Never => ThpEnabled::Never,
        };
    }
    if let Some(defrag) = settings.thp_defrag {
        spec.thp.defrag = match defrag {
            workload::ThpDefrag::Always => ThpDefrag::Always,
            workload::ThpDefrag::Defer => ThpDefrag::Defer,
            workload::ThpDefrag::DeferMadvise => ThpDefrag::DeferMadvise,
            workload::ThpDefrag::Madvise => ThpDefrag::Madvise,
            workload::ThpDefrag::Never => ThpDefrag::Never,
        };
    }
    Ok(spec)
}
