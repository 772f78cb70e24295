//! `kbuild-thp`: one kernel build after the other on a machine that is a little short of memory, and somebody who wants huge
//! pages at once every 20 seconds.
//!
//! The test load of defrag_mode ("mm: reliable huge page allocator", Johannes Weiner, March 2025): `make -j16` of an x86-64
//! defconfig kernel on 8 CPUs, 15 times without a reboot; 80 MB are mapped, advised, written and unmapped beside it. The build
//! takes huge pages as they come, only the bursts reclaim and compact for them. The scripts were not published.
//!
//! Every build asks for the same: sizes belong to a source file, not to a process. What differs between builds is the system's.

mod build;
mod compile;
mod measures;
mod programs;
mod services;
mod tree;
mod unpack;
mod vmlinux;

use crate::bounds::{Bounded, Deciles, Growth, Percent};
use crate::drive::Program;
use crate::kbuild_mix::burst;
use crate::kind::Kind;
use crate::rounds::{program, quota};
use crate::{Machine, Measure, Root, RunReport, Scale, Spawn, Workload};
use serde::Deserialize;
use std::num::NonZero;
use std::sync::Arc;

pub use programs::{ProgramFile, Programs};
pub use tree::{TREES, Tree};
pub use vmlinux::{Tool, Vmlinux};

/// Parameters: the section `[kbuild-thp]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Builds in a row.
    pub builds: NonZero<u32>,
    /// Jobs at a time: `make -j`.
    pub jobs: NonZero<u16>,
    /// The source tree.
    pub tree: Tree,
    /// Each build has a tree of its own that is unpacked for it; without, builds share one and `make clean` comes between.
    pub unpack: Option<Unpack>,
    /// Memory of each `make`, KiB.
    pub make_kib: NonZero<u32>,
    /// Idle services, MiB: written once; 0 for none.
    pub services_mib: u32,
    /// Programs and their libraries.
    pub programs: Programs,
    /// The compiler proper.
    pub cc1: Cc1,
    /// The assembler.
    pub assembler: Assembler,
    /// What makes `vmlinux` of the objects.
    pub vmlinux: Vmlinux,
    /// Bursts.
    pub bursts: Bursts,
}

/// How the tree is unpacked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Unpack {
    /// Size of the archive, MiB.
    pub archive_mib: NonZero<u32>,
    /// CPU time, milliseconds.
    pub cpu_ms: u32,
    /// Trees on disk at a time: once there are as many, the oldest one is removed before another one is unpacked.
    pub kept: Bounded<1, TREES>,
}

impl Unpack {
    /// As many files stay on disk as at full size, in more trees, up to [`TREES`]: memory stays as large, and a single tree of a part
    /// would not fill it.
    fn scale(&mut self, scale: Scale) {
        self.archive_mib = scale.of_nonzero(self.archive_mib);
        self.cpu_ms = scale.of_u32(self.cpu_ms);
        self.kept = Bounded::nearest(scale.undo_u32(self.kept.get()));
    }
}

/// The compiler proper.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Cc1 {
    /// Memory, KiB.
    pub heap_kib: Deciles,
    /// Of this, what `malloc` takes, as if all by moving the break; the rest is mapped 2 MiB at a time by the garbage collector.
    pub brk_percent: Percent,
    /// Of what the garbage collector holds, what is used again all the time.
    pub reused_percent: Percent,
    /// Once: when a source has been parsed, the passes over the whole of it begin.
    pub unit_pass: UnitPass,
    /// The top of the heap that `free` gives back, and `malloc` asks for again.
    pub trims: Option<GivenBack>,
    /// Tables that were copied to larger ones.
    pub tables: Option<GivenBack>,
    /// Headers read.
    pub headers: u32,
    /// Names of headers looked for where they are not.
    pub misses: u32,
    /// CPU time, microseconds for each MiB of memory.
    pub cpu_us_per_mib: u32,
    /// Of its memory, in percent, what is there at each tenth of its CPU time.
    #[serde(default)]
    pub grown_percent: Growth,
    /// Assembly text, bytes.
    pub assembly_bytes: Deciles,
}

/// What a program writes and gives back while it goes on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct GivenBack {
    /// How often.
    pub count: Bounded<1, 1_000>,
    /// Size of each, KiB.
    pub kib: Bounded<1, { 1 << 20 }>,
    /// Of the program's CPU time, what has gone by when the last one is.
    pub by_percent: Bounded<1, 100>,
}

impl GivenBack {
    /// How many are, with this much of `time` gone.
    pub(super) fn by(&self, gone: u64, time: u64) -> u64 {
        let [count, percent] = [self.count.get(), self.by_percent.get()].map(u128::from);
        let within = (u128::from(time) * percent / 100).max(1);
        (count * u128::from(gone).min(within) / within) as u64
    }
}

/// When the compiler goes through its memory.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct UnitPass {
    /// Of its CPU time, what has gone.
    pub at_percent: Percent,
    /// Of its memory at that time, what is used.
    pub percent: Percent,
}

