//! From a machine's description to an allocator: validation, frames, zones, and the release of memory at boot (1.13).

use crate::allocator::PageAllocator;
use crate::blocks::Blocks;
use crate::buddy::Placement;
use crate::capture::NO_CAPTURE;
use crate::event::Observer;
use crate::frames::{FrameState, Frames};
use crate::ids::{BlockId, Geometry, MAX_ORDER_LIMIT, Order, Pfn, ZoneId, ZoneType};
use crate::machine::{Machine, MachineError, ZoneSpan};
use crate::migratetype::{Migratetype, NR_MIGRATETYPES};
use crate::pcp::Pcp;
use crate::policy::{BootRelease, Policy};
use crate::vmstat::VmStat;
use crate::zone::Zone;
use crate::zonelist::Zonelists;
use alloc::vec;
use alloc::vec::Vec;

/// Nodes and zones are counted in 64-bit masks.
const MAX_NODES: usize = 64;
const MAX_ZONES: usize = 64;
/// CPUs have 16-bit numbers.
pub(crate) const MAX_CPUS: usize = 1 << 16;

impl<O: Observer> PageAllocator<O> {
    /// Builds the machine with all managed memory free, released in the era's boot order (1.13).
    ///
    /// # Errors
    /// [`MachineError`] if the description contradicts itself or is too large.
    pub fn new(machine: &Machine, policy: Policy, observer: O) -> Result<Self, MachineError> {
        let mut allocator = Self::empty(machine, policy, observer)?;
        for (index, span) in machine.zones.iter().enumerate() {
            for &(start, pages) in &span.managed {
                allocator.release_range(ZoneId(index as u8), start, pages);
            }
        }
        allocator.boot_watermarks(machine.thp);
        Ok(allocator)
    }

    /// Builds the machine with all managed memory allocated (order-0 USED frames, no owner), to be put in place from a
    /// snapshot by [`Self::place_free`], [`Self::place_allocated`], [`Self::place_pcp`] and [`Self::set_block_type`];
    /// end with [`Self::finish_placement`].
    ///
    /// # Errors
    /// [`MachineError`] if the description contradicts itself or is too large.
    pub fn new_unplaced(machine: &Machine, policy: Policy, observer: O) -> Result<Self, MachineError> {
        let mut allocator = Self::empty(machine, policy, observer)?;
        for &(start, pages) in machine.zones.iter().flat_map(|span| &span.managed) {
            allocator.frames.fill(start, pages, FrameState::USED);
        }
        allocator.boot_watermarks(machine.thp);
        allocator.placed_exactly = true;
        Ok(allocator)
    }

    /// The machine with its holes marked and no frame in the allocator's hands yet.
    fn empty(machine: &Machine, policy: Policy, observer: O) -> Result<Self, MachineError> {
        let nodes = validate(machine)?;
        let geometry = machine.geometry;
        let frames = frames_with_holes(machine);
        let mut blocks = Blocks::new((frames.len() >> geometry.pageblock_order) as usize);
        let mut zones = Vec::with_capacity(machine.zones.len());
        for (index, span) in machine.zones.iter().enumerate() {
            assign_blocks(&mut blocks, geometry, ZoneId(index as u8), span)?;
            zones.push(new_zone(machine, span, nodes));
        }
        let managed: u64 = zones.iter().map(|zone| zone.managed).sum();
        let block_pages = u64::from(geometry.pageblock_pages());
        Ok(PageAllocator {
            geometry,
            frames,
            vmstat: VmStat::default(),
            observer,
            pcps: vec![Pcp::default(); zones.len() * machine.cpu_node.len()],
            grouping_disabled: managed < block_pages * NR_MIGRATETYPES as u64,
            zones,
            blocks,
            cpu_node: machine.cpu_node.clone(),
            homes: Vec::new(),
            nodes,
            zonelists: Zonelists::new(machine, nodes),
            kswapd_awake: 0,
            dirty_limited: 0,
            boost_wakeups: 0,
            boost_step: machine.geometry.pageblock_pages().into(),
            high_again: 0,
            capture_order: NO_CAPTURE,
            capturing: None,
            boot_min_free_kbytes: 0,
            placed_exactly: false,
            blocks_retyped: false,
            policy,
        })
    }

