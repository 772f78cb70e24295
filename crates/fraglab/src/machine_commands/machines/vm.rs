//! A virtual machine with a real kernel: the scenario is the guest's task, and what is recorded there comes back.

use super::came::{Came, facts_of_kernel, from_proc};
use super::in_force;
use crate::backend;
use crate::failure::{Failure, warn};
use crate::machine_commands::run_args::RunArgs;
use crate::machine_commands::scenarios::Chosen;
use lab::outcome::Outcome;
use lab::timeline::Timeline;
use linux::host::{LoadOrder, RECORDING_DIR, RUN_FILE};
use linux::vm::job::{FILES_DIR, STDERR_FILE, ScratchFormat};
use linux::vm::{Cache, Job, Kernel, KernelSetting, KernelSource, Machine, SentFile, Task, VmResult};
use pagealloc::Policy;
use recording::pagelog::ProcTexts;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workload::{Filesystem, RunReport, Scenario, SlabAllocator};

/// Name of the order in the guest.
const ORDER: &str = "order.json";
/// Name of a saved operation stream in the guest.
const STREAM: &str = "operations";
/// What a guest may take beyond the scenario's own time: boot, snapshots, and the way out.
const MARGIN: Duration = Duration::from_secs(600);
/// Size of a huge page of every machine that is booted.
const HUGE_BYTES: u64 = 2 << 20;

/// Whether a machine can be made for the scenario.
///
/// # Errors
/// [`Failure::Usage`] for one that can't be, [`Failure::Host`] for what this host lacks.
pub fn check(chosen: &Chosen, args: &RunArgs) -> Result<(), Failure> {
    machine(chosen, args).check()?;
    Ok(linux::vm::check_host()?)
}

/// Boots a kernel, runs the scenario in it, and reads what came back into `kept`.
pub fn run(version: &str, chosen: &Chosen, args: &RunArgs, kept: &Path) -> Result<Came, Failure> {
    check(chosen, args)?;
    let kernel = Kernel::get(&KernelSource::parse(version, None), &Cache::of_user()?, &mut |what| say!("{what}"))?;
    let passing = Cache::of_user()?.temporary()?;
    let job = job(chosen, args, passing.path())?;
    say!("booting {} for {}", kernel.release(), chosen.scenario.name);
    let result = linux::vm::run(&machine(chosen, args), &kernel, &job, kept)?;
    let seconds = Duration::from_millis(result.report.task_ms).as_secs_f64();
    say!("{}: {seconds:.1} s in the guest, {:.1} s in all", result.report.release, result.wall.as_secs_f64());
    check_end(&result)?;
    let run = read_run(&result)?;
    let in_force = backend::policy_in_force(&result.results.join(RECORDING_DIR));
    let about = about(&result.report.release, &job.settings, in_force.as_ref())?;
    let outcome = outcome(&result)?;
    // Only if what is seen is kept.
    let timeline = args.output.as_ref().and_then(|_| timeline(&result));
    let sysctls = sysctls(&chosen.scenario, args).map(|(name, value)| (name, Some(value))).collect();
    let facts = facts_of_kernel(result.report.release.clone(), sysctls, chosen, &run);
    Ok(Came { about, facts, outcome, run, huge_bytes: HUGE_BYTES, timeline, in_force, interrupted: false })
}

/// The kernel, what was set, and what it had otherwise than upstream before anybody set anything.
fn about(release: &str, set: &[KernelSetting], in_force: Option<&Policy>) -> Result<String, Failure> {
    let mut about = format!("Linux {release}");
    for setting in set {
        about += &format!(", {}={}", short(&setting.path), setting.value);
    }
    for own in in_force.map_or(Ok(Vec::new()), in_force::changes)? {
        if set.iter().all(|setting| setting.path != in_force::file_of(own.name())) {
            about += &format!(", {own} by itself");
        }
    }
    Ok(about)
}

