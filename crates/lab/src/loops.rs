//! *Which requests go round the slow path, and which of them come to the same state again?*

use crate::task::TaskId;
use mm::Nanos;
use mm::slowpath::Turn;
use std::collections::BTreeMap;

/// A request on the slow path.
pub(crate) struct Loop {
    pub pid: u32,
    /// Its last turn.
    pub turn: Turn,
    /// Turns that it has taken.
    pub turns: u64,
    /// States since something last grew: in which turn, and when.
    seen: BTreeMap<u64, (u64, Nanos)>,
    /// It came to a state a second time: the turns in between, and when it came there first.
    recurred: Option<(u64, Nanos)>,
}

/// What is known of all loops.
#[derive(Default)]
pub(crate) struct Loops {
    by_task: BTreeMap<TaskId, Loop>,
    recurred: usize,
    /// Since when nobody but daemons can change anything: what had grown by then, and when the last of them will have had
    /// its turn.
    pub stuck: Option<(u64, Nanos)>,
}

impl Loops {
    /// A request has taken a turn.
    pub fn turn(&mut self, task: TaskId, pid: u32, turn: &Turn, now: Nanos) {
        let of = self.by_task.entry(task).or_insert_with(|| Loop {
            pid,
            turn: *turn,
            turns: 0,
            seen: BTreeMap::new(),
            recurred: None,
        });
        of.turns += 1;
        if of.turn.progress != turn.progress {
            of.seen.clear();
            self.recurred -= usize::from(of.recurred.take().is_some());
        }
        of.turn = *turn;
        if of.recurred.is_none() {
            let number = of.turns;
            let &mut (first, since) = of.seen.entry(turn.state).or_insert((number, now));
            if first < number {
                of.recurred = Some((number - first, since));
                self.recurred += 1;
            }
        }
    }

    /// The task's request has left the slow path.
    pub fn ended(&mut self, task: TaskId) {
        if let Some(of) = self.by_task.remove(&task) {
            self.recurred -= usize::from(of.recurred.is_some());
        }
    }

    /// Requests that came to a state a second time.
    pub fn recurring(&self) -> usize {
        self.recurred
    }

    /// Whether the task's request came to a state a second time.
    pub fn recurs(&self, task: TaskId) -> bool {
        self.by_task.get(&task).is_some_and(|of| of.recurred.is_some())
    }

    /// What has grown so far, if every loop is of one mind about it.
    pub fn progress(&self) -> Option<u64> {
        let mut all = self.by_task.values().map(|of| of.turn.progress);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// The first that came to a state a second time, with the turns in between and when it came there first.
    pub fn first_recurring(&self) -> Option<(&Loop, u64, Nanos)> {
        self.by_task.values().find_map(|of| of.recurred.map(|(cycle, since)| (of, cycle, since)))
    }
}
