//! The allocator: all zones of a machine behind one `&mut self`.

use crate::AllocFlags;
use crate::event::Observer;
use crate::frames::Frames;
use crate::ids::*;
use crate::machine::{Machine, MachineError};
use crate::migratetype::Migratetype;
use crate::policy::Policy;
use crate::request::Request;
use crate::vmstat::VmStat;

/// A machine's page frame allocator. See the methods' modules for the rules.
pub struct PageAllocator<O: Observer = ()> {
    /// Sizes of the machine.
    pub geometry: Geometry,
    /// Behaviour in force.
    pub policy: Policy,
    /// Frames.
    pub frames: Frames,
    /// Event counters of this floor and the one above.
    pub vmstat: VmStat,
    /// Who watches.
    pub observer: O,
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
    /// Managed pages.
    pub managed: u64,
}

impl<O: Observer> PageAllocator<O> {
    /// Builds the machine with all managed memory free, released in the era's boot order (1.13).
    pub fn new(machine: &Machine, policy: Policy, observer: O) -> Result<Self, MachineError> {
        todo!()
    }
    /// Builds the machine with all managed memory allocated (order-0 USED frames, no owner), to be put in place from a
    /// snapshot by [`Self::place_free`], [`Self::place_allocated`] and [`Self::set_block_type`]; end with
    /// [`Self::finish_placement`].
    pub fn new_unplaced(machine: &Machine, policy: Policy, observer: O) -> Result<Self, MachineError> {
        todo!()
    }
    /// Puts a free block in place exactly, without merging, at the tail of its block type's list.
    pub fn place_free(&mut self, pfn: Pfn, order: Order) {
        todo!()
    }
    /// Puts an allocated page of this order in place (head USED, tails TAIL).
    pub fn place_allocated(&mut self, pfn: Pfn, order: Order) {
        todo!()
    }
    /// Ends placement: recomputes counters that placement leaves open.
    pub fn finish_placement(&mut self) {
        todo!()
    }

    // ---- allocation and freeing
    /// Alloc flags of the fast path (2.7).
    pub fn fast_flags(&self, request: &Request) -> AllocFlags {
        todo!()
    }
    /// Fast path: one pass at the low mark. Emits no `mm_page_alloc` (the caller does, at the very end, 8.1b).
    pub fn alloc_fast(&mut self, request: &Request) -> Option<Pfn> {
        todo!()
    }
    /// One pass over the zonelist (7.1). Sets head USED with its order, tails TAIL.
    pub fn get_page_from_freelist(&mut self, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        todo!()
    }
    /// Frees a page of the order it was allocated with, through the per-CPU lists (5.7). The caller must have taken it
    /// off any list of its own. Emits `mm_page_free`.
    pub fn free(&mut self, pfn: Pfn, cpu: CpuId) {
        todo!()
    }
    /// Splits an allocated page into order-0 pages, each allocated (`split_page`).
    pub fn split_allocated(&mut self, pfn: Pfn) {
        todo!()
    }
    /// Marks the head of an allocated page (and its tails) as on an LRU list or not.
    pub fn set_on_lru(&mut self, pfn: Pfn, on: bool) {
        todo!()
    }
    /// Nodes whose kswapd must be woken at order 0 because a boost was raised (7.8): the zones, taken and cleared.
    pub fn take_boost_wakeups(&mut self) -> u64 {
        todo!()
    }
    /// HighAtomic unreserve (1.15): whether a page was moved to the request's type.
    pub fn unreserve_highatomic(&mut self, request: &Request, force: bool) -> bool {
        todo!()
    }
    /// drain_all_pages for a zone or all (5.12).
    pub fn drain_all_pages(&mut self, zone: Option<ZoneId>) {
        todo!()
    }
    /// Drains one CPU's lists of a zone.
    pub fn drain_cpu(&mut self, cpu: CpuId, zone: Option<ZoneId>) {
        todo!()
    }
    /// The periodic decay of a CPU's lists (5.11), every `stat_interval`.
    pub fn pcp_decay(&mut self, cpu: CpuId) {
        todo!()
    }

    // ---- for compaction
    /// Sets up capture; only frees made between this and [`Self::end_capture`] on `cpu` count.
    pub fn begin_capture(&mut self, capture: Capture) {
        todo!()
    }
    /// Ends capture and returns the captured page, already prepared like any allocated one.
    pub fn end_capture(&mut self) -> Option<Pfn> {
        todo!()
    }
    /// Takes a free block as a migration target (3.10): its pages, or 0 if the min mark forbids. Head becomes TARGET.
    pub fn isolate_free(&mut self, pfn: Pfn) -> u32 {
        todo!()
    }
    /// Splits a TARGET block of `from` order: returns the first piece of `to` order; the rest stays TARGET blocks, which
    /// `rest` is called with, largest first.
    pub fn split_target(&mut self, pfn: Pfn, from: Order, to: Order, rest: &mut dyn FnMut(Pfn, Order)) {
        todo!()
    }
    /// Turns a TARGET block into an allocated page of its order.
    pub fn use_target(&mut self, pfn: Pfn, order: Order) {
        todo!()
    }
    /// Puts an unused TARGET block back (3.11).
    pub fn putback_target(&mut self, pfn: Pfn, order: Order) {
        todo!()
    }

