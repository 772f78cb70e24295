//! A compilation: a shell, the compiler proper, the assembler, and the list of dependencies.

use super::programs::Which;
use super::tree::{Kind, Place, measured, random_of, read_whole, write_new};
use super::{AS, CC1, Cc1, FIXDEP, GivenBack, KIB, MIB, Parameters, SH};
use crate::bounds::Percent;
use crate::rounds::Script;
use crate::{Access, Op, RegionId, Spawn};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each process of a compilation writes to beside its own work: the data of its program and of its libraries, and its
/// stack.
const PROGRAM_DATA: u64 = 192 * KIB;
/// What the break moves by (`M_TOP_PAD` and what is asked for).
pub(super) const BRK: u64 = 132 * KIB;
/// What the compiler's garbage collector maps at a time; aligned mappings since 6.7, so a huge page may serve each.
const QUIRE: u64 = 2 * MIB;
/// What is written of a mapping before the compiler does something else.
const STEP: u64 = 512 * KIB;

/// Each process has numbers of mappings of its own: children inherit those of their parents.
fn regions(role: u16) -> u32 {
    u32::from(role) << 16
}

/// A program that is one round long.
#[derive(Default)]
pub(super) struct Once(bool);

impl Once {
    pub fn first(&mut self) -> bool {
        !std::mem::replace(&mut self.0, true)
    }
}

/// Writes to memory and gives it back, as often as it falls between two times.
fn give_back(ops: &mut Vec<Op>, region: RegionId, given: Option<GivenBack>, (before, after): (u64, u64), time: u64) {
    let Some(given) = given else { return };
    let bytes = u64::from(given.kib.get()) * KIB;
    for _ in given.by(before, time)..given.by(after, time) {
        map_and_write(ops, region, bytes);
        ops.push(Op::Unmap { region, offset: 0, bytes });
    }
}

pub(super) fn map_and_write(ops: &mut Vec<Op>, region: RegionId, bytes: u64) {
    ops.extend([Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }]);
}

/// Looks at a part of a mapping, in whole pages. What is used again is spread over all that there is, page by page; here it lies together
/// in each mapping.
pub(super) fn use_again(region: RegionId, bytes: u64, percent: Percent) -> Option<Op> {
    let bytes = percent.of(bytes) / 4096 * 4096;
    (bytes > 0).then_some(Op::Touch { region, offset: 0, bytes, access: Access::Read })
}

/// Memory of a compilation, bytes: it belongs to the source.
fn heap(parameters: &Parameters, source: u64, seed: u64) -> u64 {
    const HEAP: u64 = 100;
    parameters.cc1.heap_kib.draw(&mut random_of(HEAP, source, seed)) * KIB / 4096 * 4096
}

/// CPU time that it takes to compile, or to assemble, with so many bytes of memory, in nanoseconds.
fn cpu_time(cc1: &Cc1, bytes: u64) -> u64 {
    let nanos = u128::from(bytes) * u128::from(cc1.cpu_us_per_mib) * 1_000 / u128::from(MIB);
    nanos.try_into().unwrap_or(u64::MAX)
}

/// The shell that runs the commands of one target.
pub struct Shell {
    parameters: Parameters,
    spawn: Spawn,
    once: Once,
}

impl Shell {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Shell {
        Shell { parameters, spawn: *spawn, once: Once::default() }
    }
}

impl Script for Shell {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        self.parameters.programs.of(SH, &[Which::Libc, Which::Shell]).map_and_run(ops);
        map_and_write(ops, RegionId(regions(SH)), PROGRAM_DATA);
        for (nth, role) in [CC1, AS, FIXDEP].into_iter().enumerate() {
            ops.extend([Op::Fork(self.spawn.child(nth as u64, role, self.spawn.argument)), Op::Wait]);
        }
        true
    }
}

/// The compiler proper.
pub struct Compiler {
    parameters: Parameters,
    spawn: Spawn,
    header_bytes: Arc<[u64]>,
    once: Once,
}

impl Compiler {
    pub fn new(parameters: Parameters, spawn: &Spawn, header_bytes: &Arc<[u64]>) -> Compiler {
        Compiler { parameters, spawn: *spawn, header_bytes: Arc::clone(header_bytes), once: Once::default() }
    }

