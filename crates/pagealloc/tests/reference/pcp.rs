//! Chapter 5: per-CPU page lists.

use super::fallback::Mode;
use super::*;

/// `PCP_BATCH_SCALE_MAX`.
const SCALE_MAX: u32 = 5;

/// Lists of one zone and CPU. Pages remember the type that they were freed with (3.8).
#[derive(Clone, Default)]
pub struct Pcp {
    pub lists: Vec<VecDeque<(Pfn, Migratetype)>>,
    pub count: u64,
    pub high: u64,
    pub alloc_factor: u32,
    pub free_factor: u32,
    pub free_count: u64,
    pub previous_was_high_order: bool,
}

impl Model {
    /// 5.2, 5.3, 5.14.
    pub fn set_up_pcp(&mut self) {
        for index in 0..self.zones.len() {
            let (managed, low) = (self.zones[index].managed, self.mark(index, 1));
            let on_node = self.cpu_node.iter().filter(|&&node| node == self.zones[index].node).count() as u64;
            let cpus = if on_node == 0 { self.cpu_node.len() as u64 } else { on_node };
            let batch = self.batch(managed);
            let (low_high, top_high) = match self.policy.pcp.high {
                PcpHigh::SixBatches => (6 * batch, 6 * batch),
                PcpHigh::LowWatermark => ((low / cpus).max(4 * batch), (low / cpus).max(4 * batch)),
                PcpHigh::AutoTuned => ((low / cpus).max(4 * batch), (managed / 8 / cpus).max(4 * batch)),
            };
            let zone = &mut self.zones[index];
            (zone.batch, zone.high_min, zone.high_max) = (batch, low_high, top_high);
            let lists = vec![VecDeque::new(); 14];
            zone.pcp = vec![Pcp { lists, high: low_high, ..Pcp::default() }; self.cpu_node.len()];
        }
    }

    fn batch(&self, managed: u64) -> u64 {
        let kib = |kib: u64| self.geometry.kib_to_pages(kib);
        let base = match self.policy.pcp.batch {
            PcpBatch::Managed1024Half => (managed >> 10).min(kib(512)) / 4,
            PcpBatch::Managed1024 => (managed >> 10).min(kib(1024)) / 4,
            PcpBatch::Managed4096 => (managed >> 12).min(kib(256)),
        };
        let base = base.max(1);
        ((1 << (base + base / 2).ilog2()) - 1).max(1)
    }

    /// Index of the list for an order and a type, if the order is cached (5.1).
    fn list_index(&self, order: Order, migratetype: Migratetype) -> Option<usize> {
        let costly = || order <= PAGE_ALLOC_COSTLY_ORDER || order == self.geometry.pmd_order;
        match self.policy.pcp.orders {
            PcpOrders::Zero => (order == 0).then_some(migratetype.index()),
            _ if !costly() => None,
            _ if order <= PAGE_ALLOC_COSTLY_ORDER => Some(3 * order as usize + self.number(migratetype)),
            PcpOrders::CostlyAndThp => Some(12),
            PcpOrders::CostlyAndTwoThp => Some(12 + usize::from(migratetype == Migratetype::Movable)),
        }
    }

    fn number(&self, migratetype: Migratetype) -> usize {
        migratetype.index()
    }

    fn order_of_list(&self, index: usize) -> Order {
        if index < 12 { index as Order / 3 } else { self.geometry.pmd_order }
    }

    pub fn is_cached(&self, order: Order) -> bool {
        self.list_index(order, Migratetype::Movable).is_some()
    }

    /// 5.5.
    pub fn pcp_alloc(&mut self, zone: usize, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let pcp = &mut self.zones[zone].pcp[request.cpu.index()];
        pcp.free_count >>= 1;
        pcp.free_factor >>= 1;
        self.pcp_take(zone, request, flags)
    }

