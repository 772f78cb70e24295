//! CPUs that tasks take turns on.
//!
//! A task takes a CPU when it works for the first time, and keeps it until it waits or its slice is over and others are
//! queued. Queues are first in, first out; who wakes up goes where the fewest are, first to where it was; a CPU that
//! falls idle takes over the first in the longest queue. No priorities: a model of fairness, not of a scheduler.

use crate::env::{TaskId, VirtualEnv};
use mm::Nanos;
use pagealloc::{CpuId, NodeId};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A CPU.
#[derive(Default)]
struct Cpu {
    runs: Option<TaskId>,
    queue: VecDeque<TaskId>,
    slice_left: Nanos,
    /// When what runs began to, and how long the CPU was in use before.
    since: Nanos,
    busy: Nanos,
}

/// Where a task is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seat {
    #[default]
    None,
    Queued,
    On(usize),
}

/// All CPUs.
pub(crate) struct Cpus {
    cpus: Vec<Cpu>,
    /// Tasks in all queues.
    queued: usize,
    slice: Nanos,
    seats: Vec<Seat>,
    /// CPU that each task was on last.
    last: Vec<usize>,
    /// Node of each CPU; none where there is one node.
    nodes: Vec<NodeId>,
}

impl Cpus {
    pub fn new(cpus: u16, slice: Nanos) -> Cpus {
        let cpus = (0..cpus.max(1)).map(|_| Cpu::default()).collect();
        Cpus { cpus, queued: 0, slice: slice.max(1), seats: Vec::new(), last: Vec::new(), nodes: Vec::new() }
    }

    /// Which node each CPU belongs to: who wakes up and finds its CPU taken looks for another of the same node first.
    pub fn set_nodes(&mut self, nodes: &[NodeId]) {
        self.nodes = nodes.to_vec();
    }

    fn know(&mut self, task: TaskId) {
        if self.seats.len() <= task {
            self.seats.resize(task + 1, Seat::None);
            let homes = self.last.len()..task + 1;
            let homes: Vec<usize> = homes.map(|task| self.home(task)).collect();
            self.last.extend(homes);
        }
    }

    /// Where a new task begins: on the nodes in turn, as the kernel spreads those that are forked.
    fn home(&self, task: usize) -> usize {
        let nodes = self.nodes.iter().map(|node| node.index()).max().map_or(1, |last| last + 1);
        self.nodes.iter().position(|node| node.index() == task % nodes).unwrap_or(0)
    }

    /// Whether the task has a CPU now; otherwise it is queued for one.
    fn occupy(&mut self, task: TaskId, now: Nanos) -> bool {
        self.know(task);
        match self.seats[task] {
            Seat::On(_) => return true,
            Seat::Queued => return false,
            Seat::None => {}
        }
        let load = |cpu: &Cpu| cpu.queue.len() + usize::from(cpu.runs.is_some());
        let last = self.last[task];
        if load(&self.cpus[last]) == 0 {
            self.seat(last, task, now);
            return true;
        }
        let elsewhere = |cpu: usize| self.nodes.get(cpu) != self.nodes.get(last);
        let least = (0..self.cpus.len())
            .min_by_key(|&cpu| (load(&self.cpus[cpu]), cpu != last, elsewhere(cpu), cpu))
            .unwrap_or(0);
        if self.cpus[least].runs.is_none() {
            self.seat(least, task, now);
            return true;
        }
        self.enqueue(least, task);
        false
    }

    fn enqueue(&mut self, cpu: usize, task: TaskId) {
        self.seats[task] = Seat::Queued;
        self.cpus[cpu].queue.push_back(task);
        self.queued += 1;
    }

    fn seat(&mut self, cpu: usize, task: TaskId, now: Nanos) {
        let slice_left = self.slice;
        let seat = &mut self.cpus[cpu];
        (seat.runs, seat.slice_left, seat.since) = (Some(task), slice_left, now);
        self.seats[task] = Seat::On(cpu);
        self.last[task] = cpu;
    }

    /// The task gives up its CPU, or its place in a queue: who has the CPU now.
    fn leave(&mut self, task: TaskId, now: Nanos) -> Option<TaskId> {
        let seat = std::mem::take(self.seats.get_mut(task)?);
        let Seat::On(cpu) = seat else {
            if seat == Seat::Queued {
                self.cpus.iter_mut().for_each(|cpu| cpu.queue.retain(|&queued| queued != task));
                self.queued -= 1;
            }
            return None;
        };
        self.cpus[cpu].busy += now - self.cpus[cpu].since;
        self.cpus[cpu].runs = None;
        if self.queued == 0 {
            return None;
        }
        let queued = |cpu: &usize| (self.cpus[*cpu].queue.len(), std::cmp::Reverse(*cpu));
        let longest = (0..self.cpus.len()).max_by_key(queued).unwrap_or(cpu);
        let from = if self.cpus[cpu].queue.is_empty() { longest } else { cpu };
        let next = self.cpus[from].queue.pop_front()?;
        self.queued -= 1;
        self.seat(cpu, next, now);
        Some(next)
    }

    /// What is left of the slice of a task that is on a CPU.
    #[inline]
    pub fn seated(&self, task: TaskId) -> Option<Nanos> {
        match self.seats.get(task) {
            Some(&Seat::On(cpu)) => Some(self.cpus[cpu].slice_left),
            _ => None,
        }
    }

