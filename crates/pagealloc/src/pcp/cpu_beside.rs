//! Page lists beside those of the machine's CPUs: of whoever works while others use the CPU that should be his.
//!
//! While a kernel thread or a task that compacts works, nobody else is on its CPU, so what it frees must not get between the pages of
//! others, nor be taken by them. Where a run does not know that the CPU is taken, such work has lists of its own: on top of the
//! CPU's, which counts and limits both, and drains its own first. When the worker leaves, the next task finds its pages there.

use super::lists::{NR_PCP_LISTS, Pcp};
use crate::allocator::PageAllocator;
use crate::boot::MAX_CPUS;
use crate::event::Observer;
use crate::ids::{CpuId, NodeId, ZoneId};

impl<O: Observer> PageAllocator<O> {
    /// A CPU beside the machine's; `home`: the one of the machine's that it stands for.
    ///
    /// # Panics
    /// If `home` is not one of the machine's, or there are 65,536 CPUs already, those beside them included.
    pub fn add_cpu_beside(&mut self, node: NodeId, home: CpuId) -> CpuId {
        let before = self.cpu_node.len();
        self.assert_of_the_machine(home);
        assert!(before < MAX_CPUS, "all numbers of CPUs are taken");
        self.cpu_node.push(node);
        self.homes.push(home);
        for zone in (0..self.zones.len()).rev() {
            self.pcps.insert((zone + 1) * before, Pcp::default());
        }
        CpuId(before as u16)
    }

    /// Whoever worked on `cpu` leaves: what lies on its lists goes on top of those of the CPU that it stood for. From now on it stands for
    /// `next`.
    ///
    /// # Panics
    /// If `cpu` is not beside the machine's, or `next` is.
    pub fn leave_cpu_beside(&mut self, cpu: CpuId, next: CpuId) {
        self.assert_of_the_machine(next);
        for zone in (0..self.zones.len() as u8).map(ZoneId) {
            self.hand_over_lists(self.pcp_number(zone, cpu), self.pcp_counting(zone, cpu));
        }
        let beside = cpu.index() - self.nr_cpus();
        self.homes[beside] = next;
    }

    fn assert_of_the_machine(&self, cpu: CpuId) {
        assert!(cpu.index() < self.nr_cpus(), "{cpu:?} is none of the machine's");
    }

    /// The CPU of the machine that this one is, or stands for.
    #[inline(always)]
    pub(crate) fn home_of(&self, cpu: CpuId) -> CpuId {
        cpu.index().checked_sub(self.nr_cpus()).map_or(cpu, |beside| self.homes[beside])
    }

    /// The lists of whoever works on that CPU beside the machine's, if it stands for the CPU that has these.
    pub(crate) fn lists_beside(&self, zone: ZoneId, number: usize, beside: usize) -> Option<usize> {
        let first = self.pcp_number(zone, CpuId(0));
        (first + self.homes[beside].index() == number).then(|| first + self.nr_cpus() + beside)
    }

    /// All lists that lie on top of these, those of a CPU of the machine.
    pub(crate) fn lists_on_top(&self, zone: ZoneId, number: usize) -> impl Iterator<Item = usize> {
        (0..self.homes.len()).filter_map(move |beside| self.lists_beside(zone, number, beside))
    }

