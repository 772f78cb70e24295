//! `stress-highalloc`: how many blocks of pages can the kernel have, under a load of kernel builds and after it?
//!
//! As many builds as mmtests starts on the machine's memory, each with a tree of its own, go on side by side. Under their load
//! somebody asks for blocks of an order at a steady rate, a share of memory in all, and keeps what it gets: twice. Then the trees
//! are removed, memory is filled with page cache and the caches are dropped, and it asks once more, at rest. After mmtests'
//! benchmark of this name as it was in April 2016, with the order and mask that compaction's developers set by hand.

mod build;
mod passes;

use crate::drive::Program;
use crate::kind::Kind;
use crate::machine::Machine;
use crate::rounds::{program, quota};
use crate::{Better, FileId, Measure, Root, RunReport, Scale, Spawn, Workload};
use serde::Deserialize;

pub use build::Builds;
pub use passes::Passes;

/// Parameters.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The kernel builds.
    pub builds: Builds,
    /// The allocations.
    pub passes: Passes,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
struct StressHighalloc {
    parameters: Parameters,
    memory: u64,
    page: u64,
    seed: u64,
}

const ROLES: [&str; 5] = ["test", "make", "gcc", "cc1", "as"];
const TEST: u16 = 0;
const MAKE: u16 = 1;
const GCC: u16 = 2;
const CC1: u16 = 3;
const AS: u16 = 4;

const LABELS: [&str; 6] = ["pass-1", "pass-2", "pass-3", "loaded", "rest", "end"];
/// From here on, marks: the first pass begins; the load has ended; the end.
const LOADED: u16 = 3;
const REST: u16 = 4;
const END: u16 = 5;

/// The trees are there, and the builds begin.
const TREES: u16 = 0;
/// Builds are done, and the trees are removed.
const REMOVED: u16 = 1;

impl Kind for Parameters {
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload> {
        let page = u64::from(machine.page_kib.kib()) << 10;
        Box::new(StressHighalloc { parameters: *self, memory: machine.memory(), page, seed })
    }

    fn scale(&mut self, scale: Scale) {
        self.builds.scale(scale);
        self.passes.scale(scale);
    }
}

impl StressHighalloc {
    fn tester(&self) -> passes::Tester {
        passes::Tester::new(&self.parameters, self.memory, self.page)
    }

    fn make(&self, spawn: &Spawn) -> build::Make {
        build::Make::new(&self.parameters, spawn)
    }
}

/// Tasks that meet: the builds and the test.
fn tasks(parameters: &Parameters) -> u32 {
    u32::from(parameters.builds.builds.get()) + 1
}

impl Workload for StressHighalloc {
    fn roots(&self) -> Vec<Root> {
        let root = |index: u16| {
            let spawn = Spawn::root(index, if index == 0 { TEST } else { MAKE }, index.into(), self.seed);
            let quota = match spawn.role {
                TEST => quota(self.tester(), passes::PASSES),
                _ => quota(self.make(&spawn), self.make(&spawn).rounds()),
            };
            Root { spawn, quota }
        };
        (0..=self.parameters.builds.builds.get().into()).map(root).collect()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        match spawn.role {
            TEST => program(self.tester()),
            MAKE => program(self.make(spawn)),
            _ => build::child(&self.parameters.builds, spawn),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    /// Success of each pass as mmtests prints it: whole percent of the attempts.
    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        let success = |pass: u16| {
            let attempts = || run.tasks.iter().flat_map(|task| &task.timings).filter(move |of| of.label == pass);
            let (all, failed) = (attempts().count(), attempts().filter(|of| of.failed).count());
            let samples = ((all - failed) * 100).checked_div(all).map(|percent| percent as f64).into_iter().collect();
            Measure { name: format!("success-{}", pass + 1), unit: "%", better: Better::Higher, samples }
        };
        (0..passes::PASSES as u16).map(success).collect()
    }
}

/// Bytes of a KiB.
const KIB: u64 = 1 << 10;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;
/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// The `number`-th file of a tree.
fn file_of(tree: u64, number: u64) -> FileId {
    FileId((tree as u32) << 24 | (number as u32 & 0xff_ffff))
}
