//! A command beside a recorder: the init starts this same binary for it, as it does for a scenario.

use crate::error::GuestError;
use linux::host::RECORDING_DIR;
use linux::record::{EventSet, RecordOptions, Until, conduct};
use linux::vm::job::{RECORDED, RESULTS_DIR};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Does what the arguments say, and gives the command's exit code; `None` if they ask for something else.
pub fn run(arguments: &[String]) -> Option<Result<u8, GuestError>> {
    match arguments {
        [mode, events, command @ ..] if mode == RECORDED => Some(record(events, command)),
        _ => None,
    }
}

fn record(events: &str, command: &[String]) -> Result<u8, GuestError> {
    let events: EventSet = events.parse().map_err(GuestError::new)?;
    let options = RecordOptions { events, ..RecordOptions::new(Path::new(RESULTS_DIR).join(RECORDING_DIR)) };
    let until = Until { duration: None, command: command.iter().map(Into::into).collect() };
    let conducted = conduct(&options, &until, &mut |_| {}).map_err(|error| GuestError::new(error.to_string()))?;
    if let Some(failure) = conducted.summary.failure {
        return Err(GuestError::new(format!("recording: {failure}")));
    }
    let status = conducted.command.ok_or_else(|| GuestError::new("the recording ended before the command"))?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}
