//! Runs a task's operations on a system, and keeps what is to be told of it.

use crate::{Op, Spawn, System, TaskId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A task's operations, ending with its exit.
pub type Program = Box<dyn Iterator<Item = Op> + Send>;

/// A timed touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Label of the `Begin` that it stands under.
    pub label: u16,
    /// When it began, on the system's clock.
    pub at: u64,
    /// Nanoseconds that it took.
    pub nanos: u64,
    /// Bytes touched.
    pub bytes: u64,
    /// Huge pages under the range afterwards, where that can be told.
    pub huge: Option<u32>,
}

/// What is left of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// Timed touches.
    pub timings: Vec<Timing>,
}

/// Runs a program to its end, or until the run is over. `quota` is the number of operations that a root owes (a child owes all
/// of its own).
pub async fn drive<S: System>(system: &mut S, spawn: &Spawn, program: Program, quota: Option<u64>) -> TaskReport {
    let mut report =
        TaskReport { task: spawn.task, role: spawn.role, ops: 0, failed: 0, digest: None, timings: Vec::new() };
    let mut digest = DefaultHasher::new();
    let mut label = None;
    for op in program {
        if quota == Some(report.ops) {
            report.digest = Some(digest.finish());
            system.quota_done();
        }
        if system.over() {
            return report;
        }
        report.ops += 1;
        op.hash(&mut digest);
        match op {
            Op::Begin { label: begun } => label = Some(begun),
            Op::End => label = None,
            Op::Touch { bytes, .. } => {
                let at = system.now();
                let outcome = system.perform(&op).await;
                report.failed += u64::from(outcome.is_err());
                if let Some(label) = label {
                    let huge = outcome.ok().and_then(|touched| touched.huge);
                    report.timings.push(Timing { label, at, nanos: system.now() - at, bytes, huge });
                }
            }
            _ => report.failed += u64::from(system.perform(&op).await.is_err()),
        }
    }
    if report.digest.is_none() {
        report.digest = Some(digest.finish());
        if quota.is_some() {
            system.quota_done();
        }
    }
    report
}
