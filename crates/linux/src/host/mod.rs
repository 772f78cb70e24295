//! Scenarios on a real kernel: each task a process, each operation a system call.
//!
//! Nothing here changes a setting of the kernel: sysctls and huge-page settings are made by whoever owns the machine, a guest's
//! init for one. A run needs a scratch directory and as much memory as its scenario says; it runs unprivileged, apart from
//! packet rings.
//!
//! ```no_run
//! use linux::host::{self, Options};
//! use std::{path::PathBuf, time::Duration};
//!
//! let scenario = workload::Scenario::shipped("kbuild-mix").unwrap();
//! let options = Options { scratch: PathBuf::from("scratch"), time_limit: Duration::from_secs(300) };
//! let run = host::run(&*scenario.workload(), &options).unwrap();
//! println!("digest {:x?}", run.report.digest());
//! ```

mod channels;
mod clock;
mod error;
mod files;
mod memory;
mod order;
mod process;
mod reports;
mod shared;
mod task;

pub use error::HostError;
pub use memory::huge_page_size;
pub use order::{LoadOrder, RECORDING_DIR, RUN_FILE};

use process::{End, Signals};
use reports::Inbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shared::Shared;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;
use task::{Run, Task};
use workload::{Root, RunReport, Workload};

/// How a scenario runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory for the scenario's files; made if it isn't there. The run leaves its files in it.
    pub scratch: PathBuf,
    /// The run ends after this time even if tasks have not done their quotas.
    pub time_limit: Duration,
}

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct HostRun {
    /// Reports of its tasks.
    pub report: RunReport,
    /// A signal ended it.
    pub interrupted: bool,
}

/// How long tasks may take for their last operation before they are killed.
const GRACE: Duration = Duration::from_secs(60);
/// How often the run looks after its roots.
const LOOK: Duration = Duration::from_millis(500);

/// Runs a workload. Must be called before the process starts a thread: tasks are forked.
///
/// # Errors
/// [`HostError`], before anything has run.
pub fn run(workload: &dyn Workload, options: &Options) -> Result<HostRun, HostError> {
    match process::threads() {
        1 => {}
        threads => return Err(HostError::Threads(threads)),
    }
    let scratch_error = |source| HostError::Scratch { path: options.scratch.clone(), source };
    fs::create_dir_all(&options.scratch).map_err(scratch_error)?;
    allow_many_files();
    let roots = workload.roots();
    let shared = Shared::map(roots.len())?;
    let signals = Signals::end(shared)?;
    let (reader, writer) = reports::pipe().map_err(HostError::call("making a pipe"))?;
    let all = Run { shared, workload, reports: writer.as_fd() };
    let mut task = Task::new(all, &options.scratch).map_err(scratch_error)?;
    let started = clock::now();
    let mut family = Family { shared, running: start(&mut task, &roots)? };
    drop(task);
    drop(writer);
    let inbox = family.watch(reader.as_fd(), started, options.time_limit)?;
    drop(signals);
    let mut report = RunReport::new(workload, &roots);
    report.tasks = inbox.reports;
    report.killed = shared.killed();
    report.elapsed = clock::now() - started;
    Ok(HostRun { report, interrupted: shared.interrupted() })
}

/// Forks the roots. If one can't be, those before it end again, and their children with them.
fn start(task: &mut Task, roots: &[Root]) -> Result<Vec<(usize, libc::pid_t)>, HostError> {
    let mut running = Vec::new();
    for (index, root) in roots.iter().enumerate() {
        match task.start_root(index, &root.spawn, root.quota) {
            Ok(pid) => running.push((index, pid)),
            Err(source) => {
                for (_, pid) in running {
                    // Nobody reads what they would report: they would wait for room in the pipe.
                    process::kill(pid);
                    let _ = process::wait(pid);
                }
                return Err(HostError::Call { what: "forking a task", source });
            }
        }
    }
    Ok(running)
}

/// The roots that still run.
struct Family {
    shared: &'static Shared,
    running: Vec<(usize, libc::pid_t)>,
}

impl Family {
    /// Takes in reports until the last task has gone, ends the run at its time, and kills who doesn't go.
    fn watch(&mut self, pipe: BorrowedFd, started: u64, limit: Duration) -> Result<Inbox, HostError> {
        let mut inbox = Inbox::default();
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as _ };
        let mut ended_at = None;
        loop {
            let mut ready = [PollFd::new(&pipe, PollFlags::IN)];
            // An interrupted poll looks after the roots a bit earlier.
            if poll(&mut ready, Some(&look)).is_ok_and(|events| events > 0)
                && !inbox.receive(pipe).map_err(HostError::call("reading reports"))?
            {
                break;
            }
            self.reap();
            let elapsed = Duration::from_nanos(clock::now() - started);
            if elapsed >= limit {
                self.shared.end();
            }
            if self.shared.over() && elapsed >= *ended_at.get_or_insert(elapsed) + GRACE {
                self.running.iter().for_each(|(_, pid)| process::kill(*pid));
            }
        }
        // Nobody holds the pipe any more: they are about to end.
        for (root, pid) in std::mem::take(&mut self.running) {
            self.gone(root, process::wait(pid));
        }
        Ok(inbox)
    }

    /// Looks which roots have gone.
    fn reap(&mut self) {
        for (root, pid) in std::mem::take(&mut self.running) {
            match process::ended(pid).transpose() {
                None => self.running.push((root, pid)),
                Some(end) => self.gone(root, end),
            }
        }
    }

    /// A root has gone. One that was killed owes nothing any more.
    fn gone(&self, root: usize, end: io::Result<End>) {
        if end.is_ok_and(|end| end == End::Killed) {
            self.shared.count_killed();
        }
        self.shared.quota_done(root);
    }
}

/// A scenario holds more pipes and sockets than the usual soft limit allows.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it stays low, opening fails and is counted as a failed operation.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
