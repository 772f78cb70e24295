//! Small worlds and pictures of them, for the tests of this crate.

use crate::allocator::PageAllocator;
use crate::event::{Event, Extfrag};
use crate::policy::{PcpRules, Policy, preset};
use crate::{
    BlockId, CpuId, Geometry, Gfp, Machine, Migratetype, NR_ZONE_TYPES, NodeId, Order, Pfn, Request, ZoneId, ZoneSpan,
    ZoneType,
};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// 16 pages a block, largest order 5: two blocks.
pub(crate) const SMALL: Geometry = Geometry { page_shift: 12, max_order: 5, pageblock_order: 4, pmd_order: 4 };
pub(crate) const ZONE: ZoneId = ZoneId(0);
pub(crate) const CPU: CpuId = CpuId(0);

pub(crate) type World = PageAllocator<Vec<Event>>;

pub(crate) fn linux_6_18() -> Policy {
    preset("linux-6.18").expect("the preset of the newest kernel")
}

/// The same with other rules of the per-CPU lists.
pub(crate) fn with_pcp(change: impl FnOnce(&mut PcpRules)) -> Policy {
    let mut policy = linux_6_18();
    change(&mut policy.pcp);
    policy
}

/// One zone, marks at 0, nothing cached per CPU: what is asked of the buddy lists shows at once.
pub(crate) fn world(pages: u32, policy: Policy) -> World {
    let mut world = PageAllocator::new(&Machine::uniform(SMALL, 1, pages, false), policy, Vec::new()).unwrap();
    world.set_watermarks(ZONE, 0, 0, 0, 0);
    world.set_pcp_limits(ZONE, 1, 0, 0);
    world.set_grouping_disabled(false);
    world.observer.clear();
    world
}

/// Zones of 64 pages, marks at 0, no per-CPU caching, CPU 0 on node 0.
pub(crate) fn zones(zones: &[(u8, ZoneType)], policy: Policy) -> World {
    let span = |(index, &(node, kind)): (usize, &(u8, ZoneType))| {
        let start = Pfn(index as u32 * 64);
        ZoneSpan { node: NodeId(node), kind, start, spanned: 64, managed: vec![(start, 64)] }
    };
    let machine = Machine {
        geometry: SMALL,
        cpu_node: vec![NodeId(0)],
        distance: Vec::new(),
        zones: zones.iter().enumerate().map(span).collect(),
        thp: false,
    };
    let mut world = PageAllocator::new(&machine, policy, Vec::new()).unwrap();
    for zone in (0..zones.len() as u8).map(ZoneId) {
        world.set_watermarks(zone, 0, 0, 0, 0);
        world.set_pcp_limits(zone, 1, 0, 0);
    }
    for zone in &mut world.zones {
        zone.lowmem_reserve = [0; NR_ZONE_TYPES];
    }
    world.set_grouping_disabled(false);
    world
}

/// A world whose blocks have these types ('U', 'M', 'R', 'H', 'C') with all pages allocated, except for the free pages
/// listed as (pfn, order).
pub(crate) fn placed(types: &str, free: &[(u32, Order)], policy: Policy) -> World {
    let pages = types.len() as u32 * 16;
    let machine = Machine::uniform(SMALL, 1, pages, false);
    let mut world = PageAllocator::new_unplaced(&machine, policy, Vec::new()).unwrap();
    for (block, letter) in types.chars().enumerate() {
        let t = Migratetype::ALL.into_iter().find(|t| initial(*t) == letter).expect("a type's initial");
        world.set_block_type(BlockId(block as u32), t);
    }
    for &(pfn, order) in free {
        world.place_free(Pfn(pfn), order);
    }
    world.finish_placement();
    world.set_watermarks(ZONE, 0, 0, 0, 0);
    world.set_pcp_limits(ZONE, 1, 0, 0);
    world.set_grouping_disabled(false);
    world.observer.clear();
    world
}

pub(crate) fn initial(t: Migratetype) -> char {
    t.name().chars().next().unwrap()
}

pub(crate) fn request(order: Order, t: Migratetype) -> Request {
    let gfp = match t {
        Migratetype::Movable => Gfp::HIGHUSER_MOVABLE,
        Migratetype::Reclaimable => Gfp::KERNEL | Gfp::RECLAIMABLE,
        _ => Gfp::KERNEL,
    };
    Request::new(order, gfp, CPU)
}

impl World {
    /// Free lists as text: `order type: pfn pfn...`, head first, empty lists left out.
    pub(crate) fn picture(&self) -> String {
        let mut lines = Vec::new();
        for order in 0..=self.geometry.max_order {
            for t in Migratetype::ALL {
                let list = self.free_list(ZONE, order, t);
                if !list.is_empty() {
                    let pfns: Vec<String> = list.iter(&self.frames).map(|pfn| format!("{}", pfn.0)).collect();
                    lines.push(format!("{order}{}: {}", initial(t), pfns.join(" ")));
                }
            }
        }
        lines.join("; ")
    }

    /// Types of all blocks by initial.
    pub(crate) fn types(&self) -> String {
        let last = self.geometry.block_of(Pfn(self.zone_info(ZONE).end.0 - 1)).0;
        (0..=last).map(|block| initial(self.block_type(BlockId(block)))).collect()
    }

    /// Takes a page straight from the buddy lists.
    pub(crate) fn buddy(&mut self, order: Order, t: Migratetype, flags: crate::AllocFlags) -> Option<u32> {
        let mut mode = crate::fallback::RmqueueMode::Normal;
        let pfn = self.rmqueue(ZONE, order, t, flags, &mut mode)?;
        self.frames.set_page(pfn, order, crate::FrameState::USED);
        self.check().unwrap();
        Some(pfn.0)
    }

    pub(crate) fn extfrags(&self) -> Vec<Extfrag> {
        let extfrag = |event: &Event| match event {
            Event::MmPageAllocExtfrag(extfrag) => Some(*extfrag),
            _ => None,
        };
        self.observer.iter().filter_map(extfrag).collect()
    }
}
