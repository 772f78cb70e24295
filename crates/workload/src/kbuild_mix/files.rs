//! File threads: read whole files, read parts of them, rewrite them in place, replace them.

use super::{KIB, file_of};
use crate::bounds::{Between, Percent, Weights};
use crate::random::Random;
use crate::rounds::Script;
use crate::{Op, Spawn};
use serde::Deserialize;

/// Parameters of the file threads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Files {
    /// Threads, each with files of its own.
    pub threads: u16,
    /// Operations that each owes, after it has made its files.
    pub rounds: u32,
    /// Size of all files together, percent of memory.
    pub percent: Percent,
    /// Smallest and largest file, KiB.
    pub size_kib: Between,
    /// How often a file is read, read in part, rewritten, replaced: weights.
    pub weights: Weights<4>,
    /// Pause after each operation, microseconds.
    pub pause_us: u32,
}

/// A file thread.
#[derive(Clone)]
pub struct Worker {
    parameters: Files,
    root: u64,
    random: Random,
    /// Bytes that the files have together at the start.
    total: u64,
    /// Size of each file.
    sizes: Vec<u64>,
}

impl Worker {
    /// A thread on a machine with this much memory.
    pub fn new(parameters: Files, memory: u64, spawn: &Spawn) -> Worker {
        let total = parameters.percent.of(memory) / u64::from(parameters.threads.max(1));
        Worker { parameters, root: spawn.argument, random: Random::of(spawn), total, sizes: Vec::new() }
    }

    fn size(&mut self) -> u64 {
        let Between { low, high } = self.parameters.size_kib;
        self.random.log_uniform(low, high) * KIB
    }
}

impl Script for Worker {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        // One file at least, or there would be nothing to work on.
        let mut left = self.total.max(1);
        while left > 0 {
            let bytes = self.size().min(left);
            left -= bytes;
            let file = file_of(self.root, self.sizes.len() as u64);
            self.sizes.push(bytes);
            ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
        }
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let number = self.random.below(self.sizes.len() as u64);
        let (file, bytes) = (file_of(self.root, number), self.sizes[number as usize]);
        match self.random.weighted(&self.parameters.weights.0) {
            0 => ops.push(Op::Read { file, offset: 0, bytes }),
            1 => {
                let offset = self.random.below(bytes.div_ceil(4 * KIB)) * 4 * KIB;
                ops.push(Op::Read { file, offset, bytes: 16 * KIB });
            }
            2 => ops.push(Op::Write { file, offset: 0, bytes }),
            _ => {
                let bytes = self.size();
                self.sizes[number as usize] = bytes;
                ops.extend([Op::Unlink { file }, Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
            }
        }
        ops.push(Op::Sleep { nanos: u64::from(self.parameters.pause_us) * 1000 });
        true
    }
}