    /// Steps of the heap: the garbage collector's mappings, written in pieces, and moves of the break in between.
    fn steps(&self, bytes: u64) -> Vec<Vec<Op>> {
        let brk = self.parameters.cc1.brk_percent.of(bytes);
        let quires = (bytes - brk).div_ceil(QUIRE);
        let breaks = brk.div_ceil(BRK);
        let (quire, moved) = (regions(CC1), regions(CC1) + (1 << 14));
        let mut steps = vec![Vec::new(); (quires * (QUIRE / STEP)) as usize];
        for number in 0..quires {
            let region = RegionId(quire + number as u32);
            let first = (number * (QUIRE / STEP)) as usize;
            steps[first].extend(self.used_again(number));
            steps[first].push(Op::Map { region, bytes: QUIRE });
            for (step, offset) in (first..).zip((0..QUIRE).step_by(STEP as usize)) {
                steps[step].push(Op::Touch { region, offset, bytes: STEP, access: Access::Write });
            }
        }
        let count = steps.len().max(1) as u64;
        steps.resize(count as usize, Vec::new());
        for number in 0..breaks {
            let step = (number * count / breaks) as usize;
            map_and_write(&mut steps[step], RegionId(moved + number as u32), BRK);
        }
        steps
    }

    /// A part of all quires before this one, looked at whenever one more is mapped.
    fn used_again(&self, number: u64) -> impl Iterator<Item = Op> + use<> {
        let percent = self.parameters.cc1.reused_percent;
        (0..number).filter_map(move |quire| use_again(RegionId(regions(CC1) + quire as u32), QUIRE, percent))
    }

    /// A name that is looked for in vain: nearly always one of the tree's headers in a directory that comes earlier on the
    /// path, the same for all sources; else in the source's own.
    fn missed(&self, random: &mut crate::Random) -> u64 {
        let headers = u64::from(self.parameters.tree.headers.get());
        let place = Place::of(&self.spawn);
        let name = if random.chance(90) {
            self.header(random) * 2 + random.below(2)
        } else {
            (place.number / DIRECTORY + 1) << 24 | random.below(headers.div_ceil(8))
        };
        u64::from(place.tree) << 56 | name
    }

    /// A header: most inclusions are of the same few.
    fn header(&self, random: &mut crate::Random) -> u64 {
        let headers = u64::from(self.parameters.tree.headers.get());
        let common = headers.div_ceil(8);
        if random.chance(75) { random.below(common) } else { random.below(headers) }
    }
}

/// Sources of a directory.
const DIRECTORY: u64 = 16;

impl Script for Compiler {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        let (Parameters { tree, cc1, .. }, seed, place) = (self.parameters, self.spawn.seed, Place::of(&self.spawn));
        let source = place.number;
        let mut random = random_of(u64::from(CC1), source, seed);
        let [data, top, table] = [0, 1, 2].map(|nth| RegionId(regions(CC1) + (1 << 15) + nth));
        map_and_write(ops, data, PROGRAM_DATA);
        let program = self.parameters.programs.of(CC1, &[Which::Libc, Which::Cc1Libraries, Which::Cc1]);
        program.map(ops);
        read_whole(ops, place.file(Kind::Source), tree.bytes(Kind::Source, source, seed));
        let bytes = heap(&self.parameters, source, seed);
        let steps = self.steps(bytes);
        let count = steps.len() as u64;
        let nanos = cpu_time(&cc1, bytes);
        let gone_by = |steps: u64| cc1.grown_percent.time_of(steps, count, nanos);
        let parsed = cc1.unit_pass.at_percent.of(nanos);
        let mut mapped = BTreeMap::new();
        let share = |whole: u32, step: u64| u64::from(whole) * (step + 1) / count - u64::from(whole) * step / count;
        for (number, step) in (0..).zip(steps) {
            for _ in 0..share(cc1.headers, number) {
                let header = self.header(&mut random);
                read_whole(ops, place.at(header).file(Kind::Header), self.header_bytes[header as usize]);
            }
            for _ in 0..share(cc1.misses, number) {
                ops.push(Op::Lookup { name: self.missed(&mut random), count: 1 });
            }
            // A quire takes some 17 ms, what is hot was measured over 100.
            if number % (QUIRE / STEP) == 0 {
                program.run(ops, number / (QUIRE / STEP), count.div_ceil(QUIRE / STEP));
            }
            mapped.extend(step.iter().filter_map(|op| match op {
                &Op::Map { region, bytes } => Some((region, bytes)),
                _ => None,
            }));
            ops.extend(step);
            let (before, after) = (gone_by(number), gone_by(number + 1));
            give_back(ops, top, cc1.trims, (before, after), nanos);
            give_back(ops, table, cc1.tables, (before, after), nanos);
            ops.push(Op::Compute { nanos: after - before });
            if (before..after).contains(&parsed) {
                ops.extend(
                    mapped.iter().filter_map(|(&region, &bytes)| use_again(region, bytes, cc1.unit_pass.percent)),
                );
            }
        }
        write_new(ops, place.file(Kind::Assembly), measured(&cc1.assembly_bytes, Kind::Assembly, source, seed));
        true
    }
}

/// The assembler: reads the text between them, and makes an object of it.
pub struct Assemble {
    parameters: Parameters,
    spawn: Spawn,
    once: Once,
}

impl Assemble {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Assemble {
        Assemble { parameters, spawn: *spawn, once: Once::default() }
    }
}

