//! The surroundings of a run: virtual time, wait queues, and work that takes as long as the [`Speeds`] say.

use crate::agenda::Agenda;
use crate::chance::Chance;
use crate::cpus::Cpus;
use crate::cpus_beside::{CpusBeside, Leavings};
use crate::demand::{Demand, KthreadCpus};
use crate::device::Device;
use crate::loops::Loops;
use crate::speeds::Speeds;
use crate::stream::Stream;
use crate::task::TaskId;
use crate::turns::TurnsTaken;
use mm::slowpath::Turn;
use mm::{Env, LruKind, Nanos, Queue, TaskContext, Woken, Work};
use pagealloc::policy::Scheduler;
use pagealloc::{CpuId, NodeId, Pfn};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// One wait.
struct Wait {
    task: TaskId,
    queue: Queue,
    deadline: Option<Nanos>,
    ended: Option<Woken>,
    /// It is work that takes until then.
    works: bool,
}

/// What falls due at a time.
#[derive(Clone, Copy)]
enum Due {
    /// A wait's timeout.
    Timeout(usize),
    /// A task that was woken some time ago gets to run.
    Run(TaskId),
    /// A page, of so many base pages, has been written, if others took no more time from its stream than this before.
    Written(Pfn, Stream, u32, Nanos),
}

/// Clock that the watcher shares.
pub type Clock = Rc<Cell<Nanos>>;

/// The environment. Single-threaded; ties of time are broken by order of registration.
pub struct VirtualEnv {
    /// The time.
    pub clock: Clock,
    /// The task that runs; set by the executor.
    pub current: Cell<TaskId>,
    pub(crate) speeds: Speeds,
    disk: Device,
    /// The swap device, where it is not the disk.
    swap: Option<Device>,
    /// CPUs that tasks compete for; without any, each task has one of its own.
    pub(crate) cpus: Option<RefCell<Cpus>>,
    /// The share of each CPU that the machine has.
    pub(crate) cpu_percent: u32,
    /// Work that it takes a process to go on where another one was.
    pub(crate) context_switch: Nanos,
    /// A task is being started, and perhaps others after it at the same moment.
    pub(crate) starting: Cell<bool>,
    /// When each CPU will be done with the work that it was given, where work is all that is known of what runs.
    pub(crate) lanes: Vec<Cell<Nanos>>,
    /// What work takes from demand there.
    pub(crate) demand: Demand,
    /// Whose page lists work uses there.
    pub(crate) leavings: Leavings,
    /// Turns on the lanes.
    pub(crate) turns: RefCell<TurnsTaken>,
    /// Dirty pages that reclaim wants written (10.12): so many, or all.
    pub flushers_woken: Cell<u64>,
    /// Who holds a lock at a moment is not known.
    pub(crate) chance: Chance,
    due: RefCell<Agenda<Due>>,
    /// Time of the first entry of `due`; the end of time if there is none.
    next_due: Cell<Nanos>,
    waits: RefCell<Vec<Wait>>,
    free_waits: RefCell<Vec<usize>>,
    ready: RefCell<VecDeque<TaskId>>,
    /// Pages that are being written.
    writing: Cell<u32>,
    /// Requests on the slow path.
    pub(crate) loops: RefCell<Loops>,
}

impl VirtualEnv {
    /// Surroundings at the clock's time; `seed` decides who holds a lock when.
    pub fn new(clock: Clock, speeds: Speeds, seed: u64) -> VirtualEnv {
        VirtualEnv {
            clock,
            current: Cell::new(0),
            speeds,
            disk: Device::new(speeds.swap_write, 0),
            swap: Some(Device::new(speeds.swap_write, 0)),
            cpus: None,
            cpu_percent: 100,
            context_switch: 0,
            starting: Cell::new(false),
            lanes: Vec::new(),
            demand: Demand::default(),
            leavings: Leavings::new(CpusBeside::default()),
            turns: RefCell::default(),
            flushers_woken: Cell::new(0),
            chance: Chance::new(seed),
            due: RefCell::default(),
            next_due: Cell::new(Nanos::MAX),
            waits: RefCell::default(),
            free_waits: RefCell::default(),
            ready: RefCell::default(),
            writing: Cell::new(0),
            loops: RefCell::default(),
        }
    }

