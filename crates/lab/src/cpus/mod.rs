//! CPUs that tasks share.
//!
//! A task takes a CPU when it works for the first time, and keeps it until it waits or the scheduler ([`rules`]) gives it to another. Who wakes up goes where it was last, or where a CPU is idle; a new task where the fewest are; a CPU that falls
//! idle takes over one from the longest queue, and a busy one now and then does so, too.

mod entities;
mod rules;
mod run_queue;

use crate::env::VirtualEnv;
use crate::task::TaskId;
use entities::Standing;
use mm::Nanos;
use pagealloc::policy::Scheduler;
use pagealloc::{CpuId, NodeId};
use rules::{Rules, TICK};
use run_queue::RunQueue;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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

impl VirtualEnv {
    /// CPU that the current task is on, or was on last; 0 where tasks don't share CPUs.
    pub fn cpu(&self) -> CpuId {
        let cpus = self.cpus.as_ref().map(|cpus| cpus.borrow());
        CpuId(cpus.and_then(|cpus| cpus.tasks.get(self.current.get()).map(|known| known.last)).unwrap_or(0) as u16)
    }

    /// Nanoseconds that each CPU has been in use.
    pub fn cpu_busy(&self) -> Vec<Nanos> {
        let now = self.clock.get();
        let busy = |cpu: &Cpu| cpu.busy + if cpu.queue.runs() { now - cpu.since } else { 0 };
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

    /// The task has ended.
    pub(crate) fn end_on_cpu(&self, task: TaskId) {
        let next = self.cpus.as_ref().and_then(|cpus| cpus.borrow_mut().end(task, self.clock.get()));
        next.into_iter().for_each(|next| self.ready(next));
    }

    /// The current task is a process: it has page tables of its own, until it ends.
    pub fn becomes_process(&self) {
        let task = self.current.get();
        self.cpus.iter().for_each(|cpus| cpus.borrow_mut().know(task).is_process = true);
    }

    /// Work that it takes the current task, which has just got a CPU, to find its way there.
    pub(crate) fn switch_work(&self) -> Nanos {
        if self.context_switch == 0 {
            return 0;
        }
        let switches = self.cpus.as_ref().is_some_and(|cpus| cpus.borrow_mut().switches(self.current.get()));
        if switches { self.context_switch } else { 0 }
    }

    /// How long the current task may work until its CPU looks who is to run; no end where tasks don't share CPUs.
    pub(crate) fn until_tick(&self) -> Nanos {
        if self.cpus.is_some() { until_tick(self.clock.get()) } else { Nanos::MAX }
    }

    /// Gives the current task, which has not worked yet, another weight than nice 0 has (1,024).
    pub fn weigh(&self, weight: u32) {
        let task = self.current.get();
        self.cpus.iter().for_each(|cpus| cpus.borrow_mut().know(task).standing.weight = weight);
    }

    /// The current task has worked.
    pub(crate) fn spend(&self) {
        let task = self.current.get();
        let next = self.cpus.as_ref().and_then(|cpus| cpus.borrow_mut().spend(task, self.clock.get()));
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
}
