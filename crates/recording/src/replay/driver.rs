//! The main loop of a replay: hands the log's operations to the machine at their times.

use super::flusher::Flusher;
use super::follow::Follow;
use super::objects::{DOOMED, GONE, NOWHERE, Objects, PENDING, PIECES};
use super::pace::Held;
use super::place::{ReplayWorld, page_flags, place};
use super::{ReplayError, ReplayOptions, Replayed};
use crate::pagelog::{AGAIN, Class, MEMALLOC, MEMBER, Object, ObjectId, Op, OpKind, PageLog, UNIT};
use lab::outcome::{Sample, SlowRequest};
use lab::{Executor, VirtualEnv, Watch, start_daemons};
use mm::{Env, Mm, State, Tag, TaskContext, TaskFlags};
use pagealloc::{CpuId, Gfp, NR_ORDERS, NodeId, Pfn, Request};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Swap assumed where the recorded kernel had any: 1 GiB.
const SWAP_PAGES: u64 = 262_144;
/// Interval at which a replay reports its progress, operations.
const PROGRESS_OPS: usize = 1 << 17;
/// Operations whose objects are loaded together, ahead of their turn.
const LOAD_AHEAD: usize = 16;

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

/// What runs in a replay.
pub(super) struct Driver<'a> {
    pub log: &'a PageLog,
    /// A request of order 0 from CPU 0 for each of the log's masks.
    requests: Vec<Request>,
    pub mm: &'a Mm<ReplayWorld>,
    pub executor: Executor<'a>,
    pub served: &'a RefCell<VecDeque<Served>>,
    pub slow: &'a RefCell<Vec<SlowRequest>>,
    pub tally: Tally,
    /// What tasks had to hold back.
    pub held: Held,
    /// Objects to be read back, by time.
    readback: BTreeSet<(u64, ObjectId)>,
    /// Time of the first of them; the end of time if there is none.
    next_readback: u64,
    /// Faults on such objects that are being served, and those that wait for their turn.
    faulting: usize,
    faults: VecDeque<ObjectId>,
    flusher: Flusher,
    pub fast_requests: [u64; NR_ORDERS],
    pub failed_requests: [u64; NR_ORDERS],
    pub follow: Follow,
}

