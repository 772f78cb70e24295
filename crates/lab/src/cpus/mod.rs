//! *Which of the CPUs that tasks share is a task's?*
//!
//! A task takes a CPU when it works for the first time, and keeps it until it waits or the scheduler ([`rules`]) gives it to another. Who wakes
//! up goes where it was last, or where a CPU is idle; a new task where the fewest are; a CPU that falls idle takes over one from the longest
//! queue, and a busy one now and then does so, too.

mod entities;
mod occupancy;
mod rules;
mod run_queue;
#[cfg(test)]
mod tests;

use crate::task::TaskId;
use entities::Standing;
use mm::Nanos;
use pagealloc::NodeId;
use pagealloc::policy::Scheduler;
use rules::{Rules, TICK};
use run_queue::RunQueue;

/// A CPU.
struct Cpu {
    queue: RunQueue,
    /// Another task than that which runs is to, as soon as that has done a piece of work.
    resched: bool,
    /// When it looks next whether another CPU has more tasks.
    balances: Nanos,
    /// The process whose page tables it used last: kernel threads have none, and leave it those.
    process: Option<TaskId>,
    /// When it began to be in use, and how long it was before.
    since: Nanos,
    busy: Nanos,
}

/// Where a task is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Seat {
    /// It sleeps, or has never worked.
    #[default]
    None,
    Queued(usize),
    On(usize),
}

/// What is known of a task.
#[derive(Clone, Copy)]
struct Known {
    seat: Seat,
    /// CPU that it was on last.
    last: usize,
    /// What the scheduler keeps of it while it is on no queue.
    standing: Standing,
    /// It has page tables of its own.
    is_process: bool,
    /// How often it had to leave its CPU to another task.
    preempted: u64,
}

/// All CPUs.
pub(crate) struct Cpus {
    cpus: Vec<Cpu>,
    tasks: Vec<Known>,
    /// Node of each CPU; none where there is one node.
    nodes: Vec<NodeId>,
}

/// How often a busy CPU looks for tasks of others: the least interval of two CPUs, 2 ms, times `busy_factor`, 16.
const BALANCE: Nanos = 32_000_000;

impl Cpus {
    pub fn new(cpus: u16, scheduler: Scheduler) -> Cpus {
        let rules = Rules::new(scheduler, cpus);
        let cpu =
            |_| Cpu { queue: RunQueue::new(rules), resched: false, balances: 0, process: None, since: 0, busy: 0 };
        Cpus { cpus: (0..cpus.max(1)).map(cpu).collect(), tasks: Vec::new(), nodes: Vec::new() }
    }

    /// Which node each CPU belongs to: a new task that finds its CPU taken looks for another of the same node first.
    pub fn set_nodes(&mut self, nodes: &[NodeId]) {
        self.nodes = nodes.to_vec();
    }

    fn know(&mut self, task: TaskId) -> &mut Known {
        for new in self.tasks.len()..=task {
            let last = self.home(new);
            self.tasks.push(Known {
                seat: Seat::None,
                last,
                standing: Standing::default(),
                is_process: false,
                preempted: 0,
            });
        }
        &mut self.tasks[task]
    }

    /// Where a new task begins: on the nodes in turn, as the kernel spreads those that are forked.
    fn home(&self, task: usize) -> usize {
        let nodes = self.nodes.iter().map(|node| node.index()).max().map_or(1, |last| last + 1);
        self.nodes.iter().position(|node| node.index() == task % nodes).unwrap_or(0)
    }

    /// Whether the task has a CPU now; otherwise it is queued for one.
    fn occupy(&mut self, task: TaskId, now: Nanos) -> bool {
        let Known { seat, last, standing, .. } = *self.know(task);
        match seat {
            Seat::On(_) => return true,
            Seat::Queued(_) => return false,
            Seat::None => {}
        }
        let standing = self.cpus[last].queue.of_sleeper(standing);
        let cpu = self.choose(last, standing.owed.is_none());
        let idle = self.cpus[cpu].queue.len() == 0;
        self.enqueue(cpu, task, standing, now);
        if idle {
            self.cpus[cpu].since = now;
            self.run_next(cpu, now);
        } else {
            self.cpus[cpu].resched |= self.cpus[cpu].queue.preempts(task, now);
        }
        idle
    }

    /// CPU for a task that begins, or wakes up where it was last.
    fn choose(&self, last: usize, begins: bool) -> usize {
        let load = |cpu: usize| self.cpus[cpu].queue.len();
        let elsewhere = |cpu: usize| self.nodes.get(cpu) != self.nodes.get(last);
        let least = (0..self.cpus.len()).min_by_key(|&cpu| (load(cpu), cpu != last, elsewhere(cpu), cpu)).unwrap_or(0);
        if begins || load(least) == 0 { least } else { last }
    }

