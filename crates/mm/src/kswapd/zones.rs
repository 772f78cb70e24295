//! kswapd over zones that each have their own LRU lists, up to 4.7 (9.13).

use super::balance::Run;
use crate::env::TaskContext;
use crate::lru::LruvecId;
use crate::reclaim::{DEF_PRIORITY, SWAP_CLUSTER_MAX};
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::{KswapdRounds, SlabPressure};
use pagealloc::{AllocFlags, NodeId, Order, ZoneId, ZoneType};

/// A zone is hopeless once it was scanned this many times over without a page (9.13).
const HOPELESS_SCANS: u64 = 6;
/// A zone is left alone while it is above high by this part of itself, so that all are aged alike (9.13).
const BALANCE_GAP_RATIO: u64 = 100;

impl<W: World> Mm<W> {
    /// One pass at one priority: shrinks the zones up to the highest unbalanced one, lowest first, and compacts them if
    /// there is no kcompactd to do it. Whether some zone was scanned enough.
    pub(super) async fn shrink_unbalanced_zones(&self, run: &mut Run, task: &TaskContext) -> bool {
        let Some(end) = self.state.borrow_mut().highest_unbalanced(run) else { return true };
        let rounds = self.state.borrow().alloc.policy.kswapd.rounds;
        let needs_compaction = rounds == KswapdRounds::Single && self.state.borrow().needs_compaction(run, end);
        let (mut enough_scanned, mut attempted, before) = (false, 0, run.sc.nr_reclaimed);
        let zones: Vec<ZoneId> = self.state.borrow().managed_zones_up_to(run.node, end).collect();
        for zone in zones {
            if !self.state.borrow_mut().wants_shrinking(run, zone, end) {
                // Balanced with a margin counts as done, a hopeless zone does not.
                enough_scanned |= !self.state.borrow().zone_hopeless(zone);
                continue;
            }
            run.sc.nr_scanned = 0;
            run.sc.nr_to_reclaim = match rounds {
                KswapdRounds::Restarted => u64::MAX,
                KswapdRounds::Single => {
                    self.state.borrow().alloc.wmark(zone, AllocFlags::WMARK_HIGH).max(SWAP_CLUSTER_MAX.into())
                }
            };
            self.shrink_one_zone(run, zone, end, task).await;
            run.scanned += run.sc.nr_scanned;
            enough_scanned |= run.sc.nr_scanned >= run.sc.nr_to_reclaim;
            attempted = run.sc.nr_to_reclaim.saturating_add(attempted);
        }
        // Its order is given up before it compacts, once enough for the order was reclaimed (read in 3.11).
        let keeps_order = !self.state.borrow().leaves_rest_to_compaction(run, before);
        if needs_compaction && keeps_order && run.sc.nr_reclaimed - before > attempted {
            self.compact_pgdat(run.node, run.sc.order, task).await;
        }
        enough_scanned
    }

    async fn shrink_one_zone(&self, run: &mut Run, zone: ZoneId, end: ZoneType, task: &TaskContext) {
        let (kind, before) = (self.state.borrow().alloc.zone_info(zone).kind, run.sc.nr_reclaimed);
        let each = self.state.borrow().alloc.policy.reclaim.slab_pressure == SlabPressure::EachZone;
        self.shrink_lists(LruvecId::Zone(zone), each || kind == end, &mut run.sc, task).await;
        if run.sc.nr_reclaimed == before {
            let kswapd = &mut self.state.borrow_mut().nodes[run.node.index()].kswapd;
            kswapd.pages_scanned[kind as usize] += run.sc.nr_scanned;
        }
        let mut state = self.state.borrow_mut();
        state.nodes[run.node.index()].reclaim.all_writeback = false;
        if !state.zone_hopeless(zone) && state.zone_balanced(zone, 0, 0, end) {
            let reclaim = &mut state.nodes[run.node.index()].reclaim;
            (reclaim.congested, reclaim.all_dirty) = (false, false);
        }
    }
}

impl<W: World> State<W> {
    /// zone_balanced: at the high mark plus `gap`, and with enough free pages to compact for the order. 4.6 leaves the
    /// order itself to kcompactd, and asks for as many pages (own knowledge).
    pub(super) fn zone_balanced(&mut self, zone: ZoneId, order: Order, gap: u64, highest: ZoneType) -> bool {
        if self.alloc.policy.kswapd.kcompactd {
            return self.above_high_mark(zone, 0, gap + (1 << order), highest);
        }
        self.above_high_mark(zone, order, gap, highest) && (order == 0 || self.compactable(zone, order, highest))
    }