    /// The first page of the list, refilled if it is empty (5.5, 5.6).
    pub fn pcp_take(&mut self, zone: usize, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let cpu = request.cpu.index();
        let index = self.list_index(request.order, request.migratetype).expect("a cached order");
        let pcp = &mut self.zones[zone].pcp[cpu];
        if pcp.lists[index].is_empty() {
            let mut mode = Mode::default();
            let batch = self.alloc_batch(zone, cpu, request.order);
            if self.atomics_refill_no_list() && flags.contains(AllocFlags::HIGHATOMIC) {
                return None;
            }
            for _ in 0..batch {
                let page = self.remove(zone, request.order, request.migratetype, flags, &mut mode);
                let Some(pfn) = page else { break };
                self.fill(pfn, request.order, Frame::Pcp, Frame::Tail);
                let pcp = &mut self.zones[zone].pcp[cpu];
                pcp.lists[index].push_back((pfn, request.migratetype));
                pcp.count += 1 << request.order;
            }
        }
        let pcp = &mut self.zones[zone].pcp[cpu];
        let (pfn, _) = pcp.lists[index].pop_front()?;
        pcp.count -= 1 << request.order;
        Some(pfn)
    }

    /// 5.6.
    fn alloc_batch(&mut self, zone: usize, cpu: usize, order: Order) -> u64 {
        let Zone { batch, high_min, high_max, below_high, .. } = self.zones[zone];
        let pcp = &mut self.zones[zone].pcp[cpu];
        let mut pages = batch;
        if self.policy.pcp.high == PcpHigh::AutoTuned {
            pcp.high = clamp(pcp.high, high_min, high_max);
            if pcp.high < batch {
                return 1;
            }
            if order == 0 {
                pages = batch << pcp.alloc_factor;
            }
            if high_min != high_max && !below_high {
                pcp.high = (pcp.high + pages).min(high_max);
            }
            if order == 0 {
                let room = pcp.high.saturating_sub(pcp.count + batch).max(batch);
                if pages <= room && pcp.alloc_factor < SCALE_MAX {
                    pcp.alloc_factor += 1;
                }
                pages = pages.min(room);
            }
        }
        if pages > 1 && order > 0 { (pages >> order).max(2) } else { pages }
    }

    /// 5.7.
    pub fn free(&mut self, pfn: Pfn, cpu: CpuId) {
        let Frame::Used(order) = self.frames[pfn.index()] else { panic!("{pfn:?} is not allocated") };
        self.events.push(Event::MmPageFree { pfn, order });
        self.vmstat.add(Counter::Pgfree, 1 << order);
        let ours = self.block_type(pfn);
        let listed = if ours.is_mergeable() { ours } else { Migratetype::Movable };
        match self.list_index(order, listed) {
            Some(index) if ours != Migratetype::Isolate => self.pcp_free(pfn, order, ours, index, cpu.index()),
            _ => self.free_large(pfn, order),
        }
    }

    fn pcp_free(&mut self, pfn: Pfn, order: Order, ours: Migratetype, index: usize, cpu: usize) {
        let zone = self.zone_of(pfn);
        self.fill(pfn, order, Frame::Pcp, Frame::Tail);
        let pcp = &mut self.zones[zone].pcp[cpu];
        pcp.alloc_factor >>= 1;
        pcp.lists[index].push_front((pfn, ours));
        pcp.count += 1 << order;
        match self.policy.pcp.high {
            PcpHigh::SixBatches => self.limit_six_batches(zone, cpu),
            PcpHigh::LowWatermark => self.limit_low_watermark(zone, cpu, order, index),
            PcpHigh::AutoTuned => self.limit_auto_tuned(zone, cpu, order, index),
        }
    }

    fn limit_six_batches(&mut self, zone: usize, cpu: usize) {
        let Zone { batch, high_min, .. } = self.zones[zone];
        if self.zones[zone].pcp[cpu].count >= high_min {
            self.drain_round_robin(zone, cpu, batch);
        }
    }

