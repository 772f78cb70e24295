//! Watermark boost: fragmentation raises the marks for a while, so that kswapd frees ahead (4.9).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::ZoneId;
use crate::policy::Boost;

/// The 4.20 series boosts by this many blocks when it is about to stall: 1 + 2 * PAGE_ALLOC_COSTLY_ORDER (7.9).
const FAST_BOOST_BLOCKS: u64 = 7;

impl<O: Observer> PageAllocator<O> {
    /// Brings the boost of a single fallback to scale, on a machine whose per-CPU lists are (`boost_step`).
    pub fn set_boost_step(&mut self, pages: u64) {
        self.boost_step = pages.max(1);
    }

    /// Raises the boost by a pageblock because of a fallback, and asks for kswapd if the request may (4.6.2, 7.8).
    pub(crate) fn boost_for_fallback(&mut self, zone: ZoneId, flags: AllocFlags) {
        let before = self.boost(zone);
        if self.raise_boost(zone, self.geometry.pageblock_pages().into()) {
            self.ask_for_kswapd(zone, flags, before + self.boost_step);
        }
    }

    /// The same for a fallback that is refused, which ends its refill: it stands for itself alone.
    pub(crate) fn boost_for_refused_fallback(&mut self, zone: ZoneId, flags: AllocFlags) {
        if self.raise_boost(zone, self.boost_step) {
            self.ask_for_kswapd(zone, flags, self.boost(zone));
        }
    }

    /// `boost_by_then`: the zone's boost when kswapd is woken, if it is for this fallback.
    fn ask_for_kswapd(&mut self, zone: ZoneId, flags: AllocFlags, boost_by_then: u64) {
        let first = self.boost_wakeups & 1 << zone.0 == 0;
        if !flags.contains(AllocFlags::KSWAPD) {
            return;
        }
        self.boost_wakeups |= 1 << zone.0;
        if first {
            let lists = &mut self.zones[zone.index()];
            lists.boost_at_wakeup = boost_by_then.min(lists.boost);
        }
    }

    /// The fast boost of the 4.20 series' stall (7.9).
    pub fn fast_boost(&mut self, zone: ZoneId) {
        let fast = self.policy.fragment_stall.is_some_and(|stall| stall.fast_boost);
        self.raise_boost(zone, if fast { FAST_BOOST_BLOCKS * self.boost_step } else { self.boost_step });
    }

    /// Raises the boost by some pages up to its cap (4.9); whether boosting applies to the zone.
    fn raise_boost(&mut self, zone: ZoneId, pages: u64) -> bool {
        let block_pages = u64::from(self.geometry.pageblock_pages());
        let factor = u64::from(self.policy.sysctl.watermark_boost_factor);
        let zone = &mut self.zones[zone.index()];
        let high = zone.marks[AllocFlags::WMARK_HIGH.wmark()];
        let (base, guarded) = match self.policy.boost {
            Boost::Never => return false,
            // The cap grows with what it caps (4.9).
            Boost::EveryFallbackBoostedCap => (high + zone.boost, false),
            Boost::EveryFallback => (high, false),
            Boost::EveryFallbackGuarded | Boost::ClaimAttempt => (high, true),
        };
        let too_small = guarded && zone.managed < 4 * block_pages;
        let cap = base * factor / 10_000;
        if factor == 0 || too_small || cap == 0 {
            return false;
        }
        zone.boost = (zone.boost + pages).min(cap.max(block_pages));
        true
    }

    /// Zones whose boost was raised by a request that may wake kswapd (7.8), a bit each by number; taken and cleared.
    /// Their nodes' kswapds are to be woken at order 0 with the zone's own type as highest.
    #[inline]
    pub fn take_boost_wakeups(&mut self) -> u64 {
        core::mem::take(&mut self.boost_wakeups)
    }

