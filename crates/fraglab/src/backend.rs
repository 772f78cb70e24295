//! The only place that knows how recordings are opened and replayed: five calls. Everything else in this crate speaks of
//! [`Loaded`], [`Outcome`] and [`Replayed`].

use crate::facts::{self, Fact};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::recorded;
use pagealloc::Policy;
use recording::outcome::Outcome;
use recording::replay::{ReplayOptions, Replayed};
use recording::{CutPoint, Recording};
use std::path::Path;

/// A recording, read and normalised.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its name: the last component of its path.
    pub name: String,
    /// What the recorded kernel did over the window that the page trace covers.
    pub kernel: Outcome,
    /// Policy of the recorded kernel with the sysctls that were in force.
    pub recorded: Policy,
    /// What the user should know before reading any figure.
    pub caveats: Vec<String>,
}

/// Reads a recording.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
pub fn load(path: &Path, _progress: &Progress) -> Result<Loaded, Failure> {
    let recording = open(path)?;
    let _recorded = recorded::policy(&recording)?;
    let _caveats = recorded::caveats(&recording);
    Err(not_connected(path))
}

/// Replays a recording under the policy of the options.
///
/// # Errors
/// [`Failure::Input`] when the recording asks for what the engine cannot do.
pub fn replay(loaded: &Loaded, _options: &ReplayOptions, _progress: &Progress) -> Result<Replayed, Failure> {
    Err(not_connected(Path::new(&loaded.name)))
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
/// [`Failure::Input`] when the recording cannot be read, has no such tick, or the copy cannot be written.
pub fn cut(path: &Path, tick: u64, target: &Path) -> Result<(), Failure> {
    open(path)?.cut(CutPoint::Tick(tick), target).map(drop).map_err(bad_input)
}

fn open(path: &Path) -> Result<Recording, Failure> {
    Recording::open(path).map_err(bad_input)
}

/// The reader's own words: they name file and place, and say what to do.
fn bad_input(error: recording::Error) -> Failure {
    Failure::Input(error.to_string())
}

fn not_connected(path: &Path) -> Failure {
    Failure::Input(format!("{}: this build can inspect and cut recordings, but not replay them yet", path.display()))
}
