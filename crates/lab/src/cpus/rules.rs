//! *Who of those that share a CPU runs?* Two generations of the kernel's fair scheduler, without groups.

use super::entities::{Entities, Entity, Standing};
use crate::task::TaskId;
use mm::Nanos;
use pagealloc::policy::Scheduler;

/// A tick of 250 Hz.
pub(super) const TICK: Nanos = 4_000_000;

/// `base_slice_ns` of one CPU.
const BASE_SLICE: Nanos = 700_000;
/// `latency_ns`, `min_granularity_ns` and `wakeup_granularity_ns` of one CPU; beyond so many tasks the latter decides.
const LATENCY: Nanos = 6_000_000;
const MIN_GRANULARITY: Nanos = 750_000;
const WAKEUP_GRANULARITY: Nanos = 1_000_000;
const NR_LATENCY: u64 = 8;

/// The rules that are in force.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rules {
    /// Completely fair scheduler (up to 6.5): who has had least runs. Who wakes up has at most half of `latency` less than the least
    /// of the others, and takes the CPU from who has had more by the wake-up granularity.
    Cfs { latency: Nanos, min_granularity: Nanos, wakeup_granularity: Nanos },
    /// Earliest eligible virtual deadline first (6.6 and later): of those that have had no more than their share, who will have
    /// had its slice first. It stays until then, or, having had its share, until somebody wakes up who is to run.
    /// What a task was owed when it went to sleep it is owed when it wakes up; what it owed it has paid off by then as if it had
    /// stayed (`DELAY_DEQUEUE`, 6.12).
    Eevdf { slice: Nanos },
}

impl Rules {
    /// Of a machine with so many CPUs: times grow with their logarithm, to eight.
    pub fn new(scheduler: Scheduler, cpus: u16) -> Rules {
        let scaled = |nanos: Nanos| nanos * u64::from(1 + cpus.clamp(1, 8).ilog2());
        match scheduler {
            Scheduler::Cfs => Rules::Cfs {
                latency: scaled(LATENCY),
                min_granularity: scaled(MIN_GRANULARITY),
                wakeup_granularity: scaled(WAKEUP_GRANULARITY),
            },
            Scheduler::Eevdf => Rules::Eevdf { slice: scaled(BASE_SLICE) },
        }
    }

    /// What a task that runs may have at a time, where that does not depend on who else there is.
    pub fn slice(&self) -> Option<Nanos> {
        match self {
            Rules::Cfs { .. } => None,
            Rules::Eevdf { slice } => Some(*slice),
        }
    }

    /// Where a task that comes stands among those that are there.
    pub fn place(&self, queue: &Entities, task: TaskId, Standing { weight, owed, .. }: Standing) -> Entity {
        let mut entity = Entity { task, weight, vruntime: 0, deadline: 0 };
        match *self {
            Rules::Cfs { latency, .. } => {
                let owed = match owed {
                    Some(owed) => owed.min(latency as i64 / 2),
                    // A new task has had the slice that it is to have.
                    None => -entity.virtual_time(self.share(queue, &entity, queue.load() + i64::from(weight))),
                };
                entity.vruntime = queue.least - owed;
            }
            Rules::Eevdf { slice } => {
                let load = queue.load();
                // Its coming moves the average, too.
                let lag = if load > 0 { owed.unwrap_or(0) * (load + i64::from(weight)) / load } else { 0 };
                entity.vruntime = average(queue) - lag;
                let slice = if owed.is_some() { slice } else { slice / 2 };
                entity.deadline = entity.vruntime + entity.virtual_time(slice);
            }
        }
        entity
    }

    /// What a task that goes is owed.
    pub fn owed(&self, queue: &Entities, entity: &Entity) -> i64 {
        match *self {
            Rules::Cfs { .. } => queue.least - entity.vruntime,
            Rules::Eevdf { slice } => {
                let most = entity.virtual_time((2 * slice).max(TICK));
                (average(queue) - entity.vruntime).clamp(-most, most)
            }
        }
    }

    /// What a task that slept is owed when it wakes up, by the queue that it was on.
    pub fn owed_after_sleep(&self, queue: &Entities, standing: Standing) -> Standing {
        let went_by = queue.least - standing.least;
        let owed = standing.owed.map(|owed| match self {
            Rules::Eevdf { .. } if owed < 0 => (owed + went_by).min(0),
            Rules::Eevdf { .. } => owed,
            Rules::Cfs { .. } => owed + went_by,
        });
        Standing { owed, ..standing }
    }

    /// Who is to run.
    pub fn pick(&self, queue: &Entities) -> Option<TaskId> {
        let all = queue.all.iter();
        let first = match self {
            Rules::Cfs { .. } => all.min_by_key(|of| (of.vruntime, of.task)),
            Rules::Eevdf { .. } => {
                let average = average(queue);
                all.filter(|of| of.vruntime <= average).min_by_key(|of| (of.deadline, of.task))
            }
        };
        first.map(|of| of.task)
    }

    /// Whether who woke up just now takes the CPU from what runs.
    pub fn preempts(&self, queue: &Entities, woken: TaskId) -> bool {
        let Some(runs) = queue.running() else { return false };
        match *self {
            Rules::Cfs { wakeup_granularity, .. } => {
                let of_woken = queue.all.iter().find(|of| of.task == woken);
                of_woken.is_some_and(|of| runs.vruntime - of.vruntime > of.virtual_time(wakeup_granularity))
            }
            Rules::Eevdf { .. } => runs.vruntime > average(queue) && self.pick(queue) == Some(woken),
        }
    }

    /// Whether a tick takes the CPU from what runs, whose slice, if it has one, is not over.
    pub fn tick(&self, queue: &Entities, now: Nanos) -> bool {
        let Rules::Cfs { min_granularity, .. } = *self else { return false };
        let Some(runs) = queue.running() else { return false };
        let share = self.share(queue, runs, queue.load());
        let had = now - queue.since;
        let least = queue.all.iter().map(|of| of.vruntime).min().unwrap_or(runs.vruntime);
        had > share || had >= min_granularity && runs.vruntime - least > share as i64
    }

    /// A task's share of the time in which each of those that weigh so much together is to run once.
    fn share(&self, queue: &Entities, entity: &Entity, load: i64) -> Nanos {
        let Rules::Cfs { latency, min_granularity, .. } = *self else { return 0 };
        let tasks = queue.all.len() as u64;
        let round = if tasks > NR_LATENCY { tasks * min_granularity } else { latency };
        round * u64::from(entity.weight) / load.max(1) as u64
    }
}

/// Virtual time at which nobody on a queue would be owed anything.
fn average(queue: &Entities) -> i64 {
    let Some(first) = queue.all.first() else { return 0 };
    let (sum, load) = queue.all.iter().fold((0, 0), |(sum, load), of| {
        let weight = i128::from(of.weight);
        (sum + i128::from(of.vruntime - first.vruntime) * weight, load + weight)
    });
    first.vruntime + sum.div_euclid(load) as i64
}
