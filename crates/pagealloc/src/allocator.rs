//! The allocator: all zones of a machine behind one `&mut self`, and what the floor above reads of it.

use crate::blocks::Blocks;
use crate::event::Observer;
use crate::frames::{FrameList, FrameState, Frames};
use crate::gfp::Gfp;
use crate::ids::*;
use crate::migratetype::Migratetype;
use crate::pcp::Pcp;
use crate::policy::Policy;
use crate::request::Request;
use crate::vmstat::VmStat;
use crate::zone::Zone;
use crate::zonelist::Zonelists;
use alloc::vec::Vec;

/// A machine's page frame allocator. See the crate's page for the parts.
pub struct PageAllocator<O: Observer = ()> {
    /// Sizes of the machine, for reading: lists and blocks were made for them.
    pub geometry: Geometry,
    /// Behaviour in force. Sysctls may be set at any time; those that marks and limits of lists come from take effect with
    /// [`PageAllocator::recompute_watermarks`]. Rules are chosen before construction: those of what lies on which list (`pcp.orders`,
    /// `list_types`, `reserve`) must not change later, as what lies there already would not follow.
    pub policy: Policy,
    /// State, order and links of each frame. What is not allocated is the allocator's: see [`Frames::set_state`].
    pub frames: Frames,
    /// Event counters of this floor and the one above.
    pub vmstat: VmStat,
    /// Who watches.
    pub observer: O,
    pub(crate) zones: Vec<Zone>,
    /// Per-CPU lists, by zone, then CPU.
    pub(crate) pcps: Vec<Pcp>,
    pub(crate) blocks: Blocks,
    pub(crate) zonelists: Zonelists,
    pub(crate) cpu_node: Vec<NodeId>,
    /// CPUs at their end that are not the machine's (`add_cpu_beside`): which of the machine's they stand for.
    pub(crate) homes: Vec<CpuId>,
    pub(crate) nodes: usize,
    /// Nodes whose kswapd is awake, a bit each.
    pub(crate) kswapd_awake: u64,
    /// Nodes over their dirty limit, a bit each.
    pub(crate) dirty_limited: u64,
    /// Zones whose kswapd is to be woken because of a boost, a bit each (7.8).
    pub(crate) boost_wakeups: u64,
    /// Boost of a single fallback, pages: a pageblock. Where per-CPU lists are brought to scale, a refill's fallbacks are fewer than at
    /// full size and raise the boost by a pageblock each all the same, so that a refill raises it by as large a share of memory; what
    /// a fallback or a stall does by itself is brought to scale here.
    pub(crate) boost_step: u64,
    /// Zones found above their high mark again, a bit each (5.7).
    pub(crate) high_again: u64,
    /// Order being captured, for a quick look while merging.
    pub(crate) capture_order: Order,
    pub(crate) capturing: Option<Capture>,
    /// Page grouping by mobility is off: the machine is too small (1.11).
    pub(crate) grouping_disabled: bool,
    /// `vm.min_free_kbytes` as computed at boot.
    pub(crate) boot_min_free_kbytes: u64,
    /// Blocks were put in place from outside, so that unmerged buddies may lie beside each other.
    pub(crate) placed_exactly: bool,
    /// Whole pageblocks changed type while free, which merges nothing either.
    pub(crate) blocks_retyped: bool,
}

/// What capture (11.13) hands over while compaction frees pages in the requester's own context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Zone being compacted.
    pub zone: ZoneId,
    /// Order wanted.
    pub order: Order,
    /// Type of the request.
    pub migratetype: Migratetype,
    /// The page, once one came by.
    pub page: Option<Pfn>,
}

/// Facts of a zone that the floor above reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Node.
    pub node: NodeId,
    /// Type.
    pub kind: ZoneType,
    /// First frame.
    pub start: Pfn,
    /// One past the last frame.
    pub end: Pfn,
    /// Pages in the allocator's hands, free or not: spanned ones less holes and what boot reserved.
    pub managed: u64,
}

