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
