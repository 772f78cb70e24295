//! Fragmentation measures of a zone (11.15).

use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{NR_ORDERS, Order, ZoneId};

/// What all measures are made of.
struct FreeSpace {
    /// Free pages.
    pages: u64,
    /// Free blocks.
    blocks: u64,
    /// Blocks of the asked order that the free blocks hold.
    suitable: u64,
}

fn free_space(nr_free: impl Iterator<Item = u64>, order: Order) -> FreeSpace {
    let mut space = FreeSpace { pages: 0, blocks: 0, suitable: 0 };
    for (k, blocks) in nr_free.enumerate() {
        space.pages += blocks << k;
        space.blocks += blocks;
        if k >= order as usize {
            space.suitable += blocks << (k - order as usize);
        }
    }
    space
}

impl FreeSpace {
    fn index(&self, order: Order) -> i32 {
        if self.blocks == 0 {
            return 0;
        }
        if self.suitable > 0 {
            return -1000;
        }
        let per_request = (self.pages * 1000) >> order;
        1000 - ((1000 + per_request) / self.blocks) as i32
    }

    fn outside(&self, order: Order, scale: u64) -> Option<u32> {
        let outside = self.pages - (self.suitable << order);
        (outside * scale).checked_div(self.pages).map(|part| part as u32)
    }
}

impl<O: Observer> PageAllocator<O> {
    fn free_space(&self, zone: ZoneId, order: Order) -> FreeSpace {
        let areas = &self.zones[zone.index()].areas[..NR_ORDERS];
        free_space(areas.iter().map(|area| u64::from(area.nr_free)), order)
    }

    /// Fragmentation index (11.15): -1000 if a block of the order is free, else towards 0 for lack of memory and towards
    /// 1000 for fragmentation.
    pub fn fragmentation_index(&self, zone: ZoneId, order: Order) -> i32 {
        self.free_space(zone, order).index(order)
    }

    /// Unusable free space index (11.15), 0 ..= 1000: share of free memory in blocks below the order.
    pub fn unusable_index(&self, zone: ZoneId, order: Order) -> u32 {
        self.free_space(zone, order).outside(order, 1000).unwrap_or(1000)
    }

    /// Fragmentation score (11.15), 0 ..= 100: the same in percent, 0 if nothing is free.
    pub fn fragmentation_score(&self, zone: ZoneId, order: Order) -> u32 {
        self.free_space(zone, order).outside(order, 100).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B.
    #[test]
    fn published_vectors() {
        let cases: [(&[u64], Order, i32, u32, u32); 5] = [
            (&[1000], 9, 998, 1000, 100),
            (&[10], 9, 899, 1000, 100),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 4], 9, 250, 1000, 100),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1], 9, -1000, 0, 0),
            (&[2000, 1000, 500], 3, 786, 1000, 100),
        ];
        for (nr_free, order, index, unusable, score) in cases {
            let space = free_space(nr_free.iter().copied(), order);
            assert_eq!(space.index(order), index, "{nr_free:?}");
            assert_eq!(space.outside(order, 1000).unwrap_or(1000), unusable, "{nr_free:?}");
            assert_eq!(space.outside(order, 100).unwrap_or(0), score, "{nr_free:?}");
        }
    }
}
