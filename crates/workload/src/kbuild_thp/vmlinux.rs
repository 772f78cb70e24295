//! The end of a build: its objects become `vmlinux`.

use super::compile::{BRK, Once, map_and_write, use_again};
use super::programs::Which;
use super::tree::{Kind, Place, measured, read_whole};
use super::{MIB, Parameters, VMLINUX};
use crate::bounds::{Bounded, Growth, Percent};
use crate::rounds::Script;
use crate::{FileId, Op, RegionId, Scale, Spawn};
use serde::Deserialize;
use std::num::NonZero;

/// The programs that make `vmlinux`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Vmlinux {
    /// `ld -r`: all objects become one.
    pub relocatable: Tool,
    /// `objtool`: checks that one and writes it back.
    pub objtool: Tool,
    /// The linker, before and after each table of symbols.
    pub linker: Tool,
    /// What writes a table of the symbols that the linker has placed.
    pub kallsyms: Tool,
}

/// One of them.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Memory, MiB; up to 64 GiB.
    pub heap_mib: Bounded<1, 65_536>,
    /// Of this, what `malloc` takes by moving the break; the rest is mapped.
    pub brk_percent: Percent,
    /// CPU time, milliseconds.
    pub cpu_ms: u32,
    /// Of its memory, in percent, what is there at each tenth of its CPU time.
    #[serde(default)]
    pub grown_percent: Growth,
    /// How it goes through what it has, over and over; not at all, if it is not said.
    pub passes: Option<Passes>,
    /// Size of what it writes, MiB.
    pub output_mib: NonZero<u32>,
}

/// A program's passes over its memory.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// CPU time of one, milliseconds; a hundredth of the program's at least.
    pub every_ms: NonZero<u32>,
    /// Of the memory, what it uses.
    pub percent: Percent,
}

/// A run of a tool. A file has the number of the run that made it.
struct Run {
    tool: fn(&Vmlinux) -> Tool,
    /// Files that it reads; all objects, if none.
    reads: &'static [usize],
    writes: usize,
}

const fn run(tool: fn(&Vmlinux) -> Tool, reads: &'static [usize], writes: usize) -> Run {
    Run { tool, reads, writes }
}

/// Who runs, one after the other.
const RUNS: [Run; 7] = [
    run(|tools| tools.relocatable, &[], 0),
    run(|tools| tools.objtool, &[0], 0),
    run(|tools| tools.linker, &[0], 2),
    run(|tools| tools.kallsyms, &[2], 3),
    run(|tools| tools.linker, &[0, 3], 4),
    run(|tools| tools.kallsyms, &[4], 5),
    run(|tools| tools.linker, &[0, 5], 6),
];

/// Arguments of the processes, in turn.
pub(super) fn runs() -> std::ops::Range<u64> {
    0..RUNS.len() as u64
}

/// What a run has made in a tree.
fn made_by(tree: Place, run: usize) -> FileId {
    tree.at(run as u64).file(Kind::Linked)
}

impl Vmlinux {
    /// What is written follows the scale. Memory stays: at the end of each build there is as little left as at full size.
    pub(super) fn scale(&mut self, scale: Scale) {
        let Vmlinux { relocatable, objtool, linker, kallsyms } = self;
        for tool in [relocatable, objtool, linker, kallsyms] {
            tool.output_mib = scale.of_nonzero(tool.output_mib);
        }
    }

    fn output_bytes(&self, run: usize) -> u64 {
        u64::from((RUNS[run].tool)(self).output_mib.get()) * MIB
    }
}

/// Removes all that was made in a tree.
pub(super) fn unlink(tree: Place, ops: &mut Vec<Op>) {
    let made = (0..RUNS.len()).filter(|&run| RUNS[run].writes == run);
    ops.extend(made.map(|run| Op::Unlink { file: made_by(tree, run) }));
}

/// One run: reads, grows, writes.
pub struct Process {
    parameters: Parameters,
    spawn: Spawn,
    once: Once,
}

impl Process {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Process {
        Process { parameters, spawn: *spawn, once: Once::default() }
    }

    fn read(&self, ops: &mut Vec<Op>, inputs: &[usize]) {
        let place = Place::of(&self.spawn);
        for &input in inputs {
            read_whole(ops, made_by(place, input), self.parameters.vmlinux.output_bytes(input));
        }
        if inputs.is_empty() {
            for object in 0..self.parameters.tree.sources.get().into() {
                let sizes = &self.parameters.assembler.object_bytes;
                let bytes = measured(sizes, Kind::Object, object, self.spawn.seed);
                read_whole(ops, place.at(object).file(Kind::Object), bytes);
            }
        }
    }
}

/// Memory that a tool has, and how far its pass over it has come.
#[derive(Default)]
struct Held {
    mapped: Vec<(RegionId, u64)>,
    bytes: u64,
    next: usize,
    /// What is due of the pass, bytes.
    due: u64,
}

impl Held {
    fn map_and_write(&mut self, ops: &mut Vec<Op>, region: RegionId, bytes: u64) {
        map_and_write(ops, region, bytes);
        self.mapped.push((region, bytes));
        self.bytes += bytes;
    }

    /// What is used again in some time, of that which a whole pass takes.
    fn go_through(&mut self, ops: &mut Vec<Op>, percent: Percent, nanos: u64, of: u64) {
        self.due += (u128::from(self.bytes) * u128::from(nanos) / u128::from(of.max(1))) as u64;
        while let Some(&(region, bytes)) = self.mapped.get(self.next).filter(|(_, bytes)| *bytes <= self.due) {
            ops.extend(use_again(region, bytes, percent));
            self.due -= bytes;
            self.next = (self.next + 1) % self.mapped.len();
        }
    }
}

