//! *Do tasks go round the slow path for ever?*
//!
//! The answer is a rule, not a timeout. A run is in a livelock when nothing that happens in it can change what its loops decide:
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

use crate::env::VirtualEnv;
use crate::loops::Loops;
use crate::task::TaskId;
use mm::slowpath::Turn;
use mm::{Nanos, TaskContext};
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

impl Livelock {
    fn of(loops: &Loops) -> Option<Livelock> {
        let (first, cycle, since) = loops.first_recurring()?;
        Some(Livelock {
            pid: first.pid,
            turn: first.turn,
            turns: first.turns,
            cycle,
            since,
            others: loops.recurring() - 1,
        })
    }
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

impl VirtualEnv {
    /// Time for which the current task goes round without effect: until something falls due, if it has come to a state a
    /// second time and nobody else is about to do anything. Those turns need not be taken one by one. (Not in a replay, where
    /// what is recorded comes without falling due.)
    pub(crate) fn futile_time(&self) -> Nanos {
        let loops = self.loops.borrow();
        let futile = loops.recurring() > 0
            && self.cpus.is_some()
            && loops.recurs(self.current.get())
            && self.next_due() < Nanos::MAX;
        if futile && self.nobody_is_ready() { self.next_due().saturating_sub(mm::Env::now(self)) } else { 0 }
    }

    pub(crate) fn note_turn(&self, task: &TaskContext, turn: &Turn) {
        self.loops.borrow_mut().turn(self.current.get(), task.pid, turn, mm::Env::now(self));
    }

    /// Whether the run is in a livelock, its tasks being these.
    pub(crate) fn livelock(
        &self,
        tasks: impl Iterator<Item = TaskId>,
        is_daemon: impl Fn(TaskId) -> bool,
    ) -> Option<Livelock> {
        let mut loops = self.loops.borrow_mut();
        if loops.recurring() == 0 {
            return None;
        }
        let (daemons, others): (Vec<TaskId>, Vec<TaskId>) = tasks.partition(|&task| is_daemon(task));
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
                (mm::Env::now(self) > last).then(|| Livelock::of(&loops)).flatten()
            }
            _ => {
                let last = turns.into_iter().filter(|&at| at < Nanos::MAX).max();
                loops.stuck = Some((progress, last.unwrap_or(0)));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Executor, Livelock, Speeds, VirtualEnv};
    use mm::slowpath::{Retry, Turn};
    use mm::{Env, TaskContext};
    use pagealloc::policy::Scheduler;
    use pagealloc::{AllocFlags, CpuId, Gfp, Migratetype};
    use std::cell::Cell;
    use std::rc::Rc;

    fn turn(progress: u64, state: u64) -> Turn {
        Turn {
            retry: Retry::DefragMode,
            order: 0,
            gfp: Gfp::HIGHUSER_MOVABLE,
            migratetype: Migratetype::Movable,
            flags: AllocFlags::NOFRAGMENT,
            priority: 1,
            compaction_retries: 0,
            no_progress_loops: 17,
            kills: 0,
            progress,
            state,
        }
    }

    /// Goes round, something growing in the first `grows` turns.
    async fn go_round(env: &VirtualEnv, grows: u64) {
        let task = TaskContext::user(7, CpuId(0));
        for round in 0.. {
            env.run(1_000).await;
            env.slow_path_turn(&task, &turn(round.min(grows), round % 3));
        }
    }

    /// Sleeps and wakes.
    async fn daemon(env: &VirtualEnv) {
        loop {
            env.sleep(40_000).await;
        }
    }

    fn env() -> VirtualEnv {
        VirtualEnv::new(Rc::new(Cell::new(0)), Speeds::default(), 1).with_cpus(2, Scheduler::Eevdf, 100)
    }

    /// Runs until a livelock is certain, or until a time.
    fn run(env: &VirtualEnv, executor: &mut Executor, until: u64) -> Option<Livelock> {
        while env.now() < until {
            if !executor.run_next(env) {
                if let Some(found) = executor.livelock(env) {
                    return Some(found);
                }
                env.advance();
            }
        }
        None
    }

    #[test]
    fn a_loop_that_nobody_can_end_is_found_once_each_daemon_has_had_its_turn() {
        let env = env();
        let mut executor = Executor::default();
        executor.spawn_daemon(&env, daemon(&env));
        executor.spawn(&env, env.park(None));
        executor.spawn(&env, go_round(&env, 5));
        let found = run(&env, &mut executor, 10_000_000).expect("a livelock");
        assert_eq!((found.pid, found.cycle, found.others), (7, 3, 0));
        assert!((40_000..200_000).contains(&env.now()), "{}", env.now());
        let said = found.to_string();
        assert!(said.starts_with("defrag_mode retry of an order-0 request, "), "{said}");
        assert!(said.contains("alloc_flags=WMARK_MIN|NOFRAGMENT") && said.contains("no_progress_loops=17"), "{said}");
    }

    #[test]
    fn who_waits_for_others_only_is_told_from_who_sleeps() {
        let env = env();
        let mut executor = Executor::default();
        executor.spawn_daemon(&env, daemon(&env));
        executor.spawn(&env, env.park(None));
        assert_eq!(executor.all_wait(&env), Some(1));
        executor.spawn(&env, env.park(Some(1_000_000)));
        assert_eq!(executor.all_wait(&env), None);
    }

    #[test]
    fn whoever_sleeps_may_end_it() {
        let env = env();
        let mut executor = Executor::default();
        executor.spawn(&env, daemon(&env));
        executor.spawn(&env, go_round(&env, 5));
        assert_eq!(run(&env, &mut executor, 1_000_000), None);
    }

    #[test]
    fn a_loop_beside_which_something_grows_is_none() {
        let env = env();
        let mut executor = Executor::default();
        executor.spawn_daemon(&env, daemon(&env));
        executor.spawn(&env, go_round(&env, u64::MAX));
        assert_eq!(run(&env, &mut executor, 1_000_000), None);
    }

    #[test]
    fn all_loops_must_be_without_effect() {
        let env = env();
        let mut executor = Executor::default();
        executor.spawn_daemon(&env, daemon(&env));
        executor.spawn(&env, go_round(&env, 5));
        executor.spawn(&env, async {
            let task = TaskContext::user(8, CpuId(1));
            for round in 0.. {
                env.run(1_000).await;
                env.slow_path_turn(&task, &turn(5, 100 + round));
            }
        });
        assert_eq!(run(&env, &mut executor, 1_000_000), None, "the second never comes back to a state");
    }
}
