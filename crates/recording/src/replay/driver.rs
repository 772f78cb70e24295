//! The main loop of a replay: hands the log's operations to the machine at their times.

use super::flusher::Flusher;
use super::follow::Follow;
use super::objects::{Objects, PIECES};
use super::pace::Held;
use super::place::{ReplayWorld, place};
use super::readers::Readers;
use super::stats_flushes;
use super::{ReplayError, ReplayOptions, Replayed};
use crate::pagelog::{Object, ObjectId, Op, OpKind, PageLog};
use lab::outcome::{Sample, SlowRequest};
use lab::{CpusBeside, Executor, KthreadLists, VirtualEnv, Watch, start_daemons};
use mm::{Mm, Owner, State, Tag};
use pagealloc::{CpuId, FrameList, NR_ORDERS, NodeId, Observer, PageAllocator, Pfn, Request};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Interval at which a replay reports its progress, operations.
const PROGRESS_OPS: usize = 1 << 17;
/// Operations whose objects, and whose frames, are loaded together, ahead of their turn.
pub(super) const LOAD_AHEAD: usize = 16;

/// Who hears how far a replay is, and may end it.
pub type Progress<'a> = dyn FnMut(f64) -> ControlFlow<()> + 'a;

/// A finished slow request, for the driver to act on.
pub(super) struct Served {
    pub what: Asked,
    pub pfn: Option<Pfn>,
}

/// What a request was for.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// An operation of a task, which waits for it.
    Op(Op),
    /// A page read back because the model's reclaim took it while it was in use.
    Readback(ObjectId),
    /// A base page in place of a huge page that the recorded kernel had, or a piece of a large page.
    Piece(ObjectId),
    /// The end of an operation that was served in pieces.
    LastPiece(Op),
}

/// Counts of what the replay met.
#[derive(Default)]
pub(super) struct Tally {
    pub page_events: u64,
    pub hits: u64,
    pub already_reclaimed: u64,
    pub unserved: u64,
    pub pieces: u64,
    pub huge_instead_of_base: u64,
    pub base_instead_of_huge: u64,
    pub readbacks: u64,
    pub held_back: u64,
}

/// Page lists for work whose CPU is used by what was recorded there at that time.
fn cpus_beside<O: Observer>(alloc: &mut PageAllocator<O>) -> CpusBeside {
    let cpus: Vec<CpuId> = alloc.cpus().collect();
    let nodes: BTreeSet<NodeId> = cpus.iter().map(|cpu| alloc.node_of_cpu(*cpu)).collect();
    let kthreads = nodes.into_iter().map(|node| {
        let homes: Vec<CpuId> = cpus.iter().copied().filter(|cpu| alloc.node_of_cpu(*cpu) == node).collect();
        KthreadLists { node, cpu: alloc.add_cpu_beside(node, homes[0]), homes }
    });
    let kthreads = kthreads.collect();
    let compactors = cpus.into_iter().map(|cpu| alloc.add_cpu_beside(alloc.node_of_cpu(cpu), cpu)).collect();
    CpusBeside { kthreads, compactors }
}

/// What runs in a replay.
pub(super) struct Driver<'a> {
    pub log: &'a PageLog,
    /// A request of order 0 for each of the log's masks; CPU and node are still to be said.
    pub requests: Vec<Request>,
    /// CPU of the log's last operation: of those that are at work now, the busier ones are it more often.
    pub busy_cpu: CpuId,
    pub mm: &'a Mm<ReplayWorld>,
    pub executor: Executor<'a>,
    pub served: &'a RefCell<VecDeque<Served>>,
    pub slow: &'a RefCell<Vec<SlowRequest>>,
    pub tally: Tally,
    /// What tasks had to hold back.
    pub held: Held,
    /// Operations of tasks that lag so far.
    pub lagging: usize,
    /// Objects to be read back, by time.
    readback: BinaryHeap<Reverse<(u64, ObjectId)>>,
    /// Time of the first of them; the end of time if there is none.
    next_readback: u64,
    /// Faults on such objects that are being served, and those that wait for their turn.
    pub faulting: usize,
    pub faults: VecDeque<ObjectId>,
    pub flusher: Flusher<'a>,
    readers: Readers<'a>,
    pub fast_requests: [u64; NR_ORDERS],
    pub failed_requests: [u64; NR_ORDERS],
    pub follow: Follow,
    /// THP units that lost parts of which the model's huge page may still be whole: how many.
    pub torn: BTreeMap<u32, usize>,
}