/// Grows by arenas of some megabytes, with moves of the break in between, and goes through what it has.
fn grow(ops: &mut Vec<Op>, tool: &Tool) {
    const ARENA: u64 = 4 * MIB;
    const ARENAS: u32 = 1 << 28;
    const BREAKS: u32 = ARENAS + (1 << 24);
    const MOST_PASSES: u64 = 100;
    let bytes = u64::from(tool.heap_mib.get()) * MIB;
    let moved = tool.brk_percent.of(bytes);
    let (arenas, breaks) = ((bytes - moved).div_ceil(ARENA), moved.div_ceil(BRK));
    let count = arenas.max(breaks).max(1);
    let due = |all: u64, step: u64| all * step / count..all * (step + 1) / count;
    let in_all = u64::from(tool.cpu_ms) * 1_000_000;
    let gone_by = |step: u64| tool.grown_percent.time_of(step, count, in_all);
    let pass = |passes: &Passes| (u64::from(passes.every_ms.get()) * 1_000_000).max(in_all / MOST_PASSES);
    let mut held = Held::default();
    for step in 0..count {
        due(arenas, step).for_each(|number| held.map_and_write(ops, RegionId(ARENAS | number as u32), ARENA));
        due(breaks, step).for_each(|number| held.map_and_write(ops, RegionId(BREAKS | number as u32), BRK));
        let nanos = gone_by(step + 1) - gone_by(step);
        ops.push(Op::Compute { nanos });
        if let Some(passes) = &tool.passes {
            held.go_through(ops, passes.percent, nanos, pass(passes));
        }
    }
}

impl Script for Process {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        let place = Place::of(&self.spawn);
        let number = place.number as usize;
        let Run { tool, reads, writes } = RUNS[number];
        let tools = &self.parameters.vmlinux;
        self.parameters.programs.of(VMLINUX, &[Which::Libc, Which::Linker]).map_and_run(ops);
        self.read(ops, reads);
        grow(ops, &tool(tools));
        if writes == number {
            ops.push(Op::Create { file: made_by(place, writes) });
        }
        ops.push(Op::Write { file: made_by(place, writes), offset: 0, bytes: tools.output_bytes(number) });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kbuild_thp::VMLINUX;
    use crate::kbuild_thp::testing::{forks, shipped};
    use crate::{Access, Scenario};
    use std::collections::BTreeSet;

    #[test]
    fn a_run_reads_what_was_written_before_it_and_takes_the_memory_that_it_says() {
        let workload = shipped("1/8");
        let kbuild = workload.roots()[0];
        let forks = forks(workload.program(&kbuild.spawn).take(kbuild.quota as usize));
        let runs: Vec<Spawn> = forks.filter(|child| child.role == VMLINUX).take(RUNS.len()).collect();
        let made: Vec<FileId> = (0..RUNS.len()).map(|run| made_by(Place { tree: 0, number: 0 }, run)).collect();
        let (mut written, mut most) = (BTreeSet::new(), Vec::new());
        for run in &runs {
            let mut bytes_mapped = 0;
            for op in workload.program(run) {
                match op {
                    Op::Create { file } => assert!(written.insert(file), "{file:?} twice"),
                    Op::Read { file, .. } if made.contains(&file) => {
                        assert!(written.contains(&file), "{run:?} reads {file:?}");
                    }
                    Op::Map { bytes, .. } => bytes_mapped += bytes,
                    _ => {}
                }
            }
            most.push(bytes_mapped / MIB);
        }
        let linker = most[2];
        assert_eq!((most[4], most[6]), (linker, linker), "{most:?}");
        assert!(most[1] > 2 * most[0] && most[0] >= linker && linker > most[3], "{most:?}");
    }

    #[test]
    fn memory_is_there_early_and_gone_through_again_and_again() {
        let scenario = Scenario::shipped_text("kbuild-thp").expect("it is shipped");
        let read = |text: &str| {
            let all: toml::Table = text.parse().expect("it is TOML");
            let objtool = &all["kbuild-thp"]["vmlinux"]["objtool"];
            Tool::deserialize(objtool.clone()).expect("it is a tool")
        };
        let ops_of = |tool: &Tool| {
            let mut ops = Vec::new();
            grow(&mut ops, tool);
            ops
        };
        let (objtool, hasty) = (read(scenario), read(&scenario.replace("every_ms = 400", "every_ms = 1")));
        let ops = ops_of(&objtool);
        let (mut mapped, mut nanos, mut early, mut again) = (0, 0, 0, 0);
        for op in &ops {
            match op {
                Op::Map { bytes, .. } => mapped += bytes,
                Op::Compute { nanos: more } => nanos += more,
                Op::Touch { bytes, access: Access::Read, .. } => again += bytes,
                _ => {}
            }
            if nanos <= u64::from(objtool.cpu_ms) * 1_000_000 * 4 / 10 {
                early = mapped;
            }
        }
        assert_eq!(nanos, u64::from(objtool.cpu_ms) * 1_000_000);
        assert!((92..=95).contains(&(early * 100 / mapped)), "{early} of {mapped}");
        // 2.3 s after it has grown, and what it had before.
        assert!((60..=80).contains(&(again * 10 / mapped)), "{again} of {mapped}");
        assert!(ops_of(&hasty).len() < 100 * ops.len(), "a hundred passes at most");
    }
}
