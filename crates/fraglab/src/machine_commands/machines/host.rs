//! This host. It is asked for by name only, its settings are left alone, and its own load is part of what is counted.

use super::came::{Came, facts_of_kernel, from_proc};
use super::in_force;
use crate::failure::Failure;
use crate::machine_commands::run_args::RunArgs;
use crate::machine_commands::scenarios::Chosen;
use linux::host::{self, HostError, Options};
use recording::pagelog::ProcTexts;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Whether the scenario may run here.
///
/// # Errors
/// [`Failure::Usage`] for settings, [`Failure::Host`] for more memory than there is.
pub fn check(chosen: &Chosen, args: &RunArgs) -> Result<(), Failure> {
    if !args.sets.is_empty() {
        let advice = "--set is for sim and vm: fraglab leaves this machine's settings alone";
        return Err(Failure::Usage(advice.to_owned()));
    }
    check_memory(chosen, args)
}

/// Runs the scenario here.
pub fn run(chosen: &Chosen, args: &RunArgs) -> Result<Came, Failure> {
    check(chosen, args)?;
    let parent = args.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = tempfile::Builder::new()
        .prefix("fraglab-")
        .tempdir_in(&parent)
        .map_err(|error| Failure::Host(format!("a directory in {}: {error}; see --scratch", parent.display())))?;
    let limit = Duration::from_secs(u64::from(args.time_limit_of(&chosen.scenario)));
    let options = Options { scratch: scratch.path().to_owned(), time_limit: limit };
    let before = proc_texts()?;
    let run = host::run(&*chosen.workload, &options).map_err(failure)?;
    let after = proc_texts()?;
    Ok(Came {
        facts: facts_of_kernel(release(), BTreeMap::new(), chosen, &run.report),
        about: about(),
        outcome: from_proc("/proc", &before, &after)?,
        run: run.report,
        huge_bytes: host::huge_page_size() as u64,
        timeline: None,
        in_force: in_force::of_host(&release()),
        interrupted: run.interrupted,
    })
}

fn failure(error: HostError) -> Failure {
    match error {
        HostError::Threads(_) => Failure::Invariant(error.to_string()),
        _ => Failure::Host(error.to_string()),
    }
}

/// Nobody shall lose a machine to a scenario that was made for another one.
fn check_memory(chosen: &Chosen, args: &RunArgs) -> Result<(), Failure> {
    let wanted = chosen.scenario.machine.memory_mib.get();
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = available.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse().ok());
    match kib.map(|kib| kib >> 10) {
        Some(mib) if mib < u64::from(wanted) && args.scenario.memory.is_none() => Err(Failure::Host(format!(
            "the scenario is made for {wanted} MiB, and {mib} MiB are available here: say --memory MIB with the size that it \
             may take"
        ))),
        _ => Ok(()),
    }
}

fn proc_texts() -> Result<ProcTexts, Failure> {
    let vmstat = fs::read_to_string("/proc/vmstat").map_err(|error| Failure::Host(format!("/proc/vmstat: {error}")))?;
    Ok(ProcTexts { vmstat, pagetypeinfo: fs::read_to_string(PathBuf::from("/proc/pagetypeinfo")).ok() })
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The kernel's release.
fn release() -> String {
    read("/proc/sys/kernel/osrelease")
}

/// The kernel, and the settings that matter most.
fn about() -> String {
    let release = release();
    let chosen = |path: &str| read(path).split(['[', ']']).nth(1).unwrap_or("-").to_owned();
    let enabled = chosen("/sys/kernel/mm/transparent_hugepage/enabled");
    let defrag = chosen("/sys/kernel/mm/transparent_hugepage/defrag");
    format!("Linux {release}, huge pages {enabled}, defrag {defrag}; other load of the machine is counted as well")
}
