//! How fraglab fails: what, where, what to do, and an exit code that scripts can rely on.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done (also when the reader of stdout went away) |
//! | 1 | the result could not be written |
//! | 2 | the command line is wrong |
//! | 3 | a recording, run, scenario or other file is missing, damaged or of an unknown kind |
//! | 4 | an invariant of fraglab is broken: a bug of ours |
//! | 5 | a virtual machine, or the command in it, failed |
//! | 6 | this host does not allow it, or lacks what it needs |
//! | 7 | the simulated computer hung in a livelock |
//! | 130, 143 | a signal ended it, as a shell reports it |

use crate::column_spec::SpecError;
use anstyle::{AnsiColor, Style};
#[cfg(feature = "machines")]
use linux::vm::VmError;
use report::RunDirError;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Why a command gave up.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line asks for something that doesn't exist.
    #[error("{0}")]
    Usage(String),
    /// The recording can't be used.
    #[error("{0}")]
    Input(String),
    /// The model contradicts itself.
    #[error("{0}")]
    Invariant(String),
    /// A virtual machine, or the command in it, failed.
    #[error("{0}")]
    Guest(String),
    /// The result can't be written.
    #[error("{0}")]
    Output(String),
    /// A simulated computer hung: the livelock detector's report.
    #[error("{0}")]
    Hang(String),
    /// The host doesn't allow it.
    #[error("{0}")]
    Host(String),
    /// A signal came before all seeds were replayed. What is complete was reported.
    #[error("{}", of_seeds(*done, *asked))]
    Interrupted {
        /// Its number.
        signal: i32,
        /// Seeds that are complete.
        done: usize,
        /// Seeds that were asked for.
        asked: usize,
    },
    /// A signal came, and nothing is left to report.
    #[error("{what}")]
    Ended {
        /// Its number.
        signal: i32,
        /// What ended for it.
        what: String,
    },
    /// The reader of stdout went away.
    #[error("nobody reads the output any more")]
    ReaderGone,
}

impl Failure {
    /// Prints the failure and gives its exit code.
    pub fn report(&self) -> ExitCode {
        if !matches!(self, Failure::ReaderGone) {
            say!("{RED}error:{RED:#} {self}");
        }
        match self {
            Failure::ReaderGone => ExitCode::SUCCESS,
            Failure::Output(_) => ExitCode::from(1),
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Input(_) => ExitCode::from(3),
            Failure::Invariant(_) => ExitCode::from(4),
            Failure::Guest(_) => ExitCode::from(5),
            Failure::Host(_) => ExitCode::from(6),
            Failure::Hang(_) => ExitCode::from(7),
            Failure::Interrupted { signal, .. } | Failure::Ended { signal, .. } => end_by(*signal),
        }
    }

    /// A failure to write to stdout.
    pub fn stdout(error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Output(format!("writing to standard output: {error}")),
        }
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Failure {
        Failure::Usage(error.to_string())
    }
}

#[cfg(feature = "machines")]
impl From<VmError> for Failure {
    fn from(error: VmError) -> Failure {
        match error {
            VmError::Specification(_) | VmError::Kernel(_) => Failure::Usage(error.to_string()),
            VmError::Missing { .. } | VmError::Packages { .. } | VmError::Source(_) | VmError::Guest(_) => {
                Failure::Host(error.to_string())
            }
            VmError::NoResult { .. } | VmError::Plan(_) | VmError::Stream(_) => Failure::Guest(error.to_string()),
            VmError::Output { .. } => Failure::Output(error.to_string()),
            VmError::Signal(signal) => Failure::Ended { signal, what: error.to_string() },
            _ => Failure::Input(error.to_string()),
        }
    }
}

impl From<RunDirError> for Failure {
    fn from(error: RunDirError) -> Failure {
        match error {
            RunDirError::Io { .. } => Failure::Output(error.to_string()),
            _ => Failure::Usage(format!("{error}; name another directory with -o")),
        }
    }
}

/// Ends the process as the signal would have: a shell that goes over many recordings stops as well.
fn end_by(signal: i32) -> ExitCode {
    let _ = emulate_default_handler(signal);
    ExitCode::from(128 + signal as u8)
}

fn of_seeds(done: usize, asked: usize) -> String {
    match done {
        0 => format!("interrupted before a seed was complete ({asked} asked for): there is no result"),
        _ => format!("interrupted: {done} of {asked} seeds are complete, and the result is of these alone"),
    }
}

/// Says something that the user should know although the command goes on.
pub fn warn(message: &str) {
    say!("{YELLOW}warning:{YELLOW:#} {message}");
}

/// A panic is a broken invariant: said in a sentence, with exit code 4, never a raw panic. `RUST_BACKTRACE=1` adds
/// the backtrace.
pub fn explain_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let what = info.payload_as_str().unwrap_or("no message");
        say!("{RED}error:{RED:#} broken invariant: {what}{place}");
        say!("This is a bug in fraglab, not in your recording. Please report it with the command line and seed.");
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            say!("{backtrace}");
        }
        if !SURVIVES.load(Ordering::Relaxed) {
            std::process::exit(4);
        }
    }));
}

/// Whether a panic ends the process.
static SURVIVES: AtomicBool = AtomicBool::new(false);

/// From now on a panic ends what its thread does, and no more: one run that can't be shown is no reason to stop showing others.
pub fn survive_panics() {
    SURVIVES.store(true, Ordering::Relaxed);
}

#[cfg(all(test, feature = "machines"))]
mod tests {
    use super::*;

    /// `--kernel 99.9` was a damaged recording, exit code 3.
    #[test]
    fn a_kernel_that_is_not_there_is_the_command_lines_fault() {
        let failure = |error: VmError| Failure::from(error);
        assert!(matches!(failure(VmError::Kernel("Debian has no kernel 99.9".into())), Failure::Usage(_)));
        assert!(matches!(failure(VmError::Source("there is no apt-get".into())), Failure::Host(_)));
    }
}
