//! The reserve for high-order atomic requests (1.14, 1.15), and the 3.x reserve before it (1.12).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::Reserve;
use crate::request::Request;

/// 3.x keeps at most this many Reserve blocks a zone (1.12).
const MAX_MIGRATE_RESERVE_BLOCKS: u64 = 2;

impl<O: Observer> PageAllocator<O> {
    /// Whether an attempt with these flags draws on and feeds the reserve. Up to 6.7 HARDER (the bit of NON_BLOCK) with
    /// an order meant that, later there is a flag of its own.
    #[inline(always)]
    pub(crate) fn uses_highatomic(&self, order: Order, flags: AllocFlags) -> bool {
        flags.intersects(AllocFlags(AllocFlags::HIGHATOMIC.0 | AllocFlags::NON_BLOCK.0))
            && match self.policy.reserve {
                Reserve::MigrateReserve => false,
                Reserve::HighAtomic => order > 0,
                Reserve::HighAtomicOnePercent => flags.contains(AllocFlags::HIGHATOMIC),
            }
    }

    /// Reserves the block that a high-order atomic request was served from (1.14).
    pub(crate) fn reserve_highatomic(&mut self, zone: ZoneId, pfn: Pfn, order: Order) {
        let block_pages = u64::from(self.geometry.pageblock_pages());
        let lists = &self.zones[zone.index()];
        let percent = lists.managed / 100;
        let cap = match self.policy.reserve {
            Reserve::MigrateReserve => return,
            Reserve::HighAtomic => percent + block_pages,
            Reserve::HighAtomicOnePercent if percent < block_pages => return,
            Reserve::HighAtomicOnePercent => percent.next_multiple_of(block_pages),
        };
        let block = self.geometry.block_of(pfn);
        if lists.reserved_highatomic >= cap || !self.blocks.migratetype(block).is_mergeable() {
            return;
        }
        if order >= self.geometry.pageblock_order {
            self.retype_blocks(pfn, order, Migratetype::HighAtomic);
            self.zones[zone.index()].reserved_highatomic += 1 << order;
        } else if lists.holds(self.geometry.block_start(block), self.geometry.pageblock_pages()) {
            self.move_free_pages(zone, block, Migratetype::HighAtomic);
            self.blocks.set_migratetype(block, Migratetype::HighAtomic);
            self.zones[zone.index()].reserved_highatomic += block_pages;
        }
    }

    /// HighAtomic unreserve (1.15): whether a page was moved to the request's type.
    pub fn unreserve_highatomic(&mut self, request: &Request, force: bool) -> bool {
        if self.policy.reserve == Reserve::MigrateReserve {
            return false;
        }
        let block_pages = u64::from(self.geometry.pageblock_pages());
        let wanted = self.effective_type(request.migratetype);
        let mut index = 0;
        while let Some(zone) = self.zonelist(request, index) {
            index += 1;
            if !force && self.zones[zone.index()].reserved_highatomic <= block_pages {
                continue;
            }
            for order in 0..=self.geometry.max_order {
                let page = self.zones[zone.index()].head(order, Migratetype::HighAtomic);
                if page.is_some_and(|pfn| self.unreserve_block(zone, pfn, order, wanted)) {
                    return true;
                }
            }
        }
        false
    }

    /// Gives the block(s) of a free HighAtomic page to a type; whether any page moved.
    fn unreserve_block(&mut self, zone: ZoneId, pfn: Pfn, order: Order, wanted: Migratetype) -> bool {
        let block = self.geometry.block_of(pfn);
        if self.blocks.migratetype(block) == Migratetype::HighAtomic {
            let pages = u64::from(self.geometry.pageblock_pages()).max(1 << order);
            let reserved = &mut self.zones[zone.index()].reserved_highatomic;
            *reserved = reserved.saturating_sub(pages);
        }
        self.blocks_retyped = true;
        self.retype_blocks(pfn, order, wanted);
        self.move_free_pages(zone, block, wanted) > 0
    }

    /// 3.x: turns the lowest Movable blocks of each zone into Reserve, as many as the min mark asks for (1.12).
    pub(crate) fn setup_migrate_reserve(&mut self) {
        for index in 0..self.zones.len() {
            let zone = ZoneId(index as u8);
            let block_pages = u64::from(self.geometry.pageblock_pages());
            let lists = &self.zones[index];
            let mut missing = lists.marks[0].div_ceil(block_pages).min(MAX_MIGRATE_RESERVE_BLOCKS);
            let first = self.geometry.block_of(lists.start).0;
            let last = self.geometry.block_of(Pfn(lists.end.0 - 1)).0;
            for block in (first..=last).map(BlockId) {
                match self.blocks.migratetype(block) {
                    Migratetype::HighAtomic if missing > 0 => missing -= 1,
                    Migratetype::HighAtomic => self.convert(zone, block, Migratetype::Movable),
                    Migratetype::Movable if missing > 0 && self.is_wholly_managed(zone, block) => {
                        self.convert(zone, block, Migratetype::HighAtomic);
                        missing -= 1;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Retypes a block and moves what is free in it; a buddy that reaches into the next block moves whole (3.9).
    fn convert(&mut self, zone: ZoneId, block: BlockId, to: Migratetype) {
        self.move_free_pages(zone, block, to);
        self.blocks.set_migratetype(block, to);
    }

    /// Whether boot reserved nothing in the block.
    fn is_wholly_managed(&self, zone: ZoneId, block: BlockId) -> bool {
        let (start, pages) = (self.geometry.block_start(block), self.geometry.pageblock_pages());
        self.zones[zone.index()].holds(start, pages)
            && self.frames.states(start, pages).all(|state| state != crate::frames::FrameState::ABSENT)
    }
}