    /// 5.14, 6.1.
    fn limit_low_watermark(&mut self, zone: usize, cpu: usize, order: Order, index: usize) {
        let Zone { batch, high_min, reclaim_active, .. } = self.zones[zone];
        let pcp = &mut self.zones[zone].pcp[cpu];
        let high_order = (1..=PAGE_ALLOC_COSTLY_ORDER).contains(&order);
        let free_high = high_order && pcp.free_factor > 0 && self.policy.pcp.empties != PcpEmpties::Never;
        let high = if free_high {
            0
        } else if reclaim_active {
            high_min.min(4 * batch)
        } else {
            high_min
        };
        if pcp.count < high {
            return;
        }
        let pages = if free_high {
            pcp.count
        } else {
            let (most, wanted) = (high - batch, batch << pcp.free_factor);
            if wanted < most {
                pcp.free_factor += 1;
            }
            clamp(wanted, batch, most)
        };
        self.drain(zone, cpu, pages, index);
    }

    fn limit_auto_tuned(&mut self, zone: usize, cpu: usize, order: Order, index: usize) {
        let Zone { batch, high_min, .. } = self.zones[zone];
        let pcp = &mut self.zones[zone].pcp[cpu];
        let high_order = (1..=PAGE_ALLOC_COSTLY_ORDER).contains(&order);
        // FREE_HIGH_BATCH: the CPU's cache is taken to be large, so at least a batch must be there.
        let run = batch + if self.policy.pcp.empties == PcpEmpties::AfterBatch { 0 } else { high_min / 2 };
        let free_high = high_order && pcp.free_count >= run && pcp.previous_was_high_order && pcp.count >= batch;
        pcp.previous_was_high_order = high_order;
        if pcp.free_count < batch << SCALE_MAX {
            pcp.free_count += 1 << order;
        }
        let high = self.effective_high(zone, cpu, free_high);
        let pcp = &self.zones[zone].pcp[cpu];
        if pcp.count < high {
            return;
        }
        let pages = if free_high {
            pcp.count.min(batch << SCALE_MAX)
        } else if high < batch {
            1
        } else {
            clamp(pcp.free_count, batch, high - batch)
        };
        if self.policy.pcp.steps == PcpSteps::All {
            self.drain_in_steps(zone, cpu, pages, index);
        } else {
            self.drain(zone, cpu, pages, index);
        }
        let free = self.free_pages(zone);
        let mark = self.mark(zone, 2);
        if self.zones[zone].below_high && self.watermark_ok(zone, 0, mark, ZoneType::Movable, AllocFlags::NONE, free) {
            self.zones[zone].below_high = false;
        }
    }

    /// 5.8.
    fn effective_high(&mut self, zone: usize, cpu: usize, free_high: bool) -> u64 {
        let Zone { batch, high_min, high_max, below_high, reclaim_active, .. } = self.zones[zone];
        let pcp = &mut self.zones[zone].pcp[cpu];
        let high = clamp(pcp.high, high_min, high_max);
        let lowered = high.saturating_sub(pcp.free_count.max(batch)).max(high_min);
        pcp.high = high;
        if high == 0 {
            return 0;
        }
        if free_high {
            pcp.high = high.saturating_sub(batch << SCALE_MAX).max(high_min);
            return 0;
        }
        if reclaim_active {
            pcp.high = lowered;
            return pcp.high.min(4 * batch);
        }
        if high_min == high_max {
            return high;
        }
        if below_high {
            pcp.high = lowered;
            return pcp.count.max(high_min);
        }
        if pcp.count >= high && high < pcp.free_count + batch {
            pcp.high = clamp(pcp.free_count + batch, high_min, high_max);
        }
        high
    }

    /// 5.10.
    fn drain(&mut self, zone: usize, cpu: usize, pages: u64, first: usize) {
        let mut left = pages.min(self.zones[zone].pcp[cpu].count) as i64;
        let mut index = first;
        while left > 0 {
            while left > 0
                && let Some((pfn, cached)) = self.zones[zone].pcp[cpu].lists[index].pop_back()
            {
                left -= self.drain_page(zone, cpu, pfn, cached, self.order_of_list(index)) as i64;
            }
            index = (index + 1) % 14;
        }
    }

