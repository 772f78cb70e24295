//! Tasks that had to wait: they don't catch up at once. The next operation takes as long to come as it did in the
//! recording, so that a wait shifts the demand instead of heaping it up; what makes up for a lag are the task's own
//! pauses.

use super::driver::Driver;
use crate::pagelog::Op;
use mm::Env;
use std::collections::{BTreeSet, VecDeque};

/// A task that did nothing for this long in the recording was waiting or asleep: such a pause makes up for a lag.
const PAUSE_NS: u64 = 2_000_000;

/// What tasks had to hold back, and when they go on.
pub(super) struct Held {
    /// By task: operations behind the one that waits or lags; `None` for tasks that are in step.
    backlog: Vec<Option<VecDeque<Op>>>,
    /// Tasks that lag, with the time at which each one's next operation is due.
    due: BTreeSet<(u64, usize)>,
    /// Time of the first of them; the end of time if there is none.
    pub next: u64,
}

impl Held {
    pub fn new(tasks: usize) -> Held {
        Held { backlog: (0..tasks.max(1)).map(|_| None).collect(), due: BTreeSet::new(), next: u64::MAX }
    }

    /// The task waits for an answer.
    pub fn wait(&mut self, task: u16) {
        self.backlog[usize::from(task)].get_or_insert_default();
    }

    /// Holds the operation back if its task is not in step.
    #[inline(always)]
    pub fn hold(&mut self, op: Op) -> bool {
        match &mut self.backlog[usize::from(op.task)] {
            Some(waiting) => {
                waiting.push_back(op);
                true
            }
            None => false,
        }
    }

    fn schedule(&mut self, at: u64, task: usize) {
        self.due.insert((at, task));
        self.next = self.next.min(at);
    }

    fn pop(&mut self) -> Option<(u64, usize)> {
        let first = self.due.pop_first();
        self.next = self.due.first().map_or(u64::MAX, |(at, _)| *at);
        first
    }
}

impl Driver<'_> {
    /// The task has its answer.
    pub(super) fn resume(&mut self, task: usize) {
        let now = self.mm.env.now();
        match self.held.backlog[task].as_ref().map(|waiting| waiting.front().map(|next| next.ts)) {
            Some(Some(ts)) => self.held.schedule(now.max(ts), task),
            Some(None) => self.held.backlog[task] = None,
            None => {}
        }
    }

    /// The next operation of a task that lags.
    pub(super) fn next_lagging(&mut self) {
        let Some((at, task)) = self.held.pop() else { return };
        self.mm.env.clock.set(self.mm.env.clock.get().max(at));
        let Some(mut waiting) = self.held.backlog[task].take() else { return };
        let Some(op) = waiting.pop_front() else { return };
        self.operation(op);
        // `Some` again: it waits anew, and what is left waits behind it.
        if let Some(anew) = &mut self.held.backlog[task] {
            anew.append(&mut waiting);
            return;
        }
        let Some(next) = waiting.front() else { return };
        let (lag, gap) = (at.saturating_sub(op.ts), next.ts - op.ts);
        let lag = if gap > PAUSE_NS { lag.saturating_sub(gap) } else { lag };
        self.held.schedule(next.ts + lag, task);
        self.held.backlog[task] = Some(waiting);
    }
}
