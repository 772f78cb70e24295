//! The only place that knows how recordings are opened and replayed. Everything else in this crate speaks of [`Loaded`],
//! outcomes and [`Replayed`].

use crate::facts::{self, Fact};
use crate::failure::Failure;
use crate::settings::{self, Settings};
use lab::outcome::Outcome;
use lab::timeline::{Sampling, Timeline};
use pagealloc::Policy;
use recording::occupancy::kernel_timeline as kernel_timeline_of;
use recording::pagelog::{Normalised, PageLog, kernel_alone, normalise, tick_cut_short};
use recording::replay::{
    Progress, RecordedPolicyError, ReplayError, ReplayOptions, Replayed, recorded_caveats, recorded_policy,
};
use recording::{CutPoint, Recording};
use std::path::Path;
use std::sync::Arc;

/// A recording, read and normalised.
pub struct Loaded {
    /// Its name: the last component of its path.
    pub name: String,
    /// What the recorded kernel did over the window that the page trace covers.
    pub kernel: Outcome,
    /// Memory-management settings of the recorded machine.
    pub settings: Settings,
    /// Policy of the recorded kernel with the sysctls that were in force, or why it can't be told.
    recorded: Result<Policy, String>,
    /// What is to be said of the trace, if it may not be whole; of that policy, if it stands in for the recorded kernel's or lacks some of
    /// its settings; and of what else the recording lacks.
    pub caveats: Vec<String>,
    /// What to call the file that describes the machine.
    zoneinfo: String,
    log: Arc<PageLog>,
}

impl Loaded {
    /// Policy of the recorded kernel with the sysctls that were in force.
    ///
    /// # Errors
    /// [`Failure::Input`] when the recording does not tell.
    pub fn recorded(&self) -> Result<&Policy, Failure> {
        self.recorded.as_ref().map_err(|why| Failure::Input(why.clone()))
    }
}

/// How a replay runs, whatever its policy.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Seed of what a trace leaves open.
    pub seed: u64,
    /// Check all invariants as it goes.
    pub check: bool,
    /// Follow it over time.
    pub sampling: Option<Sampling>,
}

/// Reads a recording.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
pub fn load(path: &Path) -> Result<Loaded, Failure> {
    let recording = open(path)?;
    let Normalised { log, kernel, notes } = normalise(&recording).map_err(bad_input)?;
    Ok(Loaded {
        name: name_of(path),
        zoneinfo: recording.name_of("start.zoneinfo").display().to_string(),
        kernel,
        settings: settings::of(&recording),
        recorded: recorded_policy(&recording).map_err(|error| unknown_policy(&recording, &error)),
        caveats: recorded_caveats(&recording).into_iter().chain(notes).collect(),
        log: Arc::new(log),
    })
}

/// A recording's settings and what the kernel did under them, over all of it: what a prediction is compared with.
pub struct Truth {
    /// Its name: the last component of its path.
    pub name: String,
    /// What the recorded kernel did.
    pub kernel: Outcome,
    /// Memory-management settings of the recorded machine.
    pub settings: Settings,
    /// Policy of the recorded kernel with the sysctls that were in force.
    pub policy: Policy,
    /// What is to be said of that policy, and of a tick that is left out.
    pub caveats: Vec<String>,
}

/// Reads a recording for comparison only; it needs no page-level trace.
///
/// # Errors
/// [`Failure::Input`] with file and offset, or when the recording does not tell its kernel.
pub fn load_truth(path: &Path) -> Result<Truth, Failure> {
    let recording = open(path)?;
    let name = name_of(path);
    let policy = recorded_policy(&recording).map_err(|error| Failure::Input(unknown_policy(&recording, &error)))?;
    let kernel = kernel_alone(&recording).map_err(bad_input)?;
    let caveats = recorded_caveats(&recording).into_iter().chain(tick_cut_short(&recording)).collect();
    Ok(Truth { name, kernel, settings: settings::of(&recording), policy, caveats })
}

/// What the kernel of a recording did, over all of it, whichever kernel it was.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
#[cfg(feature = "machines")]
pub fn kernel_outcome(path: &Path) -> Result<Outcome, Failure> {
    kernel_alone(&open(path)?).map_err(bad_input)
}

