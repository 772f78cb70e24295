//! One zone: its free lists by order and type, what they hold, its marks and flags.
//!
//! Every way on or off a free list goes through [`Zone::add`] and [`Zone::del`], which keep all counters (3.2). Beside
//! the lists stands one word a type with a bit for each order whose list holds something, so that "smallest fit" and
//! "is there any block large enough" are single instructions.

use crate::frames::{FrameList, FrameState, Frames};
use crate::ids::{NR_ORDERS, NR_ZONE_TYPES, NodeId, Order, Pfn, ZoneType};
use crate::migratetype::{Migratetype, NR_MIGRATETYPES};
use crate::vmstat::Counter;

/// Free blocks of one order.
#[derive(Clone, Copy, Default)]
pub(crate) struct FreeArea {
    /// By type.
    pub lists: [FrameList; NR_MIGRATETYPES],
    /// Blocks on all lists together, isolated ones included (3.1).
    pub nr_free: u32,
}

/// Which end of a list a block is put at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListEnd {
    Head,
    Tail,
}

/// A zone of the machine.
pub(crate) struct Zone {
    /// NR_FREE_PAGES.
    pub free_pages: u64,
    /// NR_FREE_PAGES_BLOCKS.
    pub free_blocks: u64,
    /// NR_FREE_CMA_PAGES.
    pub free_cma: u64,
    /// Free pages on the HighAtomic lists.
    pub free_highatomic: u64,
    /// min, low, high, promo, without boost.
    pub marks: [u64; 4],
    /// Boost on top of all marks (4.9).
    pub boost: u64,
    /// Pages to leave for requests by their highest zone (1.9).
    pub lowmem_reserve: [u64; NR_ZONE_TYPES],
    /// By type: bit per order with a non-empty list.
    pub occupied: [u16; NR_MIGRATETYPES],
    /// The high mark failed lately (5.13).
    pub below_high: bool,
    /// kswapd balances (5.13).
    pub reclaim_active: bool,
    /// Fair batch used up (7.11).
    pub fair_depleted: bool,
    /// Of type Normal, alone or with DMA32 beside it: spilling over beats mixing (7.5).
    pub spills_before_mixing: bool,
    pub kind: ZoneType,
    pub node: NodeId,
    /// `pgalloc_<zone>`.
    pub pgalloc: Counter,
    pub pageblock_order: Order,
    /// Pages in HighAtomic blocks (1.14).
    pub reserved_highatomic: u64,
    /// NR_ALLOC_BATCH (7.10).
    pub alloc_batch: i64,
    pub start: Pfn,
    /// One past the last frame.
    pub end: Pfn,
    pub managed: u64,
    /// Free lists by order.
    pub areas: [FreeArea; NR_ORDERS],
}

impl Zone {
    pub(crate) fn new(node: NodeId, kind: ZoneType, start: Pfn, spanned: u32, pageblock_order: Order) -> Zone {
        Zone {
            free_pages: 0,
            free_blocks: 0,
            free_cma: 0,
            free_highatomic: 0,
            marks: [0; 4],
            boost: 0,
            lowmem_reserve: [0; NR_ZONE_TYPES],
            occupied: [0; NR_MIGRATETYPES],
            below_high: false,
            reclaim_active: false,
            fair_depleted: false,
            spills_before_mixing: false,
            kind,
            node,
            pgalloc: Counter::pgalloc(kind),
            pageblock_order,
            reserved_highatomic: 0,
            alloc_batch: 0,
            start,
            end: start.add(spanned),
            managed: 0,
            areas: [FreeArea::default(); NR_ORDERS],
        }
    }

    /// Puts a block on the list of a type.
    #[inline(always)]
    pub(crate) fn add(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, list: Migratetype, end: ListEnd) {
        let area = &mut self.areas[order as usize];
        match end {
            ListEnd::Head => area.lists[list.index()].push_head(frames, pfn),
            ListEnd::Tail => area.lists[list.index()].push_tail(frames, pfn),
        }
        area.nr_free += 1;
        frames.set_state(pfn, FrameState::free_head(order, list));
        self.occupied[list.index()] |= 1 << order;
        self.account(order, list, 1i64 << order);
    }

