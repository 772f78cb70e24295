//! Splitting and merging: how blocks leave the buddy lists and come back (chapter 3).

use crate::allocator::PageAllocator;
use crate::event::{Event, Observer};
use crate::frames::FrameState;
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{ListTypes, MergeRetype, MergeTypes};
use crate::zone::ListEnd;

/// Where a freed block goes (3.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// To the tail if a merge is likely soon, else to the head.
    Ordinary,
    /// To the tail: boot, and what compaction did not use.
    Tail,
}

impl<O: Observer> PageAllocator<O> {
    /// Takes the smallest block of a type that fits (3.3). The head's state is stale until the caller sets it.
    #[inline]
    pub(crate) fn rmqueue_smallest(&mut self, zone: ZoneId, order: Order, list: Migratetype) -> Option<Pfn> {
        let lists = &mut self.zones[zone.index()];
        let (pfn, found) = lists.smallest(order, list)?;
        lists.del(&mut self.frames, pfn, found, list);
        lists.expand(&mut self.frames, pfn, found, order, list);
        self.trace_zone_locked(pfn, order, list);
        Some(pfn)
    }

    #[inline]
    pub(crate) fn trace_zone_locked(&mut self, pfn: Pfn, order: Order, migratetype: Migratetype) {
        let percpu_refill = self.pcp_index(order, migratetype).is_some() && migratetype.is_mergeable();
        self.observer.kmem(&Event::MmPageAllocZoneLocked { pfn, order, migratetype, percpu_refill });
    }

    /// Frees a block to the list of `list`, merging upwards (3.5). Tails must already be FREE_TAIL.
    #[inline]
    pub(crate) fn free_block(&mut self, zone: ZoneId, pfn: Pfn, order: Order, list: Migratetype, placement: Placement) {
        let (mut pfn, mut order) = (pfn, order);
        while order < self.geometry.max_order {
            if order == self.capture_order && self.capture(zone, pfn, order, list) {
                return;
            }
            let buddy = pfn.buddy(order);
            let state = self.frames.state(buddy);
            if !state.is_free_head_of(order) || !self.may_merge(zone, buddy, order, list) {
                break;
            }
            self.zones[zone.index()].del(&mut self.frames, buddy, order, state.free_list_type());
            self.frames.set_state(Pfn(pfn.0 | buddy.0), FrameState::FREE_TAIL);
            pfn = Pfn(pfn.0 & buddy.0);
            order += 1;
        }
        let to_tail = placement == Placement::Tail || self.merge_likely(zone, pfn, order);
        let end = if to_tail { ListEnd::Tail } else { ListEnd::Head };
        self.zones[zone.index()].add(&mut self.frames, pfn, order, list, end);
    }

    /// Whether a free buddy of the right order may be merged with (3.5b, c), after giving its block our type (d).
    #[inline(always)]
    fn may_merge(&mut self, zone: ZoneId, buddy: Pfn, order: Order, list: Migratetype) -> bool {
        order < self.geometry.pageblock_order || self.may_merge_blocks(zone, buddy, order, list)
    }

    fn may_merge_blocks(&mut self, zone: ZoneId, buddy: Pfn, order: Order, list: Migratetype) -> bool {
        let block = self.geometry.block_of(buddy);
        if self.blocks.zone(block) != zone {
            return false;
        }
        let other = self.blocks.migratetype(block);
        if other == list {
            return true;
        }
        let separate = |t: Migratetype| match self.policy.merge_types {
            MergeTypes::Mergeable => !t.is_mergeable(),
            MergeTypes::AllButIsolate => t == Migratetype::Isolate,
        };
        if separate(list) || separate(other) {
            return false;
        }
        match self.policy.merge_retype {
            MergeRetype::Never => {}
            MergeRetype::FirstBlock => self.retype_blocks(buddy, self.geometry.pageblock_order, list),
            MergeRetype::WholeRange => self.retype_blocks(buddy, order, list),
        }
        true
    }

    /// Whether the block above will probably become free soon, so that this one is better kept (3.6).
    #[inline(always)]
    fn merge_likely(&self, zone: ZoneId, pfn: Pfn, order: Order) -> bool {
        if order + 1 >= self.geometry.max_order {
            return false;
        }
        let above = pfn.align_down(order + 1).buddy(order + 1);
        self.frames.state(above).is_free_head_of(order + 1)
            && (order + 1 < self.geometry.pageblock_order || self.blocks.zone(self.geometry.block_of(above)) == zone)
    }

    /// Frees an allocated page that per-CPU lists don't take (3.7).
    pub(crate) fn free_large(&mut self, zone: ZoneId, pfn: Pfn, order: Order) {
        self.frames.fill_tails(pfn, order, FrameState::FREE_TAIL);
        let piece = match self.policy.list_types {
            ListTypes::Strict => order.min(self.geometry.pageblock_order),
            ListTypes::Mixed => order,
        };
        for start in (pfn.0..pfn.0 + (1 << order)).step_by(1 << piece).map(Pfn) {
            let list = self.blocks.migratetype(self.geometry.block_of(start));
            self.free_block(zone, start, piece, list, Placement::Ordinary);
        }
    }

    /// Sets the type of every block that `2^order` pages from `pfn` cover, leaving free lists alone.
    pub(crate) fn retype_blocks(&mut self, pfn: Pfn, order: Order, migratetype: Migratetype) {
        let first = self.geometry.block_of(pfn).0;
        let count = 1 << order.saturating_sub(self.geometry.pageblock_order);
        for block in first..first + count {
            self.blocks.set_migratetype(BlockId(block), migratetype);
        }
    }

    /// Moves all free pages of a block to the lists of `to` (3.9); the number of pages, 0 if the block straddles its zone.
    pub(crate) fn move_free_pages(&mut self, zone: ZoneId, block: BlockId, to: Migratetype) -> u32 {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        let end = if self.policy.tail_placement { ListEnd::Tail } else { ListEnd::Head };
        let lists = &mut self.zones[zone.index()];
        if !lists.holds(start, pages) {
            return 0;
        }
        let (mut pfn, mut moved) = (start, 0);
        while pfn < start.add(pages) {
            match self.frames.state(pfn).free_order() {
                Some(order) => {
                    lists.shift(&mut self.frames, pfn, order, to, end);
                    moved += 1 << order;
                    pfn = pfn.add(1 << order);
                }
                None => pfn = pfn.add(1),
            }
        }
        moved
    }
}
