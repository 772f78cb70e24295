//! Running the task, with the duties of process 1: whoever loses its parent is reaped.

use crate::error::{Doing, GuestError};
use linux::vm::job::{RESULTS_DIR, RESULTS_VARIABLE, SCRATCH_DIR, STDERR_FILE, STDOUT_FILE, Task};
use rustix::process::{Pid, WaitOptions, WaitStatus};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the task to its end and gives its exit code.
pub fn run(task: &Task) -> Result<i32, GuestError> {
    let mut command = match task {
        Task::Command { argv, env } => {
            let mut command = in_environment(argv)?;
            command.envs(env.iter().map(|(name, value)| (name, value)));
            command.stdin(Stdio::null()).stdout(output(STDOUT_FILE)?).stderr(output(STDERR_FILE)?);
            command
        }
        // The console has no controlling terminal, without which a shell has no job control: busybox finds one.
        Task::Shell => in_environment(&["busybox", "setsid", "cttyhack", "sh"].map(str::to_owned))?,
    };
    let child = command.spawn().doing(|| format!("starting {}", command.get_program().display()))?;
    let pid = Pid::from_child(&child);
    loop {
        let (ended, status) = rustix::process::wait(WaitOptions::empty())
            .doing(|| "waiting for the task".to_owned())?
            .ok_or_else(|| GuestError::new("the task vanished"))?;
        if ended == pid {
            return Ok(exit_code(status));
        }
    }
}

fn in_environment(argv: &[String]) -> Result<Command, GuestError> {
    let [program, arguments @ ..] = argv else { return Err(GuestError::new("the plan's command is empty")) };
    let directory = if Path::new(SCRATCH_DIR).exists() { SCRATCH_DIR } else { "/" };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/bin:/files")
        .env("HOME", "/")
        .env("TERM", "linux")
        .env(RESULTS_VARIABLE, RESULTS_DIR);
    Ok(command)
}

fn output(name: &str) -> Result<File, GuestError> {
    let path = Path::new(RESULTS_DIR).join(name);
    fs::File::create(&path).doing(|| format!("creating {}", path.display()))
}

fn exit_code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
