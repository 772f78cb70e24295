//! A task as a real process: operations as system calls.

use super::channels::Channels;
use super::files::Files;
use super::memory::Memory;
use super::process::{self, End};
use super::shared::Shared;
use super::{clock, reports};
use rustix::io::Errno as OsErrno;
use std::collections::BTreeMap;
use std::future::{Future, ready as at_once};
use std::os::fd::BorrowedFd;
use std::path::Path;
use workload::{Errno, Op, Spawn, System, Touched, Workload, drive, ready};

/// A process of the run. A forked child goes on with its copy.
pub struct Task<'r> {
    run: Run<'r>,
    /// Which root this is, or nothing if it isn't one.
    root: Option<usize>,
    memory: Memory,
    files: Files,
    channels: Channels,
    children: Vec<libc::pid_t>,
    /// When the last beat was due.
    beat: u64,
}

/// What all processes of a run know.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// The shared page.
    pub shared: &'static Shared,
    /// The workload.
    pub workload: &'r dyn Workload,
    /// Where reports go.
    pub reports: BorrowedFd<'r>,
}

impl<'r> Task<'r> {
    /// A process that has nothing yet, working in this directory.
    ///
    /// # Errors
    /// If the directory can't be opened.
    pub fn new(run: Run<'r>, scratch: &Path) -> std::io::Result<Task<'r>> {
        Ok(Task {
            run,
            root: None,
            memory: Memory::new(),
            files: Files::in_dir(scratch)?,
            channels: Channels::new(),
            children: Vec::new(),
            beat: clock::now(),
        })
    }

    /// Starts a root in a process of its own.
    ///
    /// # Errors
    /// If it can't be forked.
    pub fn start_root(&mut self, index: usize, spawn: &Spawn, quota: u64) -> std::io::Result<libc::pid_t> {
        process::fork(|| {
            process::volunteer_for_oom();
            self.root = Some(index);
            self.live(spawn, Some(quota));
        })
    }

    /// A task's life, from its first operation to its report.
    fn live(&mut self, spawn: &Spawn, quota: Option<u64>) {
        self.children.clear();
        self.files.forked();
        self.beat = clock::now();
        let program = self.run.workload.program(spawn);
        let report = ready(drive(self, spawn, program, quota));
        self.wait();
        // Whoever should read it is gone, and so is the run.
        let _ = reports::send(self.run.reports, &report);
    }

    /// Waits for all children.
    fn wait(&mut self) {
        for pid in std::mem::take(&mut self.children) {
            if process::wait(pid).is_ok_and(|end| end == End::Killed) {
                self.run.shared.count_killed();
            }
        }
    }

    fn fork(&mut self, child: Spawn) -> Result<(), OsErrno> {
        let forked = process::fork(|| {
            self.root = None;
            self.live(&child, None);
        });
        self.children.push(forked.map_err(|error| OsErrno::from_io_error(&error).unwrap_or(OsErrno::AGAIN))?);
        Ok(())
    }

    /// Keeps a beat: see [`Op::Pace`].
    fn pace(&mut self, nanos: u64) {
        let now = clock::now();
        let due = self.beat.saturating_add(nanos);
        self.run.shared.sleep(due.saturating_sub(now));
        self.beat = due.max(now);
    }

    fn act(&mut self, op: &Op) -> Result<Touched, OsErrno> {
        match *op {
            Op::Touch { region, offset, bytes, access } => {
                return Ok(Touched { huge: self.memory.touch(region, offset, bytes, access)? });
            }
            Op::Map { region, bytes } => self.memory.map(region, bytes)?,
            Op::MapFile { region, file, bytes, mapping } => {
                self.memory.map_file(region, self.files.open_to_map(file)?, bytes, mapping)?;
            }
            Op::Advise { region, advice } => self.memory.advise(region, advice)?,
            Op::Unmap { region, offset, bytes } => self.memory.unmap(region, offset, bytes)?,
            Op::Fork(child) => self.fork(child)?,
            Op::Wait => self.wait(),
            Op::Create { file } => self.files.create(file)?,
            Op::Write { file, offset, bytes } => self.files.write(file, offset, bytes)?,
            Op::Read { file, offset, bytes } => self.files.read(file, offset, bytes)?,
            Op::Sync { file } => self.files.sync(file)?,
            Op::Unlink { file } => self.files.unlink(file)?,
            Op::Lookup { name, count } => self.files.lookup(name, count)?,
            Op::Pipe { handle, bytes } => self.channels.pipe(handle, bytes)?,
            Op::Socket { handle, bytes } => self.channels.socket(handle, bytes)?,
            Op::Ring { handle, order, blocks } => self.channels.ring(handle, order, blocks)?,
            Op::Close { handle } => self.channels.close(handle)?,
            Op::Sleep { nanos } => self.run.shared.sleep(nanos),
            Op::Pace { nanos } => self.pace(nanos),
            Op::Compute { nanos } => compute(nanos, self.run.shared),
            Op::Open { handle, file } => {
                self.channels.check_new(handle)?;
                self.channels.hold(handle, self.files.open_held(file)?);
            }
            Op::Meet { number, tasks } => self.run.shared.meet(number, tasks),
            // No system call leaves a caller with pages of the kernel's and says whether their order was to be had.
            Op::KernelPages { .. } => return Err(OsErrno::NOTSUP),
            Op::CreateMany { directory, first, count } => self.files.create_many(directory, first, count)?,
            Op::DropCaches => drop_caches()?,
            Op::SyncAll => rustix::fs::sync(),
            Op::Begin { .. } | Op::End | Op::Mark { .. } | Op::For { .. } | Op::Done => {}
        }
        Ok(Touched::default())
    }
}

impl System for Task<'_> {
    fn perform(&mut self, op: &Op) -> impl Future<Output = Result<Touched, Errno>> {
        at_once(self.act(op).map_err(|error| Errno(error.raw_os_error())))
    }

    fn now(&self) -> u64 {
        clock::now()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
        let line =
            |line: &str| line.split_once(' ').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
        text.lines().filter_map(line).collect()
    }

    fn over(&self) -> bool {
        self.run.shared.over()
    }

    fn quota_done(&mut self) {
        if let Some(root) = self.root {
            self.run.shared.quota_done(root);
        }
    }
}

/// Drops clean page cache, dentries and inodes; needs root.
fn drop_caches() -> Result<(), OsErrno> {
    let done = std::fs::write("/proc/sys/vm/drop_caches", "3");
    done.map_err(|error| OsErrno::from_io_error(&error).unwrap_or(OsErrno::ACCESS))
}

/// Rounds of arithmetic between two looks at the clock, a system call each.
const ROUNDS: u32 = 4096;

/// Uses this much CPU time.
fn compute(nanos: u64, shared: &Shared) {
    let until = clock::cpu_time().saturating_add(nanos);
    let mut word = 1u64;
    while clock::cpu_time() < until && !shared.over() {
        for _ in 0..ROUNDS {
            word = std::hint::black_box(word.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1);
        }
    }
}
