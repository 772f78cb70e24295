//! Deferral: has compaction of this zone failed too often lately? (11.8)
//!
//! After a failure, `2^shift` attempts at the failed order and above are refused; the shift grows with each failure, up
//! to 6, and falls to 0 when an allocation succeeds.

use super::ZoneCompaction;
use crate::event::{MmEvent, MmObserver};
use crate::state::{State, World};
use pagealloc::{Order, ZoneId};

/// `COMPACT_MAX_DEFER_SHIFT`: at most 64 attempts are refused in a row.
pub(crate) const MAX_DEFER_SHIFT: u32 = 6;

impl ZoneCompaction {
    /// A run at this order failed.
    fn defer(&mut self, order: Order) {
        self.considered = 0;
        self.defer_shift = (self.defer_shift + 1).min(MAX_DEFER_SHIFT);
        self.order_failed = self.order_failed.min(order);
    }

    /// Whether this attempt is refused; counts it.
    fn deferred(&mut self, order: Order) -> bool {
        if order < self.order_failed {
            return false;
        }
        let limit = 1 << self.defer_shift;
        self.considered = (self.considered + 1).min(limit);
        self.considered < limit
    }

    /// A run at this order succeeded; with `alloc_success` the allocation too.
    fn defer_reset(&mut self, order: Order, alloc_success: bool) {
        if alloc_success {
            self.considered = 0;
            self.defer_shift = 0;
        }
        if order >= self.order_failed {
            self.order_failed = order + 1;
        }
    }

    /// Where deferral is, in one number: it comes back to where it was.
    pub(crate) fn deferral(&self) -> u64 {
        u64::from(self.considered) << 32 | u64::from(self.defer_shift) << 8 | u64::from(self.order_failed)
    }

    /// Whether the longest deferral has just run out: the hints are then reset (11.4).
    pub(super) fn restarting(&self, order: Order) -> bool {
        order >= self.order_failed && self.defer_shift == MAX_DEFER_SHIFT && self.considered >= 1 << self.defer_shift
    }
}

impl<W: World> State<W> {
    /// compaction_deferred: whether to skip compaction of the zone this time.
    pub fn compaction_deferred(&mut self, zone: ZoneId, order: Order) -> bool {
        let deferred = self.zones[zone.index()].compaction.deferred(order);
        if deferred {
            self.trace_deferral(zone, order, |zone, order, order_failed, consider, limit| {
                MmEvent::CompactionDeferred { zone, order, order_failed, consider, limit }
            });
        }
        deferred
    }

    /// defer_compaction: a run failed.
    pub fn defer_compaction(&mut self, zone: ZoneId, order: Order) {
        self.zones[zone.index()].compaction.defer(order);
        self.trace_deferral(zone, order, |zone, order, order_failed, consider, limit| {
            MmEvent::CompactionDeferCompaction { zone, order, order_failed, consider, limit }
        });
    }

    /// compaction_defer_reset: a run succeeded (`alloc_success` false) or its request was served (true).
    pub fn compaction_defer_reset(&mut self, zone: ZoneId, order: Order, alloc_success: bool) {
        self.zones[zone.index()].compaction.defer_reset(order, alloc_success);
        self.trace_deferral(zone, order, |zone, order, order_failed, consider, limit| MmEvent::CompactionDeferReset {
            zone,
            order,
            order_failed,
            consider,
            limit,
        });
    }

    fn trace_deferral(
        &mut self,
        zone: ZoneId,
        order: Order,
        event: impl FnOnce(ZoneId, Order, Order, u32, u64) -> MmEvent,
    ) {
        let ZoneCompaction { order_failed, considered, defer_shift, .. } = self.zones[zone.index()].compaction;
        self.alloc.observer.mm(&event(zone, order, order_failed, considered, 1 << defer_shift));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(zone: &mut ZoneCompaction, order: Order) -> u32 {
        (0..).find(|_| !zone.deferred(order)).unwrap()
    }

    #[test]
    fn a_fresh_zone_defers_nothing() {
        assert!(!ZoneCompaction::default().deferred(9));
    }

    #[test]
    fn refusals_double_with_each_failure_up_to_63() {
        let mut zone = ZoneCompaction::default();
        for expected in [1, 3, 7, 15, 31, 63, 63] {
            zone.defer(9);
            assert_eq!(refused(&mut zone, 9), expected);
        }
    }

    #[test]
    fn once_the_limit_is_reached_further_attempts_pass_until_the_next_failure() {
        let mut zone = ZoneCompaction::default();
        zone.defer(9);
        assert_eq!(refused(&mut zone, 9), 1);
        assert!(!zone.deferred(9));
    }

    #[test]
    fn only_the_failed_order_and_above_are_deferred() {
        let mut zone = ZoneCompaction::default();
        zone.defer_reset(9, false);
        zone.defer(4);
        assert_eq!(zone.order_failed, 4);
        assert!(!zone.deferred(3));
        assert!(zone.deferred(4));
    }

    #[test]
    fn a_success_lifts_the_failed_order_and_an_allocation_clears_the_shift() {
        let mut zone = ZoneCompaction::default();
        zone.defer(4);
        zone.defer_reset(4, false);
        assert_eq!((zone.order_failed, zone.defer_shift), (5, 1));
        zone.defer_reset(4, true);
        assert_eq!((zone.order_failed, zone.defer_shift, zone.considered), (5, 0, 0));
    }

    #[test]
    fn restarting_is_when_the_longest_deferral_ran_out() {
        let mut zone = ZoneCompaction::default();
        (0..6).for_each(|_| zone.defer(9));
        assert!(!zone.restarting(9));
        assert_eq!(refused(&mut zone, 9), 63);
        assert!(zone.restarting(9));
    }
}