/// The assembler, and what is made of its output.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Assembler {
    /// Memory, percent of the compiler's.
    pub heap_percent: Percent,
    /// Object file, bytes.
    pub object_bytes: Deciles,
    /// List of dependencies (`.cmd`), bytes.
    pub cmd_bytes: Deciles,
}

/// Bursts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Size, MiB; 0 for none.
    pub mib: u32,
    /// Time from the start of one to the start of the next, milliseconds.
    pub period_ms: u32,
}

/// The workload.
#[derive(Clone, Debug)]
pub struct KbuildThp {
    parameters: Parameters,
    seed: u64,
    header_bytes: Arc<[u64]>,
}

const ROLES: [&str; 12] =
    ["kbuild", "make", "sh", "cc1", "as", "fixdep", "vmlinux", "clean", "burst", "services", "tar", "rm"];
const KBUILD: u16 = 0;
const MAKE: u16 = 1;
const SH: u16 = 2;
const CC1: u16 = 3;
const AS: u16 = 4;
const FIXDEP: u16 = 5;
const VMLINUX: u16 = 6;
const CLEAN: u16 = 7;
const BURST: u16 = 8;
const SERVICES: u16 = 9;
const TAR: u16 = 10;
const RM: u16 = 11;

const LABELS: [&str; 4] = ["burst", "build", "built", "run"];
const BUILD: u16 = 1;
const BUILT: u16 = 2;
const RUN: u16 = 3;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Kind for Parameters {
    fn workload(&self, _machine: &Machine, seed: u64) -> Box<dyn Workload> {
        Box::new(KbuildThp { parameters: *self, seed, header_bytes: self.tree.header_bytes(seed) })
    }

    fn check(&self) -> Result<(), String> {
        self.tree.check()?;
        self.programs.check()
    }

    /// What is built is a part of the kernel, on the same machine: sources, files of the tree, and what is written of them. Processes
    /// are as large as at full size and as many at a time; so are the set of headers, and memory and time of what makes `vmlinux`.
    fn scale(&mut self, scale: Scale) {
        self.tree.scale(scale);
        self.vmlinux.scale(scale);
        if let Some(unpack) = &mut self.unpack {
            unpack.scale(scale);
        }
    }
}

impl KbuildThp {
    fn build(&self, spawn: &Spawn) -> build::Builds {
        build::Builds::new(self.parameters, spawn)
    }

    fn burst(&self) -> burst::Process {
        let Bursts { mib, period_ms } = self.parameters.bursts;
        let unit_kib = NonZero::new(mib.saturating_mul(1024)).unwrap_or(NonZero::<u32>::MIN);
        burst::Process::new(burst::Bursts { mib, unit_kib, period_ms, rounds: 0 })
    }
}

impl Workload for KbuildThp {
    fn roots(&self) -> Vec<Root> {
        let kbuild = Spawn::root(0, KBUILD, 0, self.seed);
        let owed = quota(self.build(&kbuild), self.parameters.builds.get());
        let mut roots = vec![Root { spawn: kbuild, quota: owed }];
        if self.parameters.bursts.mib > 0 {
            roots.push(Root { spawn: Spawn::root(1, BURST, 0, self.seed), quota: 0 });
        }
        if self.parameters.services_mib > 0 {
            roots.push(Root { spawn: Spawn::root(2, SERVICES, 0, self.seed), quota: 0 });
        }
        roots
    }

    fn program(&self, spawn: &Spawn) -> Program {
        let parameters = self.parameters;
        match spawn.role {
            KBUILD => program(self.build(spawn)),
            MAKE => program(build::Make::new(parameters, spawn)),
            SH => program(compile::Shell::new(parameters, spawn)),
            CC1 => program(compile::Compiler::new(parameters, spawn, &self.header_bytes)),
            AS => program(compile::Assemble::new(parameters, spawn)),
            FIXDEP => program(compile::Fixdep::new(parameters, spawn)),
            VMLINUX => program(vmlinux::Process::new(parameters, spawn)),
            CLEAN => program(unpack::Clean::new(parameters, spawn)),
            RM => program(unpack::Remove::new(parameters, spawn)),
            TAR => program(unpack::Unpack::new(parameters, spawn)),
            SERVICES => program(services::Services::new(parameters)),
            _ => program(self.burst()),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    fn measures(&self, run: &RunReport, huge_bytes: u64) -> Vec<Measure> {
        measures::measures(run, huge_bytes)
    }
}

#[cfg(test)]
mod testing {
    use crate::{Op, Scenario, Spawn, Workload};

    /// The shipped scenario, brought to scale.
    pub fn shipped(scale: &str) -> Box<dyn Workload> {
        let mut scenario = Scenario::shipped("kbuild-thp").expect("it is shipped");
        scenario.scale(scale.parse().expect("a scale"));
        scenario.workload()
    }

    /// The processes that these operations start.
    pub fn forks(ops: impl Iterator<Item = Op>) -> impl Iterator<Item = Spawn> {
        ops.filter_map(|op| if let Op::Fork(child) = op { Some(child) } else { None })
    }
}