/// Replays a log. `progress` hears the share done, 0 to 1.
///
/// # Errors
/// When the machine can't be built, or, with `check` set, when an invariant breaks.
pub fn replay(
    log: &Arc<PageLog>,
    options: &ReplayOptions,
    progress: &mut dyn FnMut(f64),
) -> Result<Replayed, ReplayError> {
    let clock = Rc::new(Cell::new(log.window.0));
    let objects = Objects::new(Arc::clone(log), SWAP_PAGES, options.seed);
    let mut state = place(log, options, objects, Watch::new(Rc::clone(&clock)))?;
    let (cpus, kthreads_on) = (state.alloc.nr_cpus(), state.alloc.add_kthread_cpu(NodeId(0)));
    let mm = Mm::new(state, VirtualEnv::new(clock, log.speeds, options.seed).with_lanes(cpus, kthreads_on));
    let (served, slow) = (RefCell::default(), RefCell::default());
    let follow = Follow::new(&mm, options.sampling);
    let mut driver = Driver::new(log, &mm, &served, &slow, follow);
    let started = Instant::now();
    let series = driver.run(options, progress)?;
    let replay_seconds = (started.elapsed() - driver.follow.spent()).as_secs_f64();
    Ok(driver.finish(series, replay_seconds))
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
            mm,
            executor: Executor::default(),
            served,
            slow,
            tally: Tally::default(),
            held: Held::new(log, mm.state.borrow().alloc.nr_cpus()),
            readback: BTreeSet::new(),
            next_readback: u64::MAX,
            faulting: 0,
            faults: VecDeque::new(),
            flusher: Flusher::default(),
            fast_requests: [0; NR_ORDERS],
            failed_requests: [0; NR_ORDERS],
            follow,
        }
    }

    fn run(&mut self, options: &ReplayOptions, progress: &mut dyn FnMut(f64)) -> Result<Vec<Sample>, ReplayError> {
        start_daemons(&mut self.executor, self.mm);
        let mut samples = self.log.samples.iter().copied().peekable();
        let mut series = Vec::new();
        for (index, op) in self.log.ops.iter().enumerate() {
            if index % LOAD_AHEAD == 0 {
                let ahead = self.log.ops.get(index + LOAD_AHEAD..).unwrap_or_default();
                std::hint::black_box(self.mm.state.borrow().owner.load_ahead(&ahead[..ahead.len().min(LOAD_AHEAD)]));
            }
            while let Some(at) = samples.next_if(|at| *at < op.ts) {
                self.run_until(at);
                series.push(self.sample(at, options)?);
            }
            self.look_until(op.ts);
            self.run_until(op.ts);
            self.mm.env.clock.set(op.ts);
            self.tally.page_events += 1;
            self.operation(*op);
            if index % PROGRESS_OPS == 0 {
                progress(index as f64 / self.log.ops.len() as f64);
            }
        }
        for at in samples {
            self.run_until(at);
            series.push(self.sample(at, options)?);
        }
        Ok(series)
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
    pub fn settle(&mut self) {
        loop {
            self.executor.run_ready(&self.mm.env);
            let Some(served) = self.served.borrow_mut().pop_front() else { break };
            self.settle_one(served);
        }
        if self.mm.env.flushers_woken.replace(false) {
            self.flusher.write_all(self.mm);
        }
        let new = &mut self.mm.state.borrow_mut().owner.readback;
        if let Some((earliest, _)) = new.iter().min() {
            self.next_readback = self.next_readback.min(*earliest);
            self.readback.extend(new.drain(..));
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
                if let Some(next) = self.faults.pop_front() {
                    self.fault(next);
                }
            }
            Asked::Piece(object) => self.install_piece(object, pfn),
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

    /// Does what the operation says.
    #[inline]
    pub fn perform(&mut self, op: Op) {
        match op.kind {
            OpKind::Free => self.free(op),
            OpKind::Alloc => self.alloc(op),
            OpKind::Attempt => self.request(op, self.log.objects[op.object as usize]),
            OpKind::ThpFault => self.thp_fault(op),
        }
    }

    #[inline]
    fn alloc(&mut self, op: Op) {
        let object = self.log.objects[op.object as usize];
        if object.flags & MEMBER != 0 && self.covered_by_huge_page(object.link) {
            return;
        }
        if object.flags & AGAIN != 0 && self.still_there(op.object, object.link) {
            return;
        }
        self.request(op, object);
    }

    /// The kernel had evicted the page and read it back; here it never left.
    fn still_there(&mut self, object: ObjectId, before: ObjectId) -> bool {
        let mut state = self.mm.state.borrow_mut();
        let place = state.owner.place(before);
        if place >= PIECES {
            state.owner.inherit_shadow(before, object);
            return false;
        }
        let pfn = Pfn(place);
        state.owner.take(before, self.log.objects[before as usize].class);
        state.owner.put(object, pfn);
        state.pages.set_tag(pfn, Tag(object));
        state.mark_accessed(pfn);
        self.tally.hits += 1;
        true
    }

    #[inline]
    fn request(&mut self, op: Op, object: Object) {
        let cpu = CpuId(u16::from(op.cpu));
        let request = Request { order: object.order, cpu, ..self.requests[usize::from(object.gfp)] };
        let mut state = self.mm.state.borrow_mut();
        match state.alloc_fast_sync(&request, &self.mm.env) {
            Some(pfn) => {
                self.fast_requests[usize::from(object.order)] += 1;
                if op.kind == OpKind::Attempt {
                    state.free_page(pfn, request.cpu);
                    return;
                }
                install(&mut state, op.object, object.class, pfn);
                if object.class == Class::File && request.gfp.contains(Gfp::WRITE) {
                    state.set_dirty(pfn);
                    drop(state);
                    self.flusher.dirtied(self.mm, op.object);
                }
            }
            None => {
                drop(state);
                self.ask_slowly(Asked::Op(op), op, request);
            }
        }
    }

    /// Sends a request down the slow path; the task is held back until it is served.
    fn ask_slowly(&mut self, what: Asked, op: Op, request: Request) {
        let (mm, served, slow) = (self.mm, self.served, self.slow);
        let mut task =
            TaskContext::user(self.log.tasks.get(usize::from(op.task)).copied().unwrap_or(0) as u32, request.cpu);
        if self.log.objects[op.object as usize].flags & MEMALLOC != 0 {
            task.flags = task.flags.with(TaskFlags::MEMALLOC);
        }
        self.hold_back(op);
        self.executor.spawn(&mm.env, async move {
            let ts = mm.env.now();
            let pfn = mm.alloc_slow(&request, &task).await;
            let duration = mm.env.now() - ts;
            slow.borrow_mut().push(SlowRequest {
                ts,
                order: request.order,
                gfp: request.gfp,
                duration,
                served: pfn.is_some(),
            });
            served.borrow_mut().push_back(Served { what, pfn });
        });
        self.settle();
    }

    /// The task waits: its later operations are held back.
    pub fn hold_back(&mut self, op: Op) {
        self.mm.state.borrow_mut().owner.set_place(op.object, PENDING);
        self.held.wait(op.task);
    }

    /// The slow path's answer to an operation.
    fn answer(&mut self, op: Op, pfn: Option<Pfn>) {
        let object = self.log.objects[op.object as usize];
        let cpu = CpuId(u16::from(op.cpu));
        if op.kind == OpKind::ThpFault {
            return self.thp_answer(op, pfn);
        }
        let mut state = self.mm.state.borrow_mut();
        let doomed = state.owner.place(op.object) == DOOMED;
        state.owner.set_place(op.object, if doomed { GONE } else { NOWHERE });
        match pfn {
            Some(pfn) if op.kind == OpKind::Attempt || doomed => state.free_page(pfn, cpu),
            Some(pfn) => install(&mut state, op.object, object.class, pfn),
            None => {
                self.failed_requests[usize::from(object.order)] += 1;
                drop(state);
                if op.kind == OpKind::Alloc && object.order > 0 && !doomed {
                    self.fall_back_to_pieces(op, object);
                } else if op.kind == OpKind::Alloc {
                    self.tally.unserved += 1;
                }
            }
        }
    }

    /// No page of the order could be had, though the recorded kernel had one: its user makes do with single pages, which
    /// its task asks for one after the other.
    fn fall_back_to_pieces(&mut self, op: Op, object: Object) {
        self.mm.state.borrow_mut().owner.set_place(op.object, PIECES);
        let cpu = CpuId(u16::from(op.cpu));
        let gfp = self.log.gfps[usize::from(object.gfp)];
        let request = Request::new(0, gfp.without(Gfp::NORETRY), cpu);
        let task = TaskContext::user(self.log.tasks.get(usize::from(op.task)).copied().unwrap_or(0) as u32, cpu);
        let (mm, served) = (self.mm, self.served);
        self.executor.spawn(&mm.env, async move {
            for _ in 0..1u32 << object.order {
                if mm.state.borrow().owner.place(op.object) != PIECES {
                    break;
                }
                let pfn = mm.alloc_pages(&request, &task).await;
                served.borrow_mut().push_back(Served { what: Asked::Piece(op.object), pfn });
            }
            served.borrow_mut().push_back(Served { what: Asked::LastPiece(op), pfn: None });
        });
    }

    fn install_piece(&mut self, object: ObjectId, pfn: Option<Pfn>) {
        let Some(pfn) = pfn else {
            self.tally.unserved += 1;
            return;
        };
        self.tally.pieces += u64::from(self.log.objects[object as usize].order > 0);
        let class = self.log.objects[object as usize].class;
        let mut state = self.mm.state.borrow_mut();
        match state.owner.place(object) {
            PIECES => {
                state.owner.pieces_mut(object).push(pfn);
                adopt(&mut state, object, class, pfn);
            }
            NOWHERE | PENDING => install(&mut state, object, class, pfn),
            _ => state.free_page(pfn, CpuId(0)),
        }
    }

    // ---- frees

    #[inline]
    fn free(&mut self, op: Op) {
        let object = self.log.objects[op.object as usize];
        if object.flags & (MEMBER | UNIT) != 0 && self.free_of_unit(op, object) {
            return;
        }
        self.free_object(op.object, CpuId(u16::from(op.cpu)));
    }

    /// Frees an object wherever it is.
    #[inline]
    pub fn free_object(&mut self, object: ObjectId, cpu: CpuId) {
        let mut state = self.mm.state.borrow_mut();
        match state.owner.place(object) {
            GONE | DOOMED => {}
            NOWHERE => {
                self.tally.already_reclaimed += 1;
                if let Some(shadow) = state.owner.take_shadow(object) {
                    state.forget_swapped(shadow, cpu);
                }
                state.owner.set_place(object, GONE);
            }
            PENDING => state.owner.set_place(object, DOOMED),
            PIECES => {
                let pieces = state.owner.take_pieces(object);
                let shadows = state.owner.take_piece_shadows(object);
                shadows.into_iter().for_each(|shadow| state.forget_swapped(shadow, cpu));
                state.owner.set_place(object, GONE);
                pieces.into_iter().for_each(|pfn| state.free_page(pfn, cpu));
            }
            frame => {
                state.owner.take(object, self.log.objects[object as usize].class);
                state.free_page(Pfn(frame), cpu);
            }
        }
    }

    // ---- pages that come back

    /// An object that the model's reclaim took while it was in use is used again.
    fn read_back(&mut self, at: u64) {
        let Some((_, object)) = self.readback.pop_first() else { return };
        self.next_readback = self.readback.first().map_or(u64::MAX, |(at, _)| *at);
        self.mm.env.clock.set(self.mm.env.clock.get().max(at));
        self.fault(object);
    }

    /// A fault of whoever uses the object. Who that is the object does not tell; as many are on their way at once as there
    /// are CPUs for their tasks, and the others wait.
    fn fault(&mut self, object: ObjectId) {
        if self.mm.state.borrow().owner.place(object) != NOWHERE {
            return;
        }
        if self.faulting >= self.mm.state.borrow().alloc.nr_cpus() {
            return self.faults.push_back(object);
        }
        self.tally.readbacks += 1;
        let of = self.log.objects[object as usize];
        let request = Request::new(of.order, self.log.gfps[usize::from(of.gfp)], CpuId(0));
        let page = self.mm.state.borrow_mut().alloc_fast_sync(&request, &self.mm.env);
        if page.is_some() {
            return self.install_or_drop(object, page);
        }
        self.mm.state.borrow_mut().owner.set_place(object, PENDING);
        self.faulting += 1;
        let (mm, served) = (self.mm, self.served);
        self.executor.spawn(&mm.env, async move {
            let pfn = mm.alloc_slow(&request, &TaskContext::user(0, CpuId(0))).await;
            served.borrow_mut().push_back(Served { what: Asked::Readback(object), pfn });
        });
    }

    fn install_or_drop(&mut self, object: ObjectId, pfn: Option<Pfn>) {
        let mut state = self.mm.state.borrow_mut();
        let wanted = matches!(state.owner.place(object), NOWHERE | PENDING);
        match pfn {
            Some(pfn) if wanted => install(&mut state, object, self.log.objects[object as usize].class, pfn),
            Some(pfn) => state.free_page(pfn, CpuId(0)),
            None if wanted => state.owner.set_place(object, NOWHERE),
            None => state.owner.set_place(object, GONE),
        }
    }
}

/// Puts a page that was just handed out to its use.
#[inline(always)]
pub(super) fn install(state: &mut State<ReplayWorld>, object: ObjectId, class: Class, pfn: Pfn) {
    state.owner.put_as(object, class, pfn);
    adopt(state, object, class, pfn);
}

#[inline(always)]
fn adopt(state: &mut State<ReplayWorld>, object: ObjectId, class: Class, pfn: Pfn) {
    match class {
        Class::Anon | Class::File => state.lru_add(pfn, page_flags(class), Tag(object)),
        Class::Kernel | Class::Slab => state.pages.set_tag(pfn, Tag(object)),
    }
    if let Some(shadow) = state.owner.take_shadow(object) {
        state.refault(pfn, shadow, CpuId(0));
    }
}
