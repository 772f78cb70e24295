//! The test: three passes of allocations that are kept to the end of each.

use super::{END, LOADED, MIB, MS, Parameters, REMOVED, REST, TREES, file_of, tasks};
use crate::bounds::{Percent, within};
use crate::rounds::Script;
use crate::{GfpClass, HandleId, Op, Scale};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the allocations.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// Order of a block.
    #[serde(deserialize_with = "within::<_, 0, MOST_ORDER>")]
    pub order: u8,
    /// What the allocator may do for it.
    pub gfp: GfpClass,
    /// What is asked for in a pass, percent of memory.
    pub percent: Percent,
    /// Rate, MiB a second.
    pub mib_per_second: NonZero<u32>,
    /// Seconds that the builds go on before the first pass.
    pub settle_seconds: u32,
}

/// No machine has larger blocks.
const MOST_ORDER: u32 = pagealloc::MAX_ORDER_LIMIT as u32;
/// Passes; the last one at rest.
pub(super) const PASSES: u32 = 3;
/// Pause between two passes.
const BETWEEN: u64 = 5_000 * MS;
const HANDLE: HandleId = HandleId(0);
/// Tree whose only file fills memory with page cache.
const FILLER: u64 = 0;

impl Passes {
    pub(super) fn scale(&mut self, scale: Scale) {
        self.settle_seconds = scale.of_u32(self.settle_seconds);
    }
}

/// The test.
#[derive(Clone)]
pub(super) struct Tester {
    parameters: Passes,
    tasks: u32,
    memory: u64,
    block: u64,
    pass: u16,
}

impl Tester {
    pub fn new(parameters: &Parameters, memory: u64, page: u64) -> Tester {
        let block = page << parameters.passes.order;
        Tester { parameters: parameters.passes, tasks: tasks(parameters), memory, block, pass: 0 }
    }

    /// Attempts at the benchmark's rate: a pause of whole milliseconds before each.
    fn attempts(&self, ops: &mut Vec<Op>) {
        let Passes { order, gfp, percent, mib_per_second, .. } = self.parameters;
        let per_ms = u64::from(mib_per_second.get()) * MIB / 1_000;
        let pause = Op::Sleep { nanos: self.block / per_ms.max(1) * MS };
        for _ in 0..percent.of(self.memory / self.block) {
            ops.extend([pause, Op::Begin { label: self.pass }]);
            ops.extend([Op::KernelPages { handle: HANDLE, order, gfp, count: 1 }, Op::End]);
        }
        ops.extend([Op::Close { handle: HANDLE }, Op::Sleep { nanos: BETWEEN }]);
    }

    /// The load ends, and memory is made as free as can be: filled with page cache, which is dropped.
    fn come_to_rest(&self, ops: &mut Vec<Op>) {
        ops.push(Op::Meet { number: REMOVED, tasks: self.tasks });
        let file = file_of(FILLER, 0);
        ops.push(Op::Create { file });
        let pieces = || (0..self.memory / MIB).map(|piece| piece * MIB);
        ops.extend(pieces().map(|offset| Op::Write { file, offset, bytes: MIB }));
        ops.extend(pieces().map(|offset| Op::Read { file, offset, bytes: MIB }));
        ops.extend([Op::Unlink { file }, Op::SyncAll, Op::DropCaches, Op::Mark { label: REST }]);
    }
}

impl Script for Tester {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        ops.push(Op::Meet { number: TREES, tasks: self.tasks });
        ops.push(Op::Sleep { nanos: u64::from(self.parameters.settle_seconds) * 1_000 * MS });
        ops.push(Op::Mark { label: LOADED });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let last = PASSES as u16 - 1;
        if self.pass == last {
            self.come_to_rest(ops);
        }
        match self.pass {
            pass if pass <= last => self.attempts(ops),
            _ => ops.push(Op::Sleep { nanos: BETWEEN }),
        }
        if self.pass == last {
            ops.push(Op::Mark { label: END });
        }
        self.pass = self.pass.saturating_add(1);
        true
    }
}