    fn enqueue(&mut self, cpu: usize, task: TaskId, standing: Standing, now: Nanos) {
        self.cpus[cpu].queue.add(task, standing, now);
        self.tasks[task].seat = Seat::Queued(cpu);
    }

    /// Gives a CPU to who is to run.
    fn run_next(&mut self, cpu: usize, now: Nanos) -> Option<TaskId> {
        self.cpus[cpu].resched = false;
        let next = self.cpus[cpu].queue.run_next(now)?;
        (self.tasks[next].seat, self.tasks[next].last) = (Seat::On(cpu), cpu);
        Some(next)
    }

    /// The task gives up its CPU, or its place in a queue: who has the CPU now.
    fn leave(&mut self, task: TaskId, now: Nanos) -> Option<TaskId> {
        let seat = std::mem::take(&mut self.tasks.get_mut(task)?.seat);
        let (Seat::On(cpu) | Seat::Queued(cpu)) = seat else { return None };
        self.tasks[task].standing = self.cpus[cpu].queue.remove(task, now);
        if seat == Seat::Queued(cpu) {
            return None;
        }
        if self.cpus[cpu].queue.len() == 0 {
            self.pull(cpu, now);
        }
        let next = self.run_next(cpu, now);
        if next.is_none() {
            self.cpus[cpu].busy += now - self.cpus[cpu].since;
        }
        next
    }

    /// The task has ended; its number may become another's.
    fn end(&mut self, task: TaskId, now: Nanos) -> Option<TaskId> {
        let next = self.leave(task, now);
        if let Some(known) = self.tasks.get_mut(task) {
            (known.standing, known.is_process) = (Standing::default(), false);
        }
        for cpu in &mut self.cpus {
            cpu.process = cpu.process.filter(|&process| process != task);
        }
        next
    }

    /// Whether the CPU that a task is on has to go over to its page tables; it has then.
    fn switches(&mut self, task: TaskId) -> bool {
        let Some(Known { seat: Seat::On(cpu), is_process: true, .. }) = self.tasks.get(task) else { return false };
        self.cpus[*cpu].process.replace(task) != Some(task)
    }

    /// Takes over a task that waits on the CPU where most do, for one with two tasks less, or none.
    fn pull(&mut self, cpu: usize, now: Nanos) {
        let waiting = |cpu: &usize| (self.cpus[*cpu].queue.waiting(), std::cmp::Reverse(*cpu));
        let Some(busiest) = (0..self.cpus.len()).max_by_key(waiting).filter(|&busiest| busiest != cpu) else { return };
        let (most, own) = (self.cpus[busiest].queue.len(), self.cpus[cpu].queue.len());
        if own > 0 && most < own + 2 {
            return;
        }
        if let Some(task) = self.cpus[busiest].queue.to_move() {
            let standing = self.cpus[busiest].queue.remove(task, now);
            self.enqueue(cpu, task, standing, now);
        }
    }

    /// Time until the next tick, for a task that is on a CPU.
    #[inline]
    pub fn seated(&self, task: TaskId, now: Nanos) -> Option<Nanos> {
        matches!(self.tasks.get(task)?.seat, Seat::On(_)).then(|| until_tick(now))
    }

    /// A task that is on a CPU has worked. If another one is to run now: who, the task being queued.
    #[inline]
    pub fn spend(&mut self, task: TaskId, now: Nanos) -> Option<TaskId> {
        let Seat::On(cpu) = self.tasks.get(task)?.seat else { return None };
        if now.is_multiple_of(TICK) {
            self.tick(cpu, now);
        }
        if !self.cpus[cpu].resched {
            return None;
        }
        self.tasks[task].seat = Seat::Queued(cpu);
        let next = self.run_next(cpu, now).filter(|&next| next != task);
        self.tasks[task].preempted += u64::from(next.is_some());
        next
    }

    /// How often a task had to leave its CPU to another one.
    pub fn preemptions(&self, task: TaskId) -> u64 {
        self.tasks.get(task).map_or(0, |known| known.preempted)
    }

    fn tick(&mut self, cpu: usize, now: Nanos) {
        self.cpus[cpu].resched |= self.cpus[cpu].queue.tick(now);
        if now >= self.cpus[cpu].balances {
            self.cpus[cpu].balances = now + BALANCE;
            self.pull(cpu, now);
        }
    }
}

/// Time until CPUs look who is to run.
#[inline]
fn until_tick(now: Nanos) -> Nanos {
    TICK - now % TICK
}