    /// Has tasks share CPUs by the rules of a scheduler; without this, each task has one of its own. The machine has `percent` of
    /// each CPU, at least 1: work takes longer by as much.
    #[must_use]
    pub fn with_cpus(mut self, cpus: u16, scheduler: Scheduler, percent: u32) -> VirtualEnv {
        self.cpus = Some(RefCell::new(Cpus::new(cpus, scheduler)));
        self.cpu_percent = percent.max(1);
        self
    }

    /// Has a process work for `context_switch` nanoseconds before it goes on on a CPU that another one had.
    #[must_use]
    pub fn with_context_switches(self, context_switch: Nanos) -> VirtualEnv {
        VirtualEnv { context_switch, ..self }
    }

    /// Assigns the CPUs to nodes, by CPU.
    #[must_use]
    pub fn with_nodes(self, nodes: &[NodeId]) -> VirtualEnv {
        self.cpus.iter().for_each(|cpus| cpus.borrow_mut().set_nodes(nodes));
        self
    }

    /// Gives the machinery's work CPUs that do nothing else, each piece of it the one that is free first; what finds none waits.
    /// For runs that don't know what else the CPUs do. `beside` says whose page lists the work uses, `recorded` which CPUs kernel
    /// threads had when the demand was recorded.
    #[must_use]
    pub fn with_lanes(mut self, cpus: usize, beside: CpusBeside, recorded: KthreadCpus) -> VirtualEnv {
        self.lanes = vec![Cell::new(0); cpus];
        self.demand = Demand::new(recorded, cpus);
        self.leavings = Leavings::new(beside);
        self
    }

    /// CPUs beside the machine's that work has left since this was last asked, each with the CPU of the machine that takes its lists
    /// over. A kernel thread is on any CPU of its node with the same likelihood, and moves to another one about once a second.
    pub fn cpus_left(&self) -> Vec<(CpuId, CpuId)> {
        self.leavings.take(self.now(), &self.chance)
    }

    /// Replaces the devices: the disk, and the one that is swapped to, unless that is a part of the disk.
    #[must_use]
    pub fn with_devices(mut self, disk: Device, swap: Option<Device>) -> VirtualEnv {
        (self.disk, self.swap) = (disk, swap);
        self
    }

    /// The disk.
    pub fn disk(&self) -> &Device {
        &self.disk
    }

    /// The device that is swapped to, which may be the disk.
    pub fn swap_device(&self) -> &Device {
        self.swap.as_ref().unwrap_or(&self.disk)
    }

    /// Time at which something falls due next; the end of time if nothing does.
    #[inline(always)]
    pub fn next_due(&self) -> Nanos {
        self.next_due.get()
    }

    /// A task that can go on.
    #[inline]
    pub fn next_ready(&self) -> Option<TaskId> {
        self.ready.borrow_mut().pop_front()
    }

    /// Lets the clock jump to what falls due next: readies a waiting task, or returns a page that has been written.
    pub fn advance(&self) -> Option<Pfn> {
        let (at, due) = self.pop_due()?;
        self.clock.set(self.clock.get().max(at));
        match due {
            Due::Written(pfn, stream, pages, borrowed) => {
                let device = self.device_of(stream);
                let later = device.borrowed(stream) - borrowed;
                if later > 0 {
                    self.schedule(at + later, Due::Written(pfn, stream, pages, borrowed + later));
                    return None;
                }
                self.writing.set(self.writing.get() - 1);
                if device.requests().is_some_and(|requests| requests.complete(stream, pages.into())) {
                    self.wake(Queue::Congestion);
                }
                Some(pfn)
            }
            Due::Run(task) => {
                self.ready(task);
                None
            }
            Due::Timeout(wait) => {
                let Wait { queue, deadline, ended, .. } = self.waits.borrow()[wait];
                if deadline == Some(at) && ended.is_none() {
                    self.end_wait_after(self.latency(queue), wait, Woken::TimedOut);
                }
                None
            }
        }
    }

    fn end_wait(&self, wait: usize, how: Woken) {
        let mut waits = self.waits.borrow_mut();
        waits[wait].ended = Some(how);
        self.ready(waits[wait].task);
    }

    /// Ends a wait; its task gets to run only after `delay`.
    fn end_wait_after(&self, delay: Nanos, wait: usize, how: Woken) {
        if delay == 0 {
            return self.end_wait(wait, how);
        }
        let mut waits = self.waits.borrow_mut();
        waits[wait].ended = Some(how);
        self.schedule(self.now() + delay, Due::Run(waits[wait].task));
    }

