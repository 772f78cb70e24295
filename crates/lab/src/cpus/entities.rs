//! *Who is on a CPU's queue?* What the [`rules`](super::rules) of the kernel look at.

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

/// All that are on a queue.
#[derive(Default)]
pub(super) struct Entities {
    pub all: Vec<Entity>,
    /// The one that runs.
    pub runs: Option<TaskId>,
    /// Since when it has run.
    pub since: Nanos,
    /// Least virtual time, which never falls.
    pub least: i64,
}

impl Entities {
    /// What runs.
    pub fn running(&self) -> Option<&Entity> {
        self.all.iter().find(|of| Some(of.task) == self.runs)
    }

    /// The same, to be changed.
    pub fn running_mut(&mut self) -> Option<&mut Entity> {
        self.all.iter_mut().find(|of| Some(of.task) == self.runs)
    }

    /// Weights of all.
    pub fn load(&self) -> i64 {
        self.all.iter().map(|of| i64::from(of.weight)).sum()
    }
}
