//! The simulated computer.

use super::came::Came;
use super::in_force::{self, InForce};
use super::setup::{self, Setup};
use crate::backend;
use crate::column_spec::{ColumnSpec, RECORDED, Setting};
use crate::failure::Failure;
use crate::machine_commands::run_args::RunArgs;
use crate::machine_commands::scenarios::{Chosen, DEFAULT_POLICY};
use lab::outcome::Sample;
use lab::timeline::Sampling;
use pagealloc::Policy;
use pagealloc::policy::SYSCTLS;
use recording::pagelog::MachineSeen;
use report::Facts;
use simulator::{Boot, MachineSpec, Simulation, SimulationError};
use std::ops::ControlFlow;
use std::path::Path;
use workload::Scenario;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Runs the scenario in virtual time, under the settings of a real kernel `beside` it if there is one; `told` hears each sample, and
/// may end the run.
pub fn run(
    chosen: &Chosen,
    args: &RunArgs,
    beside: &[InForce],
    told: &dyn Fn(&Sample) -> ControlFlow<()>,
) -> Result<Came, Failure> {
    let (spec, setup) = spec(chosen, args)?;
    let Asked { column, policy, settings_of } = policy(chosen, args, beside)?;
    let (workload, seed) = (&*chosen.workload, chosen.scenario.seed);
    // Followed only if what is seen is kept.
    let sampling = args.output.as_ref().map(|_| Sampling::default());
    let simulated = Simulation::followed(workload, &spec, &policy, seed, sampling, told).map_err(failure)?;
    let (virtual_seconds, wall_seconds) = (simulated.virtual_seconds, simulated.wall_seconds);
    say!("sim: {virtual_seconds:.1} virtual seconds in {wall_seconds:.1} s");
    let facts = Facts {
        preset: policy.name.to_owned(),
        sysctls: SYSCTLS.iter().map(|info| (info.name.to_owned(), info.get(&policy.sysctl))).collect(),
        seed: chosen.scenario.seed,
        page_events: 0,
        replay_seconds: wall_seconds,
        digest: simulated.digest,
        variant: chosen.variant.clone(),
        setup,
        unattributed: Vec::new(),
    };
    Ok(Came {
        facts,
        about: format!("{column}, event digest {:016x}{settings_of}", simulated.digest),
        outcome: simulated.outcome,
        run: simulated.report,
        huge_bytes: spec.page() << spec.geometry.pmd_order,
        timeline: simulated.timeline,
        in_force: None,
        interrupted: false,
    })
}

/// What would keep every run of it from beginning.
///
/// # Errors
/// [`Failure::Usage`]: the machine can't be, or there is no such policy.
pub fn check(chosen: &Chosen) -> Result<(), Failure> {
    can_be(&MachineSpec::of(&chosen.scenario))?;
    chosen.scenario.policy.iter().try_for_each(|policy| Ok(policy.parse::<ColumnSpec>()?.check()?))
}

/// What would keep the run that a command line asks for from beginning.
///
/// # Errors
/// [`Failure::Usage`] as for [`check`], and for a recording of another machine; [`Failure::Input`] for one that can't be read.
pub fn check_run(chosen: &Chosen, args: &RunArgs) -> Result<(), Failure> {
    spec(chosen, args)?;
    policy(chosen, args, &[]).map(drop)
}

fn can_be(spec: &MachineSpec) -> Result<(), Failure> {
    if u16::from(spec.nodes) > spec.cpus {
        return Err(Failure::Usage(format!(
            "the simulated computer has no nodes without CPUs: give {} nodes at least --cpus {0}",
            spec.nodes
        )));
    }
    Simulation::can_be(spec).map_err(failure)
}

/// A machine that can't be is the command line's fault, anything else ours.
fn failure(error: SimulationError) -> Failure {
    match error {
        SimulationError::Machine(_) | SimulationError::TooSmall(_) => Failure::Usage(error.to_string()),
        SimulationError::Broken { .. } | SimulationError::Stuck { .. } => Failure::Invariant(error.to_string()),
    }
}

/// Under what the simulated computer runs.
struct Asked {
    /// The name of the policy.
    column: ColumnSpec,
    policy: Policy,
    /// Whose settings they are, to be put behind the name.
    settings_of: String,
}

