//! *How much time has each task of a CPU's queue had, and what comes of it?* Who of them runs say the [`rules`](super::rules) of the kernel.

use super::entities::{Entities, Standing};
use super::rules::Rules;
use crate::task::TaskId;
use mm::Nanos;

/// A CPU's tasks: the one that runs, and those that wait.
pub(super) struct RunQueue {
    rules: Rules,
    entities: Entities,
    /// Until when the time of what runs is accounted for.
    accounted: Nanos,
}

impl RunQueue {
    /// An empty queue.
    pub fn new(rules: Rules) -> RunQueue {
        RunQueue { rules, entities: Entities::default(), accounted: 0 }
    }

    /// Tasks, whether they run or wait.
    pub fn len(&self) -> usize {
        self.entities.all.len()
    }

    /// Tasks that wait.
    pub fn waiting(&self) -> usize {
        self.len() - usize::from(self.runs())
    }

    /// Whether a task runs.
    pub fn runs(&self) -> bool {
        self.entities.runs.is_some()
    }

    /// A task comes.
    pub fn add(&mut self, task: TaskId, standing: Standing, now: Nanos) {
        self.account(now);
        let entity = self.rules.place(&self.entities, task, standing);
        self.entities.all.push(entity);
    }

    /// A task goes: what is kept of it.
    pub fn remove(&mut self, task: TaskId, now: Nanos) -> Standing {
        self.account(now);
        let Some(at) = self.entities.all.iter().position(|of| of.task == task) else { return Standing::default() };
        let owed = self.rules.owed(&self.entities, &self.entities.all[at]);
        let entity = self.entities.all.swap_remove(at);
        if self.entities.runs == Some(task) {
            self.entities.runs = None;
        }
        Standing { weight: entity.weight, owed: Some(owed), least: self.entities.least }
    }

    /// Notes the time that what runs has had.
    fn account(&mut self, now: Nanos) {
        let nanos = now - std::mem::replace(&mut self.accounted, now);
        if let Some(runs) = self.entities.running_mut() {
            runs.vruntime += runs.virtual_time(nanos);
        }
        let least = self.entities.all.iter().map(|of| of.vruntime).min();
        self.entities.least = self.entities.least.max(least.unwrap_or(self.entities.least));
    }

    /// Lets the next one run.
    pub fn run_next(&mut self, now: Nanos) -> Option<TaskId> {
        self.account(now);
        self.entities.runs = self.rules.pick(&self.entities);
        self.entities.since = now;
        self.entities.runs
    }

    /// Whether who woke up just now takes the CPU from what runs, or that has had its slice.
    pub fn preempts(&mut self, woken: TaskId, now: Nanos) -> bool {
        self.begin_slice_if_over(now) || self.rules.preempts(&self.entities, woken)
    }

    /// Whether what runs has had its slice, which a tick looks for.
    pub fn tick(&mut self, now: Nanos) -> bool {
        self.begin_slice_if_over(now) || self.rules.tick(&self.entities, now)
    }

    /// The slice of what runs, if it has an end, begins anew.
    fn begin_slice_if_over(&mut self, now: Nanos) -> bool {
        self.account(now);
        let Some(slice) = self.rules.slice() else { return false };
        let Some(runs) = self.entities.running_mut() else { return false };
        let over = runs.vruntime >= runs.deadline;
        if over {
            runs.deadline = runs.vruntime + runs.virtual_time(slice);
        }
        over
    }

    /// What is kept of a task that slept since it was on this queue.
    pub fn of_sleeper(&self, standing: Standing) -> Standing {
        self.rules.owed_after_sleep(&self.entities, standing)
    }

    /// Who of those that wait goes elsewhere first.
    pub fn to_move(&self) -> Option<TaskId> {
        self.entities.all.iter().map(|of| of.task).find(|&task| Some(task) != self.entities.runs)
    }
}