    /// How long a task that wakes up on this queue waits for a CPU.
    fn latency(&self, queue: Queue) -> Nanos {
        match (queue, &self.speeds.kswapd_latency) {
            (Queue::Kswapd(_), Some(latency)) => latency.draw(&self.chance),
            _ => 0,
        }
    }

    fn pop_due(&self) -> Option<(Nanos, Due)> {
        let mut agenda = self.due.borrow_mut();
        let first = agenda.pop();
        self.next_due.set(agenda.next());
        first
    }

    fn schedule(&self, at: Nanos, due: Due) {
        self.next_due.set(self.next_due.get().min(at));
        let mut agenda = self.due.borrow_mut();
        match due {
            Due::Written(..) => agenda.add_in_line(at, due),
            Due::Timeout(_) | Due::Run(_) => agenda.add(at, due),
        }
    }

    /// Sleeps for a time. The task has no CPU afterwards: what it does costs nothing until it works.
    pub fn sleep(&self, nanos: Nanos) -> WaitFuture<'_> {
        WaitFuture { env: self, queue: Queue::Timer, timeout: Some(nanos), wait: None, keeps_cpu: false }
    }

    /// Sleeps until there is a request for another write of this stream; not at all where requests are never scarce.
    pub async fn wait_for_request(&self, stream: Stream) {
        while let Some(full @ 1..) = self.device_of(stream).full_for(self.now(), stream) {
            self.sleep_until(self.now() + full).await;
        }
    }

    fn device_of(&self, stream: Stream) -> &Device {
        match stream {
            Stream::Files | Stream::Synced => self.disk(),
            Stream::Swap => self.swap_device(),
        }
    }

    /// Starts writing a page of that many base pages to the disk, or to the swap device.
    pub fn write(&self, pfn: Pfn, stream: Stream, pages: u32) {
        let device = self.device_of(stream);
        let done = device.write(self.now(), stream, pages.into());
        device.requests().into_iter().for_each(|requests| requests.submit(stream, pages.into()));
        self.writing.set(self.writing.get() + 1);
        self.schedule(done, Due::Written(pfn, stream, pages, device.borrowed(stream)));
    }

    /// Whether no task can go on at this moment.
    #[inline]
    pub fn nobody_is_ready(&self) -> bool {
        self.ready.borrow().is_empty()
    }

    /// Whether a page is being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.writing.get() > 0
    }

    /// How long a task waits at most; the end of time if only somebody can wake it, `None` if it works or is about to.
    pub(crate) fn waits_until(&self, task: TaskId) -> Option<Nanos> {
        let waits = self.waits.borrow();
        let waiting = |wait: &&Wait| wait.task == task && wait.ended.is_none() && !wait.works;
        waits.iter().find(waiting).map(|wait| wait.deadline.unwrap_or(Nanos::MAX))
    }

    /// Sleeps until a time, then waits for a CPU.
    pub async fn sleep_until(&self, at: Nanos) {
        if at > self.now() {
            self.sleep(at - self.now()).await;
            self.occupy().await;
        }
    }

    /// Works for a time on the CPU that it has.
    pub(crate) fn works(&self, nanos: Nanos) -> WaitFuture<'_> {
        WaitFuture { env: self, queue: Queue::Timer, timeout: Some(nanos), wait: None, keeps_cpu: true }
    }

    /// Waits for [`Self::unpark`] or for a time, then for a CPU.
    pub async fn park(&self, timeout: Option<Nanos>) {
        self.wait(Queue::Timer, timeout).await;
    }

    /// Ends what a task waits for on no queue: its [`Self::park`].
    pub fn unpark(&self, task: TaskId) {
        let parked = |wait: &Wait| wait.task == task && wait.queue == Queue::Timer;
        let found = self.waits.borrow().iter().position(|wait| parked(wait) && wait.ended.is_none());
        if let Some(wait) = found {
            self.end_wait(wait, Woken::Early { left: 0 });
        }
    }

    /// Lets all others that are ready go first, at the same moment; the CPU is kept.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        poll_fn(|_| match std::mem::replace(&mut yielded, true) {
            true => Poll::Ready(()),
            false => {
                self.ready(self.current.get());
                Poll::Pending
            }
        })
        .await;
    }

    /// The task can go on.
    pub(crate) fn ready(&self, task: TaskId) {
        self.ready.borrow_mut().push_back(task);
    }
}

