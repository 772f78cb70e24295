//! Why can runs not be compared?

use std::io;
use std::path::{Path, PathBuf};

/// Why runs cannot be compared; says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Something else is there.
    #[error(
        "{} is not a fraglab run directory (no manifest.json with schema \"fraglab.run\"); \
         `fraglab replay -o DIR` writes one",
        .0.display()
    )]
    NotARun(PathBuf),
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Read {
        /// What was being read.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A file of a run does not hold what it should.
    #[error("{}: {what}; make the run again", path.display())]
    Damaged {
        /// Which file, with the line where it has one.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The run is of a later fraglab.
    #[error("{}: schema_version {version} is not known here; use the fraglab that wrote it", dir.display())]
    Version {
        /// The run directory.
        dir: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The demand differs, so that a difference says nothing about policies.
    #[error(
        "runs of different recordings: {} is of `{}`, {} of {}; what differs may be the work, not the policy \
         (--across compares them all the same)",
        first.1.display(), first.0, other.1.display(), other_name(&first.0, &other.0)
    )]
    DifferentRecordings {
        /// Recording and directory of the first run.
        first: (String, PathBuf),
        /// Recording and directory of a run that differs.
        other: (String, PathBuf),
    },
    /// A named variant has a directory without a replay.
    #[error("{} holds no replay", .0.display())]
    NoReplay(PathBuf),
    /// A named variant has a directory with several policies.
    #[error("{} holds several policies: give it without NAME=, and its columns are told apart", .0.display())]
    SeveralPolicies(PathBuf),
    /// Two variants have the same name.
    #[error("there are two variants `{0}`: give them different names, or list all runs after one NAME=")]
    SameName(String),
    /// Every run was empty.
    #[error("the run directories hold no replay (--kernel compares the recorded kernel)")]
    Nothing,
    /// No variant has the name that --base asks for.
    #[error("no variant is called `{name}`; there are: {known}")]
    NoBase {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// Less of a row is better, and more.
    #[error("row `{0}` is both under --lower and under --higher: leave it out of one")]
    BothDirections(String),
    /// No run has such a row.
    #[error("no run has a row `{pattern}`{}", .suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoRow {
        /// What was asked for.
        pattern: String,
        /// The closest row.
        suggestion: Option<String>,
    },
}

/// The name of another recording, which may be the same.
pub(super) fn other_name(first: &str, other: &str) -> String {
    if first == other { "another recording of that name".to_owned() } else { format!("`{other}`") }
}

impl CompareError {
    pub(super) fn damaged(dir: &Path, file: &str, what: String) -> CompareError {
        CompareError::Damaged { path: dir.join(file), what }
    }
}
