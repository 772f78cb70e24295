//! Single-threaded executor in virtual time: runs what is ready, else lets the clock jump to what falls due next.

use crate::env::VirtualEnv;
use crate::livelock::Livelock;
use crate::task::TaskId;
use mm::Nanos;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Tasks by number; finished ones leave their place to new ones.
#[derive(Default)]
pub struct Executor<'a> {
    tasks: Vec<Option<Boxed<'a>>>,
    vacant: Vec<TaskId>,
    /// Which of them are daemons.
    daemons: Vec<bool>,
    /// How often others have gone on.
    steps: u64,
}

impl<'a> Executor<'a> {
    /// Starts a task and runs it until it waits for the first time. Returns its number.
    pub fn spawn(&mut self, env: &VirtualEnv, future: impl Future<Output = ()> + 'a) -> TaskId {
        let task = self.new_number();
        self.start(env, task, Box::pin(future))
    }

    /// Starts a task that works for others: that it goes on is by itself no progress ([`Self::livelock`]). Returns its number.
    pub fn spawn_daemon(&mut self, env: &VirtualEnv, future: impl Future<Output = ()> + 'a) -> TaskId {
        let task = self.new_number();
        self.daemons[task] = true;
        self.start(env, task, Box::pin(future))
    }

    fn new_number(&mut self) -> TaskId {
        let Some(task) = self.vacant.pop() else {
            self.tasks.push(None);
            self.daemons.push(false);
            return self.tasks.len() - 1;
        };
        self.daemons[task] = false;
        task
    }

    fn start(&mut self, env: &VirtualEnv, task: TaskId, future: Boxed<'a>) -> TaskId {
        self.tasks[task] = Some(future);
        let outer = env.starting.replace(true);
        self.poll(env, task);
        env.starting.set(outer);
        task
    }

    /// Runs a task that can go on at this moment. `false`: there is none.
    #[inline]
    pub fn run_next(&mut self, env: &VirtualEnv) -> bool {
        let next = env.next_ready();
        next.into_iter().for_each(|task| self.poll(env, task));
        next.is_some()
    }

    /// Runs all tasks that can go on at this moment.
    #[inline]
    pub fn run_ready(&mut self, env: &VirtualEnv) {
        while self.run_next(env) {}
    }

    /// A task that goes round the slow path for ever, if nothing else can happen any more that would end it. To be asked
    /// between two moments of virtual time.
    pub fn livelock(&self, env: &VirtualEnv) -> Option<Livelock> {
        let alive = self.tasks.iter().enumerate().filter(|(_, task)| task.is_some());
        env.livelock(alive.map(|(number, _)| number), |task| self.daemons[task])
    }

    /// How often tasks that are no daemons have gone on so far, if each of them waits now to be woken, for as long as it takes: where
    /// that stays the same, nobody wakes them.
    pub fn all_wait(&self, env: &VirtualEnv) -> Option<u64> {
        let alive =
            self.tasks.iter().zip(&self.daemons).enumerate().filter(|(_, (task, daemon))| task.is_some() && !**daemon);
        let mut numbers = alive.map(|(number, _)| number);
        numbers.all(|task| env.waits_until(task) == Some(Nanos::MAX)).then_some(self.steps)
    }

    fn poll(&mut self, env: &VirtualEnv, task: TaskId) {
        let Some(future) = self.tasks[task].as_mut() else { return };
        self.steps += u64::from(!self.daemons[task]);
        let outer = env.current.replace(task);
        let done = matches!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(()));
        env.current.set(outer);
        if done {
            env.end_on_cpu(task);
            self.tasks[task] = None;
            self.vacant.push(task);
        }
    }
}
