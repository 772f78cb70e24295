//! fio's jobs: each writes its files a block of each in turn, then reads them at random.

use super::{KIB, Parameters, Ratio, Thpfioscale, WARM, WRITTEN};
use crate::random::Random;
use crate::rounds::Script;
use crate::{FileId, HandleId, Op, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of fio's jobs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Jobs, each with files of its own.
    pub jobs: NonZero<u16>,
    /// Size of all files together, percent of memory.
    pub percent: Ratio,
    /// Size of a file, KiB.
    pub file_kib: NonZero<u16>,
    /// Written or read at once, KiB.
    pub block_kib: NonZero<u16>,
    /// Blocks read before the measurement begins, percent of all blocks.
    pub warmup_percent: Ratio,
}

/// A job.
#[derive(Clone)]
pub(super) struct Job {
    parameters: Files,
    tasks: u32,
    job: u64,
    random: Random,
    files: u64,
    round: u64,
    order: Vec<u64>,
    /// Files that have blocks left to read, as the reader knows: those that it has open it has read.
    pending: Vec<u32>,
    open: Vec<bool>,
}

impl Job {
    pub fn new(parameters: &Parameters, memory: u64, spawn: &Spawn) -> Job {
        let files = parameters.files;
        let total = files.percent.of(memory);
        let count = total / (u64::from(files.file_kib.get()) * KIB) / u64::from(files.jobs.get());
        Job {
            parameters: files,
            tasks: Thpfioscale::tasks(parameters),
            job: spawn.argument,
            random: Random::of(spawn),
            files: count.max(1),
            round: 0,
            order: Vec::new(),
            pending: Vec::new(),
            open: vec![false; count.max(1) as usize],
        }
    }

    /// Blocks of a file, at least one.
    fn blocks(&self) -> u64 {
        u64::from(self.parameters.file_kib.get()).div_ceil(u64::from(self.parameters.block_kib.get()))
    }

    /// Files read before the measurement.
    fn warmup(&self) -> u64 {
        self.parameters.warmup_percent.of(self.files)
    }

    /// Rounds that are owed: a sweep for each block, the change from writing to reading, the warm-up, and the meeting.
    pub fn rounds(&self) -> u32 {
        (self.blocks() + 1 + self.warmup() + 1) as u32
    }

    fn file(&self, number: u64) -> FileId {
        FileId(((self.job as u32) << 24) | (number as u32 & 0xff_ffff))
    }

    fn block(&self, number: u64) -> (u64, u64) {
        let bytes = u64::from(self.parameters.block_kib.get()) * KIB;
        (number * bytes, bytes)
    }

    /// A block of every file. A file is made when it is written for the first time, and stays open.
    fn write_sweep(&self, ops: &mut Vec<Op>, sweep: u64) {
        let (offset, bytes) = self.block(sweep);
        for number in 0..self.files {
            let file = self.file(number);
            if sweep == 0 {
                ops.push(Op::Open { handle: HandleId(number as u32), file });
            }
            ops.push(Op::Write { file, offset, bytes });
        }
    }

    /// The writer ends with all of its files, and the reader begins.
    fn change(&self, ops: &mut Vec<Op>) {
        ops.extend((0..self.files).map(|number| Op::Close { handle: HandleId(number as u32) }));
        ops.extend([Op::SyncAll, Op::Meet { number: WRITTEN, tasks: self.parameters.jobs.get().into() }]);
    }

    /// All blocks of a random file, in random order. A file is opened when it is chosen for the first time; when it is chosen
    /// anew, no block is left that was not read, and it is closed: so fio goes through all files once, then begins again.
    fn read_file(&mut self, ops: &mut Vec<Op>) {
        loop {
            if self.pending.is_empty() {
                self.pending.extend(0..self.files as u32);
            }
            let at = self.random.below(self.pending.len() as u64) as usize;
            let number = self.pending[at];
            let (handle, file) = (HandleId(number), self.file(number.into()));
            if !std::mem::replace(&mut self.open[number as usize], true) {
                ops.push(Op::Open { handle, file });
                return self.read_blocks(ops, file);
            }
            self.open[number as usize] = false;
            self.pending.swap_remove(at);
            ops.push(Op::Close { handle });
        }
    }

    fn read_blocks(&mut self, ops: &mut Vec<Op>, file: FileId) {
        self.order.clear();
        self.order.extend(0..self.blocks());
        for last in (0..self.order.len()).rev() {
            let chosen = self.random.below(last as u64 + 1) as usize;
            self.order.swap(chosen, last);
            let (offset, bytes) = self.block(self.order[last]);
            ops.push(Op::Read { file, offset, bytes });
        }
    }
}

impl Script for Job {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let (written, warm) = (self.blocks(), self.blocks() + 1 + self.warmup());
        match self.round {
            sweep if sweep < written => self.write_sweep(ops, sweep),
            round if round == written => self.change(ops),
            round if round == warm => ops.push(Op::Meet { number: WARM, tasks: self.tasks }),
            _ => self.read_file(ops),
        }
        self.round += 1;
        true
    }
}
