//! What a recording would touch, without touching it.

use super::error::RecordError;
use super::facts::Roots;
use super::memmap::Memmap;
use super::options::RecordOptions;
use super::owner::{self, Leftovers, Owner};
use super::tracefs::Tracefs;
use super::{probes, snapshot};
use std::path::PathBuf;

/// What would be done, in the order in which it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What crashed recorders left, which would be taken away first.
    pub leftovers: Leftovers,
    /// The trace instance that would be made.
    pub instance: PathBuf,
    /// Its ring buffers, in bytes, over all CPUs.
    pub buffers: u64,
    /// Events that would be on in it.
    pub events: Vec<String>,
    /// Events of the set that the kernel does not have.
    pub missing: Vec<&'static str>,
    /// Dynamic events that would be tried, with what they show.
    pub probes: Vec<(String, &'static str)>,
    /// Bytes that both snapshots would take.
    pub snapshots: u64,
    /// Whether the states of pages can be read through kcore, and if not, why.
    pub kcore: Result<(), String>,
    /// What else would change, in sentences.
    pub notes: Vec<String>,
}

impl Plan {
    /// Finds out what [`super::Recorder::start`] would do with these options.
    ///
    /// # Errors
    /// When tracefs is not there or may not be read.
    pub fn of(options: &RecordOptions) -> Result<Self, RecordError> {
        let roots = Roots::default();
        let tracefs = Tracefs::open(options.tracefs.as_deref())?;
        let us = Owner::this_process();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let buffers = options.buffer_of(super::memory(&roots.proc), cpus) * cpus as u64;
        let (mut events, mut missing) = (Vec::new(), Vec::new());
        for selector in options.events.selectors() {
            let path = tracefs.path("events").join(selector);
            match path.is_dir() {
                true if !events.contains(&selector.to_owned()) => events.push(selector.to_owned()),
                true => {}
                false => missing.push(selector),
            }
        }
        let dynamic = tracefs.dynamic_events().filter(|_| options.probes);
        let probes = probes::all().filter(|_| dynamic.is_some());
        let frames = snapshot::frames(&roots.proc.join("kpageflags"));
        let mut notes = vec![
            "the process keeps its memory locked, and runs its readers at a raised priority".to_owned(),
            "no sysctl, no setting of tracefs' top instance and no file outside of the directory is written".to_owned(),
        ];
        let size = String::from_utf8_lossy(&tracefs.read("buffer_size_kb")?).trim().to_owned();
        if size.contains("expanded") {
            notes.push(format!(
                "no event has been on since boot (buffer_size_kb is `{size}`): kernels before 6.8 expand the top instance's \
                 buffer when the first one is, in whatever instance, and keep it so"
            ));
        }
        Ok(Self {
            leftovers: owner::leftovers(&tracefs, &roots.proc)?,
            instance: tracefs.path("instances").join(us.instance()),
            buffers,
            events,
            missing,
            probes: probes.map(|(name, shows)| (format!("{}/{name}", us.group()), shows)).collect(),
            // Flags, mappings and states of every frame, twice.
            snapshots: 2 * frames * (8 + 8 + 2),
            kcore: Memmap::open(&roots.proc, &roots.sys, frames).map(drop),
            notes,
        })
    }
}
