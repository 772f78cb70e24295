//! A second allocator, written from the rules alone (`pagealloc::rules`): slow, without tricks, easy to hold against the text.
//!
//! Free lists are deques, frames are an enum, everything is searched. It shares names with the engine, and no code.

mod buddy;
mod bulk;
mod fallback;
mod pass;
mod pcp;
mod watermark;

use pagealloc::policy::*;
use pagealloc::*;
use std::collections::VecDeque;

pub use pcp::Pcp;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    Absent,
    FreeHead(Order),
    FreeTail,
    Pcp,
    Used(Order),
    Tail,
    Target(Order),
}

/// One zone.
pub struct Zone {
    pub node: NodeId,
    pub kind: ZoneType,
    pub start: u32,
    pub end: u32,
    pub managed: u64,
    /// min, low, high, promo without boost.
    pub marks: [u64; 4],
    pub boost: u64,
    pub boosted: bool,
    pub below_high: bool,
    pub reclaim_active: bool,
    pub lowmem_reserve: [u64; NR_ZONE_TYPES],
    pub reserved_highatomic: u64,
    pub fair_batch: i64,
    pub fair_depleted: bool,
    pub batch: u64,
    pub high_min: u64,
    pub high_max: u64,
    /// By order, then type.
    pub free: Vec<Vec<VecDeque<Pfn>>>,
    /// By CPU.
    pub pcp: Vec<Pcp>,
}

/// The reference model.
pub struct Model {
    pub geometry: Geometry,
    pub policy: Policy,
    pub cpu_node: Vec<NodeId>,
    pub zones: Vec<Zone>,
    /// Zones by node order (1.8), for each node.
    pub zonelists: Vec<Vec<usize>>,
    pub frames: Vec<Frame>,
    pub movable: Vec<bool>,
    pub block_types: Vec<Migratetype>,
    pub grouping: bool,
    pub kswapd_awake: Vec<bool>,
    pub dirty_limited: Vec<bool>,
    pub capture: Option<Capture>,
    pub events: Vec<Event>,
    pub vmstat: VmStat,
    /// Zones whose kswapd a boost must wake.
    pub wakeups: u64,
}

impl Model {
    pub fn new(machine: &Machine, policy: Policy) -> Model {
        let geometry = machine.geometry;
        let end = machine.zones.iter().map(|zone| zone.start.0 + zone.spanned).max().unwrap() as usize;
        let blocks = end.div_ceil(geometry.pageblock_pages() as usize);
        let frames = blocks * geometry.pageblock_pages() as usize;
        let nodes = machine.zones.iter().map(|zone| zone.node.index()).max().unwrap() + 1;
        let mut model = Model {
            geometry,
            policy,
            cpu_node: machine.cpu_node.clone(),
            zones: machine.zones.iter().map(|span| empty_zone(span, &geometry)).collect(),
            zonelists: Vec::new(),
            frames: vec![Frame::Absent; frames],
            movable: vec![false; frames],
            block_types: vec![Migratetype::Movable; blocks],
            grouping: true,
            kswapd_awake: vec![false; nodes],
            dirty_limited: vec![false; nodes],
            capture: None,
            events: Vec::new(),
            vmstat: VmStat::default(),
            wakeups: 0,
        };
        model.zonelists = model.node_orders(machine, nodes);
        model.set_up_marks(machine);
        model.set_up_pcp();
        for (zone, span) in machine.zones.iter().enumerate() {
            model.release(zone, &span.managed);
        }
        model.make_reserve_blocks();
        model.events.clear();
        model
    }

    /// 1.8, then each node's zones from the highest down (1.7).
    fn node_orders(&self, machine: &Machine, nodes: usize) -> Vec<Vec<usize>> {
        let distance = |from: usize, to: usize| match machine.distance.get(from) {
            Some(row) => u64::from(row[to]),
            None => 10,
        };
        let has_cpus = |node: usize| self.cpu_node.iter().any(|cpu| cpu.index() == node);
        let zones_of = |node: usize| (0..self.zones.len()).filter(move |&z| self.zones[z].node.index() == node).rev();
        let mut load = vec![0u64; nodes];
        let mut lists = Vec::new();
        for local in 0..nodes {
            let mut unused: Vec<usize> = (0..nodes).filter(|&node| zones_of(node).next().is_some()).collect();
            let (mut list, mut previous) = (Vec::new(), local);
            while !unused.is_empty() {
                let penalty = |&node: &usize| {
                    let near = distance(local, node) + u64::from(node < local) + u64::from(has_cpus(node));
                    (node != local, near * 1024 + load[node], node)
                };
                let node = unused.iter().copied().min_by_key(penalty).unwrap();
                if distance(local, node) != distance(local, previous) {
                    load[node] += 1;
                }
                previous = node;
                unused.retain(|&other| other != node);
                list.extend(zones_of(node));
            }
            lists.push(list);
        }
        lists
    }

