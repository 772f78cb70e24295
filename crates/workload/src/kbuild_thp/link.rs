//! The end of a build: links.

use super::programs::Which;
use super::tree::{Kind, file, measured, read_whole, write_new};
use super::{LD, MIB, Parameters};
use crate::rounds::Script;
use crate::{Access, Op, RegionId, Spawn};

/// A pass of the linker: reads all objects (the first pass) or what the pass before wrote, grows, writes.
pub struct Linker {
    parameters: Parameters,
    spawn: Spawn,
    done: bool,
}

impl Linker {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Linker {
        Linker { parameters, spawn: *spawn, done: false }
    }

    fn read(&self, ops: &mut Vec<Op>) {
        let pass = self.spawn.argument;
        if pass > 0 {
            let bytes = u64::from(self.parameters.link.output_mib.get()) * MIB;
            return read_whole(ops, file(Kind::Linked, pass - 1), bytes);
        }
        for object in 0..self.parameters.tree.sources.get().into() {
            let bytes = measured(&self.parameters.assembler.object_kib, Kind::Object, object, self.spawn.seed);
            read_whole(ops, file(Kind::Object, object), bytes);
        }
    }
}

impl Script for Linker {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if std::mem::replace(&mut self.done, true) {
            return false;
        }
        self.parameters.programs.of(LD, &[Which::Libc, Which::Linker]).map_and_run(ops);
        self.read(ops);
        let link = self.parameters.link;
        let mib = u64::from(link.heap_mib.get());
        // Grown by `malloc` in arenas of some megabytes.
        const ARENA: u64 = 4 * MIB;
        let arenas = (mib * MIB).div_ceil(ARENA);
        for number in 0..arenas {
            let (region, bytes) = (RegionId(1 << 28 | number as u32), ARENA);
            ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
            ops.push(Op::Compute { nanos: u64::from(link.cpu_ms) * 1_000_000 / arenas });
        }
        write_new(ops, file(Kind::Linked, self.spawn.argument), u64::from(link.output_mib.get()) * MIB);
        true
    }
}
