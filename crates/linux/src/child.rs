//! Processes that this one starts to work for it.

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What is started ends when the thread that starts it does, however that happens: nobody would take its results.
pub fn dying_with_us(command: &mut Command) -> &mut Command {
    let us = getpid();
    let die = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // We may have ended before the kernel was told.
        if getppid() == Some(us) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; prctl and getppid are, and nothing is allocated.
    unsafe { command.pre_exec(die) }
}
