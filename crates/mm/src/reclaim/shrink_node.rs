//! What is one pass over a node? (10.6, 10.9, 10.13)

use super::scan_balance::{Balance, Quotas};
use super::slab::LruShare;
use super::throttle_reason::ThrottleReason;
use super::{DEF_PRIORITY, PassTotals, SWAP_CLUSTER_MAX, ScanControl};
use crate::compaction::{CompactMode, CompactResult, Compactor};
use crate::env::TaskContext;
use crate::lru::{LruList, LruvecId};
use crate::lru_kind::LruKind;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::{
    CompactionReady, ContinueReclaim, DirtyPages, ListsJudged, LruRule, NofsCompaction, SlabPressure,
};
use pagealloc::{AllocFlags, Gfp, NodeId, Order, PAGE_ALLOC_COSTLY_ORDER, ZoneId, ZoneType};

/// A pass over a set of lists: what was decided as it began, and what it has come to.
struct Pass {
    id: LruvecId,
    balance: Balance,
    totals: PassTotals,
}

impl<W: World> Mm<W> {
    /// Shrinks a node's LRU lists and slab once (10.6). Where lists are per zone, reclaim goes zone by zone: those of the
    /// highest zone up to the reclaim index are shrunk.
    pub async fn shrink_node(&self, node: NodeId, sc: &mut ScanControl, task: &TaskContext) {
        let whole = self.state.borrow().lru_gen.filter(|rules| rules.node_at_once);
        if let Some(rules) = whole {
            return self.shrink_node_generations(node, rules, sc, task).await;
        }
        let id = self.state.borrow().lruvecs_up_to(node, sc.reclaim_idx).pop();
        if let Some(id) = id {
            self.shrink_lists(id, true, sc, task).await;
        }
    }

    /// Shrinks one set of lists, and the node's slab if asked to, as often as reclaim for compaction wants.
    pub(crate) async fn shrink_lists(&self, id: LruvecId, slab: bool, sc: &mut ScanControl, task: &TaskContext) {
        let node = self.state.borrow().node_of(id);
        let mut progress = false;
        let cache_trim_mode = loop {
            let (before, scanned) = (sc.nr_reclaimed, sc.nr_scanned);
            self.state.borrow_mut().take_costs(id);
            let balance = self.state.borrow().prepare_scan(id, sc);
            let mut pass = Pass { id, balance, totals: PassTotals::default() };
            self.shrink_lruvec(&mut pass, sc, task).await;
            if slab && !sc.spare_slab {
                let share = self.state.borrow().lru_share(id, sc, sc.nr_scanned - scanned, pass.totals.only);
                self.shrink_slab(node, share, sc, task).await;
            }
            self.note_node_state(node, sc, &pass.totals, task).await;
            let reclaimed = sc.nr_reclaimed - before;
            progress |= reclaimed > 0;
            let scanned = sc.nr_scanned - scanned;
            if !self.state.borrow_mut().should_continue_reclaim(id, reclaimed, scanned, sc) {
                break pass.balance.cache_trim_mode;
            }
        };
        if progress {
            self.state.borrow_mut().reset_kswapd_failures(node, sc.order, sc.reclaim_idx);
        } else if cache_trim_mode {
            sc.cache_trim_mode_failed = true;
        }
    }

    /// shrink_lruvec (10.9).
    async fn shrink_lruvec(&self, pass: &mut Pass, sc: &mut ScanControl, task: &TaskContext) {
        let id = pass.id;
        let (generations, node) = (self.state.borrow().lru_gen, self.state.borrow().node_of(id));
        if let Some(rules) = generations {
            return self.shrink_generations(node, rules, sc, task).await;
        }
        let (counts, only) = self.state.borrow_mut().scan_counts(id, sc, &pass.balance);
        pass.totals.only = only;
        let pass_end = self.state.borrow().alloc.policy.reclaim.pass_end;
        let mut quotas = Quotas::new(counts, sc, pass_end);
        let mut reclaimed = 0;
        while quotas.remain() {
            for list in LruList::EVICTABLE {
                let bite = quotas.take(list, SWAP_CLUSTER_MAX);
                if bite > 0 {
                    reclaimed += self.shrink_list(pass, list, bite, sc, task).await;
                }
            }
            if reclaimed >= sc.nr_to_reclaim && quotas.reached_target() {
                break;
            }
        }
        sc.nr_reclaimed += reclaimed;
        self.age_anon(id, sc, task).await;
    }

