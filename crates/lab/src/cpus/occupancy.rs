//! *What do tasks do with their CPUs in virtual time?* They wait for one, work on it as long as it is theirs, and leave it; whom it goes to,
//! [`Cpus`](super::Cpus) say.

use super::{Cpu, until_tick};
use crate::env::VirtualEnv;
use crate::task::TaskId;
use mm::Nanos;
use pagealloc::CpuId;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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

    /// A CPU for the current task, now or later. Nothing to wait for where tasks don't share CPUs.
    pub(crate) fn occupy(&self) -> OccupyFuture<'_> {
        OccupyFuture(self)
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