    /// Frees a range in the largest aligned chunks that fit.
    fn release_range(&mut self, zone: ZoneId, start: Pfn, pages: u32) {
        let placement = match self.policy.boot_release {
            BootRelease::Tail => Placement::Tail,
            BootRelease::Head => Placement::Ordinary,
        };
        let (mut pfn, end) = (start.0, start.0 + pages);
        while pfn < end {
            let fits = (end - pfn).ilog2();
            let order = pfn.trailing_zeros().min(fits).min(self.geometry.max_order.into()) as Order;
            self.free_block(zone, Pfn(pfn), order, Migratetype::Movable, placement);
            pfn += 1 << order;
        }
    }
}

/// Gives a zone the pageblocks of those sections in its span that hold managed memory. The others, such as the hole below 4 GiB, have no
/// pages that could be looked at (`pageblock_pfn_to_page`, `pfn_to_online_page`), and so no blocks. (A section that boot reserved whole
/// has, in the kernel; it is taken for a hole here.)
fn assign_blocks(blocks: &mut Blocks, geometry: Geometry, zone: ZoneId, span: &ZoneSpan) -> Result<(), MachineError> {
    let section = geometry.section_pages();
    let end = span.start.0 + span.spanned;
    let mut done = span.start.0;
    for &(start, pages) in &span.managed {
        let from = (start.0 / section * section).max(done);
        let to = (start.0 + pages).checked_next_multiple_of(section).map_or(end, |to| to.min(end));
        if from < to {
            let (first, last) = (geometry.block_of(Pfn(from)).0, geometry.block_of(Pfn(to - 1)).0);
            if !(first..=last).all(|block| blocks.assign(BlockId(block), zone)) {
                return Err(MachineError::Zones);
            }
            done = to;
        }
    }
    Ok(())
}

fn new_zone(machine: &Machine, span: &ZoneSpan, nodes: usize) -> Zone {
    let mut zone = Zone::new(span.node, span.kind, span.start, span.spanned, machine.geometry.pageblock_order);
    zone.managed = span.managed.iter().map(|&(_, pages)| u64::from(pages)).sum();
    zone.alloc_batch = zone.managed as i64;
    let has_dma32 = machine.zones.iter().any(|other| other.node == span.node && other.kind == ZoneType::Dma32);
    zone.spills_before_mixing = span.kind == ZoneType::Normal && (nodes == 1 || has_dma32);
    zone
}

/// Frame arrays in which all frames outside managed ranges are ABSENT. Only holes are touched: fresh zeroes mean free.
fn frames_with_holes(machine: &Machine) -> Frames {
    let mut ranges: Vec<(Pfn, u32)> = machine.zones.iter().flat_map(|span| span.managed.iter().copied()).collect();
    ranges.sort_unstable();
    let end = machine.zones.iter().map(|span| span.start.0 + span.spanned).max().unwrap_or(0);
    // A whole number of largest blocks, so that every buddy has a state.
    let whole = u64::from(end).next_multiple_of(1 << machine.geometry.max_order) as u32;
    let mut frames = Frames::new(whole);
    let mut hole = Pfn(0);
    for (start, pages) in ranges {
        frames.fill(hole, start.0 - hole.0, FrameState::ABSENT);
        hole = start.add(pages);
    }
    frames.fill(hole, whole - hole.0, FrameState::ABSENT);
    frames
}

