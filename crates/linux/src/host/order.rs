//! What a guest is told to run: the same words on both sides.

use crate::record::EventSet;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The report of the run, a file among the results.
pub const RUN_FILE: &str = "run.json";
/// The recording of the run, a directory among the results.
pub const RECORDING_DIR: &str = "recording";

/// A scenario to be run, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadOrder {
    /// The scenario's file.
    pub scenario: String,
    /// Seed in place of the scenario's.
    pub seed: u64,
    /// Variant of the scenario; `None` for its own settings.
    pub variant: Option<String>,
    /// Scale, as it is written on the command line.
    pub scale: String,
    /// Memory in place of the scenario's, MiB: what the workload's sizes follow.
    pub memory_mib: u32,
    /// Seconds in place of the scenario's.
    pub time_limit: u32,
    /// A saved operation stream to be run in place of the scenario's own.
    pub ops: Option<PathBuf>,
    /// Name of the set of events that are recorded meanwhile.
    pub record: Option<String>,
}

impl LoadOrder {
    /// The events to be recorded.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn events(&self) -> Result<Option<EventSet>, String> {
        self.record.as_deref().map(str::parse).transpose()
    }
}