impl Script for Assemble {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        let (parameters, seed, place) = (&self.parameters, self.spawn.seed, Place::of(&self.spawn));
        let source = place.number;
        parameters.programs.of(AS, &[Which::Libc, Which::Assembler]).map_and_run(ops);
        let text = place.file(Kind::Assembly);
        read_whole(ops, text, measured(&parameters.cc1.assembly_bytes, Kind::Assembly, source, seed));
        let bytes = parameters.assembler.heap_percent.of(heap(parameters, source, seed)) + PROGRAM_DATA;
        for number in 0..bytes.div_ceil(BRK) {
            map_and_write(ops, RegionId(regions(AS) + number as u32), BRK);
        }
        ops.push(Op::Compute { nanos: cpu_time(&parameters.cc1, bytes) });
        write_new(
            ops,
            place.file(Kind::Object),
            measured(&parameters.assembler.object_bytes, Kind::Object, source, seed),
        );
        ops.push(Op::Unlink { file: text });
        true
    }
}

/// Turns the compiler's list of dependencies into the one that `make` reads.
pub struct Fixdep {
    parameters: Parameters,
    spawn: Spawn,
    once: Once,
}

impl Fixdep {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Fixdep {
        Fixdep { parameters, spawn: *spawn, once: Once::default() }
    }
}

impl Script for Fixdep {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        let place = Place::of(&self.spawn);
        // Its own program is a few pages.
        self.parameters.programs.of(FIXDEP, &[Which::Libc]).map_and_run(ops);
        map_and_write(ops, RegionId(regions(FIXDEP)), PROGRAM_DATA);
        let bytes = measured(&self.parameters.assembler.cmd_bytes, Kind::Cmd, place.number, self.spawn.seed);
        write_new(ops, place.file(Kind::Cmd), bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kbuild_thp::testing::{forks, shipped};

    #[test]
    fn the_top_of_the_heap_is_given_back_while_headers_are_read() {
        let workload = shipped("1/8");
        let child = |of: &Spawn, role| forks(workload.program(of)).find(|child| child.role == role).expect("forks");
        let make = child(&workload.roots()[0].spawn, crate::kbuild_thp::MAKE);
        for shell in forks(workload.program(&make)).take(8) {
            let ops: Vec<Op> = workload.program(&child(&shell, CC1)).collect();
            let computed = |ops: &[Op]| -> u64 {
                let nanos = |op: &Op| if let Op::Compute { nanos } = op { *nanos } else { 0 };
                ops.iter().map(nanos).sum()
            };
            let unmaps = |size| {
                let is = move |op: &&Op| matches!(op, Op::Unmap { bytes, .. } if *bytes == size);
                (ops.iter().filter(is).count(), ops.iter().rposition(|op| is(&op)).expect("some are given back"))
            };
            let ((trims, last_trim), (tables, last_table)) = (unmaps(13 * KIB), unmaps(241 * KIB));
            assert_eq!((trims, tables), (26, 6));
            let gone = |place: usize| computed(&ops[..place]) * 100 / computed(&ops);
            assert!(gone(last_trim) <= 20 && gone(last_table) <= 80, "{} and {} %", gone(last_trim), gone(last_table));
            assert!(gone(last_table) > gone(last_trim), "tables grow later");
        }
    }

    #[test]
    fn a_heap_is_mapped_in_quires_and_moves_of_the_break() {
        let workload = shipped("1/8");
        let kbuild = workload.roots()[0];
        let child = |of: &Spawn, role| forks(workload.program(of)).find(|child| child.role == role).expect("forks");
        let (make, mut most) = (child(&kbuild.spawn, crate::kbuild_thp::MAKE), (0, 0));
        for shell in forks(workload.program(&make)).take(8) {
            let ops: Vec<Op> = workload.program(&child(&shell, CC1)).collect();
            let maps = |size| ops.iter().filter(|op| matches!(op, Op::Map { bytes, .. } if *bytes == size)).count();
            let quires = maps(QUIRE);
            let heap = regions(CC1)..regions(CC1) + (1 << 14);
            let mut looks = BTreeMap::new();
            for op in &ops {
                match op {
                    Op::Touch { region, bytes, access: Access::Read, .. } if heap.contains(&region.0) => {
                        *looks.entry(bytes).or_insert(0) += 1;
                    }
                    _ => {}
                }
            }
            let mut looks = looks.into_values();
            let (again, passed) = (looks.next().unwrap_or(0), looks.next().unwrap_or(0));
            if quires > 1 {
                assert_eq!(again, quires * (quires - 1) / 2, "each new quire, and a part of all before");
                assert!((quires / 2..=quires).contains(&passed), "{passed} of {quires} in the pass");
            }
            most = most.max((quires, maps(BRK)));
        }
        assert!(most.0 > 2 && most.1 > 0, "{most:?}");
    }
}
