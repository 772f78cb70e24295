//! The surroundings of a replay: virtual time, wait queues, and work that takes as long as on the recorded machine.

use super::chance::Chance;
use crate::pagelog::Speeds;
use mm::{Env, Nanos, Queue, TaskContext, Woken, Work};
use pagealloc::Pfn;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Index of a task of the executor.
pub(super) type TaskId = usize;

/// One wait.
struct Wait {
    task: TaskId,
    queue: Queue,
    deadline: Option<Nanos>,
    ended: Option<Woken>,
}

/// What falls due at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A wait's timeout.
    Timeout(usize),
    /// A page has been written.
    Written(Pfn),
}

/// Clock that the watcher shares.
pub(super) type Clock = Rc<Cell<Nanos>>;

/// The environment. Single-threaded; ties of time are broken by order of registration.
pub(super) struct ReplayEnv {
    pub clock: Clock,
    pub current: Cell<TaskId>,
    speeds: Speeds,
    /// When the disk and the swap device will have written what they were given.
    devices: [Cell<Nanos>; 2],
    /// Reclaim met nothing but dirty pages (10.12) and wants all of them written.
    pub flushers_woken: Cell<bool>,
    /// Who holds a lock at a moment is not in the log.
    chance: Chance,
    due: RefCell<BinaryHeap<Reverse<(Nanos, u64, Due)>>>,
    sequence: Cell<u64>,
    /// Time of the first entry of `due`; the end of time if there is none.
    next_due: Cell<Nanos>,
    waits: RefCell<Vec<Wait>>,
    free_waits: RefCell<Vec<usize>>,
    ready: RefCell<VecDeque<TaskId>>,
}

impl ReplayEnv {
    pub fn new(clock: Clock, speeds: Speeds, seed: u64) -> ReplayEnv {
        ReplayEnv {
            clock,
            current: Cell::new(0),
            speeds,
            devices: [const { Cell::new(0) }; 2],
            flushers_woken: Cell::new(false),
            chance: Chance::new(seed),
            due: RefCell::default(),
            sequence: Cell::new(0),
            next_due: Cell::new(Nanos::MAX),
            waits: RefCell::default(),
            free_waits: RefCell::default(),
            ready: RefCell::default(),
        }
    }

    /// Time at which something falls due next; the end of time if nothing does.
    #[inline(always)]
    pub fn next_due(&self) -> Nanos {
        self.next_due.get()
    }

    /// A task that can go on.
    pub fn next_ready(&self) -> Option<TaskId> {
        self.ready.borrow_mut().pop_front()
    }

    /// Lets the clock jump to what falls due next: readies a waiting task, or returns a page that has been written.
    pub fn advance(&self) -> Option<Pfn> {
        let Reverse((at, _, due)) = self.pop_due()?;
        self.clock.set(self.clock.get().max(at));
        match due {
            Due::Written(pfn) => Some(pfn),
            Due::Timeout(wait) => {
                let current = self.waits.borrow()[wait].deadline == Some(at);
                if current && self.waits.borrow()[wait].ended.is_none() {
                    self.end_wait(wait, Woken::TimedOut);
                }
                None
            }
        }
    }

    fn end_wait(&self, wait: usize, how: Woken) {
        let mut waits = self.waits.borrow_mut();
        waits[wait].ended = Some(how);
        self.ready.borrow_mut().push_back(waits[wait].task);
    }

