//! The only place that knows how recordings are opened and replayed: five calls. Everything else in this crate speaks of
//! [`Loaded`], [`Outcome`] and [`Replayed`].

use crate::failure::Failure;
use crate::progress::Progress;
use pagealloc::Policy;
use recording::outcome::Outcome;
use recording::replay::{ReplayOptions, Replayed};
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
}

/// A fact about a recording, for `inspect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about: machine, trace, snapshots, losses.
    pub section: String,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// Reads a recording.
///
/// # Errors
/// [`Failure::Input`] with file and offset.
pub fn load(path: &Path, _progress: &Progress) -> Result<Loaded, Failure> {
    must_exist(path)?;
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
    must_exist(path)?;
    Err(not_connected(path))
}

/// Writes the part of a recording up to the end of tick `tick` as a recording of its own.
///
/// # Errors
/// [`Failure::Input`] when the recording cannot be read or has no such tick; [`Failure::Output`] when writing fails.
pub fn cut(path: &Path, _tick: u32, _target: &Path) -> Result<(), Failure> {
    must_exist(path)?;
    Err(not_connected(path))
}

fn must_exist(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::Input(format!(
            "{}: {error}; a recording is a directory with a trace and snapshots (docs/formats.md)",
            path.display()
        ))),
    }
}

fn not_connected(path: &Path) -> Failure {
    Failure::Input(format!("{}: this build cannot read recordings yet", path.display()))
}
