//! Fair zone allocation: zones take turns by batches, so that pages age alike in all of them (7.10, 7.11).

use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::{Order, ZoneId};
use crate::policy::FairZones;
use crate::request::Request;

impl<O: Observer> PageAllocator<O> {
    /// Charges an allocation to its zone's batch.
    pub(crate) fn use_fair_batch(&mut self, zone: ZoneId, order: Order) {
        let zone = &mut self.zones[zone.index()];
        zone.alloc_batch -= 1 << order;
        zone.fair_depleted |= zone.alloc_batch <= 0;
    }

    /// Fair zone batches reset by the slow path of 3.12, over the request's whole zonelist (7.10). Nothing in kernels
    /// without.
    pub fn reset_fair_batches(&mut self, request: &Request) {
        if self.policy.fair_zones != FairZones::AllNodes {
            return;
        }
        let Some(preferred) = self.preferred_zone(request) else { return };
        let local_only = self.policy.sysctl.zone_reclaim_mode != 0;
        let mut index = 0;
        while let Some(zone) = self.zonelist(request, index) {
            index += 1;
            if !local_only || self.zones[zone.index()].node == self.zones[preferred.index()].node {
                self.reset_fair_batch(zone);
            }
        }
    }

    /// 3.13 to 4.7: batches of the preferred zone's node, up to the preferred zone (7.11).
    pub(crate) fn reset_local_fair_batches(&mut self, request: &Request) {
        let Some(preferred) = self.preferred_zone(request) else { return };
        for zone in self.zones_of(self.zones[preferred.index()].node) {
            if zone <= preferred.0 {
                self.reset_fair_batch(ZoneId(zone));
            }
        }
    }

    fn reset_fair_batch(&mut self, zone: ZoneId) {
        let zone = &mut self.zones[zone.index()];
        zone.alloc_batch = zone.full_fair_batch();
        zone.fair_depleted = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::FairZones;
    use crate::world::*;
    use crate::*;

    #[test]
    fn a_batch_is_what_lies_between_low_and_high() {
        let mut world = world(256, Policy { fair_zones: FairZones::AllNodes, ..linux_6_18() });
        for (low, high, batch) in [(20, 32, 12), (20, 20, 0), (32, 20, -12)] {
            world.set_watermarks(ZONE, 10, low, high, 40);
            assert_eq!(world.fair_batch(ZONE), batch);
            let page = world.get_page_from_freelist(&request(0, Migratetype::Movable), AllocFlags::WMARK_MIN).unwrap();
            assert_eq!(world.fair_batch(ZONE), batch - 1);
            world.reset_fair_batches(&request(0, Migratetype::Movable));
            assert_eq!(world.fair_batch(ZONE), batch);
            world.free(page, CPU);
        }
    }

    /// 7.10: where nodes reclaim for themselves, batches of other nodes stay used up.
    #[test]
    fn zone_reclaim_mode_resets_batches_of_the_own_node_only() {
        for (zone_reclaim_mode, batches) in [(0, [10, 10]), (1, [10, 9])] {
            let mut policy = Policy { fair_zones: FairZones::AllNodes, ..linux_6_18() };
            policy.sysctl.zone_reclaim_mode = zone_reclaim_mode;
            let mut world = zones(&[(0, ZoneType::Normal), (1, ZoneType::Normal)], policy);
            for zone in [0, 1].map(ZoneId) {
                world.set_watermarks(zone, 0, 10, 20, 20);
                world.use_fair_batch(zone, 0);
            }
            world.reset_fair_batches(&request(0, Migratetype::Movable));
            assert_eq!([0, 1].map(|zone| world.fair_batch(ZoneId(zone))), batches);
        }
    }
}
