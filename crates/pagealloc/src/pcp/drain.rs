//! From the per-CPU lists back to the buddy lists (5.10 to 5.12).

use super::lists::{BATCH_SCALE_MAX, NR_PCP_LISTS, Pcp};
use crate::allocator::PageAllocator;
use crate::buddy::Placement;
use crate::event::{Event, Observer};
use crate::frames::FrameState;
use crate::ids::{CpuId, Pfn, ZoneId};
use crate::migratetype::{Migratetype, NR_PCP_TYPES};
use crate::policy::{ListTypes, PcpHigh, PcpOrders, PcpSteps};

/// Ticks that a remote zone's lists may lie idle (5.11).
const REMOTE_EXPIRE_TICKS: u8 = 3;

impl<O: Observer> PageAllocator<O> {
    /// Drains about `amount` pages, beginning with list `first`, or, where there are lists of order 0 alone, in turns
    /// over all types (5.14).
    pub(crate) fn drain_pcp(&mut self, zone: ZoneId, number: usize, first: usize, amount: u32) {
        match self.policy.pcp.orders {
            PcpOrders::Zero => self.drain_pcp_round_robin(zone, number, amount),
            PcpOrders::CostlyAndThp | PcpOrders::CostlyAndTwoThp => self.drain_pcp_from(zone, number, first, amount),
        }
    }

    /// Drains about `amount` pages in steps of a batch, each of which begins with list `first` (6.19).
    pub(crate) fn drain_pcp_stepwise(&mut self, zone: ZoneId, number: usize, first: usize, amount: u32) {
        let mut left = amount.min(self.pcps[number].count);
        let step = self.pcps[number].batch.max(1);
        while left > 0 {
            self.drain_pcp_from(zone, number, first, left.min(step));
            left -= left.min(step);
        }
    }

    /// Drains at least `amount` base pages, or all there are: each list from its tail until empty, cycling upwards.
    pub(crate) fn drain_pcp_from(&mut self, zone: ZoneId, number: usize, first: usize, amount: u32) {
        let mut left = amount.min(self.pcps[number].count);
        let mut index = first;
        while left > 0 {
            left = left.saturating_sub(self.drain_list(zone, number, index, left));
            index = (index + 1) % NR_PCP_LISTS;
        }
    }

    /// Up to 5.13: a round over the types, of which each visit takes one page more; all from a list that is alone (5.14).
    fn drain_pcp_round_robin(&mut self, zone: ZoneId, number: usize, amount: u32) {
        let mut left = amount.min(self.pcps[number].count);
        let (mut place, mut run) = (0, 0);
        while left > 0 {
            loop {
                run += 1;
                place = (place + 1) % NR_PCP_TYPES;
                if !self.nothing_on_list(zone, number, self.list_of_number(place)) {
                    break;
                }
            }
            if run == NR_PCP_TYPES as u32 {
                run = left;
            }
            let list = self.list_of_number(place);
            while left > 0 && run > 0 && self.drain_list(zone, number, list, 1) > 0 {
                left -= 1;
                run -= 1;
            }
            // The run length starts over from what this list left of it, as the kernel's shared counter does.
        }
    }

    /// Index of the list of the type that has this number in the era (1.5).
    fn list_of_number(&self, number: usize) -> usize {
        let numbered = |t: &Migratetype| usize::from(self.policy.migratetype_number(*t)) == number;
        Migratetype::MERGEABLE.iter().position(numbered).expect("the mergeable types have the lowest numbers")
    }

    /// Frees pages from the tail of a list until it is empty or at least so many base pages are free; how many are. What others freed
    /// beside the CPU lies on top.
    fn drain_list(&mut self, zone: ZoneId, number: usize, index: usize, wanted: u32) -> u32 {
        let mut drained = self.drain_one_list(zone, number, index, wanted);
        for beside in 0..self.homes.len() {
            if drained < wanted
                && let Some(on_top) = self.lists_beside(zone, number, beside)
            {
                drained += self.drain_one_list(zone, on_top, index, wanted - drained);
            }
        }
        self.pcps[number].count -= drained;
        drained
    }

    fn nothing_on_list(&self, zone: ZoneId, number: usize, index: usize) -> bool {
        let empty = |lists: usize| self.pcps[lists].lists[index].is_empty();
        empty(number) && self.lists_on_top(zone, number).all(empty)
    }

    fn drain_one_list(&mut self, zone: ZoneId, number: usize, index: usize, wanted: u32) -> u32 {
        let mut list = self.pcps[number].lists[index];
        let mut drained = 0;
        while drained < wanted
            && let Some(pfn) = list.pop_tail(&mut self.frames)
        {
            let order = self.frames.allocated_order(pfn);
            let migratetype = self.drained_type(pfn);
            self.frames.fill_tails(pfn, order, FrameState::FREE_TAIL);
            self.free_block(zone, pfn, order, migratetype, Placement::Ordinary);
            self.observer.kmem(&Event::MmPagePcpuDrain { pfn, order, migratetype });
            drained += 1 << order;
        }
        self.pcps[number].lists[index] = list;
        drained
    }

