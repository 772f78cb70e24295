//! The threads that want huge pages: each writes half of its mapping, 2 MiB at a time, and keeps it to the end.

use super::{END, FAULT, KIB, MEASURE, Parameters, Share, Thpfioscale, WARM};
use crate::rounds::Script;
use crate::{Advice, Op, RegionId, timed_faults};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the threads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Threads; here, processes.
    pub threads: NonZero<u16>,
    /// What they map together, percent of a node's memory. They write half of it.
    pub percent: Share,
    /// What is written and timed at once, KiB.
    pub unit_kib: NonZero<u32>,
    /// `MADV_HUGEPAGE` for the mapping.
    pub madvise: bool,
}

/// A thread's mapping is rounded up to this.
const ROUND: u64 = 8 << 20;
const REGION: RegionId = RegionId(0);

/// A thread.
#[derive(Clone)]
pub(super) struct Thread {
    parameters: Faults,
    tasks: u32,
    /// What all threads map together.
    total: u64,
}

impl Thread {
    pub fn new(parameters: &Parameters, node_memory: u64) -> Thread {
        let total = parameters.faults.percent.of(node_memory);
        Thread { parameters: parameters.faults, tasks: Thpfioscale::tasks(parameters), total }
    }
}

impl Script for Thread {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        let (threads, unit) =
            (u64::from(self.parameters.threads.get()), u64::from(self.parameters.unit_kib.get()) * KIB);
        let bytes = (self.total / threads).next_multiple_of(ROUND).max(unit);
        ops.extend([Op::Meet { number: WARM, tasks: self.tasks }, Op::Mark { label: MEASURE }]);
        ops.push(Op::Map { region: REGION, bytes });
        if self.parameters.madvise {
            ops.push(Op::Advise { region: REGION, advice: Advice::HugePage });
        }
        timed_faults::write_units(ops, FAULT, REGION, unit, self.total / threads / unit / 2);
        ops.extend([Op::Mark { label: END }, Op::Unmap { region: REGION, offset: 0, bytes }]);
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        const PAUSE: u64 = 100_000_000;
        ops.push(Op::Sleep { nanos: PAUSE });
        true
    }
}
