//! *Who gets how much of the CPUs that tasks share, and when?*

use crate::{Executor, Speeds, VirtualEnv};
use mm::Env;
use pagealloc::policy::Scheduler;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn env(cpus: u16, scheduler: Scheduler) -> VirtualEnv {
    VirtualEnv::new(Rc::new(Cell::new(0)), Speeds::default(), 1).with_cpus(cpus, scheduler, 100)
}

fn run<'a>(env: &'a VirtualEnv, executor: &mut Executor<'a>) {
    executor.run_ready(env);
    while env.next_due() != u64::MAX {
        env.advance();
        executor.run_ready(env);
    }
}

const MS: u64 = 1_000_000;
const BOTH: [Scheduler; 2] = [Scheduler::Cfs, Scheduler::Eevdf];

/// Milliseconds after which tasks of such weights that need so much CPU time are done.
fn ends(cpus: u16, scheduler: Scheduler, needs: &[(u64, u32)]) -> Vec<u64> {
    let env = env(cpus, scheduler);
    let ends = RefCell::new(vec![0; needs.len()]);
    let mut executor = Executor::default();
    for (task, &(need, weight)) in needs.iter().enumerate() {
        let (env, ends) = (&env, &ends);
        executor.spawn(env, async move {
            env.weigh(weight);
            env.run(need * MS).await;
            ends.borrow_mut()[task] = env.now() / MS;
        });
    }
    run(&env, &mut executor);
    drop(executor);
    ends.into_inner()
}

fn ends_at_nice_0(cpus: u16, scheduler: Scheduler, needs: &[u64]) -> Vec<u64> {
    ends(cpus, scheduler, &needs.iter().map(|&need| (need, 1024)).collect::<Vec<_>>())
}

#[test]
fn tasks_share_a_cpu_by_ticks() {
    for scheduler in BOTH {
        assert_eq!(ends_at_nice_0(1, scheduler, &[8, 4]), [12, 8], "{scheduler:?}");
        assert_eq!(ends_at_nice_0(2, scheduler, &[8, 4]), [8, 4], "a CPU each, {scheduler:?}");
    }
}

#[test]
fn who_leaves_its_cpu_to_another_task_is_preempted() {
    for (cpus, expected) in [(1, 1), (2, 0)] {
        let env = env(cpus, Scheduler::Cfs);
        let counts = RefCell::new(Vec::new());
        let mut executor = Executor::default();
        for _ in 0..2 {
            let (env, counts) = (&env, &counts);
            executor.spawn(env, async move {
                env.run(8 * MS).await;
                counts.borrow_mut().push(env.preemptions());
            });
        }
        run(&env, &mut executor);
        drop(executor);
        assert_eq!(counts.borrow()[0].min(1), expected, "{cpus} CPUs");
    }
}

/// Microseconds until all are done that work for 8 ms each on one CPU, where a context switch takes 100 us; processes or kernel threads.
fn end_with_switches(are_processes: &[bool]) -> u64 {
    let env = env(1, Scheduler::Eevdf).with_context_switches(MS / 10);
    let mut executor = Executor::default();
    for &is_process in are_processes {
        let env = &env;
        executor.spawn(env, async move {
            if is_process {
                env.becomes_process();
            }
            env.run(8 * MS).await;
        });
    }
    run(&env, &mut executor);
    drop(executor);
    env.now() / 1_000
}

#[test]
fn a_process_pays_for_a_cpu_that_another_process_had() {
    assert_eq!(end_with_switches(&[false, false]), 16_000, "kernel threads have no page tables");
    assert_eq!(end_with_switches(&[true, false]), 16_100, "and leave a process its own");
    // At each tick it is the other one's turn: two turns each with 3.9 ms of work, and one with what is left.
    assert_eq!(end_with_switches(&[true, true]), 16_600);
}

#[test]
fn a_new_process_by_an_old_number_is_another_one() {
    let env = env(1, Scheduler::Eevdf).with_context_switches(MS / 10);
    let mut executor = Executor::default();
    for _ in 0..2 {
        executor.spawn(&env, async {
            env.becomes_process();
            env.run(MS).await;
        });
        run(&env, &mut executor);
    }
    assert_eq!(env.now(), 2 * (MS + MS / 10));
}

#[test]
fn weight_is_share() {
    for scheduler in BOTH {
        let ends = ends(1, scheduler, &[(100, 1024), (300, 3072)]);
        assert!(ends.iter().all(|end| (388..=400).contains(end)), "{scheduler:?}: {ends:?}");
    }
}

#[test]
fn an_idle_cpu_takes_over_who_waits_for_another() {
    for scheduler in BOTH {
        let ends = ends_at_nice_0(2, scheduler, &[100, 2, 100, 2]);
        assert!(ends[0].max(ends[2]) <= 104, "204 ms of work on two CPUs, {scheduler:?}: {ends:?}");
    }
}

/// How long a task that has worked for 1 ms waits after its sleep for the CPU that another one uses in pieces of 0.1 ms.
fn latency(scheduler: Scheduler, slept: u64) -> u64 {
    let env = env(1, scheduler);
    let waited = Cell::new(0);
    let mut executor = Executor::default();
    executor.spawn(&env, async {
        env.run(MS).await;
        let woken = env.now() + slept;
        env.wait(mm::Queue::Timer, Some(slept)).await;
        waited.set(env.now() - woken);
    });
    executor.spawn(&env, async {
        for _ in 0..1_000 {
            env.run(MS / 10).await;
        }
    });
    run(&env, &mut executor);
    drop(executor);
    waited.get()
}

#[test]
fn who_wakes_up_under_eevdf_waits_for_the_slice_of_what_runs() {
    // The tick at 48 ms began a slice of 0.7 ms; that it is over notices the tick at 52 ms, or who wakes up after that.
    let waited = |slept| [Scheduler::Cfs, Scheduler::Eevdf].map(|scheduler| latency(scheduler, slept) / MS);
    assert_eq!(waited(47 * MS + MS / 2), [0, 3]);
    assert_eq!(waited(50 * MS), [0, 0]);
}

#[test]
fn who_owes_waits_until_others_have_had_as_much() {
    // It has had 1 ms and slept for half of one.
    assert!(latency(Scheduler::Eevdf, MS / 2) > MS, "{}", latency(Scheduler::Eevdf, MS / 2));
}

#[test]
fn who_ends_while_queued_leaves_no_trace() {
    let env = env(1, Scheduler::Eevdf);
    let mut executor = Executor::default();
    executor.spawn(&env, async { env.run(20 * MS).await });
    // Its time on the CPU ends with its work, and it ends while queued.
    executor.spawn(&env, async { env.run(4 * MS).await });
    executor.spawn(&env, async { env.run(4 * MS).await });
    run(&env, &mut executor);
    assert_eq!((env.now(), env.cpu_busy()), (28 * MS, vec![28 * MS]));
}