    /// Takes a bite of one list: base pages reclaimed.
    async fn shrink_list(
        &self,
        pass: &mut Pass,
        list: LruList,
        bite: u32,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) -> u64 {
        let (id, kind) = (pass.id, list.kind());
        if !list.is_active() {
            return self.shrink_inactive(id, list, bite, sc, &mut pass.totals, task).await;
        }
        let may_deactivate = match self.state.borrow().alloc.policy.reclaim.lists_judged {
            ListsJudged::EachBatch => {
                let state = self.state.borrow();
                (kind == LruKind::File || state.can_age_anon()) && state.may_deactivate(id, kind, sc)
            }
            ListsJudged::EachPass => pass.balance.may_deactivate[kind],
        };
        if may_deactivate {
            self.shrink_active(id, list, bite, sc, task).await;
        } else {
            sc.skipped_deactivate = true;
        }
        0
    }

    /// What a pass says about the node's dirty pages, and the throttling that follows (10.6); up to 4.10 each batch says it.
    async fn note_node_state(&self, node: NodeId, sc: &ScanControl, totals: &PassTotals, task: &TaskContext) {
        if self.state.borrow().alloc.policy.reclaim.dirty_pages != DirtyPages::MoveAway {
            return;
        }
        if !sc.kswapd {
            if self.state.borrow().nodes[node.index()].reclaim.congested {
                self.reclaim_throttle(node, ThrottleReason::Congested, task).await;
            }
            return;
        }
        self.state.borrow_mut().note_dirty(node, totals);
        if totals.immediate > 0 {
            self.reclaim_throttle(node, ThrottleReason::Writeback, task).await;
        }
        let congested = totals.dirty > 0 && totals.dirty == totals.congested;
        self.state.borrow_mut().nodes[node.index()].reclaim.congested |= congested;
    }
}

impl<W: World> State<W> {
    fn note_dirty(&mut self, node: NodeId, totals: &PassTotals) {
        let empty_is_dirty = self.alloc.policy.reclaim.empty_pass_is_dirty;
        let reclaim = &mut self.nodes[node.index()].reclaim;
        reclaim.all_writeback |= totals.writeback > 0 && totals.writeback == totals.taken;
        reclaim.all_dirty |=
            (empty_is_dirty || totals.unqueued_dirty > 0) && totals.unqueued_dirty == totals.file_taken;
    }

    /// The sets of lists that reclaim of a node's zones up to `highest` works on, ascending.
    pub(crate) fn lruvecs_up_to(&self, node: NodeId, highest: ZoneType) -> Vec<LruvecId> {
        match self.alloc.policy.reclaim.lru {
            LruRule::PerNode => alloc::vec![LruvecId::Node(node)],
            LruRule::PerZone => self.node_zones(node, highest).map(LruvecId::Zone).collect(),
        }
    }

    /// Zones whose pages are on these lists.
    pub(crate) fn zones_under(&self, id: LruvecId) -> impl Iterator<Item = ZoneId> + use<W> {
        match id {
            LruvecId::Zone(zone) => zone.0..zone.0 + 1,
            LruvecId::Node(node) => self.alloc.zones_of(node),
        }
        .map(ZoneId)
    }

    /// The share of the lists' pages that a pass has scanned.
    fn lru_share(&self, id: LruvecId, sc: &ScanControl, scanned: u64, only: Option<LruKind>) -> LruShare {
        let anon = sc.may_swap && self.can_reclaim_anon();
        let lists = match self.alloc.policy.reclaim.slab_pressure {
            SlabPressure::EachZone => self.lruvecs_up_to(self.node_of(id), sc.reclaim_idx),
            _ => alloc::vec![id],
        };
        // From 3.19 on a kind that was not scanned does not count (read in 4.6.2 and 4.9).
        let only = only.filter(|_| self.alloc.policy.reclaim.slab_pressure != SlabPressure::EachZone);
        let counts = |list: &LruList| match only {
            Some(kind) => kind == list.kind(),
            None => anon || list.kind() == LruKind::File,
        };
        let eligible = || LruList::EVICTABLE.into_iter().filter(counts);
        let on = |id| eligible().map(|list| self.lru_size(id, list, sc.reclaim_idx)).sum::<u64>();
        let pages = lists.into_iter().map(on).sum();
        // A pass that scanned nothing counts as one that scanned a cluster.
        LruShare { scanned: if scanned == 0 { SWAP_CLUSTER_MAX.into() } else { scanned }, pages }
    }

    /// Whether reclaim looks after compaction for a request with this mask.
    fn works_for_compaction(&self, gfp: Gfp) -> bool {
        !self.alloc.policy.reclaim.compacts_by_mask || self.compaction_allowed(gfp)
    }

    /// Whether the mask permits direct compaction: I/O, and filesystem calls too up to 4.9 (8.1.0).
    pub(crate) fn compaction_allowed(&self, gfp: Gfp) -> bool {
        let needed = match self.alloc.policy.compaction.nofs {
            NofsCompaction::Refuse => Gfp::IO | Gfp::FS,
            NofsCompaction::SkipMappings => Gfp::IO,
        };
        gfp.contains(needed)
    }