    /// The zone's boost when the last attempt that raised it had done so for the first time.
    pub fn boost_at_wakeup(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].boost_at_wakeup
    }

    /// Current boost, pages.
    pub fn boost(&self, zone: ZoneId) -> u64 {
        self.zones[zone.index()].boost
    }

    /// Lowers the boost after kswapd's run (9.7).
    pub fn reduce_boost(&mut self, zone: ZoneId, by: u64) {
        let boost = &mut self.zones[zone.index()].boost;
        *boost = boost.saturating_sub(by);
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{Boost, FragmentStall, Sysctl};
    use crate::world::*;
    use crate::*;

    fn boosts(boost: Boost, factor: u32, pages: u32) -> [u64; 4] {
        let sysctl = Sysctl { watermark_boost_factor: factor, ..Sysctl::default() };
        let mut world = world(pages, Policy { boost, sysctl, ..linux_6_18() });
        world.set_watermarks(ZONE, 10, 20, 30, 40);
        core::array::from_fn(|_| {
            world.boost_for_fallback(ZONE, AllocFlags::NONE);
            assert_eq!(world.take_boost_wakeups(), 0, "without KSWAPD nobody is woken");
            world.boost(ZONE)
        })
    }

    #[test]
    fn the_cap_is_150_percent_of_the_raw_high_mark() {
        assert_eq!(boosts(Boost::ClaimAttempt, 15000, 640), [16, 32, 45, 45]);
        assert_eq!(boosts(Boost::EveryFallback, 15000, 32), [16, 32, 45, 45]);
        assert_eq!(boosts(Boost::ClaimAttempt, 100, 640), [0; 4], "a cap of 0 disables");
        assert_eq!(boosts(Boost::ClaimAttempt, 1000, 640), [16; 4], "but a block is always allowed");
    }

    #[test]
    fn the_cap_of_the_series_never_binds() {
        assert_eq!(boosts(Boost::EveryFallbackBoostedCap, 15000, 640), [16, 32, 48, 64]);
    }

    #[test]
    fn tiny_zones_and_factor_0_and_old_kernels_never_boost() {
        assert_eq!(boosts(Boost::ClaimAttempt, 15000, 63), [0; 4]);
        assert_eq!(boosts(Boost::ClaimAttempt, 0, 640), [0; 4]);
        assert_eq!(boosts(Boost::Never, 15000, 640), [0; 4]);
    }

    #[test]
    fn boost_lifts_all_marks_and_is_taken_back() {
        let mut world = world(640, linux_6_18());
        world.set_watermarks(ZONE, 10, 20, 30, 40);
        world.boost_for_fallback(ZONE, AllocFlags::NONE);
        assert_eq!((world.wmark(ZONE, AllocFlags::WMARK_MIN), world.raw_wmark(ZONE, AllocFlags::WMARK_MIN)), (26, 10));
        world.reduce_boost(ZONE, 100);
        assert_eq!(world.boost(ZONE), 0);
    }

    #[test]
    fn the_stall_boosts_by_seven_blocks() {
        let fragment_stall = Some(FragmentStall { timeout_hz_divisor: 50, fast_boost: true });
        let mut world = world(640, Policy { fragment_stall, boost: Boost::EveryFallbackBoostedCap, ..linux_6_18() });
        world.set_watermarks(ZONE, 0, 0, 1000, 1000);
        world.fast_boost(ZONE);
        assert_eq!(world.boost(ZONE), 7 * 16);
    }

    #[test]
    fn at_scale_a_fallback_of_a_refill_stands_for_several_and_a_stall_for_itself() {
        let fragment_stall = Some(FragmentStall { timeout_hz_divisor: 50, fast_boost: true });
        let mut world = world(640, Policy { fragment_stall, boost: Boost::EveryFallbackBoostedCap, ..linux_6_18() });
        world.set_watermarks(ZONE, 0, 0, 1000, 1000);
        world.set_boost_step(4);
        world.boost_for_fallback(ZONE, AllocFlags::KSWAPD);
        assert_eq!((world.boost(ZONE), world.boost_at_wakeup(ZONE)), (16, 4), "kswapd begins with the refill's first");
        world.boost_for_refused_fallback(ZONE, AllocFlags::KSWAPD);
        world.fast_boost(ZONE);
        assert_eq!(world.boost(ZONE), 16 + 4 + 7 * 4);
    }

    #[test]
    fn a_wakeup_knows_the_boost_of_its_moment() {
        let mut world = world(1024, Policy { boost: Boost::EveryFallbackBoostedCap, ..linux_6_18() });
        world.set_watermarks(ZONE, 10, 20, 30, 40);
        (0..3).for_each(|_| world.boost_for_fallback(ZONE, AllocFlags::KSWAPD));
        assert_eq!((world.take_boost_wakeups(), world.boost_at_wakeup(ZONE), world.boost(ZONE)), (1, 16, 48));
        world.boost_for_fallback(ZONE, AllocFlags::KSWAPD);
        assert_eq!(world.boost_at_wakeup(ZONE), 64, "another attempt");
    }

    /// The cap (4.9) holds for what kswapd is told as well: 45 pages, half again as much as the high mark.
    #[test]
    fn a_wakeup_knows_no_more_than_the_cap() {
        let mut world = world(640, linux_6_18());
        world.set_watermarks(ZONE, 10, 20, 30, 40);
        (0..2).for_each(|_| world.boost_for_fallback(ZONE, AllocFlags::NONE));
        world.boost_for_fallback(ZONE, AllocFlags::KSWAPD);
        assert_eq!((world.boost_at_wakeup(ZONE), world.boost(ZONE)), (45, 45), "not 32 and a block");
    }

    #[test]
    fn at_no_scale_does_a_fallback_boost_by_nothing() {
        let mut world = world(640, linux_6_18());
        world.set_watermarks(ZONE, 10, 20, 30, 40);
        world.set_boost_step(0);
        world.boost_for_refused_fallback(ZONE, AllocFlags::NONE);
        assert_eq!(world.boost(ZONE), 1);
    }
}
