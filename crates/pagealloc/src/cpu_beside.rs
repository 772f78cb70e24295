//! Page lists beside those of the machine's CPUs: of whoever works while others use the CPU that should be his.
//!
//! While a kernel thread or a task that compacts works, nobody else is on its CPU, so what it frees must not get between the pages of
//! others, nor be taken by them. Where a run does not know that the CPU is taken, such work has lists of its own. When the worker
//! leaves, the next task finds its pages on top of the CPU's lists.

use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{CpuId, NodeId, ZoneId};
use crate::pcp::{NR_PCP_LISTS, Pcp};

impl<O: Observer> PageAllocator<O> {
    /// A CPU beside the machine's; `home`: the one of the machine's that it stands for, if that is known. Limits are computed without
    /// it.
    pub fn add_cpu_beside(&mut self, node: NodeId, home: Option<CpuId>) -> CpuId {
        let before = self.cpu_node.len();
        self.cpu_node.push(node);
        self.homes.push(home);
        for zone in (0..self.zones.len()).rev() {
            let like = Pcp::limited_as(&self.pcps[zone * before]);
            self.pcps.insert((zone + 1) * before, like);
        }
        CpuId(before as u16)
    }

    /// Whoever worked on `from` leaves: it stood for `to`, and what lies on its lists goes on top of that CPU's.
    pub fn leave_cpu_beside(&mut self, from: CpuId, to: CpuId) {
        let beside = from.index() - self.nr_cpus();
        self.homes[beside] = Some(to);
        for zone in (0..self.zones.len() as u8).map(ZoneId) {
            self.hand_over_lists(self.pcp_number(zone, from), self.pcp_number(zone, to));
        }
    }

    /// The CPU of the machine that one beside it stands for, or last did.
    pub(crate) fn home_of(&self, cpu: CpuId) -> Option<CpuId> {
        let beside = cpu.index().checked_sub(self.nr_cpus())?;
        self.homes[beside]
    }

    fn hand_over_lists(&mut self, from: usize, to: usize) {
        for index in 0..NR_PCP_LISTS {
            let mut left = self.pcps[from].lists[index];
            let mut joined = self.pcps[to].lists[index];
            while let Some(pfn) = left.pop_tail(&mut self.frames) {
                let state = self.frames.state(pfn);
                joined.push_head(&mut self.frames, pfn);
                self.frames.set_state(pfn, state);
            }
            self.pcps[from].lists[index] = left;
            self.pcps[to].lists[index] = joined;
        }
        self.pcps[to].count += self.pcps[from].count;
        self.pcps[from].count = 0;
        let frees = self.pcps[from].take_frees();
        self.pcps[to].note_frees(frees);
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;

    fn take(world: &mut World, cpu: CpuId) -> Pfn {
        world.alloc_fast(&Request::new(0, Gfp::KERNEL, cpu)).unwrap()
    }

    #[test]
    fn what_kernel_threads_free_does_not_get_between_the_pages_of_tasks() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), None);
        assert_eq!((world.nr_cpus(), world.cpus_with_lists().count()), (1, 2));
        let [first, other, _] = [(); 3].map(|()| take(&mut world, CPU));
        world.free(other, thread);
        assert_eq!(take(&mut world, CPU).0, first.0 + 3);
        assert_eq!(take(&mut world, thread), other);
        world.free(other, thread);
        assert_eq!(world.pcp_limits(ZONE, thread), world.pcp_limits(ZONE, CPU));
        world.drain_all_pages(None);
        assert_eq!(world.pcp_count(ZONE, thread), 0);
        world.check().unwrap();
    }

    #[test]
    fn a_thread_that_leaves_its_cpu_leaves_its_pages_there() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), None);
        let [first, second] = [(); 2].map(|()| take(&mut world, CPU));
        world.free(first, thread);
        world.free(second, thread);
        let on_lists = world.pcp_count(ZONE, CPU) + 2;
        world.leave_cpu_beside(thread, CPU);
        world.check().unwrap();
        assert_eq!((world.pcp_count(ZONE, thread), world.pcp_count(ZONE, CPU)), (0, on_lists));
        assert_eq!([(); 2].map(|()| take(&mut world, CPU)), [second, first], "the last freed is taken first");
        world.free(first, CPU);
        world.drain_cpu(thread, Some(ZONE));
        assert_eq!(world.pcp_count(ZONE, CPU), 0, "its lists are those of the CPU that it was on");
        world.check().unwrap();
    }

    #[test]
    fn what_was_freed_beside_a_cpu_makes_its_refills_small_again() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), None);
        let pages = [(); 3].map(|()| take(&mut world, CPU));
        let number = world.pcp_number(ZONE, CPU);
        world.pcps[number].alloc_factor = 5;
        world.leave_cpu_beside(thread, CPU);
        assert_eq!(world.pcps[number].alloc_factor, 5, "nothing was freed");
        let free_count = world.pcps[number].free_count;
        pages.into_iter().for_each(|page| world.free(page, thread));
        world.leave_cpu_beside(thread, CPU);
        let pcp = &world.pcps[number];
        assert_eq!(
            (pcp.alloc_factor, pcp.free_count),
            (5 >> 3, free_count + 3),
            "as if they had been freed here (5.7)"
        );
        world.leave_cpu_beside(thread, CPU);
        assert_eq!(world.pcps[number].free_count, free_count + 3, "told once");
        world.check().unwrap();
    }

    #[test]
    fn lists_beside_a_cpu_are_drained_with_its_own() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let page = take(&mut world, CPU);
        world.free(page, CPU);
        let beside = world.add_cpu_beside(NodeId(0), Some(CPU));
        world.drain_cpu(beside, Some(ZONE));
        assert_eq!(world.pcp_count(ZONE, CPU), 0);
        world.check().unwrap();
    }
}