/// A setting's name without the directories that all have.
fn short(path: &str) -> &str {
    let prefixes = ["/proc/sys/vm/", "/sys/kernel/mm/transparent_hugepage/", "/sys/kernel/mm/"];
    prefixes.iter().find_map(|prefix| path.strip_prefix(prefix)).unwrap_or(path)
}

fn machine(chosen: &Chosen, args: &RunArgs) -> Machine {
    let machine = &chosen.scenario.machine;
    Machine {
        memory_mib: machine.memory_mib.get(),
        cpus: args.cpus.unwrap_or(machine.cpus).get().into(),
        nodes: args.nodes.unwrap_or(machine.nodes).get().into(),
        swap_mib: machine.swap_mib,
        scratch_mib: machine.disk_mib.get(),
        scratch_format: match machine.filesystem {
            Filesystem::Ext4 => ScratchFormat::Ext4,
            Filesystem::Xfs => ScratchFormat::Xfs,
        },
        directory_block_kib: machine.directory_block_kib.kib(),
        cmdline: match machine.slab_allocator {
            SlabAllocator::Slub => Vec::new(),
            // No kernel since 6.8 has SLAB; single pages are what matters of it here.
            SlabAllocator::Slab => vec!["slub_max_order=0".to_owned()],
        },
        timeout: Duration::from_secs(u64::from(args.time_limit_of(&chosen.scenario))) + MARGIN,
        ..Machine::default()
    }
}

/// The scenario as a job. Its files are made in `passing`.
fn job(chosen: &Chosen, args: &RunArgs, passing: &Path) -> Result<Job, Failure> {
    let order = LoadOrder {
        scenario: chosen.text.clone(),
        seed: chosen.scenario.seed,
        variant: chosen.variant.clone(),
        scale: chosen.scale.to_string(),
        memory_mib: chosen.scenario.machine.memory_mib.get(),
        time_limit: args.time_limit_of(&chosen.scenario),
        ops: args.scenario.ops.as_ref().map(|_| Path::new(FILES_DIR).join(STREAM)),
        record: args.recorded().events().map(|events| events.name().to_owned()),
    };
    let text = serde_json::to_vec(&order).map_err(|error| Failure::Invariant(error.to_string()))?;
    let path = passing.join(ORDER);
    fs::write(&path, text).map_err(|error| Failure::Output(format!("{}: {error}", path.display())))?;
    let send = |host: PathBuf, name: &str| SentFile { host, guest: format!("{FILES_DIR}/{name}") };
    let mut files = vec![send(path, ORDER)];
    files.extend(args.scenario.ops.clone().map(|path| send(path, STREAM)));
    let argv = ["/init", "load", &format!("{FILES_DIR}/{ORDER}")].map(str::to_owned).to_vec();
    Ok(Job {
        task: Task::Command { argv, env: Vec::new() },
        settings: settings(&chosen.scenario, args),
        files,
        busybox: false,
        snapshots: true,
    })
}

/// What the scenario sets, and then what the command line does.
fn settings(scenario: &Scenario, args: &RunArgs) -> Vec<KernelSetting> {
    let file = |name: &str, value: &str| KernelSetting { path: in_force::file_of(name), value: value.to_owned() };
    let mut settings = Vec::new();
    let given = &scenario.settings;
    settings.extend(given.thp_enabled.map(|enabled| file("transparent_hugepage/enabled", enabled.name())));
    settings.extend(given.thp_defrag.map(|defrag| file("transparent_hugepage/defrag", defrag.name())));
    settings.extend(given.khugepaged.given().into_iter().map(|(name, value)| file(name, &value.to_string())));
    settings.extend(given.lru_gen.map(|on| file("lru_gen/enabled", if on { "y" } else { "n" })));
    settings.extend(sysctls(scenario, args).map(|(name, value)| file(&name, &value.to_string())));
    settings
}