    /// Takes a block off the list that it is on. Its state byte is left for the caller to overwrite.
    #[inline(always)]
    pub(crate) fn del(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, list: Migratetype) {
        debug_assert_eq!(frames.state(pfn), FrameState::free_head(order, list));
        let area = &mut self.areas[order as usize];
        area.lists[list.index()].remove(frames, pfn);
        area.nr_free -= 1;
        if area.lists[list.index()].is_empty() {
            self.occupied[list.index()] &= !(1 << order);
        }
        self.account(order, list, -(1i64 << order));
    }

    /// Moves a block from the list it is on to another one of its order.
    pub(crate) fn shift(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, to: Migratetype, end: ListEnd) {
        let from = frames.state(pfn).free_list_type();
        self.del(frames, pfn, order, from);
        self.add(frames, pfn, order, to, end);
    }

    /// Counts pages in or out (3.2).
    #[inline(always)]
    fn account(&mut self, order: Order, list: Migratetype, pages: i64) {
        if !list.is_mergeable() {
            self.account_special(list, pages);
            if list == Migratetype::Isolate {
                return; // Isolated pages count nowhere.
            }
        }
        self.free_pages = self.free_pages.wrapping_add_signed(pages);
        if order >= self.pageblock_order {
            self.free_blocks = self.free_blocks.wrapping_add_signed(pages);
        }
    }

    #[cold]
    fn account_special(&mut self, list: Migratetype, pages: i64) {
        match list {
            Migratetype::Cma => self.free_cma = self.free_cma.wrapping_add_signed(pages),
            Migratetype::HighAtomic => self.free_highatomic = self.free_highatomic.wrapping_add_signed(pages),
            _ => {}
        }
    }

    /// Head of the smallest block on a type's lists that holds `order`, with its own order.
    #[inline(always)]
    pub(crate) fn smallest(&self, order: Order, list: Migratetype) -> Option<(Pfn, Order)> {
        let large_enough = self.occupied[list.index()] & (u16::MAX << order);
        if large_enough == 0 {
            return None;
        }
        let found = large_enough.trailing_zeros() as usize;
        self.areas[found].lists[list.index()].head().map(|pfn| (pfn, found as Order))
    }

    /// First block of a list.
    #[inline]
    pub(crate) fn head(&self, order: Order, list: Migratetype) -> Option<Pfn> {
        self.areas[order as usize].lists[list.index()].head()
    }

    /// Whether a type has a free block of exactly this order.
    #[inline(always)]
    pub(crate) fn has(&self, order: Order, list: Migratetype) -> bool {
        self.occupied[list.index()] >> order & 1 != 0
    }

    /// Gives the upper halves of a block back until `order` is left (3.4): each to the head of the list of `list`.
    #[inline]
    pub(crate) fn expand(&mut self, frames: &mut Frames, pfn: Pfn, found: Order, order: Order, list: Migratetype) {
        for half in (order..found).rev() {
            self.add(frames, pfn.add(1 << half), half, list, ListEnd::Head);
        }
    }

    /// Takes a free block off its list and cuts `order` pages off its front; the rest goes to the list of `rest`.
    #[inline]
    pub(crate) fn take(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, rest: Migratetype) {
        let state = frames.state(pfn);
        let found = state.free_order().expect("a block on a free list is free");
        self.del(frames, pfn, found, state.free_list_type());
        self.expand(frames, pfn, found, order, rest);
    }

    /// Whether the frames `start .. start + pages` lie in the zone.
    #[inline]
    pub(crate) fn holds(&self, start: Pfn, pages: u32) -> bool {
        start >= self.start && start.0 + pages <= self.end.0
    }

    /// Effective mark (6.4).
    #[inline(always)]
    pub(crate) fn mark(&self, number: usize) -> u64 {
        self.marks[number] + self.boost
    }
}
