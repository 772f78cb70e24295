//! The reserve for high-order atomic requests (1.14, 1.15), and the 3.x reserve before it (1.12).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{BlockId, Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{HighAtomicUse, Reserve};
use crate::request::Request;

/// 3.x keeps at most this many Reserve blocks a zone (1.12).
const MAX_MIGRATE_RESERVE_BLOCKS: u64 = 2;

impl<O: Observer> PageAllocator<O> {
    /// Whether an attempt with these flags draws on and feeds the reserve.
    #[inline(always)]
    pub(crate) fn uses_highatomic(&self, order: Order, flags: AllocFlags) -> bool {
        flags.intersects(AllocFlags(AllocFlags::HIGHATOMIC.0 | AllocFlags::NON_BLOCK.0))
            && order > 0
            && flags.contains(self.policy.watermark_reserve.opens_highatomic())
            && self.policy.reserve != Reserve::MigrateReserve
    }

    /// Whether such an attempt leaves an empty per-CPU list as it is, so that what it takes may build up the reserve (7.1+).
    #[inline]
    pub(crate) fn refills_no_list(&self, order: Order, flags: AllocFlags) -> bool {
        self.policy.highatomic_use != HighAtomicUse::SlowPath && self.uses_highatomic(order, flags)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use crate::policy::WatermarkReserve;
    use crate::world::*;
    use crate::{Gfp, Pfn};

    const ATOMIC: AllocFlags = AllocFlags(AllocFlags::HIGHATOMIC.0 | AllocFlags::MIN_RESERVE.0);

    #[test]
    fn one_percent_rounded_up_is_reserved_block_by_block() {
        let mut world = world(16 * 128, linux_6_18()); // 1 % is 20 pages: two blocks.
        for expected in [16, 32, 32] {
            // An order-4 page is a whole block, so that each request lands in another one.
            world.get_page_from_freelist(&request(4, Migratetype::Unmovable), ATOMIC).unwrap();
            assert_eq!(world.reserved_highatomic(ZONE), expected);
        }
        world.check().unwrap();
    }

    #[test]
    fn small_zones_reserve_nothing_since_6_8_but_a_block_before() {
        use WatermarkReserve::{HighHarder, MinReserve};
        for (reserve, watermark_reserve, flags, expected) in [
            (Reserve::HighAtomicOnePercent, MinReserve, ATOMIC, 0),
            (Reserve::HighAtomic, MinReserve, ATOMIC, 16),
            // Who can't wait has no claim to the reserve, but when HARDER stood for both.
            (Reserve::HighAtomic, MinReserve, AllocFlags::NON_BLOCK, 0),
            (Reserve::HighAtomic, HighHarder, AllocFlags::NON_BLOCK, 16),
            (Reserve::HighAtomic, HighHarder, AllocFlags::NONE, 0),
        ] {
            let mut world = world(16 * 64, Policy { reserve, watermark_reserve, ..linux_6_18() });
            world.get_page_from_freelist(&request(1, Migratetype::Unmovable), flags).unwrap();
            assert_eq!(world.reserved_highatomic(ZONE), expected);
        }
    }

    #[test]
    fn high_order_atomic_requests_use_the_reserve_at_once_in_7_3_and_refill_no_list_from_7_1_on() {
        let urgent = Request { gfp: Gfp::ATOMIC, ..request(1, Migratetype::Unmovable) };
        for (highatomic_use, at_once, listed_fast, listed) in [
            (HighAtomicUse::SlowPath, None, 6, 6),
            (HighAtomicUse::SlowPathBeyondLists, None, 6, 0),
            (HighAtomicUse::BothPaths, Some(Pfn(0)), 0, 0),
        ] {
            let policy = Policy { highatomic_use, ..linux_6_18() };
            let mut only_reserve = placed("HUUU", &[(0, 1)], policy.clone());
            assert_eq!(only_reserve.alloc_fast(&urgent), at_once);
            let mut world = world(16 * 128, policy);
            world.set_pcp_limits(ZONE, 8, 64, 64);
            assert!(world.get_page_from_freelist(&urgent, world.fast_flags(&urgent)).is_some());
            assert_eq!((world.pcp_count(ZONE, CPU), world.reserved_highatomic(ZONE)), (listed_fast, 0));
            world.drain_all_pages(None);
            assert!(world.get_page_from_freelist(&urgent, ATOMIC).is_some());
            assert_eq!((world.pcp_count(ZONE, CPU), world.reserved_highatomic(ZONE)), (listed, 16));
            world.check().unwrap();
        }
    }

    #[test]
    fn unreserving_gives_the_block_to_the_request() {
        let mut world = placed("HHUU", &[(0, 1), (4, 0)], linux_6_18());
        assert_eq!(world.reserved_highatomic(ZONE), 32);
        let movable = request(0, Migratetype::Movable);
        assert!(world.unreserve_highatomic(&movable, false));
        assert_eq!((world.types().as_str(), world.picture().as_str()), ("MHUU", "0M: 4; 1M: 0"));
        assert!(!world.unreserve_highatomic(&movable, false), "the last block only by force");
        assert!(!world.unreserve_highatomic(&movable, true), "and only if a page of it is free");
    }

    #[test]
    fn the_reserve_is_the_last_resort_of_those_who_cannot_wait() {
        let mut world = placed("HUUU", &[(0, 1)], linux_6_18());
        let kernel = request(0, Migratetype::Unmovable);
        assert_eq!(world.get_page_from_freelist(&kernel, AllocFlags::NONE), None);
        assert_eq!(world.get_page_from_freelist(&kernel, AllocFlags::NON_BLOCK), Some(Pfn(0)));
    }

    #[test]
    fn kernels_3x_keep_the_lowest_blocks() {
        let policy = Policy { reserve: Reserve::MigrateReserve, ..linux_6_18() };
        let mut world = world(64, policy);
        for (min, types) in [(0, "MMMM"), (17, "HHMM"), (16, "HMMM")] {
            world.set_watermarks(ZONE, min, 0, 0, 0);
            world.setup_migrate_reserve();
            assert_eq!(world.types(), types);
            world.check().unwrap();
        }
    }
}