/// Allocated pages.
impl<O: Observer> PageAllocator<O> {
    /// Splits an allocated page into order-0 pages, each allocated and in the head's state (`split_page`), each to be freed by itself.
    ///
    /// # Panics
    /// With debug assertions, if `pfn` is not the head of an allocated page.
    pub fn split_allocated(&mut self, pfn: Pfn) {
        let (head, order) = (self.frames.state(pfn), self.frames.allocated_order(pfn));
        debug_assert!(head.is_allocated_head());
        for page in (pfn.0..pfn.0 + (1 << order)).map(Pfn) {
            self.frames.set_state(page, head);
        }
    }

    /// Marks the head of an allocated page (and its tails) as on an LRU list or not: pages on one count as movable where it is judged
    /// whether a block is worth claiming (4.6). Who keeps no such lists marks what can be moved. [`Self::free`] takes either.
    ///
    /// # Panics
    /// With debug assertions, if `pfn` is not the head of an allocated page.
    #[inline]
    pub fn set_on_lru(&mut self, pfn: Pfn, on: bool) {
        debug_assert!(self.frames.state(pfn).is_allocated_head());
        let (head, tail) = match on {
            true => (FrameState::LRU, FrameState::LRU_TAIL),
            false => (FrameState::USED, FrameState::TAIL),
        };
        self.frames.set_state(pfn, head);
        let order = self.frames.allocated_order(pfn);
        self.frames.fill_tails(pfn, order, tail);
    }
}

/// The machine.
impl<O: Observer> PageAllocator<O> {
    /// Number of zones.
    pub fn nr_zones(&self) -> usize {
        self.zones.len()
    }

    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        self.nodes
    }

    /// Number of CPUs.
    pub fn nr_cpus(&self) -> usize {
        self.cpu_node.len() - self.homes.len()
    }

    /// The machine's CPUs.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + use<O> {
        (0..self.nr_cpus() as u16).map(CpuId)
    }

    /// Node of a CPU.
    #[inline]
    pub fn node_of_cpu(&self, cpu: CpuId) -> NodeId {
        self.cpu_node[cpu.index()]
    }

    /// A request of this order and mask from a CPU, with the zonelist of the CPU's node; any node allowed.
    #[inline]
    pub fn local_request(&self, order: Order, gfp: Gfp, cpu: CpuId) -> Request {
        Request { node: self.node_of_cpu(cpu), ..Request::new(order, gfp, cpu) }
    }

    /// Facts of a zone.
    pub fn zone_info(&self, zone: ZoneId) -> ZoneInfo {
        let Zone { node, kind, start, end, managed, .. } = self.zones[zone.index()];
        ZoneInfo { node, kind, start, end, managed }
    }

    /// Zones of a node, ascending: numbers of [`ZoneId`]s.
    pub fn zones_of(&self, node: NodeId) -> core::ops::Range<u8> {
        let first = self.zones.partition_point(|zone| zone.node < node);
        let last = self.zones.partition_point(|zone| zone.node <= node);
        first as u8..last as u8
    }

    /// The i-th zone of the request's zonelist, counting only zones that it may use; `None` past the end.
    pub fn zonelist(&self, request: &Request, index: usize) -> Option<ZoneId> {
        let list = self.zonelists.of(request);
        let zones = (list.start..list.end).map(|at| self.zonelists.at(at));
        zones.filter(|zone| self.allows(request, *zone)).nth(index)
    }

    /// The zone that a frame lies in; of a frame in a hole as large as a section, a number that no zone has.
    #[inline(always)]
    pub fn zone_of(&self, pfn: Pfn) -> ZoneId {
        self.blocks.zone(self.geometry.block_of(pfn))
    }

    /// Whether the zone has pages in this block, which is in no hole of it then (`pageblock_pfn_to_page`).
    #[inline]
    pub fn has_block(&self, zone: ZoneId, block: BlockId) -> bool {
        self.blocks.zone(block) == zone
    }

    /// Whether page grouping by mobility is off because the machine is too small (1.11).
    pub fn grouping_disabled(&self) -> bool {
        self.grouping_disabled
    }

    /// Switches page grouping by mobility on or off, whatever the machine's size (1.11): for small test worlds.
    pub fn set_grouping_disabled(&mut self, disabled: bool) {
        self.grouping_disabled = disabled;
    }
}

