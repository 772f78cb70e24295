//! Which scenario a command line means.

use crate::failure::Failure;
use crate::machine_commands::run_args::ScenarioArgs;
use crate::whole_file;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use workload::{Machine, PageKib, Saved, Scale, Scenario, ScenarioError, Workload};

/// Policy where neither the command line nor the scenario names one.
pub const DEFAULT_POLICY: &str = "linux-6.18";

/// A scenario with the changes of the command line.
pub struct Chosen {
    /// The scenario, with the variant's settings and at the scale.
    pub scenario: Scenario,
    /// Its file.
    pub text: String,
    /// The variant; `None` for the scenario's own settings.
    pub variant: Option<String>,
    /// The scale.
    pub scale: Scale,
    /// The machine at full size.
    pub full: Machine,
    /// What runs: the scenario's own workload, or a saved one.
    pub workload: Box<dyn Workload>,
}

/// What stands for every variant.
const ALL: &str = "all";

/// Finds and reads the scenario, and the saved operations if there are any.
///
/// # Errors
/// [`Failure::Usage`] for an unknown name, [`Failure::Input`] for files that can't be used.
pub fn choose(args: &ScenarioArgs, variant: Option<&str>) -> Result<Chosen, Failure> {
    let (text, mut scenario) = read(&args.scenario)?;
    if let Some(variant) = variant {
        scenario = scenario.variant(variant).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let full = scenario.machine;
    let scale = args.scale.or(scenario.default_scale).unwrap_or(Scale::FULL);
    scenario.scale(scale);
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    scenario.machine.memory_mib = args.memory.unwrap_or(scenario.machine.memory_mib);
    let workload: Box<dyn Workload> = match &args.ops {
        Some(path) => Box::new(read_saved(path)?),
        None => scenario.workload(),
    };
    Ok(Chosen { scenario, text, variant: variant.map(str::to_owned), scale, full, workload })
}

/// Finds and reads a scenario as its file has it.
///
/// # Errors
/// As [`choose`].
pub fn read(name: &str) -> Result<(String, Scenario), Failure> {
    let text = text_of(name)?;
    let scenario = Scenario::parse(&text).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    Ok((text, scenario))
}

/// Every variant that the command line names, or the scenario's own settings if it names none.
///
/// # Errors
/// [`Failure::Usage`] for `all` of a scenario that has none; unknown names come out as they are.
pub fn variants(scenario: &str, named: &[String]) -> Result<Vec<Option<String>>, Failure> {
    let mut variants: Vec<Option<String>> = Vec::new();
    for name in named {
        let names = match name.as_str() {
            ALL => read(scenario)?.1.variants.into_iter().map(|variant| variant.name).collect(),
            _ => vec![name.clone()],
        };
        if names.is_empty() {
            return Err(Failure::Usage(format!("the scenario `{scenario}` has no variants")));
        }
        let fresh: Vec<_> = names.into_iter().map(Some).filter(|name| !variants.contains(name)).collect();
        variants.extend(fresh);
    }
    Ok(if named.is_empty() { vec![None] } else { variants })
}

/// Scale and full size in a line; nodes, which no scale changes, are told by [`settings`].
pub fn size(chosen: &Chosen) -> String {
    let full = &chosen.full;
    let (memory, cpus, swap) = (full.memory_mib, full.cpus, full.swap_mib);
    format!("scale {}; full size: memory {memory} MiB, CPUs {cpus}, swap {swap} MiB", chosen.scale)
}

/// What a variant is run with: its policy, and what it changes of the machine and of the sysctls.
pub fn settings(chosen: &Chosen) -> String {
    let (scenario, machine) = (&chosen.scenario, &chosen.full);
    let mut text = format!("policy {}", scenario.policy.as_deref().unwrap_or(DEFAULT_POLICY));
    if machine.nodes.get() > 1 {
        let _ = write!(text, ", {} nodes", machine.nodes);
    }
    if machine.page_kib != PageKib::K4 {
        let _ = write!(text, ", pages of {}K", machine.page_kib.kib());
    }
    if let Some(order) = machine.pageblock_order {
        let _ = write!(text, ", pageblocks of order {order}");
    }
    for (name, value) in scenario.sysctls() {
        let _ = write!(text, ", vm.{name}={value}");
    }
    text
}

/// A name without slash and ending is one of the shipped; everything else is a path.
fn text_of(scenario: &str) -> Result<String, Failure> {
    match Scenario::shipped_text(scenario) {
        Ok(text) => Ok(text.to_owned()),
        Err(unknown) => match fs::read_to_string(scenario) {
            Ok(text) => Ok(text),
            Err(_) if !scenario.contains(['/', '.']) => Err(usage(&unknown)),
            Err(error) => Err(Failure::Input(format!("{scenario}: {error}"))),
        },
    }
}

fn usage(unknown: &ScenarioError) -> Failure {
    Failure::Usage(format!("{unknown}; or give the path of a TOML file"))
}

fn read_saved(path: &Path) -> Result<Saved, Failure> {
    let wrong = |what: String| Failure::Input(format!("{}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Saved::parse(text).map_err(|error| wrong(error.to_string()))
}

/// Saves what runs. The file appears whole or not at all.
///
/// # Errors
/// [`Failure::Output`].
pub fn save(chosen: &Chosen, beyond: u64, path: &Path) -> Result<(), Failure> {
    let about = format!("{}, seed {}: {}", chosen.scenario.name, chosen.scenario.seed, chosen.scenario.about);
    whole_file::write(path, |mut out| workload::save(&*chosen.workload, &about, beyond, &mut out))
}
