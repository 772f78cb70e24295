//! `fraglab run`: a scenario on real and simulated machines, side by side.

use crate::column_spec::ColumnSpec;
use crate::failure::{Failure, warn};
use crate::flight::{Told, waiting};
use crate::machine_commands::machines::{self, in_force::InForce};
use crate::machine_commands::run_args::{On, RunArgs};
use crate::machine_commands::scenarios::{self, Chosen};
use crate::output::{self, Format};
use crate::place;
use lab::outcome::Sample;
use linux::signals::Signals;
use report::flight::{Leg, LegState};
use report::manifest::Provenance;
use report::{Ran, ScenarioReport, write_scenario};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Percent of its quota that each root's saved operations go beyond it.
const SAVED_BEYOND: u64 = 100;

/// Runs, prints, and leaves a run directory if asked to.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let columns: Vec<Chosen> = scenarios::variants(&args.scenario.scenario, &args.variants)?
        .iter()
        .map(|variant| scenarios::choose(&args.scenario, variant.as_deref()))
        .collect::<Result<_, _>>()?;
    args.policy.as_ref().map_or(Ok(()), ColumnSpec::check)?;
    check_options(args)?;
    // What the last machine refuses is told before the first one runs.
    if args.on.len() > 1 {
        args.on
            .iter()
            .flat_map(|on| columns.iter().map(move |c| (on, c)))
            .try_for_each(|(on, c)| machines::check(on, c, args))?;
    }
    if let Some(path) = &args.save_ops {
        scenarios::save(&columns[0], SAVED_BEYOND, path)?;
    }
    let inputs = [&args.scenario.ops, &args.machine_of].into_iter().flatten();
    args.output.as_deref().map_or(Ok(()), |target| place::check(target, inputs.map(PathBuf::as_path)))?;
    let kept = Kept::beside(args.output.as_deref())?;
    let machines = on_all(args, &columns, &kept)?;
    let report = ScenarioReport {
        scenario: columns[0].scenario.name.clone(),
        scale: columns[0].scale,
        about: about(&columns[0], args),
        machines,
    };
    let written = args.output.as_ref().map_or(Ok(()), |dir| {
        let provenance = Provenance::of_this_process(env!("CARGO_PKG_VERSION"));
        write_scenario(dir, &report, &columns[0].text, &provenance)?;
        kept.move_into(dir, &args.on, &columns)
    });
    let printed = match args.format.format {
        Format::Table => output::print(&report.to_table()),
        Format::Json => output::print_json(&report.to_json()),
        Format::Csv => output::print(&report.to_csv()),
    };
    written.and(printed)?;
    hangs(&report.machines)
}

/// Options that contradict each other, or would change nothing on any of the machines.
fn check_options(args: &RunArgs) -> Result<(), Failure> {
    let names = args.on.iter().map(On::to_string).collect::<Vec<_>>();
    if let Some((at, twice)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let advice = match &args.on[at] {
            On::Vm(path) if path.contains('/') => "; a link to one of the files gives it another name",
            _ => "",
        };
        return Err(Failure::Usage(format!("--on {twice} is given twice: columns are named after it{advice}")));
    }
    let on = |is: fn(&On) -> bool| args.on.iter().any(is);
    let (sim, vm, host) = (on(|on| *on == On::Sim), on(|on| matches!(on, On::Vm(_))), on(|on| *on == On::Host));
    let left_out = [
        ("--policy", args.policy.is_some() && !sim, "--on sim"),
        ("--machine-of", args.machine_of.is_some() && !sim, "--on sim"),
        (
            "--cpus",
            args.cpus.is_some() && !(sim || vm),
            "--on sim and --on vm:VERSION: this machine has the CPUs that it has",
        ),
        (
            "--nodes",
            args.nodes.is_some() && !(sim || vm),
            "--on sim and --on vm:VERSION: this machine has the nodes that it has",
        ),
        ("--record", args.record.is_some() && !vm, "--on vm:VERSION"),
        ("--scratch", args.scratch.is_some() && !host, "--on host"),
    ];
    match left_out.iter().find(|(_, is_left_out, _)| *is_left_out) {
        Some((option, _, machines)) => Err(Failure::Usage(format!("{option} is for {machines}"))),
        None => Ok(()),
    }
}

