//! What can be wrong with a recording, and what to do about it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::quote::printable;

/// The name of the input that an error speaks of: a path, or a made-up name for bytes in memory.
///
/// Cheap to clone, since every parser of a file carries it.
pub type SourceName = Arc<Path>;

/// Everything that can go wrong while reading a recording.
///
/// Every variant names the file and the place in it, says in one sentence what is wrong, and where
/// the reader can help itself, what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {action} failed: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, for instance "reading".
        action: &'static str,
        /// The system's own reason.
        source: std::io::Error,
    },

    /// The file ends before the thing that should stand there does.
    #[error(
        "{}: at byte {offset}: the file ends inside {what} ({missing} bytes are missing); copy it again or cut it at a whole page",
        shown(path)
    )]
    Truncated {
        /// The file.
        path: SourceName,
        /// Offset of the unfinished thing, in bytes from the start of the file (or of the unpacked section).
        offset: u64,
        /// What was being read.
        what: &'static str,
        /// How many bytes more were needed.
        missing: u64,
    },

    /// Binary contents that contradict the file's own format.
    #[error("{}: at byte {offset}: {}; {advice}", shown(path), printable(problem))]
    Malformed {
        /// The file.
        path: SourceName,
        /// Offset of the offending bytes, from the start of the file (or of the unpacked section).
        offset: u64,
        /// What is wrong.
        problem: Box<str>,
        /// What to do.
        advice: &'static str,
    },

    /// A line of text that is not what the file's kind demands.
    #[error("{}:{line}: {}", shown(path), printable(problem))]
    MalformedLine {
        /// The file.
        path: SourceName,
        /// Line number, counted from 1.
        line: u64,
        /// What is wrong.
        problem: Box<str>,
    },

    /// An event's `format` text lacks a field that the event cannot be understood without, or gives
    /// it a size that cannot be read.
    #[error(
        "{}: event {event}: {}; record with a kernel whose {event} has that field, or leave the event out",
        shown(path),
        printable(problem)
    )]
    Field {
        /// The file.
        path: SourceName,
        /// Name of the event.
        event: Box<str>,
        /// Which field, and what is wrong with it.
        problem: Box<str>,
    },

    /// The kernel lost events where a replay needs all of them.
    #[error(
        "{}{place}: the kernel lost {} before here, so which pages are in use is no longer known; \
         record with larger buffers, or replay a cut that ends before (`fraglab cut`)",
        shown(path), count.map_or("events".to_owned(), |count| format!("{count} events"))
    )]
    Lost {
        /// The trace.
        path: PathBuf,
        /// The place in it, as it follows the name of the file.
        place: Box<str>,
        /// How many; `None` if the kernel did not say.
        count: Option<u64>,
    },

    /// The kernel lost events of those that are counted.
    #[error(
        "{}{place}: the kernel lost {} before here, so what it did can't be counted; record with larger buffers",
        shown(path), count.map_or("events".to_owned(), |count| format!("{count} events"))
    )]
    LostCounted {
        /// The trace.
        path: PathBuf,
        /// The place in it, as it follows the name of the file.
        place: Box<str>,
        /// How many; `None` if the kernel did not say.
        count: Option<u64>,
    },

    /// The machine has more CPUs than a replay can tell apart.
    #[error("{}: the trace has CPU {cpu}, and a replay follows CPUs 0 to {last} only", shown(path))]
    TooManyCpus {
        /// The trace.
        path: PathBuf,
        /// The CPU.
        cpu: u16,
        /// The last one that could be followed.
        last: u16,
    },

    /// What was named can be read for ever, or not at all.
    #[error(
        "{}: that is a device or a socket; give a directory with a recording, an archive of one, or a trace",
        shown(path)
    )]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },

    /// A file that a recording needs is not there.
    #[error("{}: {} is missing; {advice}", shown(path), printable(what))]
    Missing {
        /// The directory or archive that was searched.
        path: PathBuf,
        /// The missing thing.
        what: Box<str>,
        /// What to do.
        advice: &'static str,
    },

    /// Two parts of a recording cannot come from the same machine or the same run.
    #[error("{}: {}; the parts of a recording must come from one machine and one run", shown(path), printable(problem))]
    Mismatch {
        /// The recording.
        path: PathBuf,
        /// Which parts disagree, and about what.
        problem: Box<str>,
    },

    /// A machine of a kind that is not modelled.
    #[error("{}: {}", shown(path), printable(problem))]
    Unsupported {
        /// The recording.
        path: PathBuf,
        /// What it has, and what is modelled.
        problem: Box<str>,
    },
}

/// A path as it is printed: names in an archive are the archive's.
fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

impl Error {
    /// A failed system call on `path`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { path, action, source }
    }

    /// A line that cannot be understood; lines count from 1.
    pub(crate) fn line(path: &SourceName, line: u64, problem: impl Into<Box<str>>) -> Self {
        Self::MalformedLine { path: Arc::clone(path), line, problem: problem.into() }
    }

    /// Bytes that contradict the file's own format.
    pub(crate) fn malformed(
        path: &SourceName,
        offset: u64,
        problem: impl Into<Box<str>>,
        advice: &'static str,
    ) -> Self {
        Self::Malformed { path: Arc::clone(path), offset, problem: problem.into(), advice }
    }
}
