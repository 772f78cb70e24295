//! `dd bs=1M conv=fdatasync`: one stream of writes, and what it takes until it is on the disk.

use super::{FILE, IO, KIB, Parameters};
use crate::rounds::Script;
use crate::{Op, Spawn};

#[derive(Clone)]
pub(super) struct Writer {
    bytes: u64,
    block: u64,
    settle: u64,
    meeting: u16,
    written: bool,
}

impl Writer {
    pub fn new(parameters: &Parameters, spawn: &Spawn) -> Writer {
        let block = u64::from(parameters.block_kib.get()) * KIB;
        Writer {
            // dd counts whole blocks.
            bytes: parameters.io_bytes(spawn.argument as u16) / block * block,
            block,
            settle: u64::from(parameters.settle_ms) * 1_000_000,
            meeting: (spawn.argument >> 16) as u16,
            written: false,
        }
    }
}

impl Script for Writer {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if std::mem::replace(&mut self.written, true) {
            return false;
        }
        ops.push(Op::Meet { number: self.meeting, tasks: 2 });
        if self.bytes == 0 {
            return true;
        }
        ops.extend([Op::Sleep { nanos: self.settle }, Op::For { label: IO, nanos: i64::MAX as u64 }]);
        ops.push(Op::Create { file: FILE });
        let blocks = (0..self.bytes).step_by(self.block as usize);
        ops.extend(blocks.map(|offset| Op::Write { file: FILE, offset, bytes: self.block }));
        ops.extend([Op::Sync { file: FILE }, Op::Done]);
        true
    }
}