/// Every machine with every variant, one after the other; who watches is told how far they are. Real kernels come first: the
/// simulated computer runs under the settings that they had.
fn on_all(args: &RunArgs, columns: &[Chosen], kept: &Kept) -> Result<Vec<Ran>, Failure> {
    let pairs: Vec<(&On, &Chosen)> = args.on.iter().flat_map(|on| columns.iter().map(move |c| (on, c))).collect();
    let legs = pairs.iter().map(|(on, chosen)| {
        let name = machines::column_name(on, chosen.variant.as_deref());
        let limit = matches!(on, On::Sim).then(|| f64::from(args.time_limit_of(&chosen.scenario)));
        waiting(name, limit, "virtual seconds")
    });
    let told = Told::beside(args.output.as_deref(), &columns[0].scenario.name, legs.collect());
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by_key(|&at| *pairs[at].0 == On::Sim);
    let mut machines: Vec<Option<Ran>> = vec![None; pairs.len()];
    let mut kernels: BTreeMap<Option<&str>, Vec<InForce>> = BTreeMap::new();
    for at in order {
        let (on, chosen) = pairs[at];
        let beside = kernels.entry(chosen.variant.as_deref()).or_default();
        told.is(at, LegState::Running);
        // A real kernel's run hears of signals by itself.
        let signals = (*on == On::Sim).then(Signals::watch_once);
        let tell = |sample: &Sample| {
            told.tell(at, |leg| so_far(leg, sample));
            if signals.as_ref().is_some_and(Signals::came) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let column = machines::run(on, chosen, args, &kept.of(on, chosen), beside, &tell)?;
        machines[at] = Some(column.ran);
        beside.extend(column.in_force);
        told.is(at, LegState::Done);
        if column.interrupted || signals.is_some_and(|signals| signals.came()) {
            warn("the run was interrupted: its figures cover what was done until then, and later columns are not run");
            break;
        }
    }
    Ok(machines.into_iter().flatten().collect())
}

/// Figures of a simulated computer that goes on, under the names of the report's rows.
fn so_far(leg: &mut Leg, sample: &Sample) {
    let counters = &sample.counters;
    leg.done = sample.ts as f64 / 1e9;
    leg.figures.insert("extfrag_total".to_owned(), sample.extfrag);
    for name in ["thp_fault_alloc", "thp_fault_fallback", "compact_stall", "pgscan_direct", "pgscan_kswapd"] {
        leg.figures.extend(counters.get(name).map(|value| (name.to_owned(), *value)));
    }
    let stalls = counters.iter().filter(|(name, _)| name.starts_with("allocstall_"));
    leg.figures.insert("allocstall".to_owned(), stalls.map(|(_, value)| value).sum());
}

/// A machine that hung is told of last, when what it had done until then has been printed.
fn hangs(machines: &[Ran]) -> Result<(), Failure> {
    let hang = |ran: &Ran| Some(format!("{}: {}", ran.name, ran.run.hang.as_ref()?));
    let hangs: Vec<String> = machines.iter().filter_map(hang).collect();
    if hangs.is_empty() { Ok(()) } else { Err(Failure::Hang(hangs.join("\n"))) }
}

/// The scenario in lines.
fn about(chosen: &Chosen, args: &RunArgs) -> Vec<String> {
    let machine = &chosen.scenario.machine;
    let (cpus, nodes) = (args.cpus.unwrap_or(machine.cpus), args.nodes.unwrap_or(machine.nodes));
    let mut lines = vec![
        format!("{}, seed {}", chosen.scenario.about, chosen.scenario.seed),
        scenarios::size(chosen),
        format!("memory {} MiB, CPUs {cpus}, nodes {nodes}, swap {} MiB", machine.memory_mib, machine.swap_mib),
    ];
    lines.extend(args.scenario.ops.iter().map(|path| format!("operations from {}", path.display())));
    lines
}

/// Where the results of virtual machines lie until the run directory is there.
struct Kept(tempfile::TempDir);

impl Kept {
    /// Beside the run directory, so that they can be moved into it; without one, where temporary files go.
    fn beside(target: Option<&Path>) -> Result<Kept, Failure> {
        let parent = match target.map(Path::parent) {
            None => std::env::temp_dir(),
            Some(None) => return Err(Failure::Usage("-o names no directory that could be made".to_owned())),
            Some(Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(Some(parent)) => parent.to_owned(),
        };
        let failed = |error: std::io::Error| Failure::Output(format!("{}: {error}", parent.display()));
        fs::create_dir_all(&parent).map_err(failed)?;
        tempfile::Builder::new().prefix(".fraglab-run-").tempdir_in(&parent).map(Kept).map_err(failed)
    }

    fn of(&self, on: &On, chosen: &Chosen) -> PathBuf {
        self.0.path().join(dir_name(on, chosen))
    }

    fn move_into(&self, dir: &Path, on: &[On], columns: &[Chosen]) -> Result<(), Failure> {
        for (on, chosen) in on.iter().flat_map(|on| columns.iter().map(move |chosen| (on, chosen))) {
            let (from, to) = (self.of(on, chosen), dir.join(dir_name(on, chosen)));
            if from.exists() {
                fs::rename(&from, &to).map_err(|error| Failure::Output(format!("{}: {error}", to.display())))?;
            }
        }
        Ok(())
    }
}

fn dir_name(on: &On, chosen: &Chosen) -> String {
    machines::column_name(on, chosen.variant.as_deref()).replace([':', ','], "-")
}