/// The policy with the settings of a real kernel beside it, then the scenario's, and then the command line's.
fn policy(chosen: &Chosen, args: &RunArgs, beside: &[InForce]) -> Result<Asked, Failure> {
    let asked = match (&args.policy, &chosen.scenario.policy) {
        (Some(asked), _) => asked.clone(),
        (None, Some(preset)) => preset.parse()?,
        (None, None) => DEFAULT_POLICY.parse()?,
    };
    let no_recording = || Err(Failure::Usage(format!("a scenario has no `{RECORDED}` settings: name a preset")));
    let kernel = asked.resolve(no_recording)?;
    let sysctls = chosen.scenario.sysctls().map(|(name, value)| format!("vm.{name}={value}"));
    let settings = generations(&kernel, &chosen.scenario).into_iter().chain(sysctls);
    let settings: Vec<Setting> = settings.map(|text| text.parse()).collect::<Result<_, _>>()?;
    let followed = in_force::followed(kernel.name, beside);
    let mut earlier = followed.map_or(Ok(Vec::new()), |followed| in_force::taken_over(followed, &kernel))?;
    earlier.extend(settings);
    let column = asked.over(&earlier).with(&args.sets);
    let policy = column.resolve(no_recording)?;
    Ok(Asked { column, policy, settings_of: followed.map(settings_of).unwrap_or_default() })
}

fn settings_of(InForce { machine, policy }: &InForce) -> String {
    match policy {
        Some(_) => format!("; settings as in {machine}"),
        None => format!("; the settings that {machine} had by itself are not known (they are in recordings)"),
    }
}

/// What the scenario says of `lru_gen`, as a setting. Kernels without it have it switched off anyway.
fn generations(kernel: &Policy, scenario: &Scenario) -> Option<String> {
    match scenario.settings.lru_gen? {
        true => Some("lru_gen/enabled=7".to_owned()),
        false if kernel.reclaim.generations.is_none() => None,
        false => Some("lru_gen/enabled=0".to_owned()),
    }
}

/// The machine, and whose it is like.
fn spec(chosen: &Chosen, args: &RunArgs) -> Result<(MachineSpec, Setup), Failure> {
    let mut setup = Setup::new();
    let mut spec = MachineSpec::of(&chosen.scenario);
    spec.cpus = args.cpus.unwrap_or(chosen.scenario.machine.cpus).get();
    spec.nodes = args.nodes.unwrap_or(chosen.scenario.machine.nodes).get();
    if let Some(recording) = &args.machine_of {
        let seen = backend::machine_seen(recording)?;
        setup.insert("machine_of".to_owned(), setup::of_recorded(recording, &seen));
        spec = as_machine_of(recording, seen, spec)?;
    }
    can_be(&spec)?;
    spec.time_limit = Some(u64::from(args.time_limit_of(&chosen.scenario)) * NANOS_PER_SECOND);
    Ok((spec, setup))
}

/// The machine with what a recorded one had. What reclaim could have taken at its start is left out: it does not stay.
fn as_machine_of(recording: &Path, seen: MachineSeen, spec: MachineSpec) -> Result<MachineSpec, Failure> {
    let MachineSeen { in_use, fault_ns } = seen;
    // Firmware keeps the last pages of some machines to itself.
    let mib = |frames: u64| (frames * spec.page()).div_ceil(1 << 20);
    let (theirs, ours) = (mib(in_use.frames), mib(spec.frames().into()));
    if theirs != ours {
        let name = recording.display();
        let advice = format!("that machine has {theirs} MiB, this one {ours}; give --memory {theirs}");
        return Err(Failure::Usage(format!("--machine-of {name}: {advice}")));
    }
    let [managed, unmovable, reclaimable, mlocked] =
        [in_use.managed, in_use.unmovable, in_use.reclaimable, in_use.unevictable].map(|pages| pages as u32);
    let mut spec = spec.holding(managed, Boot { image: 0, unmovable, reclaimable, mlocked });
    if let Some(fault) = fault_ns {
        spec.costs = spec.costs.as_fast_as(fault.into());
    }
    Ok(spec)
}