    /// zone_balanced as it decides whether to wake kswapd: 4.6, too, asks for the order then (own knowledge).
    pub(super) fn zone_balanced_for_caller(&mut self, zone: ZoneId, order: Order) -> bool {
        if self.alloc.policy.kswapd.kcompactd {
            return self.above_high_mark(zone, order, 0, ZoneType::Dma);
        }
        self.zone_balanced(zone, order, 0, ZoneType::Dma)
    }

    /// Whether the zone has a page of the order beyond its high mark and `gap` pages.
    fn above_high_mark(&self, zone: ZoneId, order: Order, gap: u64, highest: ZoneType) -> bool {
        let mark = self.alloc.wmark(zone, AllocFlags::WMARK_HIGH) + gap;
        self.alloc.watermark_ok(zone, order, mark, highest, AllocFlags::NONE, self.alloc.free_pages(zone))
    }

    fn compactable(&mut self, zone: ZoneId, order: Order, highest: ZoneType) -> bool {
        let mark = self.alloc.wmark(zone, AllocFlags::WMARK_LOW);
        self.compaction_suitable(zone, order, mark, highest)
    }

    /// pgdat_balanced of those kernels: every zone for order 0, else a quarter of the memory. Hopeless zones pass. Each zone is
    /// judged for requests that end at it (own knowledge): what it reserves against higher ones does not count.
    pub(super) fn zones_balanced(&mut self, node: NodeId, order: Order, highest: ZoneType) -> bool {
        let (mut managed, mut balanced) = (0, 0);
        for zone in self.managed_zones_up_to(node, highest) {
            let (pages, kind) = (self.alloc.zone_info(zone).managed, self.alloc.zone_info(zone).kind);
            managed += pages;
            if self.zone_hopeless(zone) || self.zone_balanced(zone, order, 0, kind) {
                balanced += pages;
            } else if order == 0 {
                return false;
            }
        }
        order == 0 || balanced >= managed / 4
    }

    fn highest_unbalanced(&mut self, run: &Run) -> Option<ZoneType> {
        let mut end = None;
        for zone in self.managed_zones_up_to(run.node, run.highest) {
            let skipped = run.sc.priority != DEF_PRIORITY && self.zone_hopeless(zone);
            if !skipped && !self.zone_balanced(zone, run.sc.order, 0, ZoneType::Dma) {
                end = Some(self.alloc.zone_info(zone).kind);
            }
        }
        end
    }

    /// No zone up to `end` has a block of the order at low, and nobody else will make one (9.13).
    pub(super) fn needs_compaction(&self, run: &Run, end: ZoneType) -> bool {
        let order = run.sc.order;
        let at_low = |zone| self.above_low_mark(zone, order, run.highest, AllocFlags::NONE);
        order > 0 && !self.alloc.policy.kswapd.kcompactd && !self.managed_zones_up_to(run.node, end).any(at_low)
    }

    fn wants_shrinking(&mut self, run: &Run, zone: ZoneId, end: ZoneType) -> bool {
        if run.sc.priority != DEF_PRIORITY && self.zone_hopeless(zone) {
            return false;
        }
        let by_compaction = run.sc.order > 0 && !self.alloc.policy.kswapd.kcompactd;
        let order = if by_compaction && self.compactable(zone, run.sc.order, end) { 0 } else { run.sc.order };
        !self.zone_balanced(zone, order, self.balance_margin(zone), end)
    }

    /// What kswapd reclaims above the high mark so that zones are aged alike.
    pub(crate) fn balance_margin(&self, zone: ZoneId) -> u64 {
        let low = self.alloc.wmark(zone, AllocFlags::WMARK_LOW);
        low.min(self.alloc.zone_info(zone).managed.div_ceil(BALANCE_GAP_RATIO))
    }

    /// Scanned too often in vain: not worth kswapd's time until a page of it is reclaimed. Kernels that count failures
    /// of whole runs instead never call a zone hopeless.
    fn zone_hopeless(&self, zone: ZoneId) -> bool {
        let info = self.alloc.zone_info(zone);
        let scanned = self.nodes[info.node.index()].kswapd.pages_scanned[info.kind as usize];
        scanned > 0 && scanned >= HOPELESS_SCANS * self.zone_reclaimable_pages(zone)
    }
}