    /// Type that a page leaves its list with: its block's; before 6.10 the one cached when it came (3.8).
    #[inline(always)]
    fn drained_type(&self, pfn: Pfn) -> Migratetype {
        match self.policy.list_types {
            ListTypes::Strict => self.blocks.migratetype(self.geometry.block_of(pfn)),
            ListTypes::Mixed => self.frames.state(pfn).free_list_type(),
        }
    }

    /// drain_all_pages for a zone or all (5.12): CPUs ascending, each one's lists completely.
    pub fn drain_all_pages(&mut self, zone: Option<ZoneId>) {
        for cpu in self.cpus() {
            self.drain_cpu(cpu, zone);
        }
    }

    /// Drains one CPU's lists of a zone, or of all zones; for one beside the machine's, those of the CPU that it stands for.
    pub fn drain_cpu(&mut self, cpu: CpuId, zone: Option<ZoneId>) {
        let zones = match zone {
            Some(zone) => zone.0..zone.0 + 1,
            None => 0..self.zones.len() as u8,
        };
        for zone in zones.map(ZoneId) {
            let number = self.pcp_counting(zone, cpu);
            while self.pcps[number].count > 0 {
                let Pcp { count, batch, .. } = self.pcps[number];
                let step = if self.policy.pcp.orders == PcpOrders::Zero { count } else { batch << BATCH_SCALE_MAX };
                self.drain_pcp(zone, number, 0, step);
            }
        }
    }

    /// The periodic decay of a CPU's lists (5.11), every `stat_interval`.
    pub fn pcp_decay(&mut self, cpu: CpuId) {
        for zone in (0..self.zones.len() as u8).map(ZoneId) {
            let number = self.pcp_number(zone, cpu);
            if self.policy.pcp.high == PcpHigh::AutoTuned {
                self.decay_high(zone, number);
            }
            if self.zones[zone.index()].node != self.cpu_node[cpu.index()] {
                self.expire_remote(zone, number);
            }
        }
    }

    fn decay_high(&mut self, zone: ZoneId, number: usize) {
        let pcp = &mut self.pcps[number];
        if pcp.high > pcp.high_min {
            let by_count = pcp.count.saturating_sub(pcp.batch << BATCH_SCALE_MAX);
            pcp.high = by_count.max(pcp.high - (pcp.high >> 3)).max(pcp.high_min);
        }
        let excess = pcp.count.saturating_sub(pcp.high);
        match self.policy.pcp.steps {
            PcpSteps::Never => self.drain_pcp_from(zone, number, 0, excess),
            PcpSteps::Decay | PcpSteps::All => self.drain_pcp_stepwise(zone, number, 0, excess),
        }
    }

    /// Empties the lists of a remote zone, a batch a tick, once they were idle for some ticks. "Idle" is judged by the
    /// length of the lists.
    fn expire_remote(&mut self, zone: ZoneId, number: usize) {
        let pcp = &mut self.pcps[number];
        if pcp.count != pcp.count_at_tick {
            pcp.expire = REMOTE_EXPIRE_TICKS;
        }
        if pcp.expire > 0 && pcp.count > 0 {
            pcp.expire -= 1;
            if pcp.expire == 0 {
                let amount = pcp.count.min(pcp.batch);
                self.drain_pcp_from(zone, number, 0, amount);
                self.pcps[number].expire = u8::from(self.pcps[number].count > 0);
            }
        }
        self.pcps[number].count_at_tick = self.pcps[number].count;
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;
    use alloc::vec::Vec;

    /// CPU 0, of node 0, with twelve pages on its lists of each node's zone.
    fn with_pages_of_both_nodes() -> World {
        let mut world = zones(&[(0, ZoneType::Normal), (1, ZoneType::Normal)], linux_6_18());
        for zone in [0, 1] {
            world.set_pcp_limits(ZoneId(zone), 4, 16, 16);
            let there = Request { nodemask: NodeMask(1 << zone), ..request(0, Migratetype::Movable) };
            let pages: Vec<Pfn> = (0..10).map(|_| world.alloc_fast(&there).expect("memory")).collect();
            pages.into_iter().for_each(|page| world.free(page, CPU));
        }
        world
    }

    fn counts(world: &World) -> [u32; 2] {
        [0, 1].map(|zone| world.pcp_count(ZoneId(zone), CPU))
    }

    #[test]
    fn idle_lists_of_a_remote_zone_go_a_batch_a_tick_after_three() {
        let mut world = with_pages_of_both_nodes();
        assert_eq!(counts(&world), [12, 12]);
        let remote: Vec<u32> = (0..6)
            .map(|_| {
                world.pcp_decay(CPU);
                assert_eq!(counts(&world)[0], 12, "those of the CPU's own node stay");
                counts(&world)[1]
            })
            .collect();
        assert_eq!(remote, [12, 12, 8, 4, 0, 0]);
        world.check().unwrap();
    }

    #[test]
    fn a_remote_list_in_use_is_left_alone() {
        let mut world = with_pages_of_both_nodes();
        let there = Request { nodemask: NodeMask(2), ..request(0, Migratetype::Movable) };
        for left in (6..12).rev() {
            world.pcp_decay(CPU);
            world.alloc_fast(&there).expect("memory");
            assert_eq!(counts(&world)[1], left, "each page taken starts the three ticks anew");
        }
    }
}
