//! THP faults: one demand that may be served by a huge page or by base pages, whatever the recorded kernel did.

use super::driver::{Asked, Driver, Served};
use super::objects::{DOOMED, GONE, NOWHERE, PENDING, PIECES};
use super::requests::install;
use crate::pagelog::{MEMBER, Object, ObjectId, Op, UNIT};
use lab::outcome::SlowRequest;
use mm::{Env, PageFlags, TaskContext};
use pagealloc::{Counter, CpuId, Gfp, Pfn, Request};

impl Driver<'_> {
    /// Whether the unit is one huge page now, so that its base pages need not be asked for.
    pub(super) fn covered_by_huge_page(&self, unit: u32) -> bool {
        let whole = self.log.units[unit as usize].object;
        let place = self.mm.state.borrow().owner.place(whole);
        place < PIECES || place == PENDING
    }

    /// A fault: on the own node without retry first, then anywhere if it may reclaim (8.12).
    #[inline(never)]
    pub(super) fn thp_fault(&mut self, op: Op) {
        let unit = self.log.units[self.object(op.object).link as usize];
        let gfp = if unit.direct { Gfp::TRANSHUGE } else { Gfp::TRANSHUGE_LIGHT };
        let cpu = CpuId(u16::from(op.cpu));
        let mut state = self.mm.state.borrow_mut();
        let order = state.alloc.geometry.pmd_order;
        let anywhere = state.alloc.local_request(order, gfp, cpu);
        let first = Request { gfp: gfp | Gfp::THISNODE | Gfp::NORETRY, ..anywhere };
        let page = state.alloc_fast_sync(&first, &self.mm.env);
        drop(state);
        if page.is_some() {
            self.fast_requests[usize::from(order)] += 1;
            return self.thp_answer(op, page);
        }
        let pid = self.log.tasks.get(usize::from(op.task)).copied().unwrap_or(0) as u32;
        let (mm, served, slow) = (self.mm, self.served, self.slow);
        self.hold_back(op);
        self.executor.spawn(&mm.env, async move {
            let (ts, task) = (mm.env.now(), TaskContext::user(pid, cpu));
            let mut pfn = mm.alloc_slow(&first, &task).await;
            if pfn.is_none() && unit.direct {
                pfn = mm.alloc_pages(&anywhere, &task).await;
            }
            let duration = mm.env.now() - ts;
            slow.borrow_mut().push(SlowRequest { ts, order, gfp, duration, served: pfn.is_some() });
            served.borrow_mut().push_back(Served { what: Asked::Op(op), pfn });
        });
        self.settle();
    }

    /// The outcome of a fault.
    pub(super) fn thp_answer(&mut self, op: Op, pfn: Option<Pfn>) {
        let object = self.object(op.object);
        let unit = self.log.units[object.link as usize];
        let mut state = self.mm.state.borrow_mut();
        let doomed = state.owner.place(op.object) == DOOMED;
        let Some(pfn) = pfn else {
            state.alloc.vmstat.bump(Counter::ThpFaultFallback);
            state.owner.set_place(op.object, if doomed { GONE } else { NOWHERE });
            drop(state);
            if unit.served && !doomed {
                self.tally.base_instead_of_huge += 1;
                self.touch_base_pages(op, unit.members, unit.until);
            }
            return;
        };
        state.alloc.vmstat.bump(Counter::ThpFaultAlloc);
        if doomed {
            return state.free_page(pfn, CpuId(u16::from(op.cpu)));
        }
        install(&mut state, op.object, object.class, pfn);
        drop(state);
        self.tally.huge_instead_of_base += u64::from(!unit.served);
        self.tear(object.link, CpuId(u16::from(op.cpu)));
    }

    /// The recorded kernel had a huge page here: the model's task touches base pages, over the time that it took.
    fn touch_base_pages(&mut self, op: Op, members: ObjectId, until: u64) {
        let pages = 512;
        let step = until.saturating_sub(self.mm.env.now()) / pages;
        let (mm, served, log) = (self.mm, self.served, self.log);
        let cpu = CpuId(u16::from(op.cpu));
        let gfp = log.gfps[usize::from(log.objects[members as usize].gfp)];
        let request = mm.state.borrow().alloc.local_request(0, gfp, cpu);
        self.executor.spawn(&mm.env, async move {
            for index in 0..pages as u32 {
                if mm.state.borrow().owner.place(members + index) == GONE {
                    continue;
                }
                let pfn = mm.alloc_pages(&request, &TaskContext::user(0, cpu)).await;
                served.borrow_mut().push_back(Served { what: Asked::Piece(members + index), pfn });
                if step > 0 {
                    mm.env.sleep(step).await;
                }
            }
        });
    }

    /// A free of a unit or of one of its base pages. Returns whether it is dealt with.
    #[inline(never)]
    pub(super) fn free_of_unit(&mut self, op: Op, object: Object) -> bool {
        let unit = self.log.units[object.link as usize];
        let cpu = CpuId(u16::from(op.cpu));
        if object.flags & MEMBER != 0 && unit.served {
            self.free_part(op);
            return true;
        }
        if self.covered_by_huge_page(object.link) {
            // A task that unmaps one page of a huge page unmaps the rest at the same time.
            self.free_object(unit.object, cpu);
            self.mark_members_gone(unit.members);
            return true;
        }
        if object.flags & UNIT != 0 {
            (unit.members..unit.members + 512).for_each(|member| self.free_object(member, cpu));
            self.mm.state.borrow_mut().owner.set_place(unit.object, GONE);
            return true;
        }
        false
    }

    /// A base page of what the recorded kernel had as a huge page is given back, while others stay.
    #[inline(never)]
    pub(super) fn free_part(&mut self, op: Op) {
        let (unit, cpu) = (self.object(op.object).link, CpuId(u16::from(op.cpu)));
        let whole = self.mm.state.borrow().owner.place(self.log.units[unit as usize].object);
        if matches!(whole, GONE | DOOMED) {
            return;
        }
        *self.torn.entry(unit).or_default() += 1;
        if self.covered_by_huge_page(unit) {
            self.mm.state.borrow_mut().owner.set_place(op.object, GONE);
        } else {
            self.free_object(op.object, cpu);
        }
        self.tear(unit, cpu);
    }

    /// Splits a huge page of which parts were given back, and frees these. One that is being written stays whole: until it is read back, or for
    /// good.
    pub(super) fn tear(&mut self, unit: u32, cpu: CpuId) {
        let Some(&parts) = self.torn.get(&unit) else { return };
        let whole = self.log.units[unit as usize].object;
        let mut state = self.mm.state.borrow_mut();
        if parts == 512 && state.owner.is_anywhere(whole) {
            drop(state);
            return self.free_object(whole, cpu);
        }
        let Some(head) = state.owner.frame(whole) else { return };
        if !state.pages.flags(head).contains(PageFlags::WRITEBACK) {
            state.split_huge_page(head, cpu);
            drop(state);
            self.free_left_over(cpu);
        }
    }

    /// Frees what a split has left of parts that were given back before it.
    pub(super) fn free_left_over(&mut self, cpu: CpuId) {
        let parts = std::mem::take(&mut self.mm.state.borrow_mut().owner.left_over);
        parts.into_iter().for_each(|part| self.free_object(part, cpu));
    }

    fn mark_members_gone(&mut self, members: ObjectId) {
        let mut state = self.mm.state.borrow_mut();
        for member in members..members + 512 {
            if matches!(state.owner.place(member), NOWHERE) {
                state.owner.set_place(member, GONE);
            }
        }
    }
}
