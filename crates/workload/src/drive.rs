//! Runs a task's operations on a system, and keeps what is to be told of it.

use crate::words::Words;
use crate::{Op, Spawn, System, TaskId};
use lab::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task's operations, ending with its exit.
pub type Program = Box<dyn Iterator<Item = Op> + Send>;

/// A timed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// Label of the `Begin` that it stands under.
    pub label: u16,
    /// When it began, on the system's clock.
    pub at: u64,
    /// Nanoseconds that it took.
    pub nanos: u64,
    /// Bytes that it was about; 0 where it has no size.
    pub bytes: u64,
    /// Huge pages under the range afterwards, where that can be told.
    pub huge: Option<u32>,
    /// Whether it failed.
    pub failed: bool,
}

/// A moment that a task marked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Mark {
    /// Label of the `Mark`.
    pub label: u16,
    /// When, on the system's clock.
    pub at: u64,
    /// The kernel's counters, by /proc/vmstat name.
    pub counters: BTreeMap<String, u64>,
}

/// A stretch of time for which a task went on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Span {
    /// Label of the `For`.
    pub label: u16,
    /// When it began, on the system's clock.
    pub at: u64,
    /// Nanoseconds until its end.
    pub nanos: u64,
    /// Operations that were performed.
    pub ops: u64,
}

/// What is left of a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// What it ran.
    pub role: u16,
    /// Operations done.
    pub ops: u64,
    /// Of these, failed ones.
    pub failed: u64,
    /// Digest of the operations within the quota, whatever came of them: the same in every run of the scenario. `None` if the
    /// run ended before the task had done them.
    pub digest: Option<u64>,
    /// Children forked within the quota, in order: their operations belong to the scenario as well.
    pub owed: Vec<TaskId>,
    /// Timed operations.
    pub timings: Vec<Timing>,
    /// Marks, in order.
    pub marks: Vec<Mark>,
    /// Stretches of time, in order.
    #[serde(default)]
    pub spans: Vec<Span>,
}

impl TaskReport {
    /// The report of a task that has done nothing yet.
    pub fn new(spawn: &Spawn) -> TaskReport {
        TaskReport {
            task: spawn.task,
            role: spawn.role,
            ops: 0,
            failed: 0,
            digest: None,
            owed: Vec::new(),
            timings: Vec::new(),
            marks: Vec::new(),
            spans: Vec::new(),
        }
    }
}

/// A task on its way.
struct Driving {
    report: TaskReport,
    digest: Digest,
    label: Option<u16>,
    /// The `For` that the task is in, and how long it may take.
    span: Option<(Span, u64)>,
}

/// Runs a program to its end, or until the run is over. `quota` is the number of operations that a root owes (a child owes all
/// of its own).
pub async fn drive<S: System>(system: &mut S, spawn: &Spawn, program: Program, quota: Option<u64>) -> TaskReport {
    let mut driving = Driving { report: TaskReport::new(spawn), digest: Digest::default(), label: None, span: None };
    for op in program {
        if quota == Some(driving.report.ops) {
            driving.owes_no_more();
            system.quota_done();
        }
        if system.over() {
            return driving.report;
        }
        driving.perform(system, &op).await;
    }
    if driving.report.digest.is_none() {
        driving.owes_no_more();
        if quota.is_some() {
            system.quota_done();
        }
    }
    driving.report
}

impl Driving {
    fn owes_no_more(&mut self) {
        self.report.digest = Some(self.digest.value());
    }

    async fn perform<S: System>(&mut self, system: &mut S, op: &Op) {
        self.report.ops += 1;
        if self.report.digest.is_none() {
            Words::from(op).fold(&mut self.digest);
            if let Op::Fork(child) = op {
                self.report.owed.push(child.task);
            }
        }
        match *op {
            Op::Begin { label } => self.label = Some(label),
            Op::End => self.label = None,
            Op::Mark { label } => {
                self.report.marks.push(Mark { label, at: system.now(), counters: system.counters() });
            }
            Op::For { label, nanos } => {
                self.end_span(system);
                self.span = Some((Span { label, at: system.now(), nanos: 0, ops: 0 }, nanos));
            }
            Op::Done => self.end_span(system),
            _ if self.is_passed_over(system) => {}
            _ => self.carry_out(system, op).await,
        }
    }

    /// Counts the operation in the stretch that it falls into, if there is time left for it.
    fn is_passed_over<S: System>(&mut self, system: &S) -> bool {
        let Some((span, limit)) = &mut self.span else { return false };
        let over = system.now() - span.at >= *limit;
        span.ops += u64::from(!over);
        over
    }

