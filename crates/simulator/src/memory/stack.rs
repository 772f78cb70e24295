//! *Where does a thread's stack come from, and where does it go?* Since 4.9 `vmalloc` maps it, and each CPU keeps two that it has used.

use crate::errno::NOMEM;
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::folio::{FolioId, KernelUse, Use};
use pagealloc::policy::KernelStacks;
use pagealloc::{Gfp, Order};
use workload::Errno;

/// Bytes of a stack that `vmalloc` maps.
const BYTES: u64 = 16 << 10;
const STACK: Gfp = Gfp(Gfp::KERNEL_ACCOUNT.0 | Gfp::ZERO.0);

impl Sim {
    /// Gives a process its stack (`alloc_thread_stack_node`).
    pub async fn make_stack(&self, pid: Pid) -> Result<(), Errno> {
        let rule = self.mm.state.borrow().alloc.policy.computer.stacks;
        let pages = self.page_size().fill(BYTES);
        let left = match rule {
            KernelStacks::Block(order) => {
                let order = order.saturating_sub(self.spec.geometry.page_shift - 12);
                return self.add_to_stack(pid, order, STACK).await.ok_or(NOMEM);
            }
            _ if self.take_cached_stack(pid) => return Ok(()),
            KernelStacks::Mapped => pages,
            KernelStacks::MappedInBlocks => self.stack_in_blocks(pid, pages).await,
        };
        for _ in 0..self.stack_in_bulk(pid, left).await? {
            self.add_to_stack(pid, 0, STACK).await.ok_or(NOMEM)?;
        }
        Ok(())
    }

    /// The stack of a process that is gone: its CPU keeps it, or it is freed (`free_thread_stack`).
    pub fn leave_stack(&self, stack: Vec<FolioId>) {
        let mapped = !matches!(self.mm.state.borrow().alloc.policy.computer.stacks, KernelStacks::Block(_));
        // One that could not be had whole is nobody's to keep.
        let whole = || {
            let owner = &self.mm.state.borrow().owner;
            stack.iter().map(|&id| owner.folios.get(id).pages()).sum::<u32>() == self.page_size().fill(BYTES)
        };
        let freed = match mapped && whole() {
            true => self.mm.state.borrow_mut().owner.stacks.keep(self.env().cpu(), stack),
            false => Some(stack),
        };
        freed.into_iter().flatten().for_each(|id| self.free_folio(id));
    }

    fn take_cached_stack(&self, pid: Pid) -> bool {
        let owner = &mut self.mm.state.borrow_mut().owner;
        let Some(process) = owner.processes.get_mut(pid) else { return false };
        let Some(stack) = owner.stacks.take(self.env().cpu()) else { return false };
        process.stack = stack;
        true
    }

    async fn add_to_stack(&self, pid: Pid, order: Order, gfp: Gfp) -> Option<()> {
        let id = self.kernel_page(order, gfp, pid, KernelUse::Stack).await?;
        self.with_process(pid, |process| process.stack.push(id)).ok()
    }

    /// A stack in blocks, as far as they can be had without reclaim, the largest first: how many of its pages are left
    /// (`vm_area_alloc_pages`).
    async fn stack_in_blocks(&self, pid: Pid, pages: u32) -> u32 {
        let gfp = (STACK | Gfp::NOWARN).without(Gfp::DIRECT_RECLAIM);
        let (mut left, mut most) = (pages, Order::MAX);
        while left > 1 && most > 0 {
            let order = (left.ilog2() as Order).min(most);
            match self.add_to_stack(pid, order, gfp).await {
                Some(()) => left -= 1 << order,
                None => most = order - 1,
            }
        }
        left
    }

    /// A stack's pages in bulk, as far as they can be had so: how many are left, to be asked for singly (`vm_area_alloc_pages`).
    async fn stack_in_bulk(&self, pid: Pid, pages: u32) -> Result<u32, Errno> {
        let mut taken = Vec::new();
        {
            let state = &mut *self.mm.state.borrow_mut();
            let request = state.alloc.local_request(0, STACK, self.env().cpu());
            state.alloc.alloc_bulk(&request, pages, |pfn| taken.push(pfn));
        }
        let left = pages - taken.len() as u32;
        self.spend(self.spec.costs.page * taken.len() as u64).await;
        let ids = taken.into_iter().map(|pfn| self.adopt(pfn, 0, Use::Kernel(KernelUse::Stack))).collect::<Vec<_>>();
        self.with_process(pid, |process| process.stack.extend(ids))?;
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::tests::{run_alone, small_machine, started};
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;

    #[test]
    fn the_next_task_has_the_stack_of_the_last_since_4_9() {
        for (name, kept) in [("linux-4.6", false), ("linux-4.20", true), ("linux-6.18", true), ("linux-7.3", true)] {
            let sim = boot(&small_machine(ThpEnabled::Never), &preset(name).unwrap(), 1, &[]).unwrap();
            run_alone(&sim, async {
                let pid = started(&sim).await?;
                let old = sim.with_process(pid, |process| std::mem::take(&mut process.stack))?;
                sim.leave_stack(old.clone());
                sim.make_stack(pid).await?;
                let new = sim.with_process(pid, |process| process.stack.clone())?;
                let pages = |stack: &[FolioId]| {
                    let owner = &sim.mm.state.borrow().owner;
                    stack.iter().map(|&id| owner.folios.get(id).pages()).sum::<u32>()
                };
                assert_eq!(pages(&new), 4, "{name}");
                assert!(if kept { old == new } else { old.len() == 1 }, "{name}");
                Ok(())
            });
        }
    }
}
