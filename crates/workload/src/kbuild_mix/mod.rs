//! `kbuild-mix`: what a kernel build does to memory, with bursts of huge pages in between.
//!
//! A stand-in, not a build: compilers that grow, read headers and exit; threads that read, rewrite and replace files; somebody
//! who makes small files, negative dentries, pipes and sockets by turns of growth and shrinking; a resident process; and
//! every few seconds a burst that wants huge pages at once. The same parts in the same sizes made the recordings of real
//! kernels that the model is tested with.

pub(crate) mod burst;
mod compile;
mod files;
mod resident;
mod slab;

use crate::Machine;
use crate::drive::Program;
use crate::kind::Kind;
use crate::rounds::{Script, program, quota};
use crate::{FileId, Root, Scale, Spawn, Workload};
use serde::Deserialize;

pub use burst::Bursts;
pub use compile::Compilers;
pub use files::Files;
pub use resident::Resident;
pub use slab::Slab;

/// Parameters: the sections below `[kbuild-mix]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Compilers.
    pub compilers: Compilers,
    /// File threads.
    pub files: Files,
    /// Makers of slab objects.
    pub slab: Slab,
    /// The resident process.
    pub resident: Resident,
    /// Bursts.
    pub bursts: Bursts,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct KbuildMix {
    parameters: Parameters,
    /// Memory of the machine, bytes: sizes follow it.
    memory: u64,
    seed: u64,
}

const ROLES: [&str; 7] = ["make", "cc", "as", "files", "slab", "resident", "burst"];
const MAKE: u16 = 0;
const CC: u16 = 1;
const AS: u16 = 2;
const FILES: u16 = 3;
const SLAB: u16 = 4;
const RESIDENT: u16 = 5;
const BURST: u16 = 6;

const LABELS: [&str; 1] = ["burst"];

impl Kind for Parameters {
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload> {
        Box::new(KbuildMix::new(*self, machine.memory(), seed))
    }

    /// The number of a root task is a byte of its files' numbers.
    fn check(&self) -> Result<(), String> {
        const MOST: u32 = 254;
        let tasks = u32::from(self.compilers.slots) + u32::from(self.files.threads) + u32::from(self.slab.workers);
        if tasks > MOST {
            return Err(format!("{tasks} compiler slots, file threads and slab workers are more than {MOST} together"));
        }
        if tasks == 0 && self.resident.percent.number() == 0 && self.bursts.mib == 0 {
            return Err("there is no task: no slot, no thread, no worker, nothing resident and no burst".to_owned());
        }
        self.compilers.check()
    }

    fn scale(&mut self, scale: Scale) {
        self.bursts.mib = scale.of_u32(self.bursts.mib);
    }
}

impl KbuildMix {
    /// The workload for a machine with this much memory, in bytes.
    pub fn new(parameters: Parameters, memory: u64, seed: u64) -> KbuildMix {
        KbuildMix { parameters, memory, seed }
    }

    /// Calls `visit` with the script of a root.
    fn script_of_root<R>(&self, spawn: &Spawn, visit: impl Visit<R>) -> R {
        let parameters = &self.parameters;
        match spawn.role {
            MAKE => visit.script(compile::Make::new(parameters.compilers, self.memory, spawn)),
            FILES => visit.script(files::Worker::new(parameters.files, self.memory, spawn)),
            SLAB => visit.script(slab::Worker::new(parameters.slab, spawn)),
            RESIDENT => visit.script(resident::Process::new(parameters.resident, self.memory, spawn)),
            _ => visit.script(burst::Process::new(parameters.bursts)),
        }
    }

    /// Roles of the root tasks, with the rounds that each owes.
    fn tenants(&self) -> Vec<(u16, u32)> {
        let Parameters { compilers, files, slab, resident, bursts } = &self.parameters;
        let groups = [
            (MAKE, compilers.slots, compilers.rounds),
            (FILES, files.threads, files.rounds),
            (SLAB, slab.workers, slab.rounds),
            (RESIDENT, u16::from(resident.percent.number() > 0), resident.rounds),
            (BURST, u16::from(bursts.mib > 0), bursts.rounds),
        ];
        let tenants = groups.iter().flat_map(|&(role, count, rounds)| (0..count).map(move |_| (role, rounds)));
        tenants.collect()
    }
}

/// Something that is done with a script of whatever type.
trait Visit<R> {
    fn script(self, script: impl Script) -> R;
}

/// Makes a program of it.
struct AsProgram;

impl Visit<Program> for AsProgram {
    fn script(self, script: impl Script) -> Program {
        program(script)
    }
}

/// Counts the operations of so many rounds.
struct Quota(u32);

impl Visit<u64> for Quota {
    fn script(self, script: impl Script) -> u64 {
        quota(script, self.0)
    }
}

impl Workload for KbuildMix {
    fn roots(&self) -> Vec<Root> {
        let root = |(index, (role, rounds)): (usize, (u16, u32))| {
            let index = index as u16;
            // The argument is what keeps the files of different roots apart.
            let spawn = Spawn::root(index, role, u64::from(index), self.seed);
            Root { spawn, quota: self.script_of_root(&spawn, Quota(rounds)) }
        };
        self.tenants().into_iter().enumerate().map(root).collect()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        match spawn.role {
            CC => program(compile::Compiler::new(self.parameters.compilers, spawn)),
            AS => program(compile::Assembler::new(spawn)),
            _ => self.script_of_root(spawn, AsProgram),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }
}

/// Bytes of a KiB.
const KIB: u64 = 1 << 10;
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Files that a root has numbers for.
const FILES_OF_A_ROOT: u64 = 1 << 24;

/// The `number`-th file of a root.
fn file_of(root: u64, number: u64) -> FileId {
    FileId(((root as u32) << 24) | (number % FILES_OF_A_ROOT) as u32)
}
