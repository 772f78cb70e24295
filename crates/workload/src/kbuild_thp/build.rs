//! Builds one after the other, and the slots of `make -j` within one.

use super::compile::{BRK, map_and_write};
use super::programs::Which;
use super::tree::{Kind, Place, file, read_whole, write_new};
use super::vmlinux;
use super::{BUILD, BUILT, CLEAN, KIB, MAKE, MIB, Parameters, RM, RUN, SH, TAR, VMLINUX};
use crate::rounds::Script;
use crate::{Op, RegionId, Spawn};

/// Who builds: one build after the other, each in a tree that was unpacked for it, or in the same one.
pub struct Builds {
    parameters: Parameters,
    spawn: Spawn,
    forked: u64,
    /// Builds so far.
    built: u64,
}

impl Builds {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Builds {
        Builds { parameters, spawn: *spawn, forked: 0, built: 0 }
    }

    fn fork(&mut self, ops: &mut Vec<Op>, role: u16, place: Place) {
        ops.push(Op::Fork(self.spawn.child(self.forked, role, place.argument())));
        self.forked += 1;
    }

    fn fork_and_wait(&mut self, ops: &mut Vec<Op>, role: u16, place: Place) {
        self.fork(ops, role, place);
        ops.push(Op::Wait);
    }

    /// What comes before the build itself: where that is.
    fn prepare(&mut self, ops: &mut Vec<Op>) -> Place {
        let built = self.built;
        self.built += 1;
        let kept = self.parameters.unpack.map_or(1, |unpack| unpack.kept.get().into());
        let place = Place { tree: (built % kept) as u32, number: 0 };
        match self.parameters.unpack {
            Some(_) => {
                if built >= kept {
                    self.fork_and_wait(ops, RM, place);
                }
                self.fork_and_wait(ops, TAR, place);
            }
            None if built == 0 => {}
            None => self.fork_and_wait(ops, CLEAN, place),
        }
        place
    }
}

impl Script for Builds {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        self.parameters.programs.install(ops);
        match self.parameters.unpack {
            Some(unpack) => write_new(ops, file(Kind::Archive, 0), u64::from(unpack.archive_mib.get()) * MIB),
            None => {
                let tree = self.parameters.tree;
                for (kind, number) in tree.files() {
                    write_new(ops, file(kind, number), tree.bytes(kind, number, self.spawn.seed));
                }
            }
        }
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        ops.push(Op::Mark { label: RUN });
        let place = self.prepare(ops);
        ops.push(Op::Mark { label: BUILD });
        let tree = self.parameters.tree;
        for number in 0..tree.makefiles.into() {
            let bytes = tree.bytes(Kind::Makefile, number, self.spawn.seed);
            read_whole(ops, place.at(number).file(Kind::Makefile), bytes);
        }
        for slot in 0..u64::from(self.parameters.jobs.get()) {
            self.fork(ops, MAKE, place.at(slot));
        }
        ops.push(Op::Wait);
        for run in vmlinux::runs() {
            self.fork_and_wait(ops, VMLINUX, place.at(run));
        }
        ops.push(Op::Mark { label: BUILT });
        true
    }
}

/// A slot: every `jobs`-th source, one after the other.
pub struct Make {
    parameters: Parameters,
    spawn: Spawn,
    next: u64,
}

impl Make {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Make {
        Make { parameters, spawn: *spawn, next: Place::of(spawn).number }
    }
}

impl Script for Make {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        self.parameters.programs.of(MAKE, &[Which::Libc, Which::Make]).map_and_run(ops);
        // Grown by `malloc` with the break.
        let bytes = u64::from(self.parameters.make_kib.get()) * KIB;
        for number in 0..bytes.div_ceil(BRK) {
            map_and_write(ops, RegionId(u32::from(MAKE) << 16 | number as u32), BRK);
        }
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let (source, jobs) = (self.next, u64::from(self.parameters.jobs.get()));
        if source >= self.parameters.tree.sources.get().into() {
            return false;
        }
        self.next += jobs;
        let argument = Place::of(&self.spawn).at(source).argument();
        ops.extend([Op::Fork(self.spawn.child(source / jobs, SH, argument)), Op::Wait]);
        true
    }
}
