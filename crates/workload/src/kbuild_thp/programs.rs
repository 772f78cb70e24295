//! Programs: files that processes map and run.

use super::KIB;
use super::tree::{Kind, file, write_new};
use crate::{Access, FileMapping, Op, RegionId};
use serde::Deserialize;
use std::num::NonZero;

/// A program or library as a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ProgramFile {
    /// Size of the file, KiB.
    pub kib: NonZero<u32>,
    /// Of this, what a process comes to use, KiB.
    pub used_kib: u32,
    /// Of this, what it uses all the time, KiB.
    #[serde(default)]
    pub hot_kib: u32,
}

/// The programs of a build.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// What every program maps: the C library and the loader.
    pub libc: ProgramFile,
    /// `make`.
    pub make: ProgramFile,
    /// The shell, and the compiler's driver that it starts.
    pub shell: ProgramFile,
    /// The compiler proper.
    pub cc1: ProgramFile,
    /// Its libraries.
    pub cc1_libraries: ProgramFile,
    /// The assembler and its library.
    pub assembler: ProgramFile,
    /// The linker.
    pub linker: ProgramFile,
}

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Libc,
    Make,
    Shell,
    Cc1,
    Cc1Libraries,
    Assembler,
    Linker,
}

const ALL: [Which; 7] =
    [Which::Libc, Which::Make, Which::Shell, Which::Cc1, Which::Cc1Libraries, Which::Assembler, Which::Linker];

/// First of the regions that programs are mapped in: far from those of memory.
const REGION: u32 = 1 << 29;

impl Programs {
    fn get(&self, which: Which) -> ProgramFile {
        match which {
            Which::Libc => self.libc,
            Which::Make => self.make,
            Which::Shell => self.shell,
            Which::Cc1 => self.cc1,
            Which::Cc1Libraries => self.cc1_libraries,
            Which::Assembler => self.assembler,
            Which::Linker => self.linker,
        }
    }

    /// No program uses more than there is of it.
    pub(super) fn check(&self) -> Result<(), String> {
        let wrong = |file: &ProgramFile| file.hot_kib > file.used_kib || file.used_kib > file.kib.get();
        match ALL.map(|which| self.get(which)).into_iter().find(wrong) {
            None => Ok(()),
            Some(ProgramFile { kib, used_kib, hot_kib }) => {
                Err(format!("a program's hot_kib, used_kib and kib ascend: not {hot_kib}, {used_kib}, {kib}"))
            }
        }
    }

    /// The files, written before anything runs.
    pub(super) fn install(&self, ops: &mut Vec<Op>) {
        for which in ALL {
            write_new(ops, file(Kind::Program, which as u64), u64::from(self.get(which).kib.get()) * KIB);
        }
    }

    /// What a process of this role has mapped.
    pub(super) fn of(&self, role: u16, which: &[Which]) -> Mapped {
        let numbers = (u32::from(role) << 4..).zip(which);
        let parts =
            numbers.map(|(number, &which)| Part { region: RegionId(REGION + number), which, program: self.get(which) });
        Mapped { parts: parts.collect() }
    }
}

struct Part {
    region: RegionId,
    which: Which,
    program: ProgramFile,
}

/// Programs of a process.
pub(super) struct Mapped {
    parts: Vec<Part>,
}

impl Mapped {
    /// Maps them; pages come in as they are used.
    pub fn map(&self, ops: &mut Vec<Op>) {
        ops.extend(self.parts.iter().map(|part| Op::MapFile {
            region: part.region,
            file: file(Kind::Program, part.which as u64),
            bytes: u64::from(part.program.kib.get()) * KIB,
            mapping: FileMapping::Exec,
        }));
    }

    /// Uses them for one of `count` steps: what is used all the time, and a share of the rest.
    pub fn run(&self, ops: &mut Vec<Op>, step: u64, count: u64) {
        for Part { region, program: ProgramFile { used_kib, hot_kib, .. }, .. } in &self.parts {
            let (hot, rest) = (u64::from(*hot_kib), u64::from(used_kib - hot_kib));
            let from = hot + rest * step / count;
            let to = hot + rest * (step + 1) / count;
            let read = |from: u64, to: u64| {
                let (region, offset, bytes) = (*region, from * KIB, (to - from) * KIB);
                (bytes > 0).then_some(Op::Touch { region, offset, bytes, access: Access::Read })
            };
            ops.extend(read(0, hot).into_iter().chain(read(from, to)));
        }
    }

    /// Maps and uses all of it at once.
    pub fn map_and_run(&self, ops: &mut Vec<Op>) {
        self.map(ops);
        self.run(ops, 0, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_used_up_to_its_end_and_what_is_hot_in_each_step() {
        let program =
            |kib, used_kib, hot_kib| ProgramFile { kib: NonZero::new(kib).expect("not 0"), used_kib, hot_kib };
        let other = program(4, 4, 0);
        let programs = Programs {
            libc: other,
            make: other,
            shell: other,
            cc1: program(1000, 100, 40),
            cc1_libraries: other,
            assembler: other,
            linker: other,
        };
        let mapped = programs.of(3, &[Which::Cc1]);
        let mut ranges = Vec::new();
        for step in 0..4 {
            let mut ops = Vec::new();
            mapped.run(&mut ops, step, 4);
            ranges.extend(ops.iter().map(|op| match op {
                Op::Touch { offset, bytes, .. } => (offset / KIB, (offset + bytes) / KIB),
                _ => panic!("{op:?}"),
            }));
        }
        let hot = (0, 40);
        assert_eq!(ranges, [hot, (40, 55), hot, (55, 70), hot, (70, 85), hot, (85, 100)]);
    }
}
