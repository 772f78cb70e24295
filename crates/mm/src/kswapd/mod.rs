//! kswapd: who wakes it, what it keeps balanced, when it sleeps (chapter 9).
//!
//! One daemon a node. A request that finds no memory records what it wants in [`Kswapd`] and wakes the daemon
//! (`wake`); the daemon reclaims until the node is balanced (`balance`; `zones` for kernels with LRU lists per
//! zone, `rounds` for those up to 3.10), hands over to kcompactd, and sleeps in two stages (`daemon`).

mod balance;
mod daemon;
pub(crate) mod requests;
mod rounds;
mod wake;
mod zones;

pub use requests::Kswapd;

use crate::reclaim::MAX_RECLAIM_RETRIES;
use crate::state::{State, World};
use core::ops::Range;
use pagealloc::policy::{BlockWatermark, DefragRules, FailuresEnd, LruRule};
use pagealloc::{AllocFlags, NR_ZONE_TYPES, NodeId, Order, ZoneId, ZoneType};

impl<W: World> State<W> {
    /// Whether the node is balanced for kswapd (9.3): some zone that the request may use is at its high mark.
    /// Kernels with LRU lists per zone want every zone, or a quarter of the node's memory (9.13).
    pub fn pgdat_balanced(&mut self, node: NodeId, order: Order, highest: ZoneType) -> bool {
        if self.alloc.policy.reclaim.lru == LruRule::PerZone {
            return self.zones_balanced(node, order, highest);
        }
        let mut any_managed = false;
        for zone in self.managed_zones_up_to(node, highest) {
            any_managed = true;
            if self.high_mark_met(zone, order, highest) {
                return true;
            }
        }
        !any_managed
    }

    /// Whether the node is balanced enough for kswapd to sleep (9.9): from 4.8 to 4.11 that takes every zone, where a run of it ends with
    /// the first.
    pub(super) fn may_sleep(&mut self, node: NodeId, order: Order, highest: ZoneType) -> bool {
        if !self.alloc.policy.kswapd.sleeps_when_all_balanced {
            return self.pgdat_balanced(node, order, highest);
        }
        self.managed_zones_up_to(node, highest).all(|zone| self.high_mark_met(zone, order, highest))
    }

    /// The order test at the high mark; under defrag_mode in whole free blocks (13.3 f).
    fn high_mark_met(&self, zone: ZoneId, order: Order, highest: ZoneType) -> bool {
        let alloc = &self.alloc;
        let in_blocks = self.defrag().is_some_and(|rules| by_blocks(rules, order));
        let free = if in_blocks { alloc.free_pages_blocks(zone) } else { alloc.free_pages(zone) };
        let mark = alloc.wmark(zone, AllocFlags::WMARK_HIGH);
        alloc.watermark_ok(zone, order, mark, highest, AllocFlags::NONE, free)
    }

    /// Managed zones of a node up to a type, ascending.
    fn managed_zones_up_to(&self, node: NodeId, highest: ZoneType) -> impl Iterator<Item = ZoneId> + use<W> {
        let Range { start, end } = self.alloc.zones_of(node);
        let mut mask = 0u64;
        for zone in start..end {
            let info = self.alloc.zone_info(ZoneId(zone));
            if info.managed > 0 && info.kind <= highest {
                mask |= 1 << (zone - start);
            }
        }
        (start..end).filter(move |zone| mask >> (zone - start) & 1 == 1).map(ZoneId)
    }

    /// Fruitless runs in a row (9.10).
    pub fn kswapd_failures(&self, node: NodeId) -> u32 {
        let failures = self.nodes[node.index()].kswapd.failures;
        if failures >= MAX_RECLAIM_RETRIES && self.freed_since_given_up(node) { 0 } else { failures }
    }

    /// One more of them. Once that is too many, only what is freed from then on ends the row.
    pub(crate) fn note_kswapd_failure(&mut self, node: NodeId) {
        let failures = self.kswapd_failures(node).saturating_add(1);
        self.nodes[node.index()].kswapd.failures = failures;
        if failures == MAX_RECLAIM_RETRIES {
            self.alloc.zones_of(node).map(ZoneId).for_each(|zone| self.alloc.forget_high_again(zone));
        }
    }

    /// Whether frees have brought a zone above its high mark since kswapd gave the node up: its memory may be reclaimable again, and nobody
    /// else may come to reclaim there while other nodes serve requests.
    fn freed_since_given_up(&self, node: NodeId) -> bool {
        // The kernel asks for the next memory node; the last one has none.
        self.alloc.policy.kswapd.frees_end_failures
            && node.index() + 1 < self.nodes.len()
            && self.alloc.zones_of(node).any(|zone| self.alloc.is_high_again(ZoneId(zone)))
    }

    /// Reclaim for an order in zones up to this one made progress: failures start from 0 again, and no zone is hopeless.
    pub fn reset_kswapd_failures(&mut self, node: NodeId, order: Order, highest: ZoneType) {
        let rule = self.alloc.policy.kswapd.failures_end;
        if rule == FailuresEnd::WhenBalanced && !self.pgdat_balanced(node, order, highest) {
            return;
        }
        let kswapd = &mut self.nodes[node.index()].kswapd;
        kswapd.failures = 0;
        kswapd.pages_scanned = [0; NR_ZONE_TYPES];
    }

    /// Whether kswapd has given the node up (9.10).
    fn kswapd_hopeless(&self, node: NodeId) -> bool {
        self.alloc.policy.kswapd.failures && self.kswapd_failures(node) >= MAX_RECLAIM_RETRIES
    }
}

fn by_blocks(rules: &DefragRules, order: Order) -> bool {
    match rules.kswapd_block_watermark {
        BlockWatermark::Off => false,
        BlockWatermark::Always => true,
        BlockWatermark::WhileHighOrder => order > 0,
    }
}