    // ---- what the floor above reads
    /// Number of zones.
    pub fn nr_zones(&self) -> usize {
        todo!()
    }
    /// Number of nodes.
    pub fn nr_nodes(&self) -> usize {
        todo!()
    }
    /// Number of CPUs.
    pub fn nr_cpus(&self) -> usize {
        todo!()
    }
    /// Facts of a zone.
    pub fn zone_info(&self, zone: ZoneId) -> ZoneInfo {
        todo!()
    }
    /// Zones of a node, ascending.
    pub fn zones_of(&self, node: NodeId) -> core::ops::Range<u8> {
        todo!()
    }
    /// The i-th zone of the request's zonelist, counting only zones that it may use; `None` past the end.
    pub fn zonelist(&self, request: &Request, index: usize) -> Option<ZoneId> {
        todo!()
    }
    /// The zone that a frame lies in.
    pub fn zone_of(&self, pfn: Pfn) -> ZoneId {
        todo!()
    }
    /// Free pages of a zone (NR_FREE_PAGES).
    pub fn free_pages(&self, zone: ZoneId) -> u64 {
        todo!()
    }
    /// Free pages in blocks of pageblock order and above (NR_FREE_PAGES_BLOCKS).
    pub fn free_pages_blocks(&self, zone: ZoneId) -> u64 {
        todo!()
    }
    /// Free blocks of an order, all types (`nr_free`).
    pub fn nr_free(&self, zone: ZoneId, order: Order) -> u64 {
        todo!()
    }
    /// Free blocks on the list of a type.
    pub fn nr_free_of_type(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> u64 {
        todo!()
    }
    /// Head of a free list.
    pub fn free_list(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> crate::frames::FrameList {
        todo!()
    }
    /// Rotates a free list so that searches start behind `pfn` next time (11.7, 11.11).
    pub fn rotate_free_list(&mut self, zone: ZoneId, order: Order, migratetype: Migratetype, pfn: Pfn) {
        todo!()
    }
    /// Watermark by number, boost included (6.4).
    pub fn wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        todo!()
    }
    /// Watermark without boost.
    pub fn raw_wmark(&self, zone: ZoneId, mark: AllocFlags) -> u64 {
        todo!()
    }
    /// Current boost, pages.
    pub fn boost(&self, zone: ZoneId) -> u64 {
        todo!()
    }
    /// Lowers the boost after kswapd's run (9.7).
    pub fn reduce_boost(&mut self, zone: ZoneId, by: u64) {
        todo!()
    }
    /// The watermark test (6.6, 6.8) against an explicit mark and number of free pages.
    pub fn watermark_ok(
        &self,
        zone: ZoneId,
        order: Order,
        mark: u64,
        highest: ZoneType,
        flags: AllocFlags,
        free: u64,
    ) -> bool {
        todo!()
    }
    /// totalreserve (1.10) of a node.
    pub fn totalreserve(&self, node: NodeId) -> u64 {
        todo!()
    }
    /// Pageblock's type.
    pub fn block_type(&self, block: BlockId) -> Migratetype {
        todo!()
    }
    /// Sets a pageblock's type, moving its free pages to that type's lists.
    pub fn set_block_type(&mut self, block: BlockId, migratetype: Migratetype) {
        todo!()
    }
    /// Compaction's skip hint of a pageblock.
    pub fn skip(&self, block: BlockId) -> bool {
        todo!()
    }
    /// Sets or clears the skip hint.
    pub fn set_skip(&mut self, block: BlockId, skip: bool) {
        todo!()
    }
    /// Zone flag RECLAIM_ACTIVE (5.13), set while kswapd balances.
    pub fn set_reclaim_active(&mut self, zone: ZoneId, active: bool) {
        todo!()
    }
    /// Whether a node's kswapd is awake: first scans skip the node in 6.18 (7.1d).
    pub fn set_kswapd_awake(&mut self, node: NodeId, awake: bool) {
        todo!()
    }
    /// Whether a node is over its dirty limit (7.1b).
    pub fn set_dirty_limited(&mut self, node: NodeId, limited: bool) {
        todo!()
    }
    /// Fair zone batches reset by the slow path (7.10).
    pub fn reset_fair_batches(&mut self, request: &Request) {
        todo!()
    }
    /// The fast boost of the 4.20 series' stall (7.9).
    pub fn fast_boost(&mut self, zone: ZoneId) {
        todo!()
    }
    /// Whether a request of this type and order may claim from a free block of order `found` (4.2).
    pub fn may_claim(&self, found: Order, migratetype: Migratetype) -> bool {
        todo!()
    }
    /// First fallback type with a free block of exactly this order (4.3).
    pub fn find_fallback(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> Option<Migratetype> {
        todo!()
    }
    /// Fragmentation index (11.15): -1000, or 0 ..= 1000.
    pub fn fragmentation_index(&self, zone: ZoneId, order: Order) -> i32 {
        todo!()
    }
    /// Unusable free space index (11.15), 0 ..= 1000.
    pub fn unusable_index(&self, zone: ZoneId, order: Order) -> u32 {
        todo!()
    }
    /// Fragmentation score (11.15), 0 ..= 100.
    pub fn fragmentation_score(&self, zone: ZoneId, order: Order) -> u32 {
        todo!()
    }
    /// Proof that all invariants hold; the first broken one otherwise.
    pub fn check(&self) -> Result<(), alloc::string::String> {
        todo!()
    }
}