    fn hand_over_lists(&mut self, from: usize, to: usize) {
        for index in 0..NR_PCP_LISTS {
            let mut left = self.pcps[from].lists[index];
            let mut joined = self.pcps[to].lists[index];
            while let Some(pfn) = left.pop_tail(&mut self.frames) {
                joined.push_head(&mut self.frames, pfn);
            }
            self.pcps[from].lists[index] = left;
            self.pcps[to].lists[index] = joined;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frames::FrameList;
    use crate::policy::{PcpHigh, PcpOrders};
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    fn take(world: &mut World, cpu: CpuId) -> Pfn {
        world.alloc_fast(&Request::new(0, Gfp::KERNEL, cpu)).unwrap()
    }

    #[test]
    fn what_kernel_threads_free_does_not_get_between_the_pages_of_tasks() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), CPU);
        assert_eq!((world.nr_cpus(), world.cpus().count()), (1, 1));
        let [first, other, _] = [(); 3].map(|()| take(&mut world, CPU));
        let on_lists = world.pcp_count(ZONE, CPU);
        world.free(other, thread);
        assert_eq!([CPU, thread].map(|cpu| world.pcp_count(ZONE, cpu)), [on_lists + 1; 2], "counted with the others");
        assert_eq!(take(&mut world, CPU).0, first.0 + 3);
        assert_eq!(take(&mut world, thread), other);
        assert_eq!(take(&mut world, thread).0, first.0 + 4, "below its own lie those of its CPU");
        world.free(other, thread);
        assert_eq!(world.pcp_limits(ZONE, thread), world.pcp_limits(ZONE, CPU));
        world.check().unwrap();
        world.drain_all_pages(None);
        assert_eq!(world.pcp_count(ZONE, thread), 0);
        world.check().unwrap();
    }

    #[test]
    fn a_thread_that_leaves_its_cpu_leaves_its_pages_there() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), CPU);
        let [first, second] = [(); 2].map(|()| take(&mut world, CPU));
        world.free(first, thread);
        world.free(second, thread);
        let on_lists = world.pcp_count(ZONE, CPU);
        world.leave_cpu_beside(thread, CPU);
        world.check().unwrap();
        let left = &world.pcps[world.pcp_number(ZONE, thread)].lists;
        assert_eq!((left.iter().all(FrameList::is_empty), world.pcp_count(ZONE, CPU)), (true, on_lists));
        assert_eq!([(); 2].map(|()| take(&mut world, CPU)), [second, first], "the last freed is taken first");
        world.free(first, CPU);
        world.drain_cpu(thread, Some(ZONE));
        assert_eq!(world.pcp_count(ZONE, CPU), 0, "its lists are those of the CPU that it was on");
        world.check().unwrap();
    }

    #[test]
    fn a_thread_that_moves_stands_for_another_cpu() {
        let machine = Machine::uniform(SMALL, 2, 2048, false);
        let mut world = PageAllocator::new(&machine, linux_6_18(), Vec::<Event>::new()).unwrap();
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), CpuId(0));
        let pages = [(); 2].map(|()| take(&mut world, CpuId(0)));
        world.drain_all_pages(None);
        world.free(pages[0], thread);
        world.leave_cpu_beside(thread, CpuId(1));
        world.free(pages[1], thread);
        assert_eq!([0, 1].map(|cpu| world.pcp_count(ZONE, CpuId(cpu))), [1, 1]);
        world.check().unwrap();
    }

    #[test]
    fn what_reclaim_frees_beside_a_cpu_pushes_out_what_lay_on_its_lists() {
        for policy in [linux_6_18(), with_pcp(|pcp| pcp.high = PcpHigh::LowWatermark)] {
            let mut world = world(2048, policy);
            world.set_pcp_limits(ZONE, 4, 400, 400);
            let thread = world.add_cpu_beside(NodeId(0), CPU);
            let pages: Vec<Pfn> = (0..120).map(|_| take(&mut world, CPU)).collect();
            let (tasks, reclaimed) = pages.split_at(100);
            tasks.iter().for_each(|&page| world.free(page, CPU));
            assert!(world.pcp_count(ZONE, CPU) >= 100);
            world.set_reclaim_active(ZONE, true);
            reclaimed.iter().for_each(|&page| world.free(page, thread));
            assert!(world.pcp_count(ZONE, CPU) <= 4 << 2, "limited to four batches as one (5.8)");
            world.check().unwrap();
            let last = *reclaimed.last().unwrap();
            assert_eq!(take(&mut world, thread), last, "the oldest went first");
        }
    }

    #[test]
    fn until_5_13_both_lie_on_the_round_of_types() {
        let mut world = world(2048, with_pcp(|pcp| (pcp.orders, pcp.high) = (PcpOrders::Zero, PcpHigh::SixBatches)));
        world.set_pcp_limits(ZONE, 4, 24, 24);
        let thread = world.add_cpu_beside(NodeId(0), CPU);
        let pages: Vec<Pfn> = (0..24).map(|_| take(&mut world, CPU)).collect();
        world.drain_all_pages(None);
        pages.iter().for_each(|&page| world.free(page, thread));
        assert_eq!(world.pcp_count(ZONE, CPU), 20, "a batch goes at the limit");
        world.drain_all_pages(None);
        assert_eq!(world.pcp_count(ZONE, CPU), 0);
        world.check().unwrap();
    }

    #[test]
    fn what_was_freed_beside_a_cpu_makes_its_refills_small_again() {
        let mut world = world(2048, linux_6_18());
        world.set_pcp_limits(ZONE, 4, 64, 64);
        let thread = world.add_cpu_beside(NodeId(0), CPU);
        let pages = [(); 3].map(|()| take(&mut world, CPU));
        let number = world.pcp_number(ZONE, CPU);
        world.pcps[number].alloc_factor = 5;
        world.leave_cpu_beside(thread, CPU);
        assert_eq!(world.pcps[number].alloc_factor, 5, "nothing was freed");
        let free_count = world.pcps[number].free_count;
        pages.into_iter().for_each(|page| world.free(page, thread));
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
        let beside = world.add_cpu_beside(NodeId(0), CPU);
        for drained in [beside, CPU] {
            let pages = [(); 2].map(|()| take(&mut world, CPU));
            pages.into_iter().zip([CPU, beside]).for_each(|(page, cpu)| world.free(page, cpu));
            world.drain_cpu(drained, Some(ZONE));
            assert_eq!(world.pcp_count(ZONE, CPU), 0);
            world.check().unwrap();
        }
    }

    #[test]
    #[should_panic(expected = "none of the machine's")]
    fn nobody_stands_for_who_is_beside_the_machine_himself() {
        let mut world = world(256, linux_6_18());
        let thread = world.add_cpu_beside(NodeId(0), CPU);
        world.add_cpu_beside(NodeId(0), thread);
    }

    #[test]
    #[should_panic(expected = "all numbers of CPUs are taken")]
    fn numbers_of_cpus_do_not_begin_anew() {
        let cpu_node = alloc::vec![NodeId(0); 1 << 16];
        let machine = Machine { cpu_node, ..Machine::uniform(SMALL, 1, 256, false) };
        PageAllocator::new(&machine, linux_6_18(), ()).unwrap().add_cpu_beside(NodeId(0), CPU);
    }
}
