//! The kernel's side of a recording: the instance with its events, and what the kernel says of their form.

use super::error::RecordError;
use super::event_set::EventSet;
use super::kernel_file;
use super::owner::{self, Owner};
use super::probes::Probes;
use super::tracedat::Formats;
use super::tracefs::{Instance, Tracefs};
use std::fs;
use std::path::{Path, PathBuf};

/// Clocks, best first: ordered over all CPUs, then at least in nanoseconds.
const CLOCKS: [&str; 3] = ["global", "mono", "local"];

/// An instance with everything set, and tracing off. Dropping it restores tracefs; the instance goes first, since probes
/// that it uses could not be removed.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) instance: Instance,
    probes: Probes,
    tracefs: Tracefs,
    pub(crate) clock: &'static str,
    /// Systems and events that are on, as `system/event`.
    pub(crate) events: Vec<String>,
    /// Events of the set that this kernel does not have.
    pub(crate) missing: Vec<&'static str>,
    /// Probes that are on, as `group/event`.
    pub(crate) probing: Vec<String>,
}

impl Session {
    /// Sets everything up, after taking away what crashed recorders left.
    pub(crate) fn open(tracefs: &Tracefs, set: EventSet, probes: bool, buffer: u64) -> Result<Self, RecordError> {
        let left = owner::leftovers(tracefs, Path::new("/proc"))?;
        owner::clean_up(tracefs, &left);
        let us = Owner::this_process();
        let probes = if probes { Probes::install(tracefs, us.group()) } else { Probes::none(tracefs) };
        let instance = Instance::create(tracefs, us.instance())?;
        let clock = CLOCKS.into_iter().find(|clock| instance.write("trace_clock", clock).is_ok());
        let mut session = Self {
            instance,
            probes,
            tracefs: tracefs.clone(),
            clock: clock.unwrap_or("local"),
            events: Vec::new(),
            missing: Vec::new(),
            probing: Vec::new(),
        };
        session.enable(set)?;
        // Not before: kernels before 6.8 take the first change of any instance's size for the user's last word on the top
        // instance's, and would leave that one at its size at boot when its first event is turned on.
        session.instance.write("buffer_size_kb", &buffer.div_ceil(1024).to_string())?;
        Ok(session)
    }

    fn enable(&mut self, set: EventSet) -> Result<(), RecordError> {
        for selector in set.selectors() {
            let events = match selector.split_once('/') {
                Some((system, event)) => Some(format!("{system}/{event}")).into_iter().collect(),
                None => {
                    self.instance.events_of(selector).into_iter().map(|event| format!("{selector}/{event}")).collect()
                }
            };
            let on: Vec<String> = Vec::into_iter(events).filter(|event| self.turn_on(event)).collect();
            if on.is_empty() {
                self.missing.push(selector);
            }
            for event in on {
                if !self.events.contains(&event) {
                    self.events.push(event);
                }
            }
        }
        if self.events.is_empty() {
            return Err(RecordError::NoEvents { path: self.instance.path("events") });
        }
        self.probing = self.probes.enable(&self.instance);
        Ok(())
    }

    fn turn_on(&self, event: &str) -> bool {
        self.instance.write(&format!("events/{event}/enable"), "1").is_ok()
    }

    /// Bytes of a ring-buffer page, as its header's format has them.
    pub(crate) fn page_size(&self) -> Result<usize, RecordError> {
        let text = self.tracefs.read("events/header_page")?;
        let size = page_size(&String::from_utf8_lossy(&text));
        size.ok_or_else(|| RecordError::Unexpected {
            path: self.tracefs.path("events/header_page"),
            problem: "the kernel's ring-buffer pages have no known form".into(),
        })
    }

    /// The formats of all events that are on, and of ftrace's own.
    pub(crate) fn formats(&self) -> Result<Formats, RecordError> {
        let mut formats = Formats {
            header_page: self.tracefs.read("events/header_page")?,
            header_event: self.tracefs.read("events/header_event")?,
            printk: self.tracefs.read("printk_formats").unwrap_or_default(),
            ..Formats::default()
        };
        let ftrace = self.tracefs.path("events/ftrace");
        let directories = fs::read_dir(&ftrace).map_err(RecordError::tracefs(&ftrace, "listing"))?;
        let mut paths: Vec<_> = directories.flatten().map(|entry| entry.path().join("format")).collect();
        paths.sort_unstable();
        formats.ftrace = paths.iter().filter_map(|path| kernel_file::read(path).ok()).collect();
        for event in self.events.iter().chain(&self.probing) {
            let Some((system, _)) = event.split_once('/') else { continue };
            let text = self.instance.read(&format!("events/{event}/format"))?;
            match formats.systems.iter_mut().find(|(name, _)| name == system) {
                Some((_, texts)) => texts.push(text),
                None => formats.systems.push((system.to_owned(), vec![text])),
            }
        }
        Ok(formats)
    }

    /// Turns tracing on or off.
    pub(crate) fn trace(&self, on: bool) -> Result<(), RecordError> {
        self.instance.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Every CPU's statistics.
    pub(crate) fn stats(&self, cpus: &[u16]) -> Vec<Vec<u8>> {
        let stats = cpus.iter().map(|cpu| self.instance.read(&format!("per_cpu/cpu{cpu}/stats")));
        stats.map(Result::unwrap_or_default).collect()
    }

    /// The kernel's file of process names by number, of the latest few.
    pub(crate) fn cmdlines_path(&self) -> PathBuf {
        self.tracefs.path("saved_cmdlines")
    }
}

/// Where the data begins and how long it is, of the line `field: char data; offset:16; size:4080; ...`.
fn page_size(header: &str) -> Option<usize> {
    let data = header.lines().find(|line| line.contains(" data;"))?;
    let number = |key: &str| {
        let rest = data.split_once(key)?.1;
        rest.split(';').next()?.trim().parse::<usize>().ok()
    };
    Some(number("offset:")? + number("size:")?).filter(|size| size.is_power_of_two())
}

/// Events that the kernel counted in one CPU's statistics: recorded, and lost.
pub(crate) fn counts(stats: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(stats);
    let sum = |wanted: &[&str]| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let ours = lines.filter(|(name, _)| wanted.contains(&name.trim()));
        ours.filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum()
    };
    (sum(&["entries", "read events"]), sum(&["overrun", "commit overrun", "dropped events"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_statistics_are_read() {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(page_size(header), Some(4096));
        assert_eq!(page_size("field: char data;\toffset:16;\tsize:4000;"), None);
        let stats = b"entries: 5\noverrun: 2\ncommit overrun: 1\nbytes: 6\noldest event ts:  1.5\n\
            dropped events: 4\nread events: 7\n";
        assert_eq!(counts(stats), (12, 7));
    }
}
