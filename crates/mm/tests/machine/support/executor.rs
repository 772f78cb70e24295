//! Virtual time, wait queues, and the tasks that live by them.

use super::TestWorld;
use mm::{Env, LruKind, Mm, Nanos, Queue, TaskContext, Woken, Work};
use pagealloc::Pfn;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

type TaskId = usize;

/// Steps at one instant after which a test is told to be stuck.
const MAX_POLLS: u32 = 100_000;

/// Nanoseconds that work takes.
#[derive(Clone, Copy)]
pub struct Costs {
    /// `cond_resched`.
    pub resched: Nanos,
    /// A page scanned, moved, or looked at.
    pub page: Nanos,
    /// A page migrated or freed.
    pub copy: Nanos,
    /// A write to disk or swap.
    pub write: Nanos,
}

impl Default for Costs {
    fn default() -> Self {
        Costs { resched: 200, page: 50, copy: 500, write: 100_000 }
    }
}

/// Somebody asleep: who, and how it ended.
struct Sleeper {
    task: TaskId,
    woken: Cell<Option<Woken>>,
    deadline: Option<Nanos>,
}

enum Alarm {
    Sleep(Rc<Sleeper>),
    Written(Pfn),
}

#[derive(Default)]
struct Inner {
    now: Cell<Nanos>,
    current: Cell<TaskId>,
    ready: RefCell<VecDeque<TaskId>>,
    queues: RefCell<BTreeMap<Queue, Vec<Rc<Sleeper>>>>,
    /// By time, then in the order in which they were set.
    alarms: RefCell<BinaryHeap<Reverse<(Nanos, u64)>>>,
    pending: RefCell<BTreeMap<u64, Alarm>>,
    sequence: Cell<u64>,
    costs: Cell<Costs>,
    locks_taken: Cell<bool>,
}

/// The environment: a handle that the machine and its executor share.
#[derive(Clone, Default)]
pub struct TestEnv(Rc<Inner>);

impl TestEnv {
    pub fn set_costs(&self, costs: Costs) {
        self.0.costs.set(costs);
    }

    /// From now on others hold the LRU and zone locks whenever somebody tries to take them.
    pub fn take_locks(&self) {
        self.0.locks_taken.set(true);
    }

    /// Lets time pass for a task.
    pub async fn sleep(&self, nanos: Nanos) {
        self.wait(Queue::Timer, Some(nanos)).await;
    }

    fn set_alarm(&self, at: Nanos, alarm: Alarm) {
        let sequence = self.0.sequence.get();
        self.0.sequence.set(sequence + 1);
        self.0.alarms.borrow_mut().push(Reverse((at, sequence)));
        self.0.pending.borrow_mut().insert(sequence, alarm);
    }

    fn next_alarm(&self, end: Nanos) -> Option<Alarm> {
        let mut alarms = self.0.alarms.borrow_mut();
        let &Reverse((at, sequence)) = alarms.peek()?;
        if at > end {
            return None;
        }
        alarms.pop();
        self.0.now.set(self.now().max(at));
        self.0.pending.borrow_mut().remove(&sequence)
    }

    fn rouse(&self, sleeper: &Sleeper, how: Woken) {
        if sleeper.woken.get().is_none() {
            sleeper.woken.set(Some(how));
            self.0.ready.borrow_mut().push_back(sleeper.task);
        }
    }
}

impl Env for TestEnv {
    fn now(&self) -> Nanos {
        self.0.now.get()
    }

    async fn work(&self, _task: &TaskContext, work: Work) {
        let costs = self.0.costs.get();
        let pages = |n: u32| u64::from(n) * costs.page;
        let nanos = match work {
            Work::Shrink { scanned, reclaimed, .. } => pages(scanned) + u64::from(reclaimed) * costs.copy,
            Work::Unmap(n) | Work::Migrate(n) => u64::from(n) * costs.copy / 2,
            Work::Deactivate(n) | Work::WalkPageTables(n) => pages(n),
            Work::ShrinkSlab(n) | Work::ScanMigrate(n) | Work::ScanFree(n) => pages(n),
            Work::FailedRequests(n) => pages(n),
            Work::Resched => costs.resched,
        };
        self.sleep(nanos).await;
    }

    async fn wait(&self, queue: Queue, timeout: Option<Nanos>) -> Woken {
        let deadline = timeout.map(|nanos| self.now() + nanos);
        let sleeper = Rc::new(Sleeper { task: self.0.current.get(), woken: Cell::new(None), deadline });
        if let Some(at) = deadline {
            self.set_alarm(at, Alarm::Sleep(sleeper.clone()));
        }
        if queue != Queue::Timer {
            self.0.queues.borrow_mut().entry(queue).or_default().push(sleeper.clone());
        }
        poll_fn(|_| match sleeper.woken.get() {
            Some(how) => Poll::Ready(how),
            None => Poll::Pending,
        })
        .await
    }

    fn lock_contended(&self, _task: &TaskContext) -> bool {
        self.0.locks_taken.get()
    }

    fn wake(&self, queue: Queue) {
        let sleepers = self.0.queues.borrow_mut().remove(&queue).unwrap_or_default();
        for sleeper in sleepers {
            let left = sleeper.deadline.map_or(0, |deadline| deadline.saturating_sub(self.now()));
            self.rouse(&sleeper, Woken::Early { left });
        }
    }

    fn has_waiters(&self, queue: Queue) -> bool {
        let queues = self.0.queues.borrow();
        queues.get(&queue).is_some_and(|sleepers| sleepers.iter().any(|sleeper| sleeper.woken.get().is_none()))
    }

    fn start_write(&self, pfn: Pfn, _kind: LruKind, _pages: u64) {
        self.set_alarm(self.now() + self.0.costs.get().write, Alarm::Written(pfn));
    }
}

/// Runs tasks, one at a time, in the order in which they became ready.
pub struct Executor {
    env: TestEnv,
    tasks: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
}

impl Executor {
    pub fn new(env: TestEnv) -> Executor {
        Executor { env, tasks: Vec::new() }
    }

    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.env.0.ready.borrow_mut().push_back(self.tasks.len());
        self.tasks.push(Some(Box::pin(task)));
    }

    pub fn run_until(&mut self, mm: &Mm<TestWorld>, end: Nanos) {
        self.run_while(mm, end, || true);
        self.env.0.now.set(self.env.now().max(end));
    }

    /// Runs while `going` says so, at most until `end`.
    pub fn run_while(&mut self, mm: &Mm<TestWorld>, end: Nanos, going: impl Fn() -> bool) {
        let (mut instant, mut polls) = (self.env.now(), 0);
        while going() {
            if self.env.now() > instant {
                (instant, polls) = (self.env.now(), 0);
            }
            polls += 1;
            assert!(polls < MAX_POLLS, "tasks run for ever while no time passes, at {instant} ns");
            let next = self.env.0.ready.borrow_mut().pop_front();
            if let Some(task) = next {
                self.poll(task);
                continue;
            }
            match self.env.next_alarm(end) {
                Some(Alarm::Sleep(sleeper)) => self.env.rouse(&sleeper, Woken::TimedOut),
                Some(Alarm::Written(pfn)) => mm.end_writeback(pfn),
                None => return,
            }
        }
    }

    fn poll(&mut self, id: TaskId) {
        let Some(mut task) = self.tasks[id].take() else { return };
        self.env.0.current.set(id);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.tasks[id] = Some(task);
        }
    }
}