/// Sysctls in the order in which they are set, by name below `vm.`, or by path below `/sys/kernel/mm`.
fn sysctls(scenario: &Scenario, args: &RunArgs) -> impl Iterator<Item = (String, u64)> {
    let given = args.sets.iter().map(|setting| (setting.name(), setting.value()));
    let all: Vec<_> = scenario.sysctls().chain(given).map(|(name, value)| (name.to_owned(), value)).collect();
    all.into_iter()
}

fn check_end(result: &VmResult) -> Result<(), Failure> {
    match result.report.exit_code {
        0 => Ok(()),
        code => {
            let said = fs::read_to_string(result.results.join(STDERR_FILE)).unwrap_or_default();
            Err(Failure::Guest(format!("the scenario ended with exit code {code} in the guest: {}", said.trim())))
        }
    }
}

fn read_run(result: &VmResult) -> Result<RunReport, Failure> {
    let path = result.results.join(RUN_FILE);
    let wrong = |what: String| Failure::Guest(format!("{}: {what}", path.display()));
    let text = fs::read(&path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
}

/// The guest's memory over time, from a recording of its pages.
fn timeline(result: &VmResult) -> Option<Timeline> {
    let place = result.results.join(RECORDING_DIR);
    if !place.exists() {
        return None;
    }
    let why_not = match backend::timeline_of_pages(&place) {
        Ok(Some(timeline)) => return Some(timeline),
        Ok(None) => "`--record standard` records it".to_owned(),
        Err(error) => error.to_string(),
    };
    warn(&format!("what happened over time is not kept: {why_not}"));
    None
}

/// From the recording if there is one, else from /proc before and after.
fn outcome(result: &VmResult) -> Result<Outcome, Failure> {
    let recording = result.results.join(RECORDING_DIR);
    if recording.exists() {
        return backend::kernel_outcome(&recording);
    }
    let texts = |tag: &str| {
        let read = |name: &str| fs::read_to_string(result.results.join(tag).join(name));
        let vmstat = read("vmstat").map_err(|error| Failure::Guest(format!("{tag}/vmstat: {error}")))?;
        Ok::<_, Failure>(ProcTexts { vmstat, pagetypeinfo: read("pagetypeinfo").ok() })
    };
    from_proc(&result.results.display().to_string(), &texts("start")?, &texts("end")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written in a guest of `kbuild-short` for the `--set`s of a command line.
    fn written(sets: &[&str]) -> Vec<String> {
        let words = ["kbuild-short", "--on", "vm:6.18"].into_iter();
        let words = words.chain(sets.iter().flat_map(|set| ["--set", set]));
        let args = RunArgs::parse(words.map(str::to_owned)).expect("valid");
        let scenario = Scenario::shipped("kbuild-short").expect("shipped");
        settings(&scenario, &args).iter().map(|setting| format!("{}={}", setting.path, setting.value)).collect()
    }

    #[test]
    fn a_setting_with_a_slash_is_written_below_sys_and_a_sysctl_below_proc() {
        let written = written(&["lru_gen/enabled=7", "vm.swappiness=10"]);
        let from_the_scenario = [
            "/sys/kernel/mm/transparent_hugepage/enabled=always",
            "/sys/kernel/mm/transparent_hugepage/defrag=madvise",
            "/proc/sys/vm/swappiness=60",
        ];
        assert_eq!(written[..3], from_the_scenario);
        assert_eq!(written[3..], ["/sys/kernel/mm/lru_gen/enabled=7", "/proc/sys/vm/swappiness=10"]);
    }

    #[test]
    fn the_head_of_the_table_says_what_the_kernel_had_by_itself() {
        let mut policy = pagealloc::policy::preset("linux-6.18").expect("a preset");
        policy.set_sysctl("swappiness", 10).expect("it has that");
        policy.set_sysctl("lru_gen/enabled", 7).expect("it has that");
        let set = [KernelSetting::sysctl("vm.swappiness", "10")];
        let about = about("6.18.1", &set, Some(&policy)).expect("a preset's");
        assert_eq!(about, "Linux 6.18.1, swappiness=10, lru_gen/enabled=7 by itself");
    }
}