    /// 1.13.
    fn release(&mut self, zone: usize, managed: &[(Pfn, u32)]) {
        for &(start, pages) in managed {
            let mut pfn = start;
            while pfn.0 < start.0 + pages {
                let mut order = self.geometry.max_order.min(pfn.0.trailing_zeros() as Order);
                while pfn.0 + (1 << order) > start.0 + pages {
                    order -= 1;
                }
                let to_tail = self.policy.boot_release == BootRelease::Tail;
                self.free_block(zone, pfn, order, Migratetype::Movable, to_tail);
                pfn = pfn.add(1 << order);
            }
        }
    }

    /// 3.x: up to two Reserve blocks a zone (1.12).
    fn make_reserve_blocks(&mut self) {
        if self.policy.reserve != Reserve::MigrateReserve {
            return;
        }
        let block_pages = self.geometry.pageblock_pages();
        for zone in 0..self.zones.len() {
            let wanted = self.zones[zone].marks[0].div_ceil(block_pages.into()).min(2) as usize;
            let blocks = self.zones[zone].start / block_pages..self.zones[zone].end / block_pages;
            let whole = |&block: &u32| {
                let first = (block * block_pages) as usize;
                self.frames[first..first + block_pages as usize].iter().all(|&frame| frame != Frame::Absent)
            };
            let reserved: Vec<u32> = blocks.filter(whole).take(wanted).collect();
            for block in reserved {
                self.move_block(zone, BlockId(block), Migratetype::HighAtomic);
                self.block_types[block as usize] = Migratetype::HighAtomic;
            }
        }
    }

    pub fn block_of(&self, pfn: Pfn) -> usize {
        self.geometry.block_of(pfn).index()
    }

    pub fn block_type(&self, pfn: Pfn) -> Migratetype {
        self.block_types[self.block_of(pfn)]
    }

    pub fn zone_of(&self, pfn: Pfn) -> usize {
        self.zones.iter().position(|zone| (zone.start..zone.end).contains(&pfn.0)).expect("a frame of the machine")
    }

    pub fn defrag_mode(&self) -> bool {
        self.policy.defrag.is_some() && self.policy.sysctl.defrag_mode != 0
    }

    pub fn free_pages(&self, zone: usize) -> u64 {
        let blocks = |order: usize| self.zones[zone].free[order].iter().map(|list| list.len() as u64).sum::<u64>();
        (0..self.zones[zone].free.len()).map(|order| blocks(order) << order).sum()
    }

    pub fn free_of_type(&self, zone: usize, migratetype: Migratetype) -> u64 {
        let lists = self.zones[zone].free.iter().enumerate();
        lists.map(|(order, types)| (types[migratetype.index()].len() as u64) << order).sum()
    }

    pub fn nr_free(&self, zone: usize, order: usize) -> u64 {
        self.zones[zone].free[order].iter().map(|list| list.len() as u64).sum()
    }

    /// Marks an allocated page.
    pub fn prepare(&mut self, pfn: Pfn, order: Order) {
        self.fill(pfn, order, Frame::Used(order), Frame::Tail);
    }

    pub fn fill(&mut self, pfn: Pfn, order: Order, head: Frame, tail: Frame) {
        let range = pfn.index()..pfn.index() + (1 << order);
        self.frames[range.clone()].fill(tail);
        self.movable[range].fill(false);
        self.frames[pfn.index()] = head;
    }

    pub fn set_on_lru(&mut self, pfn: Pfn, on: bool) {
        let Frame::Used(order) = self.frames[pfn.index()] else { panic!("{pfn:?} is not allocated") };
        self.movable[pfn.index()..pfn.index() + (1 << order)].fill(on);
    }

    pub fn split_allocated(&mut self, pfn: Pfn) {
        let Frame::Used(order) = self.frames[pfn.index()] else { panic!("{pfn:?} is not allocated") };
        self.frames[pfn.index()..pfn.index() + (1 << order)].fill(Frame::Used(0));
    }
}

fn empty_zone(span: &ZoneSpan, geometry: &Geometry) -> Zone {
    Zone {
        node: span.node,
        kind: span.kind,
        start: span.start.0,
        end: span.start.0 + span.spanned,
        managed: span.managed.iter().map(|range| u64::from(range.1)).sum(),
        marks: [0; 4],
        boost: 0,
        boosted: false,
        below_high: false,
        reclaim_active: false,
        lowmem_reserve: [0; NR_ZONE_TYPES],
        reserved_highatomic: 0,
        fair_batch: 0,
        fair_depleted: false,
        batch: 0,
        high_min: 0,
        high_max: 0,
        free: vec![vec![VecDeque::new(); NR_MIGRATETYPES]; geometry.max_order as usize + 1],
        pcp: Vec::new(),
    }
}
