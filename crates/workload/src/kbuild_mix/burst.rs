//! Bursts: map, ask for huge pages, write unit by unit with the time taken, unmap; on a beat.

use super::{KIB, MIB};
use crate::rounds::Script;
use crate::{Access, Advice, Op, RegionId};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the bursts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Size, MiB; 0 for none.
    pub mib: u32,
    /// What is written and timed at once, KiB.
    pub unit_kib: NonZero<u32>,
    /// Time from the start of one to the start of the next, milliseconds.
    pub period_ms: u32,
    /// Bursts that are owed.
    pub rounds: u32,
}

/// Who makes the bursts.
#[derive(Clone)]
pub struct Process(Bursts);

impl Process {
    /// The process.
    pub fn new(parameters: Bursts) -> Process {
        Process(parameters)
    }
}

impl Script for Process {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let (region, bytes) = (RegionId(0), u64::from(self.0.mib) * MIB);
        ops.push(Op::Pace { nanos: u64::from(self.0.period_ms) * 1_000_000 });
        ops.extend([Op::Map { region, bytes }, Op::Advise { region, advice: Advice::HugePage }]);
        ops.push(Op::Begin { label: 0 });
        let unit = u64::from(self.0.unit_kib.get()) * KIB;
        for offset in (0..bytes).step_by(unit as usize) {
            let bytes = unit.min(bytes - offset);
            ops.push(Op::Touch { region, offset, bytes, access: Access::Write });
        }
        ops.extend([Op::End, Op::Unmap { region, offset: 0, bytes }]);
        true
    }
}
