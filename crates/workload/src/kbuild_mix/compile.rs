//! Compiler slots: fork, grow an anonymous arena, read headers, sometimes fork again, write an object file, exit.

use super::{AS, CC, FILES_OF_A_ROOT, KIB, MIB, file_of};
use crate::bounds::{Between, Percent};
use crate::random::Random;
use crate::rounds::Script;
use crate::{Access, Op, RegionId, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the compilers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Compilers {
    /// Slots: compilers that run at the same time.
    pub slots: u16,
    /// Compilations that each slot owes.
    pub rounds: u32,
    /// Smallest arena, KiB.
    pub arena_min_kib: NonZero<u32>,
    /// Largest arena, percent of memory.
    pub arena_max_percent: Percent,
    /// Steps in which an arena grows; a header is read after each.
    pub steps: NonZero<u32>,
    /// Headers of each slot.
    pub headers: u32,
    /// Smallest and largest header, KiB.
    pub header_kib: Between,
    /// Smallest and largest object file, KiB.
    pub object_kib: Between,
    /// Object files of each slot; then the first is written anew.
    pub objects: NonZero<u32>,
    /// Percent of compilers that fork an assembler, which grows to a quarter of their size.
    pub fork_again_percent: Percent,
    /// Pause between two compilations of a slot, milliseconds.
    pub pause_ms: u32,
}

/// First of the numbers of a slot's object files, after its headers.
const FIRST_OBJECT: u64 = 1 << 20;

impl Compilers {
    /// Headers, object files and mappings have numbers of their own.
    pub(super) fn check(&self) -> Result<(), String> {
        let most = [FIRST_OBJECT, FILES_OF_A_ROOT - FIRST_OBJECT, FIRST_OF_CHILD as u64];
        let given = [self.headers, self.objects.get(), self.steps.get()].map(u64::from);
        let wrong =
            ["headers", "objects", "steps"].into_iter().zip(given).zip(most).find(|((_, given), most)| given > most);
        wrong.map_or(Ok(()), |((name, given), most)| {
            Err(format!("{given} {name} of a compiler slot are more than {most}"))
        })
    }
}

/// A slot: makes its headers, then runs one compiler after the other.
#[derive(Clone)]
pub struct Make {
    parameters: Compilers,
    largest_kib: u64,
    spawn: Spawn,
    random: Random,
    compiled: u64,
}

impl Make {
    /// A slot on a machine with this much memory.
    pub fn new(parameters: Compilers, memory: u64, spawn: &Spawn) -> Make {
        let smallest_kib = u64::from(parameters.arena_min_kib.get());
        let largest_kib = parameters.arena_max_percent.of(memory / KIB).max(smallest_kib);
        Make { parameters, largest_kib, spawn: *spawn, random: Random::of(spawn), compiled: 0 }
    }
}

impl Script for Make {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        for number in 0..self.parameters.headers.into() {
            let file = file_of(self.spawn.argument, number);
            let bytes = header_bytes(&self.parameters, &self.spawn, number);
            ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
        }
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let arena_kib = self.random.log_uniform(self.parameters.arena_min_kib.get().into(), self.largest_kib);
        let object = self.compiled % u64::from(self.parameters.objects.get());
        let job = Job { slot: self.spawn.argument, object, arena_kib };
        ops.extend([Op::Fork(self.spawn.child(self.compiled, CC, job.pack())), Op::Wait]);
        ops.push(Op::Sleep { nanos: u64::from(self.parameters.pause_ms) * 1_000_000 });
        self.compiled += 1;
        true
    }
}

/// A header's size: a function of the slot and its number, because compilers must know it as well.
fn header_bytes(parameters: &Compilers, slot: &Spawn, number: u64) -> u64 {
    let Between { low, high } = parameters.header_kib;
    Random::of(&Spawn::root(slot.argument as u16, 0, 0, slot.seed ^ (number + 1) << 20)).log_uniform(low, high) * KIB
}

