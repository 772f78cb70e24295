//! What decides a run beside policy, sysctls, variant and seed: runs that differ in it are not repetitions of each other.

use crate::failure::Failure;
use crate::machine_commands::pool::digest_of;
use crate::machine_commands::run_args::{On, RunArgs};
use crate::machine_commands::scenarios::Chosen;
use recording::pagelog::MachineSeen;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Words by name, as `docs/formats.md` lists them.
pub type Setup = BTreeMap<String, String>;

fn hex(bytes: &[u8]) -> String {
    format!("{:016x}", digest_of(bytes))
}

/// Machine, work and settings. Those of this host are its own, and `about` tells them.
///
/// # Errors
/// [`Failure::Input`] for a saved stream that went away.
pub fn of(on: &On, chosen: &Chosen, args: &RunArgs, about: &str) -> Result<Setup, Failure> {
    let (machine, settings) = (&chosen.scenario.machine, &chosen.scenario.settings);
    let mut setup = Setup::new();
    let mut say = |name: &str, value: String| setup.insert(name.to_owned(), value);
    say("scenario_file", hex(chosen.text.as_bytes()));
    say("memory_mib", machine.memory_mib.to_string());
    say("time_limit", args.time_limit_of(&chosen.scenario).to_string());
    if let Some(path) = &args.scenario.ops {
        let gone = |error: std::io::Error| Failure::Input(format!("{}: {error}", path.display()));
        say("ops_file", hex(&fs::read(path).map_err(gone)?));
    }
    if *on == On::Host {
        say("host", about.to_owned());
        return Ok(setup);
    }
    say("cpus", args.cpus.unwrap_or(machine.cpus).to_string());
    say("nodes", args.nodes.unwrap_or(machine.nodes).to_string());
    say("swap_mib", machine.swap_mib.to_string());
    say("disk_mib", machine.disk_mib.to_string());
    let thp =
        [("enabled", settings.thp_enabled.map(|it| it.name())), ("defrag", settings.thp_defrag.map(|it| it.name()))];
    for (file, value) in thp {
        value.map(|value| say(&format!("transparent_hugepage/{file}"), value.to_owned()));
    }
    for (name, value) in settings.khugepaged.given() {
        say(name, value.to_string());
    }
    if let On::Vm(_) = on {
        // What is traced slows the guest.
        say("record", args.recorded().events().map_or("none", |events| events.name()).to_owned());
    }
    Ok(setup)
}

/// A recorded machine that a simulated one stands in for: its name, and a digest of what is taken from it.
pub fn of_recorded(recording: &Path, seen: &MachineSeen) -> String {
    let name = recording.file_name().unwrap_or(recording.as_os_str()).to_string_lossy();
    let MachineSeen { in_use, fault_ns } = seen;
    let taken = [in_use.frames, in_use.managed, in_use.unmovable, in_use.reclaimable, in_use.unevictable];
    format!("{name} ({})", hex(format!("{taken:?} {fault_ns:?}").as_bytes()))
}
