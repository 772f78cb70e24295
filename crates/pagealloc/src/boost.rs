//! Watermark boost: fragmentation raises the marks for a while, so that kswapd frees ahead (4.9).

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::Observer;
use crate::ids::ZoneId;
use crate::policy::Boost;

/// The 4.20 series boosts by this many blocks when it is about to stall: 1 + 2 * PAGE_ALLOC_COSTLY_ORDER (7.9).
const FAST_BOOST_BLOCKS: u64 = 7;

impl<O: Observer> PageAllocator<O> {
    /// Raises the boost by a pageblock because of a fallback, and asks for kswapd if the request may (4.6.2, 7.8).
    pub(crate) fn boost_for_fallback(&mut self, zone: ZoneId, flags: AllocFlags) {
        if self.raise_boost(zone, 1) && flags.contains(AllocFlags::KSWAPD) {
            self.boost_wakeups |= 1 << zone.0;
        }
    }

    /// The fast boost of the 4.20 series' stall (7.9).
    pub fn fast_boost(&mut self, zone: ZoneId) {
        let fast = self.policy.fragment_stall.is_some_and(|stall| stall.fast_boost);
        self.raise_boost(zone, if fast { FAST_BOOST_BLOCKS } else { 1 });
    }

    /// Raises the boost by some pageblocks up to its cap (4.9); whether boosting applies to the zone.
    fn raise_boost(&mut self, zone: ZoneId, blocks: u64) -> bool {
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
        zone.boost = (zone.boost + blocks * block_pages).min(cap.max(block_pages));
        true
    }

    /// Zones whose boost was raised by a request that may wake kswapd (7.8), a bit each by number; taken and cleared.
    /// Their nodes' kswapds are to be woken at order 0 with the zone's own type as highest.
    #[inline]
    pub fn take_boost_wakeups(&mut self) -> u64 {
        core::mem::take(&mut self.boost_wakeups)
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