/// The machine that a recording is of, for a simulated one to stand in for it.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
#[cfg(feature = "machines")]
pub fn machine_seen(path: &Path) -> Result<recording::pagelog::MachineSeen, Failure> {
    recording::pagelog::machine_seen(&open(path)?).map_err(bad_input)
}

/// Policy of the kernel that a recording is of, with the sysctls that were in force; `None` if it does not tell.
#[cfg(feature = "machines")]
pub fn policy_in_force(path: &Path) -> Option<Policy> {
    recorded_policy(&open(path).ok()?).ok()
}

/// The memory over time of the kernel that a recording is of; `None` without a page trace.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
#[cfg(feature = "machines")]
pub fn timeline_of_pages(path: &Path) -> Result<Option<Timeline>, Failure> {
    let recording = open(path)?;
    if !recording.has_page_trace() {
        return Ok(None);
    }
    let seen = normalise(&recording)
        .and_then(|Normalised { log, kernel, .. }| kernel_timeline_of(&recording, &log, &kernel, Sampling::default()));
    seen.map(Some).map_err(bad_input)
}

/// Replays a recording under a policy. `advance` hears how far it is, 0 to 1, and may end it: then there is no result.
///
/// # Errors
/// [`Failure::Input`] when no machine can be built from the recording, [`Failure::Invariant`] when the model contradicts
/// itself.
pub fn replay(loaded: &Loaded, policy: &Policy, run: Run, advance: &mut Progress) -> Result<Option<Replayed>, Failure> {
    let options = ReplayOptions {
        recorded_watermarks: loaded.recorded.as_ref().is_ok_and(|recorded| same_watermarks(recorded, policy)),
        policy: policy.clone(),
        seed: run.seed,
        check: run.check,
        sampling: run.sampling,
    };
    match recording::replay::replay(&loaded.log, &options, advance) {
        Ok(replayed) => Ok(Some(replayed)),
        Err(ReplayError::Stopped) => Ok(None),
        Err(error @ ReplayError::Machine(_)) => Err(Failure::Input(format!("{}: {error}", loaded.zoneinfo))),
        Err(error @ ReplayError::Broken { .. }) => Err(Failure::Invariant(error.to_string())),
    }
}

/// The recorded kernel's memory over time, of a recording that was loaded.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
pub fn kernel_timeline(path: &Path, loaded: &Loaded) -> Result<Timeline, Failure> {
    kernel_timeline_of(&open(path)?, &loaded.log, &loaded.kernel, Sampling::default()).map_err(bad_input)
}

/// Whether a policy leaves the watermarks as the recorded kernel had computed them.
fn same_watermarks(recorded: &Policy, policy: &Policy) -> bool {
    let inputs = |policy: &Policy| {
        let sysctl = &policy.sysctl;
        (policy.watermark_gap, sysctl.min_free_kbytes, sysctl.watermark_scale_factor, sysctl.lowmem_reserve_ratio)
    };
    inputs(recorded) == inputs(policy)
}

/// What a recording holds, without replaying it.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
pub fn inspect(path: &Path) -> Result<Vec<Fact>, Failure> {
    let recording = open(path)?;
    let inspection = recording.inspect().map_err(bad_input)?;
    Ok(facts::of(&recording, &inspection))
}

/// Writes the part of a recording up to the end of tick `tick` as a recording of its own.
///
/// # Errors
/// [`Failure::Input`] when the recording cannot be read or has no such tick, [`Failure::Output`] when the copy cannot be written.
pub fn cut(path: &Path, tick: u64, target: &Path) -> Result<(), Failure> {
    open(path)?.cut(CutPoint::Tick(tick), target).map(drop).map_err(|error| match error {
        recording::Error::Io { ref path, .. } if path.starts_with(target) => Failure::Output(error.to_string()),
        error => bad_input(error),
    })
}

fn open(path: &Path) -> Result<Recording, Failure> {
    Recording::open(path).map_err(bad_input)
}

/// The reader's own words: they name file and place, and say what to do.
fn bad_input(error: recording::Error) -> Failure {
    Failure::Input(error.to_string())
}

/// Why the recorded policy can't be told, with the file that should tell it.
fn unknown_policy(recording: &Recording, error: &RecordedPolicyError) -> String {
    format!("{}: {error}", recording.name_of("meta/sys/proc_version").display())
}

fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
