//! A recording from start to end: until a time is over, a command ends, or a signal comes.

use super::error::RecordError;
use super::options::RecordOptions;
use super::recorder::{Recorder, Status, Summary};
use crate::signals::Signals;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often it is looked whether to end.
const LOOK: Duration = Duration::from_millis(50);
/// How often the status is told.
const TELL: Duration = Duration::from_secs(1);
/// How long a command that was told to end may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What ends a recording, beside signals and its bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Until {
    /// So much time.
    pub duration: Option<Duration>,
    /// The end of this command, which is started when the recording runs; it gets `SIGTERM` if the recording ends first.
    pub command: Vec<OsString>,
}

/// How it ended.
#[derive(Debug)]
pub struct Conducted {
    /// What was recorded.
    pub summary: Summary,
    /// How the command ended; `None` if there was none, or it did not end in time.
    pub command: Option<ExitStatus>,
}

/// Records. `SIGINT`, `SIGTERM` and `SIGHUP` end the recording as its time would: whole, and with tracefs as it was.
/// `tell` gets the status once a second.
///
/// # Errors
/// When the recording cannot start or be completed, or the command cannot be started; then no recording is left.
pub fn conduct(
    options: &RecordOptions,
    until: &Until,
    tell: &mut dyn FnMut(&Status),
) -> Result<Conducted, RecordError> {
    check(&until.command)?;
    let signals = Signals::watch();
    let recorder = Recorder::start(options)?;
    let mut child = match start(&until.command) {
        Ok(child) => child,
        Err(error) => {
            drop(recorder);
            // It was empty, or was not there.
            let _ = std::fs::remove_dir_all(&options.output);
            return Err(error);
        }
    };
    if child.is_some() {
        recorder.mark("WORKLOAD start");
    }
    let begin = Instant::now();
    let mut told = begin;
    let mut ended = None;
    while !signals.came() && recorder.must_stop().is_none() && until.duration.is_none_or(|time| begin.elapsed() < time)
    {
        if let Some(child) = &mut child {
            // A child that cannot be waited for is none of ours any more.
            ended = child.try_wait().unwrap_or(None);
            if ended.is_some() {
                recorder.mark("WORKLOAD end");
                break;
            }
        }
        std::thread::sleep(LOOK);
        if told.elapsed() >= TELL {
            told = Instant::now();
            tell(&recorder.status());
        }
    }
    let summary = recorder.stop();
    if let Some(child) = child.as_mut().filter(|_| ended.is_none()) {
        ended = end(child);
    }
    Ok(Conducted { summary: summary?, command: ended })
}

fn start(command: &[OsString]) -> Result<Option<Child>, RecordError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let child = Command::new(program).args(arguments).spawn();
    child.map(Some).map_err(|source| RecordError::Command { program: program.into(), source })
}

/// A slip in the command is told before tracefs is touched and all memory is read.
fn check(command: &[OsString]) -> Result<(), RecordError> {
    let Some(program) = command.first().map(Path::new) else { return Ok(()) };
    let directories = match program.components().count() {
        1 => std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into()),
        // Joined to it, an absolute path stays itself.
        _ => OsString::from("."),
    };
    match std::env::split_paths(&directories).any(|directory| directory.join(program).is_file()) {
        true => Ok(()),
        false => Err(RecordError::Command { program: program.into(), source: io::ErrorKind::NotFound.into() }),
    }
}

/// Tells a command to end, and waits a while.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let _ = kill_process(pid, Signal::TERM);
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(LOOK),
            ended => return ended.ok().flatten(),
        }
    }
    None
}
