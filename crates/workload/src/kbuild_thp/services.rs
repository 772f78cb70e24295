//! What else runs on the machine: services that have started and wait.

use super::{MIB, Parameters};
use crate::rounds::Script;
use crate::{Access, Op, RegionId};

/// Memory that is written once, in mappings smaller than a huge page, and waits to be swapped out.
pub struct Services {
    mib: u64,
}

impl Services {
    pub fn new(parameters: Parameters) -> Services {
        Services { mib: parameters.services_mib.into() }
    }
}

impl Script for Services {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        for number in 0..self.mib {
            let (region, bytes) = (RegionId(number as u32), MIB);
            ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
        }
    }

    /// A timer wakes one of them and it looks at a piece of what it has.
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        const MINUTE: u64 = 60_000_000_000;
        ops.push(Op::Sleep { nanos: MINUTE });
        ops.push(Op::Touch { region: RegionId(0), offset: 0, bytes: MIB, access: Access::Read });
        true
    }
}
