//! Kernel builds: `make` forks gcc, gcc forks cc1 and as; trees of small files, headers that everybody reads, object files.

use super::{AS, CC1, GCC, KIB, MS, Parameters, REMOVED, TREES, file_of, tasks};
use crate::bounds::Between;
use crate::drive::Program;
use crate::random::Random;
use crate::rounds::Script;
use crate::{Access, Op, RegionId, Scale, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters of the builds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Builds {
    /// Builds side by side, each with one job.
    pub builds: NonZero<u8>,
    /// Files of each tree.
    pub files: NonZero<u32>,
    /// Smallest and largest file, KiB.
    pub file_kib: Between,
    /// Files compiled by each build.
    pub compiles: u32,
    /// Headers that a compilation reads.
    pub headers: u32,
    /// Smallest and largest memory of a compiler, KiB.
    pub arena_kib: Between,
    /// CPU time of a compilation, milliseconds.
    pub cpu_ms: NonZero<u32>,
    /// Smallest and largest object file, KiB.
    pub object_kib: Between,
}

/// A tenth of the files are headers.
const HEADERS: u64 = 10;
/// First of the numbers of object files.
const FIRST_OBJECT: u64 = 1 << 20;
/// Names that a compilation looks for in vain: include paths.
const ABSENT: u32 = 20;
/// Pieces in which a compiler's memory grows; its CPU time is spent between them.
const STEPS: u64 = 8;

impl Builds {
    pub(super) fn scale(&mut self, scale: Scale) {
        self.files = scale.of_nonzero(self.files);
        self.cpu_ms = scale.of_nonzero(self.cpu_ms);
        self.arena_kib = Between { low: scale.of(self.arena_kib.low), high: scale.of(self.arena_kib.high) };
    }

    fn headers(&self) -> u64 {
        (u64::from(self.files.get()) / HEADERS).max(1)
    }

    /// Size of a file of a tree: the same for whoever asks.
    fn bytes(&self, tree: u64, number: u64, seed: u64) -> u64 {
        let Between { low, high } = self.file_kib;
        Random::of(&Spawn::root(tree as u16, 0, 0, seed ^ (number + 1) << 16)).log_uniform(low, high) * KIB
    }
}

/// `make` in a tree of its own.
#[derive(Clone)]
pub(super) struct Make {
    parameters: Builds,
    tasks: u32,
    spawn: Spawn,
    random: Random,
    compiled: u32,
}

impl Make {
    pub fn new(parameters: &Parameters, spawn: &Spawn) -> Make {
        let random = Random::of(spawn);
        Make { parameters: parameters.builds, tasks: tasks(parameters), spawn: *spawn, random, compiled: 0 }
    }

    /// Rounds that are owed: the compilations, and the removal of the tree.
    pub fn rounds(&self) -> u32 {
        self.parameters.compiles.saturating_add(1)
    }

    fn tree(&self) -> u64 {
        self.spawn.argument
    }

    fn compile(&mut self, ops: &mut Vec<Op>) {
        let Between { low, high } = self.parameters.arena_kib;
        let arena_kib = self.random.log_uniform(low, high);
        let job = Job { tree: self.tree(), number: self.compiled.into(), arena_kib };
        ops.extend([Op::Fork(self.spawn.child(self.compiled.into(), GCC, job.pack())), Op::Wait]);
    }

    fn remove(&self, ops: &mut Vec<Op>) {
        let sources = 0..u64::from(self.parameters.files.get());
        let objects = FIRST_OBJECT..FIRST_OBJECT + u64::from(self.parameters.compiles);
        ops.extend(sources.chain(objects).map(|number| Op::Unlink { file: file_of(self.tree(), number) }));
        ops.push(Op::Meet { number: REMOVED, tasks: self.tasks });
    }
}

impl Script for Make {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        for number in 0..self.parameters.files.get().into() {
            let file = file_of(self.tree(), number);
            let bytes = self.parameters.bytes(self.tree(), number, self.spawn.seed);
            ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
        }
        ops.push(Op::Meet { number: TREES, tasks: self.tasks });
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        const PAUSE: u64 = 1_000 * MS;
        match self.compiled {
            number if number < self.parameters.compiles => self.compile(ops),
            number if number == self.parameters.compiles => self.remove(ops),
            _ => ops.push(Op::Sleep { nanos: PAUSE }),
        }
        self.compiled = self.compiled.saturating_add(1);
        true
    }
}

