//! Out of memory: the last attempt, and the kill (8.9).

use crate::env::{Env, Nanos, TaskContext, TaskFlags};
use crate::event::{MmEvent, MmObserver};
use crate::owner::Owner;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::OomKills;
use pagealloc::{AllocFlags, Counter, CpuId, Gfp, NodeMask, PAGE_ALLOC_COSTLY_ORDER, Pfn, Policy, Request, ZoneType};

/// What the OOM step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OomStep {
    /// Somebody freed a page meanwhile, or the reserves held one for a request that must not fail.
    Page(Pfn),
    /// Memory was or will be freed: worth another round.
    Progress,
    /// Nothing can be killed for this request.
    Stuck,
}

/// Whether a request may have somebody killed, and what it is told otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Licence {
    Kill,
    /// No kill, but another round: somebody else will have to free memory.
    Wait,
    Refused,
}

fn licence(policy: &Policy, request: &Request, task: &TaskContext) -> Licence {
    let gfp = request.gfp;
    let spared = task.flags.contains(TaskFlags::DUMPCORE)
        || request.order > PAGE_ALLOC_COSTLY_ORDER
        || gfp.intersects(Gfp::RETRY_MAYFAIL | Gfp::THISNODE)
        || gfp.highest_zone() < ZoneType::Normal;
    match policy.slowpath.oom_kills {
        OomKills::NofailAndNofs if spared && !gfp.contains(Gfp::NOFAIL) => Licence::Refused,
        OomKills::NofailAndNofs => Licence::Kill,
        OomKills::WithFs if spared => Licence::Refused,
        OomKills::WithFs if !gfp.contains(Gfp::FS) => Licence::Wait,
        OomKills::WithFs => Licence::Kill,
    }
}

impl<W: World> Mm<W> {
    /// The OOM step of the slow path. `ban` is NOFRAGMENT if even this attempt must not fragment (13.11). A task that
    /// is chosen itself, or is dying already, becomes an OOM victim in `task`.
    pub fn may_oom(&self, request: &Request, ban: AllocFlags, task: &mut TaskContext) -> OomStep {
        let mut state = self.state.borrow_mut();
        // At the high mark: this only catches memory that a kill elsewhere has just freed.
        let gfp = (request.gfp | Gfp::HARDWALL).without(Gfp::DIRECT_RECLAIM);
        let last = Request { gfp, ..*request };
        let flags = AllocFlags::WMARK_HIGH | AllocFlags::CPUSET | ban;
        if let Some(page) = state.alloc.get_page_from_freelist(&last, flags) {
            return OomStep::Page(page);
        }
        let killed = match licence(&state.alloc.policy, request, task) {
            Licence::Refused => return OomStep::Stuck,
            Licence::Wait => true,
            Licence::Kill => state.out_of_memory(task, self.env.now()),
        };
        if request.gfp.contains(Gfp::NOFAIL) {
            let anywhere = Request { nodemask: NodeMask::ALL, ..*request };
            let flags = AllocFlags::NO_WATERMARKS;
            let page = state.alloc.get_page_from_freelist(request, flags | AllocFlags::CPUSET);
            return match page.or_else(|| state.alloc.get_page_from_freelist(&anywhere, flags)) {
                Some(page) => OomStep::Page(page),
                None => OomStep::Progress,
            };
        }
        if killed { OomStep::Progress } else { OomStep::Stuck }
    }
}

impl<W: World> State<W> {
    /// Kills the worst task and frees what it held, in one step: between its death and the release of its pages nobody
    /// may meet them. Whether memory is on its way.
    fn out_of_memory(&mut self, task: &mut TaskContext, now: Nanos) -> bool {
        if task.flags.contains(TaskFlags::DYING) {
            // It frees its memory soonest if it gets what it asks for.
            task.flags = task.flags.with(TaskFlags::OOM_VICTIM);
            return true;
        }
        match self.oom_kill(task.cpu, now) {
            Some(pid) => {
                if pid == task.pid {
                    task.flags = task.flags.with(TaskFlags::OOM_VICTIM).with(TaskFlags::DYING);
                }
                true
            }
            None => false,
        }
    }

    /// Has the owner kill its worst task: the victim's pid, or `None` if nothing is left to kill, where a kernel would
    /// panic.
    pub fn oom_kill(&mut self, cpu: CpuId, now: Nanos) -> Option<u32> {
        let mut freed = Vec::new();
        let pid = self.owner.oom_kill(now, &mut freed);
        for &page in &freed {
            self.free_page(page, cpu);
        }
        if let Some(pid) = pid {
            self.alloc.vmstat.bump(Counter::OomKill);
            self.alloc.observer.mm(&MmEvent::OomKill { pid });
        }
        pid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::policy::preset;

    #[test]
    fn who_may_kill() {
        let policy = preset("linux-6.18").unwrap();
        let task = TaskContext::user(1, CpuId(0));
        let ask = |order, gfp| licence(&policy, &Request::new(order, gfp, CpuId(0)), &task);
        assert_eq!(ask(0, Gfp::KERNEL), Licence::Kill);
        assert_eq!(ask(3, Gfp::HIGHUSER_MOVABLE), Licence::Kill);
        assert_eq!(ask(4, Gfp::KERNEL), Licence::Refused);
        assert_eq!(ask(0, Gfp::KERNEL | Gfp::RETRY_MAYFAIL), Licence::Refused);
        assert_eq!(ask(0, Gfp::KERNEL | Gfp::THISNODE), Licence::Refused);
        assert_eq!(ask(0, Gfp::KERNEL | Gfp::DMA32), Licence::Refused);
        assert_eq!(ask(0, Gfp::NOFS), Licence::Wait);
        let dumping = TaskContext { flags: TaskFlags::DUMPCORE, ..task };
        let request = Request::new(0, Gfp::KERNEL, CpuId(0));
        assert_eq!(licence(&policy, &request, &dumping), Licence::Refused);
    }
}
