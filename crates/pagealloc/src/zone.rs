//! One zone: its free lists by order and type, what they hold, its marks and flags.
//!
//! Every way on or off a free list goes through [`Zone::link`] and [`Zone::unlink`]; [`Zone::account`] keeps the counters
//! (3.2) and is called with the net change. Beside the lists stands one word a type with a bit for each order whose list
//! holds something, so that "smallest fit" and "is there any block large enough" are single instructions.

use crate::AllocFlags;
use crate::frames::{FrameList, FrameState, Frames};
use crate::ids::{NR_ORDERS, NR_ZONE_TYPES, NodeId, Order, Pfn, ZoneType};
use crate::migratetype::{Migratetype, NR_MIGRATETYPES};
use crate::vmstat::Counter;

/// Free blocks of one order, by type.
#[derive(Clone, Copy, Default)]
pub(crate) struct FreeArea {
    pub lists: [FrameList; NR_MIGRATETYPES],
}

impl FreeArea {
    /// Blocks on all lists together, isolated ones included (3.1).
    pub(crate) fn nr_free(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.len())).sum()
    }
}

/// A block on a free list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FreeBlock {
    pub pfn: Pfn,
    pub order: Order,
    /// Type of the list.
    pub list: Migratetype,
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
    /// NR_FREE_CMA_PAGES.
    pub free_cma: u64,
    /// Free pages on the HighAtomic lists.
    pub free_highatomic: u64,
    /// min, low, high, promo, without boost.
    pub marks: [u64; 4],
    /// Boost on top of all marks (4.9).
    pub boost: u64,
    /// The boost after the first fallback of the last attempt that raised it.
    pub boost_at_wakeup: u64,
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
            free_cma: 0,
            free_highatomic: 0,
            marks: [0; 4],
            boost: 0,
            boost_at_wakeup: 0,
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
        self.link(frames, pfn, order, list, end);
        self.account(list, 1 << order);
    }

    /// Takes a block off the list that it is on. Its state byte is left for the caller to overwrite.
    #[inline(always)]
    pub(crate) fn del(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, list: Migratetype) {
        self.unlink(frames, pfn, order, list);
        self.account(list, -(1 << order));
    }

    /// [`Self::add`] without counting.
    #[inline(always)]
    pub(crate) fn link(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, list: Migratetype, end: ListEnd) {
        let lists = &mut self.areas[order as usize].lists;
        match end {
            ListEnd::Head => lists[list.index()].push_head(frames, pfn),
            ListEnd::Tail => lists[list.index()].push_tail(frames, pfn),
        }
        frames.set_state(pfn, FrameState::free_head(order, list));
        self.occupied[list.index()] |= 1 << order;
    }

    /// [`Self::del`] without counting.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, list: Migratetype) {
        debug_assert_eq!(frames.state(pfn), FrameState::free_head(order, list));
        let lists = &mut self.areas[order as usize].lists;
        lists[list.index()].remove(frames, pfn);
        if lists[list.index()].is_empty() {
            self.occupied[list.index()] &= !(1 << order);
        }
    }

    /// Takes the free buddy of a block off its list and makes the block one of both. What was free stays counted, under the
    /// block's type.
    #[inline(always)]
    pub(crate) fn merge(&mut self, frames: &mut Frames, block: &mut FreeBlock) {
        let buddy = block.pfn.buddy(block.order);
        let other = frames.state(buddy).free_list_type();
        self.unlink(frames, buddy, block.order, other);
        if other != block.list {
            self.account(other, -(1 << block.order));
            self.account(block.list, 1 << block.order);
        }
        frames.set_state(Pfn(block.pfn.0 | buddy.0), FrameState::FREE_TAIL);
        block.pfn = Pfn(block.pfn.0 & buddy.0);
        block.order += 1;
    }

    /// Merges a block with free buddies up to an order below which both lie in one pageblock. Whether it came that far.
    #[inline(always)]
    pub(crate) fn merge_up(&mut self, frames: &mut Frames, block: &mut FreeBlock, end: Order) -> bool {
        while block.order < end {
            if !frames.state(block.pfn.buddy(block.order)).is_free_head_of(block.order) {
                return false;
            }
            self.merge(frames, block);
        }
        true
    }

    /// Moves a block from the list it is on to another one of its order.
    pub(crate) fn shift(&mut self, frames: &mut Frames, pfn: Pfn, order: Order, to: Migratetype, end: ListEnd) {
        let from = frames.state(pfn).free_list_type();
        self.del(frames, pfn, order, from);
        self.add(frames, pfn, order, to, end);
    }

    /// Counts pages in or out (3.2). Isolated pages count nowhere.
    #[inline(always)]
    pub(crate) fn account(&mut self, list: Migratetype, pages: i64) {
        if list.is_mergeable() {
            self.free_pages = self.free_pages.wrapping_add_signed(pages);
        } else {
            self.account_special(list, pages);
        }
    }

    #[cold]
    fn account_special(&mut self, list: Migratetype, pages: i64) {
        if list == Migratetype::Isolate {
            return;
        }
        self.free_pages = self.free_pages.wrapping_add_signed(pages);
        match list {
            Migratetype::Cma => self.free_cma = self.free_cma.wrapping_add_signed(pages),
            Migratetype::HighAtomic => self.free_highatomic = self.free_highatomic.wrapping_add_signed(pages),
            _ => {}
        }
    }

    /// NR_FREE_PAGES_BLOCKS: free pages in blocks of pageblock order and above.
    pub(crate) fn free_pages_blocks(&self) -> u64 {
        let whole = self.areas.iter().enumerate().skip(self.pageblock_order as usize);
        let isolated = |area: &FreeArea| u64::from(area.lists[Migratetype::Isolate.index()].len());
        whole.map(|(order, area)| (area.nr_free() - isolated(area)) << order).sum()
    }

    /// The smallest block on a type's lists that holds `order`.
    #[inline(always)]
    pub(crate) fn smallest(&self, order: Order, list: Migratetype) -> Option<FreeBlock> {
        let large_enough = self.occupied[list.index()] & (u16::MAX << order);
        if large_enough == 0 {
            return None;
        }
        let order = large_enough.trailing_zeros() as Order;
        self.head(order, list).map(|pfn| FreeBlock { pfn, order, list })
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
    /// Counts nothing.
    #[inline(always)]
    fn expand(&mut self, frames: &mut Frames, pfn: Pfn, found: Order, order: Order, list: Migratetype) {
        for half in (order..found).rev() {
            self.link(frames, pfn.add(1 << half), half, list, ListEnd::Head);
        }
    }

    /// Takes a free block off its list and cuts `order` off its front; the rest goes to the list `rest`.
    #[inline(always)]
    pub(crate) fn take(&mut self, frames: &mut Frames, block: FreeBlock, order: Order, rest: Migratetype) {
        self.unlink(frames, block.pfn, block.order, block.list);
        self.expand(frames, block.pfn, block.order, order, rest);
        if block.list == rest {
            self.account(rest, -(1 << order));
        } else {
            self.account(block.list, -(1 << block.order));
            self.account(rest, (1 << block.order) - (1 << order));
        }
    }

    /// The same for the first block of a list, whose rest stays with its type.
    #[inline(always)]
    pub(crate) fn take_first(&mut self, frames: &mut Frames, block: FreeBlock, order: Order) {
        let list = &mut self.areas[block.order as usize].lists[block.list.index()];
        list.pop_head(frames);
        if list.is_empty() {
            self.occupied[block.list.index()] &= !(1 << block.order);
        }
        self.expand(frames, block.pfn, block.order, order, block.list);
        self.account(block.list, -(1 << order));
    }

    /// Whether the frames `start .. start + pages` lie in the zone.
    #[inline]
    pub(crate) fn holds(&self, start: Pfn, pages: u32) -> bool {
        start >= self.start && start.0 + pages <= self.end.0
    }

    /// Pages that the zone hands out in its turn (7.10).
    pub(crate) fn full_fair_batch(&self) -> i64 {
        let [low, high] = [AllocFlags::WMARK_LOW, AllocFlags::WMARK_HIGH].map(|mark| self.mark(mark.wmark()) as i64);
        high - low
    }

    /// Effective mark (6.4).
    #[inline(always)]
    pub(crate) fn mark(&self, number: usize) -> u64 {
        self.marks[number] + self.boost
    }
}
