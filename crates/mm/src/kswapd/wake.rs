//! When is kswapd woken? (9.2, 9.11, 9.12)

use crate::env::{Env, Queue};
use crate::event::{MmEvent, MmObserver};
use crate::state::{Mm, State, World};
use pagealloc::policy::KswapdWake;
use pagealloc::{AllocFlags, Gfp, NodeId, Order, ZoneId, ZoneType};

/// Whom a request for background reclaim concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    /// Nobody: memory is there, or kswapd is at it already.
    Nobody,
    /// kswapd, who was asleep.
    Kswapd,
    /// Only kcompactd: reclaim is not what is missing.
    Kcompactd,
}

impl<W: World> Mm<W> {
    /// wakeup_kswapd (9.2): asks the zone's node for `order` pages in zones up to `highest`.
    pub fn wakeup_kswapd(&self, zone: ZoneId, gfp: Gfp, order: Order, highest: ZoneType) {
        let (call, node) = {
            let mut state = self.state.borrow_mut();
            (state.call_kswapd(zone, gfp, order, highest), state.alloc.zone_info(zone).node)
        };
        match call {
            Call::Nobody => {}
            Call::Kswapd => self.env.wake(Queue::Kswapd(node)),
            Call::Kcompactd => self.wakeup_kcompactd(node, order, highest),
        }
    }
}

impl<W: World> State<W> {
    /// Wakes kswapd at order 0 for each zone whose boost the last attempt raised (7.8).
    #[inline]
    pub(crate) fn wake_for_boosts(&mut self, env: &W::Env) {
        let boosted = self.alloc.take_boost_wakeups();
        if boosted != 0 {
            self.wake_boosted_zones(boosted, env);
        }
    }

    #[cold]
    fn wake_boosted_zones(&mut self, mut boosted: u64, env: &W::Env) {
        while boosted != 0 {
            let zone = ZoneId(boosted.trailing_zeros() as u8);
            boosted &= boosted - 1;
            let info = self.alloc.zone_info(zone);
            // For order 0 there is nothing that kcompactd alone could do.
            if self.call_kswapd(zone, Gfp::NONE, 0, info.kind) == Call::Kswapd {
                let seen = self.alloc.boost_at_wakeup(zone);
                if let Some(boosts) = &mut self.nodes[info.node.index()].kswapd.boosts_at_wakeup {
                    boosts[info.kind as usize] = seen;
                }
                env.wake(Queue::Kswapd(info.node));
            }
        }
    }

    /// Records the request, and decides who is to be woken for it.
    fn call_kswapd(&mut self, zone: ZoneId, gfp: Gfp, order: Order, highest: ZoneType) -> Call {
        let info = self.alloc.zone_info(zone);
        if info.managed == 0 {
            return Call::Nobody;
        }
        let rule = self.alloc.policy.kswapd.wake;
        self.record_request(info.node, order, highest);
        if !self.nodes[info.node.index()].kswapd.sleeping {
            return Call::Nobody;
        }
        let needless = match rule {
            KswapdWake::ZoneBelowLow => self.low_mark_met(zone, order),
            KswapdWake::ZoneNotBalanced => self.zone_balanced_for_caller(zone, order),
            KswapdWake::NoZoneBalanced => self.pgdat_balanced(info.node, order, highest),
            KswapdWake::NoZoneBalancedOrKcompactd => {
                self.kswapd_hopeless(info.node) || self.pgdat_balanced(info.node, order, highest)
            }
            KswapdWake::NoZoneBalancedOrBoosted => {
                self.kswapd_hopeless(info.node)
                    || self.pgdat_balanced(info.node, order, highest) && !self.boosted(info.node, highest)
            }
        };
        if !needless {
            self.rouse_kswapd(info.node);
            self.alloc.observer.mm(&MmEvent::VmscanWakeupKswapd { nid: info.node, order, gfp_flags: gfp });
            return Call::Kswapd;
        }
        let may_compact = matches!(rule, KswapdWake::NoZoneBalancedOrKcompactd | KswapdWake::NoZoneBalancedOrBoosted);
        // A request that can reclaim compacts for itself.
        if may_compact && !gfp.contains(Gfp::DIRECT_RECLAIM) { Call::Kcompactd } else { Call::Nobody }
    }

    /// Largest order, highest zone. Up to 4.7 the zone was tied to the largest order, and the *lowest* won (9.14).
    fn record_request(&mut self, node: NodeId, order: Order, highest: ZoneType) {
        let rule = self.alloc.policy.kswapd.wake;
        let kswapd = &mut self.nodes[node.index()].kswapd;
        match rule {
            KswapdWake::ZoneBelowLow | KswapdWake::ZoneNotBalanced => {
                if kswapd.order < order {
                    kswapd.order = order;
                    kswapd.highest = Some(kswapd.highest.map_or(highest, |zone| zone.min(highest)));
                }
            }
            _ => {
                kswapd.order = kswapd.order.max(order);
                kswapd.highest = kswapd.highest.max(Some(highest));
            }
        }
    }

    /// The test of 3.11, at the mark that the allocator just failed at: a page freed meanwhile, and this node's kswapd
    /// misses the aging cycle that the others begin (9.11).
    fn low_mark_met(&self, zone: ZoneId, order: Order) -> bool {
        let mark = self.alloc.wmark(zone, AllocFlags::WMARK_LOW);
        self.alloc.watermark_ok(zone, order, mark, ZoneType::Dma, AllocFlags::NONE, self.alloc.free_pages(zone))
    }

    fn boosted(&self, node: NodeId, highest: ZoneType) -> bool {
        self.managed_zones_up_to(node, highest).any(|zone| self.alloc.boost(zone) > 0)
    }

    /// Wakes kswapd without asking for anything, as the fragmentation stall does (7.9): whether it slept. The caller
    /// wakes [`Queue::Kswapd`].
    pub(crate) fn kick_kswapd(&mut self, node: NodeId) -> bool {
        let slept = self.nodes[node.index()].kswapd.sleeping;
        if slept {
            self.rouse_kswapd(node);
        }
        slept
    }

    fn rouse_kswapd(&mut self, node: NodeId) {
        let seen = self.alloc.policy.kswapd.woken_amid_refill.then(|| self.zone_boosts(node, ZoneType::Movable));
        self.nodes[node.index()].kswapd.boosts_at_wakeup = seen;
        let kswapd = &mut self.nodes[node.index()].kswapd;
        kswapd.sleeping = false;
        kswapd.woken = true;
        self.alloc.set_kswapd_awake(node, true);
    }
}
