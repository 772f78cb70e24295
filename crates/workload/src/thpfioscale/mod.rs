//! `thpfioscale`: can huge pages be had while many small files are written inefficiently and read at random?
//!
//! fio's jobs write 64 KiB files of 150 % of memory together, a block of each file in turn, and keep all of them open. Then
//! they read random files, and go on doing so while threads write memory a huge page at a time, with the time taken. After
//! mmtests' benchmark of this name as it was in November 2018.

mod faults;
mod fio;

use crate::bounds::Percent;
use crate::drive::Program;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::rounds::{program, quota};
use crate::{Measure, Root, RunReport, Spawn, Workload, timed_faults};
use serde::Deserialize;
use std::num::NonZero;

pub use faults::Faults;
pub use fio::Files;

/// Parameters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// fio's jobs and their files.
    pub files: Files,
    /// The threads that want huge pages.
    pub faults: Faults,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
struct Thpfioscale {
    parameters: Parameters,
    memory: u64,
    nodes: u64,
    seed: u64,
}

const ROLES: [&str; 2] = ["fio", "thp"];
const FIO: u16 = 0;

const LABELS: [&str; 3] = ["fault", "measure", "end"];
/// Each 2 MiB that are written.
const FAULT: u16 = 0;
/// The threads begin.
const MEASURE: u16 = 1;
/// They are done.
const END: u16 = 2;

/// All files are written.
const WRITTEN: u16 = 0;
/// The readers have read for long enough; the threads may begin.
const WARM: u16 = 1;

impl Kind for Parameters {
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload> {
        let nodes = u64::from(machine.nodes.get());
        Box::new(Thpfioscale { parameters: *self, memory: machine.memory(), nodes, seed })
    }

    /// The number of a job is a byte of its files' numbers, that of a task has two.
    fn check(&self) -> Result<(), String> {
        const MOST_JOBS: u16 = 256;
        let jobs = self.files.jobs.get();
        if self.files.block_kib > self.files.file_kib {
            let (block, file) = (self.files.block_kib, self.files.file_kib);
            return Err(format!("a block of {block} KiB is larger than a file of {file} KiB"));
        }
        match jobs <= MOST_JOBS && Thpfioscale::tasks(self) <= u16::MAX.into() {
            true => Ok(()),
            false => Err(format!("{jobs} jobs are more than {MOST_JOBS}, or more than 65535 tasks with the threads")),
        }
    }
}

impl Thpfioscale {
    fn job(&self, spawn: &Spawn) -> fio::Job {
        fio::Job::new(&self.parameters, self.memory, spawn)
    }

    fn thread(&self) -> faults::Thread {
        faults::Thread::new(&self.parameters, self.memory / self.nodes)
    }

    /// Tasks that meet before the measurement.
    fn tasks(parameters: &Parameters) -> u32 {
        u32::from(parameters.files.jobs.get()) + u32::from(parameters.faults.threads.get())
    }
}

impl Workload for Thpfioscale {
    fn roots(&self) -> Vec<Root> {
        let (jobs, threads) = (self.parameters.files.jobs.get(), self.parameters.faults.threads.get());
        let root = |index: u16| {
            let spawn = Spawn::root(index, u16::from(index >= jobs), u64::from(index), self.seed);
            let quota = match spawn.role {
                FIO => {
                    let job = self.job(&spawn);
                    quota(job.clone(), job.rounds())
                }
                _ => quota(self.thread(), 0),
            };
            Root { spawn, quota }
        };
        (0..jobs + threads).map(root).collect()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        match spawn.role {
            FIO => program(self.job(spawn)),
            _ => program(self.thread()),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        timed_faults::measures(run, FAULT, self.parameters.faults.threads.get())
    }
}

/// Bytes of a KiB.
const KIB: u64 = 1 << 10;

/// A share of something that may be larger than it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Ratio(NonZero<u16>);

impl Ratio {
    fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0.get()) / 100) as u64
    }
}

/// A share in percent of a node's memory.
type Share = Percent;