/// Free lists.
impl<O: Observer> PageAllocator<O> {
    /// Free pages of a zone (NR_FREE_PAGES).
    #[inline]
    pub fn free_pages(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].free_pages
    }

    /// Free pages in blocks of pageblock order and above (NR_FREE_PAGES_BLOCKS).
    #[inline]
    pub fn free_pages_blocks(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].free_pages_blocks()
    }

    /// Free CMA pages of a zone (NR_FREE_CMA_PAGES).
    pub fn free_cma_pages(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].free_cma
    }

    /// Pages in HighAtomic blocks (`nr_reserved_highatomic`).
    pub fn reserved_highatomic(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].reserved_highatomic
    }

    /// Pages that requests up to this zone type must leave free above the mark (1.9).
    pub fn lowmem_reserve(&self, zone: ZoneId, highest: ZoneType) -> u64 {
        self.zones[zone.index()].lowmem_reserve[highest as usize]
    }

    /// Pages left in the zone's fair batch (`nr_alloc_batch`, 7.10).
    pub fn fair_batch(&self, zone: ZoneId) -> i64 {
        self.zones[zone.index()].alloc_batch
    }

    /// Free blocks of an order, all types (`nr_free`): a figure of /proc/buddyinfo.
    pub fn nr_free(&self, zone: ZoneId, order: Order) -> u64 {
        self.zones[zone.index()].areas[order as usize].nr_free()
    }

    /// Free blocks on the list of a type: a figure of /proc/pagetypeinfo.
    pub fn nr_free_of_type(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> u64 {
        self.free_list(zone, order, migratetype).len().into()
    }

    /// Head of a free list.
    #[inline]
    pub fn free_list(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> FrameList {
        self.zones[zone.index()].areas[order as usize].lists[migratetype.index()]
    }

    /// Rotates a free list so that `pfn`, a page on it, is its head (11.7, 11.11).
    ///
    /// # Panics
    /// With debug assertions, if `pfn` is no free block of that order on a list of that type.
    pub fn rotate_free_list(&mut self, zone: ZoneId, order: Order, migratetype: Migratetype, pfn: Pfn) {
        debug_assert_eq!(self.frames.state(pfn), FrameState::free_head(order, migratetype));
        let list = &mut self.zones[zone.index()].areas[order as usize].lists[migratetype.index()];
        list.rotate_to_head(&mut self.frames, pfn);
    }
}

/// Hints and flags of the floor above.
impl<O: Observer> PageAllocator<O> {
    /// Compaction's skip hint of a pageblock.
    #[inline]
    pub fn skip(&self, block: BlockId) -> bool {
        self.blocks.skip(block)
    }

    /// Sets or clears the skip hint.
    #[inline]
    pub fn set_skip(&mut self, block: BlockId, skip: bool) {
        self.blocks.set_skip(block, skip);
    }

    /// Zone flag RECLAIM_ACTIVE (5.13), set while kswapd balances.
    pub fn set_reclaim_active(&mut self, zone: ZoneId, active: bool) {
        self.zones[zone.index()].reclaim_active = active;
    }

    /// Whether a node's kswapd is awake: first scans skip the node in 6.18 (7.1d).
    pub fn set_kswapd_awake(&mut self, node: NodeId, awake: bool) {
        // A single node is never skipped.
        self.kswapd_awake = with_bit(self.kswapd_awake, node, awake && self.nodes > 1);
    }

    /// Whether a node is over its dirty limit (7.1b).
    pub fn set_dirty_limited(&mut self, node: NodeId, limited: bool) {
        self.dirty_limited = with_bit(self.dirty_limited, node, limited);
    }
}

fn with_bit(mask: u64, node: NodeId, on: bool) -> u64 {
    mask & !(1 << node.0) | u64::from(on) << node.0
}
