//! `oom-loop`: out of memory on purpose, again and again.
//!
//! A task forks one that wants more memory than there is, waits until that has been killed, and takes some memory itself to
//! see whether the machine has recovered. This is the test that found the endless retry of the first defrag_mode patch: one
//! that never comes back from its first round.

use crate::bounds::{Bounded, Percent};
use crate::drive::Program;
use crate::kind::Kind;
use crate::measure::Better;
use crate::rounds::{Script, program, quota};
use crate::{Access, Machine, Measure, Op, RegionId, Root, RunReport, Spawn, TaskReport, Workload};
use serde::Deserialize;
use std::num::NonZero;

/// Parameters: the section `[oom-loop]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// How often.
    pub rounds: NonZero<u32>,
    /// What is wanted, percent of memory and swap together: above 100, or nobody would have to be killed.
    pub wanted_percent: Bounded<101, 1_000>,
    /// What is taken afterwards to see whether memory is there again, percent of memory.
    pub recovery_percent: Percent,
}

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct OomLoop {
    parameters: Parameters,
    /// Bytes of memory, and with swap.
    memory: u64,
    with_swap: u64,
    seed: u64,
}

const ROLES: [&str; 2] = ["loop", "eater"];
const LOOP: u16 = 0;
const EATER: u16 = 1;

const LABELS: [&str; 4] = ["round", "killed", "recover", "recovered"];
const ROUND: u16 = 0;
const KILLED: u16 = 1;
const RECOVER: u16 = 2;
const RECOVERED: u16 = 3;

const PAGE: u64 = 4096;
/// What an eater touches at once.
const PIECE: u64 = 16 << 20;

impl Kind for Parameters {
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload> {
        let with_swap = machine.memory() + (u64::from(machine.swap_mib) << 20);
        Box::new(OomLoop { parameters: *self, memory: machine.memory(), with_swap, seed })
    }
}

/// Who makes the rounds.
struct Loop {
    workload: OomLoop,
    spawn: Spawn,
    round: u64,
}

impl Script for Loop {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let region = RegionId(0);
        let bytes = whole_pages(self.workload.parameters.recovery_percent.of(self.workload.memory));
        let eater = self.spawn.child(self.round, EATER, 0);
        ops.extend([Op::Mark { label: ROUND }, Op::Fork(eater), Op::Wait, Op::Mark { label: KILLED }]);
        ops.extend([Op::Map { region, bytes }, Op::Begin { label: RECOVER }]);
        ops.push(Op::Touch { region, offset: 0, bytes, access: Access::Write });
        ops.extend([Op::End, Op::Unmap { region, offset: 0, bytes }, Op::Mark { label: RECOVERED }]);
        self.round += 1;
        true
    }
}

/// Who wants too much.
struct Eater {
    bytes: u64,
    done: bool,
}

impl Script for Eater {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let region = RegionId(1);
        if !std::mem::replace(&mut self.done, true) {
            ops.push(Op::Map { region, bytes: self.bytes });
            ops.extend((0..self.bytes).step_by(PIECE as usize).map(|offset| {
                let bytes = PIECE.min(self.bytes - offset);
                Op::Touch { region, offset, bytes, access: Access::Write }
            }));
        }
        !ops.is_empty()
    }
}

fn whole_pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE).max(1) * PAGE
}

impl OomLoop {
    fn script(&self, spawn: &Spawn) -> Loop {
        Loop { workload: *self, spawn: *spawn, round: 0 }
    }
}

impl Workload for OomLoop {
    fn roots(&self) -> Vec<Root> {
        let spawn = Spawn::root(0, LOOP, 0, self.seed);
        let rounds = self.parameters.rounds.get();
        vec![Root { spawn, quota: quota(self.script(&spawn), rounds) }]
    }

    fn program(&self, spawn: &Spawn) -> Program {
        let wanted = u64::from(self.parameters.wanted_percent.get());
        match spawn.role {
            EATER => program(Eater {
                bytes: whole_pages(self.with_swap / 100 * wanted + self.with_swap % 100 * wanted / 100),
                done: false,
            }),
            _ => program(self.script(spawn)),
        }
    }

    fn roles(&self) -> Vec<&str> {
        ROLES.to_vec()
    }

    fn labels(&self) -> Vec<&str> {
        LABELS.to_vec()
    }

