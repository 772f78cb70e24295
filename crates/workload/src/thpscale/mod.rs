//! `thpscale`: can huge pages be had where half of each block is free?
//!
//! Threads fill most of memory, give back half of every 2 MiB, read a file that takes some of the holes, and then write memory
//! a huge page at a time, with the time taken. Movable memory only: a test of compaction. After mmtests' benchmark of this name;
//! its file is mapped, here it is read.

use crate::bounds::Percent;
use crate::drive::Program;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::rounds::{Script, program, quota};
use crate::{Access, Advice, FileId, Measure, Op, RegionId, Root, RunReport, Spawn, Workload, timed_faults};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Threads; here, processes.
    pub threads: NonZero<u16>,
    /// What they fill together, percent of memory.
    pub percent: Percent,
    /// What is written and timed at once, and of which half is given back, KiB.
    pub unit_kib: NonZero<u32>,
    /// `MADV_HUGEPAGE` for what is written with the time taken.
    pub madvise: bool,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
struct Thpscale {
    parameters: Parameters,
    memory: u64,
    seed: u64,
}

const LABELS: [&str; 3] = ["fault", "measure", "end"];
const FAULT: u16 = 0;
const MEASURE: u16 = 1;
const END: u16 = 2;
/// Meetings: files are written; caches are dropped; holes are made.
const WRITTEN: u16 = 0;
const DROPPED: u16 = 1;
const PUNCHED: u16 = 2;

impl Kind for Parameters {
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload> {
        Box::new(Thpscale { parameters: *self, memory: machine.memory(), seed })
    }
}

impl Workload for Thpscale {
    fn roots(&self) -> Vec<Root> {
        let root = |index| {
            let spawn = Spawn::root(index, 0, index.into(), self.seed);
            Root { spawn, quota: quota(Thread::new(self, &spawn), 0) }
        };
        (0..self.parameters.threads.get()).map(root).collect()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        program(Thread::new(self, spawn))
    }

    fn roles(&self) -> Vec<&str> {
        vec!["thread"]
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        timed_faults::measures(run, FAULT, self.parameters.threads.get())
    }
}

/// A thread.
#[derive(Clone)]
struct Thread {
    number: u64,
    parameters: Parameters,
    /// Units that it fills.
    units: u64,
}

impl Thread {
    fn new(workload: &Thpscale, spawn: &Spawn) -> Thread {
        let parameters = workload.parameters;
        let bytes = parameters.percent.of(workload.memory) / u64::from(parameters.threads.get());
        let unit = u64::from(parameters.unit_kib.get()) << 10;
        Thread { number: spawn.argument, parameters, units: (bytes / unit).max(4) }
    }

    fn unit(&self) -> u64 {
        u64::from(self.parameters.unit_kib.get()) << 10
    }

    fn meet(&self, number: u16) -> Op {
        Op::Meet { number, tasks: self.parameters.threads.get().into() }
    }

    /// The file is on the disk, and memory is empty.
    fn prepare(&self, ops: &mut Vec<Op>) {
        let file = FileId(self.number as u32);
        ops.push(Op::Create { file });
        ops.extend(self.pieces().map(|offset| Op::Write { file, offset, bytes: self.unit() }));
        ops.extend([Op::SyncAll, self.meet(WRITTEN)]);
        if self.number == 0 {
            ops.push(Op::DropCaches);
        }
        ops.push(self.meet(DROPPED));
    }

    /// Pieces of the file: a quarter of what the thread fills.
    fn pieces(&self) -> impl Iterator<Item = u64> + use<> {
        let unit = self.unit();
        (0..self.units / 4).map(move |piece| piece * unit)
    }
}

impl Script for Thread {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        const FILLED: RegionId = RegionId(0);
        const TIMED: RegionId = RegionId(1);
        let (unit, bytes) = (self.unit(), self.unit() * self.units);
        self.prepare(ops);
        ops.push(Op::Map { region: FILLED, bytes });
        ops.push(Op::Touch { region: FILLED, offset: 0, bytes, access: Access::Write });
        ops.extend((0..self.units).map(|nth| Op::Unmap { region: FILLED, offset: nth * unit, bytes: unit / 2 }));
        ops.push(Op::Map { region: TIMED, bytes: bytes / 2 });
        if self.parameters.madvise {
            ops.push(Op::Advise { region: TIMED, advice: Advice::HugePage });
        }
        let file = FileId(self.number as u32);
        ops.extend(self.pieces().map(|offset| Op::Read { file, offset, bytes: unit }));
        ops.extend([self.meet(PUNCHED), Op::Mark { label: MEASURE }]);
        timed_faults::write_units(ops, FAULT, TIMED, unit, self.units / 2);
        ops.push(Op::Mark { label: END });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        const PAUSE: u64 = 100_000_000;
        ops.push(Op::Sleep { nanos: PAUSE });
        true
    }
}
