//! Capture: pages that compaction frees go straight to the request that compacts (11.13).

use crate::allocator::{Capture, PageAllocator};
use crate::event::{Extfrag, Observer};
use crate::frames::FrameState;
use crate::ids::{Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::CompactCapture;

/// Order that no block has: nothing is being captured.
pub(crate) const NO_CAPTURE: Order = Order::MAX;

impl<O: Observer> PageAllocator<O> {
    /// Sets up capture: until [`Self::end_capture`], the first fitting block that reaches the buddy lists is taken.
    /// Call it only around frees of the compacting context.
    pub fn begin_capture(&mut self, capture: Capture) {
        self.capture_order = if capture.page.is_none() { capture.order } else { NO_CAPTURE };
        self.capturing = Some(capture);
    }

    /// Ends capture and returns the captured page, already prepared like any allocated one.
    pub fn end_capture(&mut self) -> Option<Pfn> {
        self.capture_order = NO_CAPTURE;
        self.capturing.take()?.page
    }

    /// Whether a freed block was handed to the capturing request.
    #[cold]
    pub(crate) fn capture(&mut self, zone: ZoneId, pfn: Pfn, order: Order, list: Migratetype) -> bool {
        let Some(capture) = &mut self.capturing else { return false };
        let wanted = capture.migratetype;
        let rule = self.policy.compaction.capture;
        // A small request of another type would put its page into a Movable block.
        let pollutes = order < self.geometry.pageblock_order
            && list == Migratetype::Movable
            && (wanted != Migratetype::Movable || rule == CompactCapture::SparesMovable);
        if capture.zone != zone || matches!(list, Migratetype::Cma | Migratetype::Isolate) || pollutes {
            return false;
        }
        capture.page = Some(pfn);
        self.capture_order = NO_CAPTURE;
        self.frames.set_page(pfn, order, FrameState::USED);
        if list != wanted && rule == CompactCapture::Traced {
            self.trace_extfrag(Extfrag {
                pfn,
                alloc_order: order,
                fallback_order: order,
                alloc_migratetype: wanted,
                fallback_migratetype: list,
                change_ownership: false,
                pageblock_order: self.geometry.pageblock_order,
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::world::*;
    use crate::*;

    fn captured(types: &str, wanted: Migratetype, order: Order) -> (Option<Pfn>, usize) {
        let mut world = placed(types, &[(0, 1)], linux_6_18());
        world.place_allocated(Pfn(2), 1);
        world.begin_capture(Capture { zone: ZONE, order, migratetype: wanted, page: None });
        world.free_large(ZONE, Pfn(2), 1);
        let page = world.end_capture();
        world.check().unwrap();
        (page, world.extfrags().len())
    }

    #[test]
    fn a_block_is_taken_at_its_order_before_it_merges_further() {
        assert_eq!(captured("MM", Migratetype::Movable, 2), (Some(Pfn(0)), 0));
        assert_eq!(captured("MM", Migratetype::Movable, 1), (Some(Pfn(2)), 0));
        assert_eq!(captured("MM", Migratetype::Movable, 3), (None, 0));
    }

    #[test]
    fn unmovable_requests_keep_out_of_movable_blocks() {
        assert_eq!(captured("MM", Migratetype::Unmovable, 2), (None, 0));
        assert_eq!(captured("RM", Migratetype::Unmovable, 2), (Some(Pfn(0)), 1), "and elsewhere it is an event");
        assert_eq!(captured("CM", Migratetype::Movable, 2), (None, 0));
    }
}