    fn measures(&self, run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        let rounds = run.tasks.iter().find(|task| task.role == LOOP).map(rounds).unwrap_or_default();
        let count = |of: &dyn Fn(&&Round) -> bool| rounds.iter().filter(of).count() as f64;
        let kills: u64 = rounds.iter().map(|round| round.kills).sum();
        vec![
            Measure::single("kills", "", Better::Lower, kills as f64),
            Measure::single("killed-once", "", Better::Higher, count(&|round| round.kills == 1)),
            Measure::single("recoveries", "", Better::Higher, count(&|round| round.kills > 0 && round.recovered)),
            Measure::single("hangs", "", Better::Lower, f64::from(u8::from(run.hang.is_some()))),
            samples("round-time", "s", &rounds, |round| round.until_killed as f64 / 1e9),
            samples("recovery-time", "us", &rounds, |round| round.recovery as f64 / 1e3),
        ]
    }
}

/// A round that was completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Round {
    kills: u64,
    recovered: bool,
    /// Time from the fork to the eater's end, and of the touch afterwards, nanoseconds.
    until_killed: u64,
    recovery: u64,
}

fn samples(name: &str, unit: &'static str, rounds: &[Round], of: impl Fn(&Round) -> f64) -> Measure {
    Measure { name: name.to_owned(), unit, better: Better::Lower, samples: rounds.iter().map(of).collect() }
}

/// The rounds that a loop has completed.
fn rounds(task: &TaskReport) -> Vec<Round> {
    let touches = task.timings.iter().filter(|timing| timing.label == RECOVER);
    let marks = task.marks.chunks_exact(3).zip(touches);
    let of = |(marks, touch): (&[crate::Mark], &crate::Timing)| {
        let kills = |at: &crate::Mark| at.counters.get("oom_kill").copied().unwrap_or(0);
        Round {
            kills: kills(&marks[1]) - kills(&marks[0]),
            recovered: !touch.failed,
            until_killed: marks[1].at - marks[0].at,
            recovery: touch.nanos,
        }
    };
    marks.map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Timing};
    use std::collections::BTreeMap;

    fn mark(label: u16, at: u64, oom_kill: u64) -> Mark {
        Mark { label, at, counters: BTreeMap::from([("oom_kill".to_owned(), oom_kill)]) }
    }

    #[test]
    fn a_round_counts_once_it_has_come_to_its_end() {
        let spawn = Spawn::root(0, LOOP, 0, 1);
        let mut task = TaskReport::new(&spawn);
        task.marks = vec![mark(ROUND, 0, 0), mark(KILLED, 5, 1), mark(RECOVERED, 7, 1), mark(ROUND, 7, 1)];
        task.timings = vec![Timing { label: RECOVER, at: 5, nanos: 2, bytes: 0, huge: None, failed: false }];
        assert_eq!(rounds(&task), [Round { kills: 1, recovered: true, until_killed: 5, recovery: 2 }]);
    }

    /// A kill too many is none of those that did it at once, and what goes on without a kill has not recovered from one.
    #[test]
    fn rounds_are_told_apart_by_their_kills() {
        let mut task = TaskReport::new(&Spawn::root(0, LOOP, 0, 1));
        let round = |at: u64, before: u64, after: u64| {
            [
                mark(ROUND, at, before),
                mark(KILLED, at + 4_000_000_000, after),
                mark(RECOVERED, at + 5_000_000_000, after),
            ]
        };
        task.marks = [round(0, 0, 1), round(6, 1, 3), round(12, 3, 4), round(18, 4, 4)].concat();
        let touch = |failed| Timing { label: RECOVER, at: 0, nanos: 7_000, bytes: 0, huge: None, failed };
        task.timings = [false, false, true, false].map(touch).into();
        let run = RunReport { tasks: vec![task], ..RunReport::default() };
        let workload = crate::Scenario::shipped("oom-loop").expect("it is shipped").workload();
        let measures = workload.measures(&run, 2 << 20);
        let of =
            |name: &str| measures.iter().find(|measure| measure.name == name).expect("it is measured").samples.clone();
        assert_eq!([of("kills"), of("killed-once"), of("recoveries"), of("hangs")], [[4.0], [2.0], [2.0], [0.0]]);
        assert_eq!(
            (of("round-time"), of("recovery-time")),
            (vec![4.0; 4], vec![7.0; 4]),
            "in seconds, and in microseconds"
        );
    }
}