    fn pop_due(&self) -> Option<Reverse<(Nanos, u64, Due)>> {
        let mut heap = self.due.borrow_mut();
        let first = heap.pop();
        self.next_due.set(heap.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at));
        first
    }

    fn schedule(&self, at: Nanos, due: Due) {
        self.next_due.set(self.next_due.get().min(at));
        let sequence = self.sequence.get();
        self.sequence.set(sequence + 1);
        self.due.borrow_mut().push(Reverse((at, sequence, due)));
    }

    /// Sleeps for a time.
    pub fn sleep(&self, nanos: Nanos) -> WaitFuture<'_> {
        WaitFuture { env: self, queue: Queue::Timer, timeout: Some(nanos), wait: None }
    }

    fn cost(&self, work: Work) -> Nanos {
        let per_page = |pages: u32, ns: u64| u64::from(pages) * ns;
        match work {
            Work::Shrink { scanned, .. } => per_page(scanned, self.speeds.shrink),
            Work::Deactivate(pages) => per_page(pages, self.speeds.shrink / 4),
            Work::WalkPageTables(entries) => per_page(entries, self.speeds.scan_migrate),
            Work::ShrinkSlab(objects) => per_page(objects, self.speeds.slab),
            Work::ScanMigrate(pages) => per_page(pages, self.speeds.scan_migrate),
            Work::ScanFree(pages) => per_page(pages, self.speeds.scan_free),
            Work::Migrate(pages) => per_page(pages, self.speeds.migrate),
            Work::Resched => RESCHED_NS,
        }
    }
}

/// A turn of the scheduler: what keeps a retry loop from standing still in virtual time.
const RESCHED_NS: Nanos = 1_000;

impl Env for ReplayEnv {
    fn now(&self) -> Nanos {
        self.clock.get()
    }

    fn work(&self, _task: &TaskContext, work: Work) -> impl Future<Output = ()> {
        let cost = self.cost(work);
        async move {
            if cost > 0 {
                self.sleep(cost).await;
            }
        }
    }

    fn wait(&self, queue: Queue, timeout: Option<Nanos>) -> impl Future<Output = Woken> {
        WaitFuture { env: self, queue, timeout, wait: None }
    }

    fn wake(&self, queue: Queue) {
        let waiting: Vec<(usize, Option<Nanos>)> = {
            let waits = self.waits.borrow();
            let on_queue = |wait: &Wait| wait.queue == queue && wait.ended.is_none() && queue != Queue::Timer;
            waits.iter().enumerate().filter(|(_, w)| on_queue(w)).map(|(i, w)| (i, w.deadline)).collect()
        };
        for (wait, deadline) in waiting {
            let left = deadline.map_or(0, |at| at.saturating_sub(self.now()));
            self.end_wait(wait, Woken::Early { left });
        }
    }

    fn has_waiters(&self, queue: Queue) -> bool {
        self.waits.borrow().iter().any(|wait| wait.queue == queue && wait.ended.is_none())
    }

    fn lock_contended(&self, _task: &TaskContext) -> bool {
        self.chance.one_in_65536(self.speeds.lock_contention)
    }

    fn wake_flushers(&self) {
        self.flushers_woken.set(true);
    }

    /// Writes go to a device that takes one after the other: the disk (0) or swap (1).
    fn start_write(&self, pfn: Pfn, swap: bool) {
        let device = &self.devices[usize::from(swap)];
        let done = device.get().max(self.now()) + self.speeds.swap_write;
        device.set(done);
        self.schedule(done, Due::Written(pfn));
    }
}

/// A wait as a future.
pub(super) struct WaitFuture<'e> {
    env: &'e ReplayEnv,
    queue: Queue,
    timeout: Option<Nanos>,
    wait: Option<usize>,
}

impl WaitFuture<'_> {
    fn register(&self) -> usize {
        let deadline = self.timeout.map(|nanos| self.env.now() + nanos);
        let wait = Wait { task: self.env.current.get(), queue: self.queue, deadline, ended: None };
        let index = match self.env.free_waits.borrow_mut().pop() {
            Some(index) => {
                self.env.waits.borrow_mut()[index] = wait;
                index
            }
            None => {
                self.env.waits.borrow_mut().push(wait);
                self.env.waits.borrow().len() - 1
            }
        };
        if let Some(at) = deadline {
            self.env.schedule(at, Due::Timeout(index));
        }
        index
    }
}

impl Future for WaitFuture<'_> {
    type Output = Woken;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Woken> {
        let Some(wait) = self.wait else {
            self.wait = Some(self.register());
            return Poll::Pending;
        };
        match self.env.waits.borrow()[wait].ended {
            Some(how) => {
                self.env.free_waits.borrow_mut().push(wait);
                Poll::Ready(how)
            }
            None => Poll::Pending,
        }
    }
}