    /// The stretch ends: at its limit at the latest, unless its last operation took longer.
    fn end_span<S: System>(&mut self, system: &S) {
        if let Some((span, _)) = self.span.take() {
            self.report.spans.push(Span { nanos: system.now() - span.at, ..span });
        }
    }

    async fn carry_out<S: System>(&mut self, system: &mut S, op: &Op) {
        let at = system.now();
        let outcome = system.perform(op).await;
        self.report.failed += u64::from(outcome.is_err());
        if let Some(label) = self.label {
            let huge = outcome.ok().and_then(|touched| touched.huge);
            let (nanos, failed) = (system.now() - at, outcome.is_err());
            self.report.timings.push(Timing { label, at, nanos, bytes: op.bytes(), huge, failed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Errno, RegionId, Touched, ready};

    const SECOND: u64 = 1_000_000_000;
    const REGION: RegionId = RegionId(0);

    /// Each operation takes a second, nothing can be unmapped, and every touch meets three huge pages.
    #[derive(Default)]
    struct Slow {
        now: u64,
        done: bool,
    }

    impl System for Slow {
        async fn perform(&mut self, op: &Op) -> Result<Touched, Errno> {
            self.now += SECOND;
            match op {
                Op::Unmap { .. } => Err(Errno(22)),
                Op::Touch { .. } => Ok(Touched { huge: Some(3) }),
                _ => Ok(Touched::default()),
            }
        }

        fn now(&self) -> u64 {
            self.now
        }

        fn over(&self) -> bool {
            self.done
        }

        fn quota_done(&mut self) {
            self.done = true;
        }
    }

    fn driven(ops: &[Op], quota: Option<u64>) -> TaskReport {
        let ops: Vec<Op> = ops.into();
        ready(drive(&mut Slow::default(), &Spawn::root(0, 0, 0, 1), Box::new(ops.into_iter()), quota))
    }

    fn touch(bytes: u64) -> Op {
        Op::Touch { region: REGION, offset: 0, bytes, access: Access::Write }
    }

    #[test]
    fn what_lies_between_begin_and_end_is_timed_failures_too() {
        let unmap = Op::Unmap { region: REGION, offset: 0, bytes: 8192 };
        let report = driven(&[touch(1), Op::Begin { label: 7 }, touch(4096), unmap, Op::End, touch(1), unmap], None);
        let timing = |at, bytes, huge, failed| Timing { label: 7, at, nanos: SECOND, bytes, huge, failed };
        assert_eq!(report.timings, [timing(SECOND, 4096, Some(3), false), timing(2 * SECOND, 8192, None, true)]);
        assert_eq!((report.ops, report.failed), (7, 2), "one of them outside of what is timed");
    }

    #[test]
    fn what_would_begin_at_the_end_of_its_time_is_passed_over() {
        let begin = Op::For { label: 3, nanos: 2 * SECOND };
        let report = driven(&[touch(1), begin, touch(1), touch(1), touch(1), Op::Done, touch(1)], None);
        assert_eq!(report.spans, [Span { label: 3, at: SECOND, nanos: 2 * SECOND, ops: 2 }]);
        assert_eq!(report.ops, 7, "they are the task's operations all the same");
        let long = driven(&[Op::For { label: 3, nanos: SECOND / 2 }, touch(1), touch(1), Op::Done], None);
        assert_eq!(long.spans, [Span { label: 3, at: 0, nanos: SECOND, ops: 1 }], "the last one took longer");
        let next = driven(&[begin, touch(1), Op::For { label: 4, nanos: SECOND }, touch(1), Op::Done], None);
        assert_eq!(next.spans.iter().map(|span| (span.label, span.at)).collect::<Vec<_>>(), [(3, 0), (4, SECOND)]);
    }

    /// A child that is forked behind the quota belongs to no other run of the scenario.
    #[test]
    fn a_root_owes_its_quota_and_whom_it_forks_within_that() {
        let child = |nth| Op::Fork(Spawn::root(0, 0, 0, 1).child(nth, 0, 0));
        let [short, long] = [2, 3].map(|ops| driven(&[touch(1), child(0), child(1)][..ops], Some(2)));
        assert_eq!((short.ops, long.ops), (2, 2), "the run is over once the only root has done its share");
        assert_eq!(short.digest, long.digest);
        assert_eq!(long.owed, [Spawn::root(0, 0, 0, 1).child(0, 0, 0).task]);
        let cut_short = driven(&[touch(1), touch(1)], Some(1));
        assert_eq!((cut_short.ops, cut_short.digest), (1, driven(&[touch(1)], Some(1)).digest));
        assert_ne!(driven(&[touch(1)], None).digest, driven(&[touch(2)], None).digest);
    }
}
