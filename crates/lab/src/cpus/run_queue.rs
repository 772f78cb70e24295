//! *Who is on a CPU's queue, and how much time has each had?* Who of them runs say the [`rules`](super::rules) of the kernel.

use super::rules::Rules;
use crate::task::TaskId;
use mm::Nanos;

/// Weight of nice 0.
pub(crate) const NICE_0: u32 = 1024;

/// What is kept of a task while it is on no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub weight: u32,
    /// Virtual time that it was owed when it left its queue (negative: that it owed); none if it never ran.
    pub owed: Option<i64>,
    /// The queue's least virtual time then.
    pub least: i64,
}

impl Default for Standing {
    fn default() -> Standing {
        Standing { weight: NICE_0, owed: None, least: 0 }
    }
}

/// A task on a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entity {
    pub task: TaskId,
    pub weight: u32,
    /// Time that it has had, slower by its weight.
    pub vruntime: i64,
    /// Virtual time at which its slice is over.
    pub deadline: i64,
}

impl Entity {
    /// Virtual time of so much time.
    pub fn virtual_time(&self, nanos: Nanos) -> i64 {
        nanos as i64 * i64::from(NICE_0) / i64::from(self.weight)
    }
}

/// A CPU's tasks: the one that runs, and those that wait.
pub(super) struct RunQueue {
    rules: Rules,
    pub entities: Vec<Entity>,
    runs: Option<TaskId>,
    /// Since when it has run.
    pub since: Nanos,
    /// Until when its time is accounted for.
    accounted: Nanos,
    /// Least virtual time, which never falls.
    least: i64,
}

impl RunQueue {
    /// An empty queue.
    pub fn new(rules: Rules) -> RunQueue {
        RunQueue { rules, entities: Vec::new(), runs: None, since: 0, accounted: 0, least: 0 }
    }

    /// Tasks, whether they run or wait.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Tasks that wait.
    pub fn waiting(&self) -> usize {
        self.len() - usize::from(self.runs.is_some())
    }

    /// Whether a task runs.
    pub fn runs(&self) -> bool {
        self.runs.is_some()
    }

    /// Least virtual time.
    pub fn least(&self) -> i64 {
        self.least
    }

    /// What runs.
    pub fn running(&self) -> Option<&Entity> {
        self.entities.iter().find(|of| Some(of.task) == self.runs)
    }

    /// Weights of all.
    pub fn load(&self) -> i64 {
        self.entities.iter().map(|of| i64::from(of.weight)).sum()
    }

    /// A task comes.
    pub fn add(&mut self, task: TaskId, standing: Standing, now: Nanos) {
        self.account(now);
        let entity = self.rules.place(self, task, standing);
        self.entities.push(entity);
    }

    /// A task goes: what is kept of it.
    pub fn remove(&mut self, task: TaskId, now: Nanos) -> Standing {
        self.account(now);
        let Some(at) = self.entities.iter().position(|of| of.task == task) else { return Standing::default() };
        let owed = self.rules.owed(self, &self.entities[at]);
        let entity = self.entities.swap_remove(at);
        if self.runs == Some(task) {
            self.runs = None;
        }
        Standing { weight: entity.weight, owed: Some(owed), least: self.least }
    }

    /// Notes the time that what runs has had.
    pub fn account(&mut self, now: Nanos) {
        let nanos = now - std::mem::replace(&mut self.accounted, now);
        if let Some(runs) = self.entities.iter_mut().find(|of| Some(of.task) == self.runs) {
            runs.vruntime += runs.virtual_time(nanos);
        }
        let least = self.entities.iter().map(|of| of.vruntime).min();
        self.least = self.least.max(least.unwrap_or(self.least));
    }

    /// Lets the next one run.
    pub fn run_next(&mut self, now: Nanos) -> Option<TaskId> {
        self.account(now);
        self.runs = self.rules.pick(self);
        self.since = now;
        self.runs
    }

    /// Whether who woke up just now takes the CPU from what runs, or that has had its slice.
    pub fn preempts(&mut self, woken: TaskId, now: Nanos) -> bool {
        self.begin_slice_if_over(now) || self.rules.preempts(self, woken)
    }

    /// Whether what runs has had its slice, which a tick looks for.
    pub fn tick(&mut self, now: Nanos) -> bool {
        self.begin_slice_if_over(now) || self.rules.tick(self, now)
    }

    /// The slice of what runs, if it has an end, begins anew.
    fn begin_slice_if_over(&mut self, now: Nanos) -> bool {
        self.account(now);
        let Some(slice) = self.rules.slice() else { return false };
        let runs = self.runs;
        let Some(runs) = self.entities.iter_mut().find(|of| Some(of.task) == runs) else { return false };
        let over = runs.vruntime >= runs.deadline;
        if over {
            runs.deadline = runs.vruntime + runs.virtual_time(slice);
        }
        over
    }

    /// What is kept of a task that slept since it was on this queue.
    pub fn of_sleeper(&self, standing: Standing) -> Standing {
        self.rules.owed_after_sleep(self, standing)
    }

    /// Who of those that wait goes elsewhere first.
    pub fn to_move(&self) -> Option<TaskId> {
        self.entities.iter().map(|of| of.task).find(|&task| Some(task) != self.runs)
    }
}