/// Pages that fit into a device's request queue: 256 requests (virtio-blk, and most disks) of 8 pages, about what
/// neighbours merge to.
const QUEUE_PAGES: Nanos = 256 * 8;

/// What pages that reclaim or a flusher writes belong to.
const fn stream_of(kind: LruKind) -> Stream {
    match kind {
        LruKind::Anon => Stream::Swap,
        LruKind::File => Stream::Files,
    }
}

impl Env for VirtualEnv {
    fn now(&self) -> Nanos {
        self.clock.get()
    }

    fn work(&self, task: &TaskContext, work: Work) -> impl Future<Output = ()> {
        self.spend_time(task, work)
    }

    async fn wait(&self, queue: Queue, timeout: Option<Nanos>) -> Woken {
        self.turns.borrow_mut().sleeps(self.current.get());
        if let Queue::Kswapd(node) | Queue::Kcompactd(node) = queue {
            self.leavings.kthread_sleeps(node);
        }
        let woken = WaitFuture { env: self, queue, timeout, wait: None, keeps_cpu: false }.await;
        self.occupy().await;
        woken
    }

    fn wake(&self, queue: Queue) {
        let waiting: Vec<(usize, Option<Nanos>)> = {
            let waits = self.waits.borrow();
            let on_queue = |wait: &Wait| wait.queue == queue && wait.ended.is_none() && queue != Queue::Timer;
            waits.iter().enumerate().filter(|(_, w)| on_queue(w)).map(|(i, w)| (i, w.deadline)).collect()
        };
        for (wait, deadline) in waiting {
            let left = deadline.map_or(0, |at| at.saturating_sub(self.now()));
            self.end_wait_after(self.latency(queue), wait, Woken::Early { left });
        }
    }

    fn has_waiters(&self, queue: Queue) -> bool {
        self.waits.borrow().iter().any(|wait| wait.queue == queue && wait.ended.is_none())
    }

    fn kthread_cpu(&self, usual: CpuId) -> CpuId {
        if self.cpus.is_some() { self.cpu() } else { self.leavings.of_kthread(usual) }
    }

    fn compacting_cpu(&self, cpu: CpuId) -> CpuId {
        self.leavings.of_compactor(cpu)
    }

    fn lock_contended(&self, _task: &TaskContext) -> bool {
        self.chance.one_in_65536(self.speeds.lock_contention)
    }

    fn congested(&self) -> bool {
        self.disk.requests().is_some_and(|requests| requests.congested())
    }

    fn preemptions(&self) -> u64 {
        self.cpus.as_ref().map_or(0, |cpus| cpus.borrow().preemptions(self.current.get()))
    }

    fn wake_flushers(&self, pages: u64) {
        self.flushers_woken.set(self.flushers_woken.get().saturating_add(pages));
    }

    async fn write_room(&self, kind: LruKind) {
        let stream = stream_of(kind);
        let device = self.device_of(stream);
        if device.requests().is_some() {
            return self.wait_for_request(stream).await;
        }
        let over = device.backlog(self.now(), stream).saturating_sub(QUEUE_PAGES * device.page());
        self.sleep_until(self.now() + over).await;
    }

    fn slow_path_turn(&self, task: &TaskContext, turn: &Turn) {
        self.note_turn(task, turn);
    }

    fn slow_path_ended(&self, _task: &TaskContext) {
        self.loops.borrow_mut().ended(self.current.get());
    }

    /// Writes go to a device that takes one after the other.
    fn start_write(&self, pfn: Pfn, kind: LruKind, pages: u64) {
        self.write(pfn, stream_of(kind), pages as u32);
    }
}

/// A wait as a future.
pub struct WaitFuture<'e> {
    env: &'e VirtualEnv,
    queue: Queue,
    timeout: Option<Nanos>,
    wait: Option<usize>,
    /// It works rather than waits.
    keeps_cpu: bool,
}

impl WaitFuture<'_> {
    fn register(&self) -> usize {
        if !self.keeps_cpu {
            self.env.leave_cpu(self.env.current.get());
        }
        let deadline = self.timeout.map(|nanos| self.env.now() + nanos);
        let wait =
            Wait { task: self.env.current.get(), queue: self.queue, deadline, ended: None, works: self.keeps_cpu };
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