    /// Takes worked time off the task's slice. At its end, if others are queued: who is on the CPU next, the task
    /// being queued behind them.
    #[inline]
    pub fn spend(&mut self, task: TaskId, nanos: Nanos, now: Nanos) -> Option<TaskId> {
        let Seat::On(cpu) = *self.seats.get(task)? else { return None };
        self.cpus[cpu].slice_left -= nanos.min(self.cpus[cpu].slice_left);
        if self.cpus[cpu].slice_left > 0 {
            return None;
        }
        self.cpus[cpu].slice_left = self.slice;
        if self.cpus[cpu].queue.is_empty() {
            return None;
        }
        let next = self.leave(task, now);
        self.enqueue(cpu, task);
        next
    }
}

impl VirtualEnv {
    /// CPU that the current task is on, or was on last; 0 where tasks don't share CPUs.
    pub fn cpu(&self) -> CpuId {
        let cpus = self.cpus.as_ref().map(|cpus| cpus.borrow());
        CpuId(cpus.and_then(|cpus| cpus.last.get(self.current.get()).copied()).unwrap_or(0) as u16)
    }

    /// Nanoseconds that each CPU has been in use.
    pub fn cpu_busy(&self) -> Vec<Nanos> {
        let now = self.clock.get();
        let busy = |cpu: &Cpu| cpu.busy + cpu.runs.map_or(0, |_| now - cpu.since);
        self.cpus.as_ref().map_or(Vec::new(), |cpus| cpus.borrow().cpus.iter().map(busy).collect())
    }

    /// Time that this much work takes on a CPU.
    pub(crate) fn elapsed(&self, work: Nanos) -> Nanos {
        match self.cpu_percent {
            100 => work,
            percent => work * 100 / u64::from(percent),
        }
    }

    /// The task waits, or has ended.
    pub(crate) fn leave_cpu(&self, task: TaskId) {
        let next = self.cpus.as_ref().and_then(|cpus| cpus.borrow_mut().leave(task, self.clock.get()));
        next.into_iter().for_each(|next| self.ready(next));
    }

    /// What is left of the current task's slice; no end where tasks don't share CPUs.
    pub(crate) fn slice_left(&self) -> Nanos {
        let Some(cpus) = &self.cpus else { return Nanos::MAX };
        let cpus = cpus.borrow();
        cpus.seated(self.current.get()).unwrap_or(cpus.slice)
    }

    /// The current task has worked.
    pub(crate) fn spend(&self, nanos: Nanos) {
        let task = self.current.get();
        let next = self.cpus.as_ref().and_then(|cpus| cpus.borrow_mut().spend(task, nanos, self.clock.get()));
        next.into_iter().for_each(|next| self.ready(next));
    }
}

/// Waiting for a CPU.
pub(crate) struct OccupyFuture<'e>(&'e VirtualEnv);

impl<'e> OccupyFuture<'e> {
    pub fn new(env: &'e VirtualEnv) -> OccupyFuture<'e> {
        OccupyFuture(env)
    }
}

impl Future for OccupyFuture<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let env = self.0;
        let Some(cpus) = &env.cpus else { return Poll::Ready(()) };
        match cpus.borrow_mut().occupy(env.current.get(), env.clock.get()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Executor, Speeds, VirtualEnv};
    use mm::Env;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    fn env(cpus: u16) -> VirtualEnv {
        VirtualEnv::new(Rc::new(Cell::new(0)), Speeds::default(), 1).with_cpus(cpus, 100, 100)
    }

    fn run<'a>(env: &'a VirtualEnv, executor: &mut Executor<'a>) {
        executor.run_ready(env);
        while env.next_due() != u64::MAX {
            env.advance();
            executor.run_ready(env);
        }
    }

    /// Times at which tasks that need this much CPU time are done.
    fn ends(cpus: u16, needs: &[u64]) -> Vec<u64> {
        let env = env(cpus);
        let ends = RefCell::new(vec![0; needs.len()]);
        let mut executor = Executor::default();
        for (task, &need) in needs.iter().enumerate() {
            let (env, ends) = (&env, &ends);
            executor.spawn(env, async move {
                env.run(need).await;
                ends.borrow_mut()[task] = env.now();
            });
        }
        run(&env, &mut executor);
        drop(executor);
        ends.into_inner()
    }

    #[test]
    fn tasks_take_turns_of_a_slice() {
        assert_eq!(ends(1, &[250, 150, 50]), [450, 400, 250]);
        assert_eq!(ends(2, &[250, 150]), [250, 150], "a CPU each");
    }

    #[test]
    fn an_idle_cpu_takes_over_who_waits_for_another() {
        assert_eq!(ends(2, &[1_000, 50, 1_000, 50]), [1_000, 50, 1_100, 100], "the third leaves the longer queue");
    }

    #[test]
    fn who_sleeps_leaves_its_cpu_to_others_and_queues_up_anew() {
        let env = env(1);
        let log = RefCell::new(Vec::new());
        let note = |who: char| log.borrow_mut().push((who, env.now()));
        let mut executor = Executor::default();
        executor.spawn(&env, async {
            env.run(10).await;
            env.wait(mm::Queue::Timer, Some(5)).await;
            note('a');
            env.run(10).await;
            note('a');
        });
        executor.spawn(&env, async {
            env.run(90).await;
            note('b');
        });
        run(&env, &mut executor);
        assert_eq!(*log.borrow(), [('b', 100), ('a', 100), ('a', 110)]);
        assert_eq!(env.cpu_busy(), [110]);
    }

    #[test]
    fn who_ends_while_queued_leaves_no_trace() {
        let env = env(1);
        let mut executor = Executor::default();
        executor.spawn(&env, async { env.run(200).await });
        // Its slice ends with its work, and it ends while queued.
        executor.spawn(&env, async { env.run(100).await });
        executor.spawn(&env, async { env.run(100).await });
        run(&env, &mut executor);
        assert_eq!((env.now(), env.cpu_busy()), (400, vec![400]));
    }
}