    /// Reclaim works for compaction: it frees more than the target while that makes compaction possible (10.13).
    fn in_reclaim_compaction(&self, sc: &ScanControl) -> bool {
        self.works_for_compaction(sc.gfp)
            && sc.order > 0
            && (sc.order > PAGE_ALLOC_COSTLY_ORDER || sc.priority < DEF_PRIORITY - 2)
    }

    /// should_continue_reclaim (10.13), after a pass that has scanned and reclaimed so many pages.
    fn should_continue_reclaim(&mut self, id: LruvecId, reclaimed: u64, scanned: u64, sc: &ScanControl) -> bool {
        if !self.in_reclaim_compaction(sc) {
            return false;
        }
        let gap = self.alloc.policy.compaction.gap.pages(sc.order);
        let on = |list: LruList| self.lruvec(id).pages[list as usize];
        let anon = if self.can_reclaim_anon() { on(LruList::InactiveAnon) } else { 0 };
        let inactive = on(LruList::InactiveFile) + anon > gap;
        match self.alloc.policy.reclaim.continues {
            ContinueReclaim::UntilTwiceTheOrder => {
                let persists = sc.gfp.contains(Gfp::RETRY_MAYFAIL) && scanned > 0;
                (reclaimed > 0 || persists)
                    && (sc.nr_reclaimed < gap && inactive || !self.any_zone_within_reach(id, sc))
            }
            ContinueReclaim::WhileInactive => reclaimed > 0 && inactive && !self.any_zone_within_reach(id, sc),
        }
    }

    fn any_zone_within_reach(&mut self, id: LruvecId, sc: &ScanControl) -> bool {
        self.zones_under(id).any(|zone| {
            let info = self.alloc.zone_info(zone);
            info.managed > 0 && info.kind <= sc.reclaim_idx && self.order_within_reach(zone, sc)
        })
    }

    /// A page of the order could be allocated in the zone, or compaction could make one, at the min mark.
    fn order_within_reach(&mut self, zone: ZoneId, sc: &ScanControl) -> bool {
        let highest = match self.alloc.policy.reclaim.compaction_ready {
            // Reserves for others counted since 4.8 only (own knowledge).
            CompactionReady::HighWithMargin => ZoneType::Dma,
            _ => sc.reclaim_idx,
        };
        let (mode, by) = (CompactMode::SyncLight, Compactor::Request);
        let result = self.compaction_suit_allocation(zone, sc.order, highest, AllocFlags::WMARK_MIN, mode, by);
        matches!(result, CompactResult::Success | CompactResult::Continue)
    }

    fn free_above(&self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType) -> bool {
        let free = self.alloc.free_pages(zone);
        self.alloc.watermark_ok(zone, order, mark, highest, AllocFlags::NONE, free)
    }

    /// compaction_ready (10.4): a direct reclaimer had better compact this zone than reclaim more.
    pub(crate) fn compaction_ready(&mut self, zone: ZoneId, sc: &ScanControl) -> bool {
        if !self.works_for_compaction(sc.gfp) {
            return false;
        }
        let [min, high] = [AllocFlags::WMARK_MIN, AllocFlags::WMARK_HIGH].map(|mark| self.alloc.wmark(zone, mark));
        match self.alloc.policy.reclaim.compaction_ready {
            CompactionReady::HighWithMargin => {
                self.ready_above(zone, sc.order, high + self.balance_margin(zone), ZoneType::Dma)
            }
            CompactionReady::High => self.ready_above(zone, sc.order, high, sc.reclaim_idx),
            CompactionReady::HighAndGap => {
                let roomy = high + self.alloc.policy.compaction.gap.pages(sc.order);
                self.free_above(zone, sc.order, min, sc.reclaim_idx)
                    || self.order_within_reach(zone, sc) && self.free_above(zone, 0, roomy, sc.reclaim_idx)
            }
            CompactionReady::SuitableAboveHigh => {
                self.free_above(zone, sc.order, min, sc.reclaim_idx)
                    || self.compaction_suitable(zone, sc.order, high, sc.reclaim_idx)
            }
        }
    }

    /// The test up to 4.8: there must be room to compact above a mark, whether compaction is about to start or not. Where it is deferred,
    /// reclaim stops there so that it may succeed later. To ask counts as an attempt that was deferred (own knowledge).
    fn ready_above(&mut self, zone: ZoneId, order: Order, mark: u64, highest: ZoneType) -> bool {
        let roomy = self.free_above(zone, 0, mark + self.alloc.policy.compaction.gap.pages(order), highest);
        if self.compaction_deferred(zone, order) {
            return roomy;
        }
        let low = self.alloc.wmark(zone, AllocFlags::WMARK_LOW);
        roomy
            && (self.above_low_mark(zone, order, highest, AllocFlags::NONE)
                || self.compaction_suitable(zone, order, low, highest))
    }
}