    /// 6.19: each step asks for at most a batch; what a large page gives beyond that is not counted against the rest.
    fn drain_in_steps(&mut self, zone: usize, cpu: usize, pages: u64, first: usize) {
        let mut left = pages;
        while left > 0 {
            let step = left.min(self.zones[zone].batch);
            self.drain(zone, cpu, step, first);
            left -= step;
        }
    }

    /// 5.14, 3.x to 4.x: the run grows with each list visited.
    fn drain_round_robin(&mut self, zone: usize, cpu: usize, pages: u64) {
        let mut left = pages.min(self.zones[zone].pcp[cpu].count);
        let (mut index, mut run) = (0, 0);
        while left > 0 {
            loop {
                run += 1;
                index = (index + 1) % NR_PCP_TYPES;
                if !self.zones[zone].pcp[cpu].lists[self.visited(index)].is_empty() {
                    break;
                }
            }
            if run == NR_PCP_TYPES as u64 {
                run = left;
            }
            loop {
                let list = self.visited(index);
                let (pfn, cached) = self.zones[zone].pcp[cpu].lists[list].pop_back().expect("not empty");
                self.drain_page(zone, cpu, pfn, cached, 0);
                left -= 1;
                run -= 1;
                if left == 0 || run == 0 || self.zones[zone].pcp[cpu].lists[list].is_empty() {
                    break;
                }
            }
        }
    }

    /// The list with this number in the kernel's own numbering (1.5).
    fn visited(&self, number: usize) -> usize {
        let numbered = |migratetype: &Migratetype| self.policy.migratetype_number(*migratetype) as usize == number;
        Migratetype::MERGEABLE.iter().find(|migratetype| numbered(migratetype)).unwrap().index()
    }

    fn drain_page(&mut self, zone: usize, cpu: usize, pfn: Pfn, cached: Migratetype, order: Order) -> u64 {
        let migratetype = match self.policy.list_types {
            ListTypes::Strict => self.block_type(pfn),
            ListTypes::Mixed => cached,
        };
        self.zones[zone].pcp[cpu].count -= 1 << order;
        self.free_block(zone, pfn, order, migratetype, false);
        self.events.push(Event::MmPagePcpuDrain { pfn, order, migratetype });
        1 << order
    }

    /// 5.12.
    pub fn drain_cpu(&mut self, cpu: usize, zone: Option<ZoneId>) {
        for index in 0..self.zones.len() {
            if zone.is_none_or(|zone| zone.index() == index) {
                let count = self.zones[index].pcp[cpu].count;
                match self.policy.pcp.high {
                    PcpHigh::SixBatches => self.drain_round_robin(index, cpu, count),
                    _ => self.drain(index, cpu, count, 0),
                }
            }
        }
    }

    /// 5.11, for CPUs of the zone's own node.
    pub fn pcp_decay(&mut self, cpu: usize) {
        if self.policy.pcp.high != PcpHigh::AutoTuned {
            return;
        }
        for zone in 0..self.zones.len() {
            let Zone { batch, high_min, .. } = self.zones[zone];
            let pcp = &mut self.zones[zone].pcp[cpu];
            if pcp.high > high_min {
                let slow = pcp.high - (pcp.high >> 3);
                pcp.high = pcp.count.saturating_sub(batch << SCALE_MAX).max(slow).max(high_min);
            }
            let surplus = pcp.count.saturating_sub(pcp.high);
            if self.policy.pcp.steps != PcpSteps::Never {
                self.drain_in_steps(zone, cpu, surplus, 0);
            } else {
                self.drain(zone, cpu, surplus, 0);
            }
        }
    }
}

/// 5.6; the upper bound is asked for first.
fn clamp(n: u64, low: u64, high: u64) -> u64 {
    match () {
        _ if n >= high => high,
        _ if n <= low => low,
        _ => n,
    }
}
