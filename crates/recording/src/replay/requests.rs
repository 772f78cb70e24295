//! What an operation asks of the machine, and what is done with the answer.

use super::driver::{Asked, Driver, Served};
use super::objects::{DOOMED, GONE, NOWHERE, PENDING, PIECES};
use super::place::{ReplayWorld, page_flags};
use crate::pagelog::{AGAIN, BULK, Class, MEMALLOC, MEMBER, Object, ObjectId, Op, OpKind, RESIZED, UNIT};
use lab::outcome::SlowRequest;
use mm::{Env, State, Tag, TaskContext, TaskFlags};
use pagealloc::{CpuId, Gfp, Pfn, Request};

/// Pages that vmalloc asks for at a time.
const MOST_IN_BULK: usize = 100;

impl Driver<'_> {
    #[inline]
    pub(super) fn alloc(&mut self, op: Op) {
        let there = self.object(op.object).flags & (MEMBER | AGAIN | RESIZED | BULK) != 0 && self.is_there(op);
        if !there {
            self.request(op);
        }
    }

    /// Whether the object need not be asked for: its page is part of a huge one, or never left.
    #[inline(never)]
    fn is_there(&mut self, op: Op) -> bool {
        let id = op.object;
        let object = self.object(id);
        if object.flags & BULK != 0 {
            return self.came_in_bulk(op, object.link);
        }
        if object.flags & RESIZED != 0 {
            self.mm.state.borrow_mut().owner.share_shadow(object.link, id);
        }
        object.flags & MEMBER != 0 && self.covered_by_huge_page(object.link)
            || object.flags & AGAIN != 0 && self.still_there(id, object.link)
    }

    /// Asks for all pages of a bulk request with the first of them. Those that are not served in this way are asked for singly.
    fn came_in_bulk(&mut self, op: Op, pages: u32) -> bool {
        let mut state = self.mm.state.borrow_mut();
        if pages > 0 {
            let cpu = CpuId(u16::from(op.cpu));
            let node = state.alloc.node_of_cpu(cpu);
            let request = Request { cpu, node, ..self.requests[usize::from(state.owner.of(op.object).gfp)] };
            let mut served = [Pfn(0); MOST_IN_BULK];
            let pages = pages.min(MOST_IN_BULK as u32);
            let mut got = 0;
            state.alloc.alloc_bulk(&request, pages, |pfn| {
                served[got] = pfn;
                got += 1;
            });
            for (object, pfn) in (op.object..).zip(&served[..got]) {
                install(&mut state, object, Class::Kernel, *pfn);
            }
        }
        state.owner.place(op.object) < PIECES
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
        state.owner.take(before);
        state.owner.put(object, pfn);
        state.pages.set_tag(pfn, Tag(object));
        state.mark_accessed(pfn);
        self.tally.hits += 1;
        true
    }

    #[inline(never)]
    pub(super) fn request(&mut self, op: Op) {
        let object = self.object(op.object);
        let cpu = CpuId(u16::from(op.cpu));
        let mut state = self.mm.state.borrow_mut();
        let node = state.alloc.node_of_cpu(cpu);
        let request = Request { order: object.order, cpu, node, ..self.requests[usize::from(object.gfp)] };
        match state.alloc_fast_sync(&request, &self.mm.env) {
            Some(pfn) => {
                self.fast_requests[usize::from(object.order)] += 1;
                if op.kind == OpKind::Attempt {
                    state.free_page(pfn, request.cpu);
                    return;
                }
                install(&mut state, op.object, object.class, pfn);
                drop(state);
                self.write_to(op.object, object, pfn);
            }
            None => {
                drop(state);
                self.ask_slowly(Asked::Op(op), op, request);
            }
        }
    }

    /// The task writes to the page that it was handed, if that is what it asked for it for.
    #[inline(always)]
    fn write_to(&mut self, id: ObjectId, object: Object, pfn: Pfn) {
        if object.class == Class::File && self.log.gfps[usize::from(object.gfp)].contains(Gfp::WRITE) {
            self.mm.state.borrow_mut().set_dirty(pfn);
            self.flusher.dirtied(self.mm, id, object.order);
        }
    }

    /// Sends a request down the slow path; the task is held back until it is served.
    fn ask_slowly(&mut self, what: Asked, op: Op, request: Request) {
        let (mm, served, slow) = (self.mm, self.served, self.slow);
        let mut task =
            TaskContext::user(self.log.tasks.get(usize::from(op.task)).copied().unwrap_or(0) as u32, request.cpu);
        if self.object(op.object).flags & MEMALLOC != 0 {
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
        let mut state = self.mm.state.borrow_mut();
        state.owner.set_place(op.object, PENDING);
        state.owner.waits(op.task, self.mm.env.now());
        self.held.wait(op.task);
    }

    /// The slow path's answer to an operation.
    pub(super) fn answer(&mut self, op: Op, pfn: Option<Pfn>) {
        let object = self.object(op.object);
        let cpu = CpuId(u16::from(op.cpu));
        if op.kind == OpKind::ThpFault {
            return self.thp_answer(op, pfn);
        }
        let mut state = self.mm.state.borrow_mut();
        let doomed = state.owner.place(op.object) == DOOMED;
        state.owner.set_place(op.object, if doomed { GONE } else { NOWHERE });
        match pfn {
            Some(pfn) if op.kind == OpKind::Attempt || doomed => state.free_page(pfn, cpu),
            Some(pfn) => {
                install(&mut state, op.object, object.class, pfn);
                drop(state);
                self.write_to(op.object, object, pfn);
            }
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
        let mut state = self.mm.state.borrow_mut();
        state.owner.set_place(op.object, PIECES);
        let cpu = CpuId(u16::from(op.cpu));
        let gfp = self.log.gfps[usize::from(object.gfp)];
        let request = state.alloc.local_request(0, gfp.without(Gfp::NORETRY), cpu);
        drop(state);
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

    pub(super) fn install_piece(&mut self, object: ObjectId, pfn: Option<Pfn>) {
        let Some(pfn) = pfn else {
            self.tally.unserved += 1;
            return;
        };
        let mut state = self.mm.state.borrow_mut();
        let Object { class, order, .. } = state.owner.of(object);
        self.tally.pieces += u64::from(order > 0);
        match state.owner.place(object) {
            PIECES => {
                state.owner.pieces_mut(object).push(pfn);
                adopt(&mut state, object, class, pfn);
            }
            NOWHERE | PENDING => install(&mut state, object, class, pfn),
            _ => state.free_page(pfn, self.busy_cpu),
        }
    }

    // ---- frees

    #[inline]
    pub(super) fn free(&mut self, op: Op) {
        let object = self.object(op.object);
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
                state.owner.take(object);
                state.free_page(Pfn(frame), cpu);
            }
        }
    }

    // ---- pages that come back

    /// A fault of whoever uses the object. Who that is the object does not tell; as many are on their way at once as there
    /// are CPUs for their tasks, and the others wait. Each is on a CPU that is at work then: a CPU that did nothing but read back would
    /// refill its lists with more and more pages at once (5.6).
    pub(super) fn fault(&mut self, object: ObjectId) {
        self.faults.push_back(object);
        self.next_faults();
    }

    pub(super) fn next_faults(&mut self) {
        while self.faulting < self.mm.state.borrow().alloc.nr_cpus()
            && let Some(object) = self.faults.pop_front()
        {
            if self.is_missed(object) {
                self.bring_back(object);
            }
        }
    }

    /// Whether the object is out, and whoever used it still would: the recorded kernel's reclaim has not taken it as well.
    fn is_missed(&self, object: ObjectId) -> bool {
        let owner = &self.mm.state.borrow().owner;
        owner.place(object) == NOWHERE && !owner.is_gone(object, self.mm.env.clock.get())
    }

    fn bring_back(&mut self, object: ObjectId) {
        self.tally.readbacks += 1;
        let of = self.object(object);
        let cpu = self.busy_cpu;
        let mut state = self.mm.state.borrow_mut();
        let request = state.alloc.local_request(of.order, self.log.gfps[usize::from(of.gfp)], cpu);
        let page = state.alloc_fast_sync(&request, &self.mm.env);
        if page.is_some() {
            drop(state);
            return self.install_or_drop(object, page);
        }
        state.owner.set_place(object, PENDING);
        drop(state);
        self.faulting += 1;
        let (mm, served) = (self.mm, self.served);
        self.executor.spawn(&mm.env, async move {
            let pfn = mm.alloc_slow(&request, &TaskContext::user(0, cpu)).await;
            served.borrow_mut().push_back(Served { what: Asked::Readback(object), pfn });
        });
    }

    pub(super) fn install_or_drop(&mut self, object: ObjectId, pfn: Option<Pfn>) {
        let mut state = self.mm.state.borrow_mut();
        let wanted = matches!(state.owner.place(object), NOWHERE | PENDING);
        match pfn {
            Some(pfn) if wanted => {
                let Object { class, flags, link, .. } = state.owner.of(object);
                install(&mut state, object, class, pfn);
                drop(state);
                if flags & UNIT != 0 {
                    self.tear(link, self.busy_cpu);
                }
            }
            Some(pfn) => state.free_page(pfn, self.busy_cpu),
            None if wanted => state.owner.set_place(object, NOWHERE),
            None => state.owner.set_place(object, GONE),
        }
    }
}

/// Puts a page that was just handed out to its use.
#[inline(always)]
pub(super) fn install(state: &mut State<ReplayWorld>, object: ObjectId, class: Class, pfn: Pfn) {
    state.owner.put(object, pfn);
    adopt(state, object, class, pfn);
}

#[inline(always)]
fn adopt(state: &mut State<ReplayWorld>, object: ObjectId, class: Class, pfn: Pfn) {
    match class {
        Class::Anon | Class::File | Class::Metadata => state.lru_add(pfn, page_flags(class), Tag(object)),
        Class::Kernel | Class::Slab => state.pages.set_tag(pfn, Tag(object)),
    }
    if let Some(shadow) = state.owner.take_shadow(object) {
        state.refault(pfn, shadow, CpuId(0));
    }
}
