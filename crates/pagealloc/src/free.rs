//! Giving a page back: to the CPU's list if those hold its order, else straight to the buddy lists (5.7, 3.7).

use crate::allocator::PageAllocator;
use crate::buddy::Placement;
use crate::event::{Event, Observer};
use crate::frames::FrameState;
use crate::ids::{CpuId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::vmstat::Counter;

impl<O: Observer> PageAllocator<O> {
    /// Frees a page of the order it was allocated with, through the per-CPU lists (5.7). The caller must have taken it
    /// off any list of its own. Emits `mm_page_free`. `cpu`: the one that the caller runs on, wherever the page came from.
    ///
    /// # Panics
    /// If the machine lacks the frame or the CPU; with debug assertions, if `pfn` is not the head of an allocated page.
    #[inline]
    pub fn free(&mut self, pfn: Pfn, cpu: CpuId) {
        debug_assert!(self.frames.state(pfn).is_allocated_head(), "{pfn:?} is not allocated");
        let order = self.frames.allocated_order(pfn);
        self.observer.kmem(&Event::MmPageFree { pfn, order });
        self.vmstat.add(Counter::Pgfree, 1 << order);
        let block = self.geometry.block_of(pfn);
        let zone = self.blocks.zone(block);
        let block_type = self.blocks.migratetype(block);
        if order == 0 && block_type.is_mergeable() {
            return self.free_pcp(zone, cpu, block_type.index(), pfn, 0);
        }
        self.free_uncommon(zone, pfn, order, block_type, cpu);
    }

    /// High orders, and blocks of special types.
    #[inline(never)]
    fn free_uncommon(&mut self, zone: ZoneId, pfn: Pfn, order: Order, block_type: Migratetype, cpu: CpuId) {
        let list = match block_type {
            Migratetype::Isolate => return self.free_large(zone, pfn, order),
            // Pages of reserves wait among the movable ones; drained, they return to their own type.
            Migratetype::HighAtomic | Migratetype::Cma => Migratetype::Movable,
            mergeable => mergeable,
        };
        match self.pcp_index(order, list) {
            Some(index) => self.free_pcp(zone, cpu, index, pfn, order),
            None => self.free_large(zone, pfn, order),
        }
    }

    /// Frees an allocated page that per-CPU lists don't take (3.7).
    pub(crate) fn free_large(&mut self, zone: ZoneId, pfn: Pfn, order: Order) {
        self.frames.fill_tails(pfn, order, FrameState::FREE_TAIL);
        let piece = if self.policy.splits_large_frees { order.min(self.geometry.pageblock_order) } else { order };
        for start in (pfn.0..pfn.0 + (1 << order)).step_by(1 << piece).map(Pfn) {
            let list = self.blocks.migratetype(self.geometry.block_of(start));
            self.free_block(zone, start, piece, list, Placement::Ordinary);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;

    #[test]
    fn each_block_of_a_large_page_goes_to_the_list_of_its_own_type_since_6_12() {
        for (splits_large_frees, picture) in [(false, "5M: 0"), (true, "4M: 0; 4H: 16")] {
            let mut world = world(32, Policy { splits_large_frees, ..linux_6_18() });
            let page = world.alloc_fast(&request(5, Migratetype::Movable)).unwrap();
            world.set_block_type(BlockId(1), Migratetype::HighAtomic);
            world.free(page, CPU);
            assert_eq!(world.picture(), picture);
        }
    }
}
