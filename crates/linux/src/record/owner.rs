//! Who owns what is ours in tracefs, and taking away what a crashed recorder left.
//!
//! Everything that a recorder makes in tracefs bears the number and the start time of its process in its name. A name
//! whose process is gone is a leftover. Numbers are given out again, but not with the same start time.

use super::error::RecordError;
use super::kernel_file;
use super::tracefs::{self, Tracefs};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// A recorder's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Process number.
    pid: u32,
    /// When it started, in clock ticks since boot.
    start: u64,
}

/// What begins the names of our instances and, with `_`, of our groups of dynamic events.
const PREFIX: &str = "fraglab";

impl Owner {
    /// This process.
    pub(crate) fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, start: start_of(Path::new("/proc"), pid).unwrap_or(0) }
    }

    /// The name of its instance.
    pub(crate) fn instance(self) -> String {
        format!("{PREFIX}-{}-{}", self.pid, self.start)
    }

    /// The name of its group of dynamic events.
    pub(crate) fn group(self) -> String {
        format!("{PREFIX}_{}_{}", self.pid, self.start)
    }

    /// The owner that a name tells.
    fn of_name(name: &str, separator: char) -> Option<Self> {
        let (pid, start) = name.strip_prefix(PREFIX)?.strip_prefix(separator)?.split_once(separator)?;
        Some(Self { pid: pid.parse().ok()?, start: start.parse().ok()? })
    }

    fn is_alive(self, proc: &Path) -> bool {
        start_of(proc, self.pid) == Some(self.start)
    }
}

/// Whether the recorder of an instance of this name still runs; `None` if the name is none of ours.
pub(crate) fn recorder_lives(instance: &str, proc: &Path) -> Option<bool> {
    Owner::of_name(instance, '-').map(|owner| owner.is_alive(proc))
}

/// Start time of a process: field 22 of its `stat`, counted behind the name, which may hold anything.
fn start_of(proc: &Path, pid: u32) -> Option<u64> {
    let stat = kernel_file::read_text(&proc.join(pid.to_string()).join("stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}

/// What was, or would be, taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Instances.
    pub instances: Vec<String>,
    /// Dynamic events, as `group/event`.
    pub dynamic_events: Vec<String>,
}

/// What crashed recorders left; `proc` is where `/proc` is.
pub(crate) fn leftovers(tracefs: &Tracefs, proc: &Path) -> Result<Leftovers, RecordError> {
    let is_left = |name: &str, separator| Owner::of_name(name, separator).is_some_and(|owner| !owner.is_alive(proc));
    let instances = tracefs.instances()?.into_iter().filter(|name| is_left(name, '-')).collect();
    let mut left = Leftovers { instances, ..Leftovers::default() };
    if let Some(path) = tracefs.dynamic_events() {
        let text = String::from_utf8_lossy(&tracefs::read(&path)?).into_owned();
        // A line is `p:group/event place ...`, with a number behind the p or r of some.
        let events = text.lines().filter_map(|line| line.split(' ').next()?.split_once(':')).map(|(_, name)| name);
        let ours = events.filter(|name| is_left(name.split('/').next().unwrap_or_default(), '_'));
        left.dynamic_events = ours.map(str::to_owned).collect();
    }
    Ok(left)
}

/// Takes leftovers away, instances first, since an enabled event cannot be removed. What somebody still uses stays.
pub(crate) fn clean_up(tracefs: &Tracefs, left: &Leftovers) -> Leftovers {
    let instances = left.instances.iter().filter(|name| tracefs.remove_instance(name).is_ok());
    let instances = instances.cloned().collect();
    let events = left.dynamic_events.iter().filter(|name| remove_event(tracefs, name).is_ok());
    Leftovers { instances, dynamic_events: events.cloned().collect() }
}

/// Removes a dynamic event, given as `group/event`.
pub(crate) fn remove_event(tracefs: &Tracefs, name: &str) -> Result<(), RecordError> {
    tracefs.dynamic_events().map_or(Ok(()), |path| append(&path, &format!("-:{name}\n")))
}

/// Adds a line to the dynamic events. Opening the file to write anew would remove those of everybody.
pub(crate) fn append(path: &Path, line: &str) -> Result<(), RecordError> {
    let file = OpenOptions::new().append(true).open(path);
    let result = file.and_then(|mut file| file.write_all(line.as_bytes()));
    result.map_err(RecordError::tracefs(path, "defining a dynamic event"))
}