/// What a compiler is told, in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Job {
    slot: u64,
    object: u64,
    arena_kib: u64,
}

impl Job {
    fn pack(self) -> u64 {
        self.slot << 56 | (self.object & 0xff_ffff) << 32 | (self.arena_kib & 0xffff_ffff)
    }

    fn unpack(argument: u64) -> Job {
        Job { slot: argument >> 56, object: argument >> 32 & 0xff_ffff, arena_kib: argument & 0xffff_ffff }
    }
}

/// A compiler.
#[derive(Clone)]
pub struct Compiler {
    parameters: Compilers,
    spawn: Spawn,
    random: Random,
    done: bool,
}

impl Compiler {
    /// The compiler of this spawn.
    pub fn new(parameters: Compilers, spawn: &Spawn) -> Compiler {
        Compiler { parameters, spawn: *spawn, random: Random::of(spawn), done: false }
    }
}

impl Script for Compiler {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.done {
            return false;
        }
        self.done = true;
        let Compilers { steps, headers, object_kib, fork_again_percent, .. } = self.parameters;
        let steps = u64::from(steps.get());
        let job = Job::unpack(self.spawn.argument);
        let forks_after = self.random.chance(fork_again_percent.number()).then(|| self.random.below(steps));
        for (step, piece) in pieces(job.arena_kib, steps).enumerate() {
            grow(ops, step, piece);
            if headers > 0 {
                let number = self.random.below(headers.into());
                let slot = Spawn::root(job.slot as u16, 0, job.slot, self.spawn.seed);
                let bytes = header_bytes(&self.parameters, &slot, number);
                ops.push(Op::Read { file: file_of(job.slot, number), offset: 0, bytes });
            }
            if forks_after == Some(step as u64) {
                ops.extend([Op::Fork(self.spawn.child(0, AS, job.arena_kib / 4)), Op::Wait]);
            }
        }
        let file = file_of(job.slot, FIRST_OBJECT + job.object);
        let bytes = self.random.log_uniform(object_kib.low, object_kib.high) * KIB;
        ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
        true
    }
}

/// What a compiler forks: grows by a MiB at a time, and exits.
#[derive(Clone)]
pub struct Assembler {
    arena_kib: u64,
    done: bool,
}

impl Assembler {
    /// The assembler of this spawn.
    pub fn new(spawn: &Spawn) -> Assembler {
        Assembler { arena_kib: spawn.argument, done: false }
    }
}

/// Numbers of an assembler's mappings: those below are its parent's.
const FIRST_OF_CHILD: usize = 1 << 16;

impl Script for Assembler {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if self.done {
            return false;
        }
        self.done = true;
        let steps = (self.arena_kib * KIB).div_ceil(MIB).max(1);
        for (step, piece) in pieces(self.arena_kib, steps).enumerate() {
            grow(ops, FIRST_OF_CHILD + step, piece);
        }
        true
    }
}

/// Cuts an arena into pieces of whole pages: an arena grows as an allocator grows it, with mappings below the huge page size.
fn pieces(arena_kib: u64, steps: u64) -> impl Iterator<Item = u64> {
    let pages = (arena_kib / 4).max(1);
    let each = pages.div_ceil(steps.max(1));
    (0..pages).step_by(each as usize).map(move |first| each.min(pages - first) * 4 * KIB)
}

fn grow(ops: &mut Vec<Op>, number: usize, bytes: u64) {
    let region = RegionId(number as u32);
    ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_fits_one_number() {
        let job = Job { slot: 2, object: 77, arena_kib: 52_428 };
        assert_eq!(Job::unpack(job.pack()), job);
    }

    #[test]
    fn pieces_make_up_the_arena() {
        for (kib, steps) in [(1024, 32), (52_428, 32), (4, 32), (1000, 7)] {
            assert_eq!(pieces(kib, steps).sum::<u64>(), kib / 4 * 4 * KIB, "{kib} in {steps}");
            assert!(pieces(kib, steps).count() as u64 <= steps);
        }
    }
}