/// What a compilation is told, in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Job {
    tree: u64,
    number: u64,
    arena_kib: u64,
}

impl Job {
    fn pack(self) -> u64 {
        self.tree << 55 | (self.number & 0x7f_ffff) << 32 | (self.arena_kib & 0xffff_ffff)
    }

    fn unpack(argument: u64) -> Job {
        Job { tree: argument >> 55, number: argument >> 32 & 0x7f_ffff, arena_kib: argument & 0xffff_ffff }
    }
}

/// The operations of gcc, cc1 or as.
pub(super) fn child(parameters: &Builds, spawn: &Spawn) -> Program {
    let job = Job::unpack(spawn.argument);
    let mut ops = Vec::new();
    match spawn.role {
        GCC => gcc(spawn, &mut ops),
        CC1 => cc1(parameters, spawn, job, &mut ops),
        _ => assemble(parameters, spawn, job, &mut ops),
    }
    Box::new(ops.into_iter())
}

/// gcc runs cc1, then as.
fn gcc(spawn: &Spawn, ops: &mut Vec<Op>) {
    for (nth, role) in [(0, CC1), (1, AS)] {
        ops.extend([Op::Fork(spawn.child(nth, role, spawn.argument)), Op::Wait]);
    }
}

/// cc1 reads a source file and headers, and grows meanwhile.
fn cc1(parameters: &Builds, spawn: &Spawn, job: Job, ops: &mut Vec<Op>) {
    let mut random = Random::of(spawn);
    let headers = parameters.headers();
    let sources = (u64::from(parameters.files.get()) - headers).max(1);
    let source = (headers + job.number % sources).min(u64::from(parameters.files.get()) - 1);
    let read = |ops: &mut Vec<Op>, number: u64| {
        let bytes = parameters.bytes(job.tree, number, spawn.seed);
        ops.push(Op::Read { file: file_of(job.tree, number), offset: 0, bytes });
    };
    read(ops, source);
    ops.push(Op::Lookup { name: job.tree << 40 | job.number << 8, count: ABSENT });
    let pages = (job.arena_kib / 4).max(STEPS);
    for step in 0..STEPS {
        let headers_read = |steps: u64| u64::from(parameters.headers) * steps / STEPS;
        for _ in headers_read(step)..headers_read(step + 1) {
            read(ops, random.below(headers));
        }
        grow(ops, step as u32, (pages * (step + 1) / STEPS - pages * step / STEPS) * 4 * KIB);
        ops.push(Op::Compute { nanos: u64::from(parameters.cpu_ms.get()) * MS / STEPS });
    }
}

/// as grows to a quarter of cc1's size and writes the object file.
fn assemble(parameters: &Builds, spawn: &Spawn, job: Job, ops: &mut Vec<Op>) {
    grow(ops, 0, (job.arena_kib / 16).max(1) * 4 * KIB);
    let file = file_of(job.tree, FIRST_OBJECT + job.number);
    let Between { low, high } = parameters.object_kib;
    let bytes = Random::of(spawn).log_uniform(low, high) * KIB;
    ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
}

fn grow(ops: &mut Vec<Op>, number: u32, bytes: u64) {
    let region = RegionId(number);
    ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_fits_one_number() {
        let job = Job { tree: 11, number: 390, arena_kib: 65_536 };
        assert_eq!(Job::unpack(job.pack()), job);
    }
}
