//! The resident process: holds a share of memory; reads a piece of it, and gives back and takes anew another one, at a time.

use super::KIB;
use crate::bounds::Percent;
use crate::random::Random;
use crate::rounds::Script;
use crate::{Access, Op, RegionId, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the resident process.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Resident {
    /// Its size, percent of memory; 0 for none.
    pub percent: Percent,
    /// Size of a piece, KiB.
    pub piece_kib: NonZero<u32>,
    /// Pieces that it owes to turn over, with as many to read.
    pub rounds: u32,
    /// Pause after each, milliseconds.
    pub pause_ms: u32,
}

/// The resident process.
#[derive(Clone)]
pub struct Process {
    parameters: Resident,
    random: Random,
    pieces: u64,
}

fn piece_bytes(parameters: &Resident) -> u64 {
    u64::from(parameters.piece_kib.get()) * KIB
}

impl Process {
    /// The process on a machine with this much memory.
    pub fn new(parameters: Resident, memory: u64, spawn: &Spawn) -> Process {
        let pieces = parameters.percent.of(memory) / piece_bytes(&parameters);
        Process { parameters, random: Random::of(spawn), pieces: pieces.max(1) }
    }

    fn take(&self, ops: &mut Vec<Op>, piece: u64) {
        let (region, bytes) = (RegionId(piece as u32), piece_bytes(&self.parameters));
        ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
    }
}

impl Script for Process {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        for piece in 0..self.pieces {
            self.take(ops, piece);
        }
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        // One piece is needed again, wherever it is by now, and another one is given back and taken anew.
        let (region, bytes) = (RegionId(self.random.below(self.pieces) as u32), piece_bytes(&self.parameters));
        ops.push(Op::Touch { region, offset: 0, bytes, access: Access::Read });
        let piece = self.random.below(self.pieces);
        ops.push(Op::Unmap { region: RegionId(piece as u32), offset: 0, bytes: piece_bytes(&self.parameters) });
        self.take(ops, piece);
        ops.push(Op::Sleep { nanos: u64::from(self.parameters.pause_ms) * 1_000_000 });
        true
    }
}
