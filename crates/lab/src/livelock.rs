//! Finds tasks that go round the slow path for ever.
//!
//! This is a rule, not a timeout. A run is in a livelock when nothing that happens in it can change what its loops decide:
//!
//! 1. Each looping request has come to the same state twice ([`Turn::state`]) while nothing that grows had grown
//!    ([`Turn::progress`]): no page freed, handed out, moved, read or written, nobody killed. The turns in between had no
//!    effect, and the next ones are the same.
//! 2. Every other task waits to be woken by somebody. One that works, is about to, or sleeps for a time, may free memory
//!    later: time passes for it.
//! 3. No page is being written.
//! 4. Daemons work for the loops. Each has had its turn since 1 to 3 hold: whatever they waited for then has come, and
//!    nothing has grown by it.
//!
//! What the rule misses: loops beside a task that never stops sleeping and waking.

use crate::env::{TaskId, VirtualEnv};
use mm::slowpath::Turn;
use mm::{Nanos, TaskContext};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A request that loops for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Livelock {
    /// Process that it belongs to.
    pub pid: u32,
    /// Where it is: loop, flags, counters.
    pub turn: Turn,
    /// Turns that were taken; those that can have no effect are not, one by one, and not counted.
    pub turns: u64,
    /// Turns after which it comes to the same state again.
    pub cycle: u64,
    /// When it came to this state first.
    pub since: Nanos,
    /// Other tasks that loop like it.
    pub others: usize,
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Livelock { turn, turns, cycle, since, others, .. } = self;
        let seconds = *since as f64 / 1e9;
        write!(
            f,
            "{} of an order-{} request, {turns} turns, the same {cycle} over and over since {seconds:.3} s; nothing that it \
             depends on changes any more: gfp_mask={} migratetype={:?} alloc_flags={} priority={} compaction_retries={} \
             no_progress_loops={} kills={}",
            turn.retry.name(),
            turn.order,
            turn.gfp,
            turn.migratetype,
            turn.flags,
            turn.priority,
            turn.compaction_retries,
            turn.no_progress_loops,
            turn.kills,
        )?;
        if *others > 0 { write!(f, "; {others} more tasks loop like it") } else { Ok(()) }
    }
}

/// A request on the slow path.
struct Loop {
    pid: u32,
    turn: Turn,
    turns: u64,
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
    daemons: BTreeSet<TaskId>,
    /// Since when nobody but daemons can change anything: what had grown by then, and when the last of them will have had
    /// its turn.
    stuck: Option<(u64, Nanos)>,
}

impl Loops {
    pub fn add_daemon(&mut self, task: TaskId) {
        self.daemons.insert(task);
    }

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

    pub fn ended(&mut self, task: TaskId) {
        if let Some(of) = self.by_task.remove(&task) {
            self.recurred -= usize::from(of.recurred.is_some());
        }
    }

    fn recurs(&self, task: TaskId) -> bool {
        self.by_task.get(&task).is_some_and(|of| of.recurred.is_some())
    }

    /// What has grown so far, if every loop is of one mind about it.
    fn progress(&self) -> Option<u64> {
        let mut all = self.by_task.values().map(|of| of.turn.progress);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }
}

impl VirtualEnv {
    /// Time for which the current task goes round without effect: until something falls due, if it has come to a state a
    /// second time and nobody else is about to do anything. Those turns need not be taken one by one.
    pub(crate) fn futile_time(&self) -> Nanos {
        let loops = self.loops.borrow();
        let futile = loops.recurred > 0 && loops.recurs(self.current.get()) && self.next_due() < Nanos::MAX;
        if futile && self.nobody_is_ready() { self.next_due().saturating_sub(mm::Env::now(self)) } else { 0 }
    }

    pub(crate) fn note_turn(&self, task: &TaskContext, turn: &Turn) {
        self.loops.borrow_mut().turn(self.current.get(), task.pid, turn, mm::Env::now(self));
    }

    /// Whether the run is in a livelock, its tasks being these.
    pub(crate) fn livelock(&self, tasks: impl Iterator<Item = TaskId>) -> Option<Livelock> {
        let mut loops = self.loops.borrow_mut();
        if loops.recurred == 0 {
            return None;
        }
        let (daemons, others): (Vec<TaskId>, Vec<TaskId>) = tasks.partition(|task| loops.daemons.contains(task));
        let waits_for_ever = |task: TaskId| self.waits_until(task) == Some(Nanos::MAX);
        let nobody_acts = others.iter().all(|&task| loops.recurs(task) || waits_for_ever(task));
        let progress = loops.progress().filter(|_| nobody_acts && !self.is_writing());
        let Some(progress) = progress else {
            loops.stuck = None;
            return None;
        };
        // A daemon at work may be about to change something.
        let turns: Option<Vec<Nanos>> = daemons.iter().map(|&task| self.waits_until(task)).collect();
        let turns = turns?;
        match loops.stuck {
            Some((before, last)) if before == progress => {
                (mm::Env::now(self) > last).then(|| loops.first_looping()).flatten()
            }
            _ => {
                let last = turns.into_iter().filter(|&at| at < Nanos::MAX).max();
                loops.stuck = Some((progress, last.unwrap_or(0)));
                None
            }
        }
    }
}

impl Loops {
    fn first_looping(&self) -> Option<Livelock> {
        let of = self.by_task.values().find(|of| of.recurred.is_some())?;
        let (cycle, since) = of.recurred?;
        Some(Livelock {
            pid: of.pid,
            turn: of.turn,
            turns: of.turns,
            cycle,
            since,
            others: self.by_task.values().filter(|of| of.recurred.is_some()).count() - 1,
        })
    }
}