/// Replays a log. `progress` hears the share done, 0 to 1, several times a second, and may end the replay.
///
/// # Errors
/// When the machine can't be built, when `progress` ends it, or, with `check` set, when an invariant breaks.
pub fn replay(log: &Arc<PageLog>, options: &ReplayOptions, progress: &mut Progress) -> Result<Replayed, ReplayError> {
    let clock = Rc::new(Cell::new(log.window.0));
    let objects = Objects::new(Arc::clone(log), log.swap_pages, &options.policy, options.seed);
    let mut state = place(log, options, objects, Watch::new(Rc::clone(&clock)))?;
    let cpus = state.alloc.nr_cpus();
    let beside = cpus_beside(&mut state.alloc);
    let env = VirtualEnv::new(clock, log.speeds, options.seed).with_lanes(cpus, beside, log.kthreads.clone());
    let mm = Mm::new(state, env);
    let (served, slow) = (RefCell::default(), RefCell::default());
    let follow = Follow::new(&mm, options.sampling);
    let mut driver = Driver::new(log, &mm, &served, &slow, follow);
    let started = Instant::now();
    let series = driver.run(options, progress)?;
    let replay_seconds = (started.elapsed() - driver.follow.spent()).as_secs_f64();
    Ok(driver.finish(series, replay_seconds))
}

/// Loads what coming operations will ask: of the next but one lot of them the objects; of the next lot, whose objects are
/// here by now, the frames. No load waits for another, so the cache misses overlap. The value means nothing.
pub(super) fn load_ahead(state: &State<ReplayWorld>, coming: &[Op]) -> u32 {
    let mut lots = coming.chunks(LOAD_AHEAD).skip(1).map(|lot| lot.iter().map(|op| op.object));
    let (next, next_but_one) = (lots.next(), lots.next());
    let objects = next_but_one.into_iter().flatten().fold(0, |sum, object| sum ^ state.owner.load_ahead(Tag(object)));
    let last = state.alloc.frames.len() - 1;
    next.into_iter().flatten().fold(objects, |sum, object| {
        let pfn = Pfn(state.owner.place(object).min(last));
        let behind = FrameList::next(&state.alloc.frames, pfn).unwrap_or(pfn);
        sum ^ u32::from(state.pages.flags(pfn).0) ^ behind.0
    })
}

