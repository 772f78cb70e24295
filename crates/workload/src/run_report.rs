//! What is left of a whole run: every task's report, and what can be said of them together.

use crate::{Root, TaskId, TaskReport, Workload};
use lab::Digest;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A run of a workload, on whatever system.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunReport {
    /// Names of the roles, by number.
    pub roles: Vec<String>,
    /// Names of what was timed, by number.
    pub labels: Vec<String>,
    /// Root tasks in order.
    pub roots: Vec<TaskId>,
    /// Reports of all tasks that came to their end, in no particular order.
    pub tasks: Vec<TaskReport>,
    /// Tasks that were killed, by the OOM killer for one: they left no report.
    pub killed: u64,
    /// Nanoseconds from the first root's start to the last task's exit, on the system's clock.
    pub elapsed: u64,
    /// What the run hung in, where that can be told: it was broken off there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<String>,
}

/// A role's share in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoleTotal {
    /// Its name.
    pub role: String,
    /// Tasks that ran it.
    pub tasks: u64,
    /// Operations done.
    pub ops: u64,
    /// Of these, failed ones.
    pub failed: u64,
}

/// Times of what was done under a label.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelTotal {
    /// Its name.
    pub label: String,
    /// Timed touches.
    pub touches: u64,
    /// Mean time of one, nanoseconds.
    pub mean: u64,
    /// Median time.
    pub median: u64,
    /// Time that 95 of 100 touches don't exceed.
    pub p95: u64,
    /// Bytes under huge pages, of those of which it is known; `None` if it is known of none.
    pub huge_percent: Option<u64>,
}

impl RunReport {
    /// The report of a run on which nothing has happened yet.
    pub fn new(workload: &dyn Workload, roots: &[Root]) -> RunReport {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        RunReport {
            roles: owned(workload.roles()),
            labels: owned(workload.labels()),
            roots: roots.iter().map(|root| root.spawn.task).collect(),
            ..RunReport::default()
        }
    }

    /// Digest of all operations that the scenario owes: every root's up to its quota, and those of the children that these
    /// forked. The same in every complete run; `None` if a task was cut short or killed before it was done.
    pub fn digest(&self) -> Option<u64> {
        let reports: HashMap<TaskId, &TaskReport> = self.tasks.iter().map(|report| (report.task, report)).collect();
        let mut digest = Digest::default();
        let mut next: Vec<TaskId> = self.roots.iter().rev().copied().collect();
        while let Some(task) = next.pop() {
            let report = reports.get(&task)?;
            digest.fold(task.0);
            digest.fold(report.digest?);
            next.extend(report.owed.iter().rev());
        }
        Some(digest.value())
    }

    /// Operations and tasks by role.
    pub fn by_role(&self) -> Vec<RoleTotal> {
        let total = |(number, name): (usize, &String)| {
            let mut total = RoleTotal { role: name.clone(), ..RoleTotal::default() };
            for report in self.tasks.iter().filter(|report| usize::from(report.role) == number) {
                total.tasks += 1;
                total.ops += report.ops;
                total.failed += report.failed;
            }
            total
        };
        self.roles.iter().enumerate().map(total).collect()
    }

    /// Times by label. `huge_bytes` is the size of a huge page.
    pub fn by_label(&self, huge_bytes: u64) -> Vec<LabelTotal> {
        let total = |(number, name): (usize, &String)| self.times(number, name, huge_bytes);
        self.labels.iter().enumerate().map(total).collect()
    }

    fn times(&self, number: usize, name: &str, huge_bytes: u64) -> LabelTotal {
        let timings = self.tasks.iter().flat_map(|report| &report.timings);
        let timings: Vec<_> = timings.filter(|timing| usize::from(timing.label) == number).collect();
        let mut nanos: Vec<u64> = timings.iter().map(|timing| timing.nanos).collect();
        nanos.sort_unstable();
        let at = |percent: usize| nanos.get((nanos.len() * percent / 100).min(nanos.len().saturating_sub(1))).copied();
        let known = || timings.iter().filter_map(|timing| Some((timing.bytes, timing.huge?)));
        let bytes: u64 = known().map(|(bytes, _)| bytes).sum();
        let huge: u64 = known().map(|(_, huge)| u64::from(huge) * huge_bytes).sum();
        LabelTotal {
            label: name.to_owned(),
            touches: nanos.len() as u64,
            mean: nanos.iter().sum::<u64>() / (nanos.len() as u64).max(1),
            median: at(50).unwrap_or(0),
            p95: at(95).unwrap_or(0),
            huge_percent: (bytes > 0).then(|| huge * 100 / bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timing;

    fn report(task: u64, digest: Option<u64>, owed: &[u64]) -> TaskReport {
        let owed = owed.iter().map(|&task| TaskId(task)).collect();
        TaskReport {
            task: TaskId(task),
            role: 0,
            ops: 3,
            failed: 1,
            digest,
            owed,
            timings: Vec::new(),
            marks: Vec::new(),
            spans: Vec::new(),
        }
    }

    fn run(tasks: Vec<TaskReport>) -> RunReport {
        RunReport { roles: vec!["a".into()], roots: vec![TaskId(1)], tasks, ..RunReport::default() }
    }

    #[test]
    fn the_digest_needs_every_task_owed_and_no_other() {
        let complete = run(vec![report(2, Some(6), &[]), report(1, Some(5), &[2])]);
        let with_extra = run(vec![report(1, Some(5), &[2]), report(9, None, &[]), report(2, Some(6), &[])]);
        assert!(complete.digest().is_some());
        assert_eq!(complete.digest(), with_extra.digest());
        assert_eq!(run(vec![report(1, Some(5), &[2])]).digest(), None, "a child is missing");
        assert_eq!(run(vec![report(1, None, &[])]).digest(), None, "cut short");
        assert_ne!(run(vec![report(1, Some(4), &[])]).digest(), run(vec![report(1, Some(5), &[])]).digest());
    }

    #[test]
    fn totals_add_up() {
        let mut task = report(1, Some(5), &[]);
        let timing = |nanos, huge| Timing { label: 0, at: 0, nanos, bytes: 2 << 20, huge, failed: false };
        task.timings = (1..=100).map(|nanos| timing(nanos, Some(u32::from(nanos <= 30)))).collect();
        let run = RunReport { labels: vec!["burst".into()], ..run(vec![task, report(2, None, &[])]) };
        assert_eq!(run.by_role(), [RoleTotal { role: "a".into(), tasks: 2, ops: 6, failed: 2 }]);
        let times = &run.by_label(2 << 20)[0];
        assert_eq!((times.touches, times.mean, times.median, times.p95), (100, 50, 51, 96));
        assert_eq!(times.huge_percent, Some(30));
    }

    #[test]
    fn what_does_not_tell_of_huge_pages_has_no_part_in_their_share() {
        let share = |huge: [Option<u32>; 3]| {
            let mut task = report(1, Some(5), &[]);
            let timing = |huge| Timing { label: 0, at: 0, nanos: 1, bytes: 4 << 20, huge, failed: false };
            task.timings = huge.map(timing).into();
            let run = RunReport { labels: vec!["burst".into()], ..run(vec![task]) };
            run.by_label(2 << 20)[0].huge_percent
        };
        assert_eq!([share([Some(2), Some(1), None]), share([None; 3])], [Some(75), None]);
    }
}