/// Checks the description; the number of nodes.
fn validate(machine: &Machine) -> Result<usize, MachineError> {
    validate_geometry(&machine.geometry)?;
    if machine.cpu_node.is_empty() || machine.zones.iter().all(|span| span.managed.is_empty()) {
        return Err(MachineError::Empty);
    }
    let zone_nodes = machine.zones.iter().map(|span| span.node.index());
    let nodes = 1 + zone_nodes.chain(machine.cpu_node.iter().map(|node| node.index())).max().unwrap_or(0);
    if nodes > MAX_NODES || machine.zones.len() > MAX_ZONES || machine.cpu_node.len() > MAX_CPUS {
        return Err(MachineError::TooLarge);
    }
    let ascending = machine.zones.is_sorted_by(|a, b| (a.node, a.kind) < (b.node, b.kind));
    if !ascending {
        return Err(MachineError::Zones);
    }
    for span in &machine.zones {
        validate_span(span, machine.geometry.max_order)?;
    }
    let mut spans: Vec<(u32, u32)> = machine.zones.iter().map(|span| (span.start.0, span.spanned)).collect();
    spans.sort_unstable();
    if spans.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0) {
        return Err(MachineError::Zones);
    }
    Ok(nodes)
}

fn validate_geometry(geometry: &Geometry) -> Result<(), MachineError> {
    let Geometry { page_shift, max_order, pageblock_order, .. } = *geometry;
    let sound = (10..=20).contains(&page_shift)
        && max_order <= MAX_ORDER_LIMIT
        && pageblock_order <= max_order
        && pageblock_order > 0;
    if sound { Ok(()) } else { Err(MachineError::Geometry) }
}

/// Checks that a zone's managed ranges ascend within its span.
fn validate_span(span: &ZoneSpan, max_order: Order) -> Result<(), MachineError> {
    let end = u64::from(span.start.0) + u64::from(span.spanned);
    if end.next_multiple_of(1 << max_order) >= u64::from(u32::MAX) {
        return Err(MachineError::TooLarge);
    }
    let mut from = u64::from(span.start.0);
    for &(start, pages) in &span.managed {
        let (start, pages) = (u64::from(start.0), u64::from(pages));
        if pages == 0 || start < from || start + pages > end {
            return Err(MachineError::Zones);
        }
        from = start + pages;
    }
    if span.spanned == 0 { Err(MachineError::Zones) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use crate::world::{SMALL, linux_6_18};
    use crate::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Memory ends amid its third section and goes on behind a hole: what is no section with memory has no block.
    #[test]
    fn a_hole_has_no_pageblocks() {
        let geometry = Geometry::PAGES_4K;
        let section = geometry.section_pages();
        assert_eq!(section << geometry.page_shift, 128 << 20);
        let managed = vec![(Pfn(600), 2 * section), (Pfn(5 * section + 7), 1)];
        let spanned = 6 * section - 512;
        let zones = vec![ZoneSpan { node: NodeId(0), kind: ZoneType::Normal, start: Pfn(512), spanned, managed }];
        let machine = Machine { zones, ..Machine::uniform(geometry, 1, section, false) };
        let alloc = PageAllocator::new(&machine, linux_6_18(), ()).unwrap();
        let has_blocks: Vec<bool> = (0..6).map(|at| alloc.zone_of(Pfn(at * section + 513)) == ZoneId(0)).collect();
        assert_eq!(has_blocks, [true, true, true, false, false, true]);
        assert_ne!(alloc.zone_of(Pfn(0)), ZoneId(0), "before the zone");
        alloc.check().unwrap();
    }

    /// 1.11: a machine groups pages by mobility from a pageblock for each type on.
    #[test]
    fn too_small_a_machine_does_not_group_by_mobility() {
        let enough = SMALL.pageblock_pages() * Migratetype::ALL.len() as u32;
        let disabled = |pages| {
            PageAllocator::new(&Machine::uniform(SMALL, 1, pages, false), linux_6_18(), ()).unwrap().grouping_disabled()
        };
        assert_eq!([enough - 1, enough].map(disabled), [true, false]);
    }
}