impl<'a> Driver<'a> {
    fn new(
        log: &'a PageLog,
        mm: &'a Mm<ReplayWorld>,
        served: &'a RefCell<VecDeque<Served>>,
        slow: &'a RefCell<Vec<SlowRequest>>,
        follow: Follow,
    ) -> Driver<'a> {
        Driver {
            log,
            requests: log.gfps.iter().map(|gfp| Request::new(0, *gfp, CpuId(0))).collect(),
            busy_cpu: CpuId(0),
            mm,
            executor: Executor::default(),
            served,
            slow,
            tally: Tally::default(),
            held: Held::new(log, mm.state.borrow().alloc.nr_cpus()),
            lagging: 0,
            readback: BinaryHeap::new(),
            next_readback: u64::MAX,
            faulting: 0,
            faults: VecDeque::new(),
            flusher: Flusher::new(log),
            readers: Readers::new(log, mm.state.borrow().lru_gen.is_none()),
            fast_requests: [0; NR_ORDERS],
            failed_requests: [0; NR_ORDERS],
            follow,
            torn: BTreeMap::new(),
        }
    }

    fn run(&mut self, options: &ReplayOptions, progress: &mut Progress) -> Result<Vec<Sample>, ReplayError> {
        let flushes =
            self.mm.stats_flush_interval().map_or(0, |interval| stats_flushes::phase(&self.log.noticed, interval));
        start_daemons(&mut self.executor, self.mm, flushes);
        let mut samples = self.log.samples.iter().copied();
        let mut next_sample = samples.next();
        let mut series = Vec::new();
        let ops = &self.log.ops;
        let mut tell = |done: usize| match progress(done as f64 / ops.len() as f64) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ReplayError::Stopped),
        };
        for (index, op) in ops.iter().enumerate() {
            if index % LOAD_AHEAD == 0 {
                std::hint::black_box(load_ahead(&self.mm.state.borrow(), &ops[index..]));
            }
            while let Some(at) = next_sample.filter(|at| *at < op.ts) {
                self.run_until(at);
                series.push(self.sample(at, options)?);
                // Between two operations any time may lie, and reclaim that works all through it.
                tell(index)?;
                next_sample = samples.next();
            }
            if self.follow.next() < op.ts {
                self.look_until(op.ts);
            }
            self.run_until(op.ts);
            self.mm.env.clock.set(op.ts);
            self.busy_cpu = CpuId(u16::from(op.cpu));
            self.flusher.keep_up(self.mm);
            self.readers.keep_up(self.mm);
            self.tally.page_events += 1;
            self.operation(*op);
            if index % PROGRESS_OPS == 0 {
                tell(index)?;
            }
        }
        for at in next_sample.into_iter().chain(samples) {
            self.run_until(at);
            series.push(self.sample(at, options)?);
            tell(ops.len())?;
        }
        Ok(series)
    }

    /// The samples that fall due before the time of the next operation.
    #[inline(never)]
    fn look_until(&mut self, ts: u64) {
        while self.follow.next() < ts {
            self.run_until(self.follow.next());
            self.follow.look(self.mm);
        }
    }

    /// Lets everything happen that falls due before or at this time.
    #[inline(always)]
    pub(super) fn run_until(&mut self, at: u64) {
        if self.next_moment() <= at {
            self.run_due(at);
        }
    }

    #[inline(always)]
    fn next_moment(&self) -> u64 {
        self.mm.env.next_due().min(self.next_readback).min(self.held.next)
    }

    #[inline(never)]
    fn run_due(&mut self, at: u64) {
        while self.next_moment() <= at {
            if self.held.next < self.mm.env.next_due().min(self.next_readback) {
                self.next_lagging();
            } else if self.next_readback < self.mm.env.next_due() {
                self.read_back(self.next_readback);
            } else if let Some(pfn) = self.mm.env.advance() {
                self.mm.end_writeback(pfn);
            }
            self.settle();
        }
    }

    /// Runs what is ready and acts on what was served, until nothing is left to do at this moment.
    #[inline(always)]
    pub fn settle(&mut self) {
        if !self.is_settled() {
            self.settle_all();
        }
    }

    #[inline(always)]
    fn is_settled(&self) -> bool {
        let env = &self.mm.env;
        let asked = !env.nobody_is_ready() || env.flushers_woken.get() > 0;
        let owner = &self.mm.state.borrow().owner;
        !asked && self.served.borrow().is_empty() && owner.readback.is_empty() && owner.left_over.is_empty()
    }

    #[inline(never)]
    fn settle_all(&mut self) {
        while !self.mm.env.nobody_is_ready() || !self.served.borrow().is_empty() {
            self.executor.run_ready(&self.mm.env);
            let served = self.served.borrow_mut().pop_front();
            served.into_iter().for_each(|served| self.settle_one(served));
        }
        for (beside, next) in self.mm.env.cpus_left() {
            self.mm.state.borrow_mut().alloc.leave_cpu_beside(beside, next);
        }
        if self.mm.env.flushers_woken.replace(0) > 0 {
            self.flusher.write_all(self.mm);
        }
        self.free_left_over(self.busy_cpu);
        let new = &mut self.mm.state.borrow_mut().owner.readback;
        if !new.is_empty() {
            self.readback.extend(new.drain(..).map(Reverse));
            self.next_readback = self.first_readback();
        }
    }

    fn settle_one(&mut self, Served { what, pfn }: Served) {
        match what {
            Asked::Op(op) => {
                self.answer(op, pfn);
                if self.mm.state.borrow().owner.place(op.object) != PIECES {
                    self.resume(op.task);
                }
            }
            Asked::LastPiece(op) => self.resume(op.task),
            Asked::Readback(object) => {
                self.install_or_drop(object, pfn);
                self.faulting -= 1;
                self.next_faults();
            }
            Asked::Piece(object) => self.install_piece(object, pfn),
        }
    }

    fn first_readback(&self) -> u64 {
        self.readback.peek().map_or(u64::MAX, |Reverse((at, _))| *at)
    }

    /// An object that the model's reclaim took while it was in use is used again.
    fn read_back(&mut self, at: u64) {
        let Some(Reverse((_, object))) = self.readback.pop() else { return };
        self.next_readback = self.first_readback();
        self.mm.env.clock.set(self.mm.env.clock.get().max(at));
        if !self.mm.state.borrow_mut().owner.use_waits(object) {
            self.fault(object);
        }
    }

    // ---- operations

    #[inline]
    pub fn operation(&mut self, mut op: Op) {
        if self.held.hold(&mut op) {
            self.tally.held_back += 1;
            return;
        }
        self.perform(op);
    }

    /// What the log says of an object.
    #[inline(always)]
    pub fn object(&self, object: ObjectId) -> Object {
        self.mm.state.borrow().owner.of(object)
    }

    /// Does what the operation says.
    #[inline]
    pub fn perform(&mut self, op: Op) {
        match op.kind {
            OpKind::Free | OpKind::LateFree => self.free(op),
            OpKind::FreePart => self.free_part(op),
            OpKind::Alloc => self.alloc(op),
            OpKind::Attempt => self.request(op),
            OpKind::ThpFault => self.thp_fault(op),
        }
    }
}
