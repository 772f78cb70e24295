//! Why a run on a real kernel did not come about.

use std::io;
use std::path::PathBuf;

/// Why a run on a real kernel did not come about. Once it is under way nothing stops it: a failed operation is counted.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Forking a process of several threads would leave locks taken for ever.
    #[error("a scenario must be started before any other thread: this process has {0}")]
    Threads(usize),
    /// The scratch directory can't be made.
    #[error("scratch directory {}: {source}; name another one with --scratch", path.display())]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Too many root tasks.
    #[error("{roots} tasks at the start are more than the {most} that a run can have")]
    Roots {
        /// So many there are.
        roots: usize,
        /// So many there may be.
        most: usize,
    },
    /// A system call that the run hangs on.
    #[error("{what}: {source}")]
    Call {
        /// What for.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl HostError {
    /// The failure of a system call, said in words.
    pub(super) fn call(what: &'static str) -> impl Fn(rustix::io::Errno) -> HostError {
        move |error| HostError::Call { what, source: error.into() }
    }
}
