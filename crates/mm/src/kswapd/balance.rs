//! One run of kswapd: reclaim until the node is balanced, or hopeless (9.5 to 9.7).

use crate::env::{Env, Queue, TaskContext, Work};
use crate::reclaim::{DEF_PRIORITY, SWAP_CLUSTER_MAX, ScanControl};
use crate::state::{Mm, State, World};
use pagealloc::policy::{KswapdRounds, LruRule};
use pagealloc::{AllocFlags, Counter, Gfp, NR_ZONE_TYPES, NodeId, Order, ZoneType};

/// Below this priority pages are written whatever the mode; a boost alone never raises the pressure to it (9.6.2).
const BOOST_PRIORITY: u8 = DEF_PRIORITY - 2;

/// A run in progress.
pub(super) struct Run {
    pub(super) node: NodeId,
    pub(super) highest: ZoneType,
    pub(super) sc: ScanControl,
    /// Pages that the round has scanned, where zones have lists of their own.
    pub(super) scanned: u64,
    /// The zones' boosts when it began, by zone type.
    boosts: [u64; NR_ZONE_TYPES],
    /// Pages still to be reclaimed for their sake.
    boost_left: u64,
}

/// Why a series of priorities ended.
enum Ended {
    Balanced,
    /// Free memory went below the marks: the boost no longer matters, ordinary reclaim does.
    Restart,
    /// Priorities or the boost's prospects are used up.
    Exhausted,
}

impl<W: World> Mm<W> {
    /// Reclaims for `order` pages in zones up to `highest`: the order that it ended with, 0 once enough was reclaimed
    /// for compaction to do the rest.
    pub(super) async fn balance_pgdat(
        &self,
        node: NodeId,
        order: Order,
        highest: ZoneType,
        task: &TaskContext,
    ) -> Order {
        let mut run = self.state.borrow_mut().begin_balance(node, order, highest);
        if self.state.borrow().alloc.policy.kswapd.rounds == KswapdRounds::Restarted {
            return self.balance_in_rounds(&mut run, task).await;
        }
        let boosted = run.boost_left > 0;
        loop {
            self.state.borrow_mut().mark_reclaim_active(&run, true);
            run.sc.priority = DEF_PRIORITY;
            match self.lower_priorities(&mut run, task).await {
                Ended::Balanced => break,
                Ended::Restart => continue,
                Ended::Exhausted => {}
            }
            let retries = self.state.borrow().alloc.policy.kswapd.retries_without_trim;
            let sc = &mut run.sc;
            if retries && sc.nr_reclaimed == 0 && sc.priority < 1 && sc.cache_trim_mode_failed && !sc.no_cache_trim_mode
            {
                sc.no_cache_trim_mode = true;
                continue;
            }
            self.state.borrow_mut().note_run(&run, boosted);
            break;
        }
        if boosted && self.state.borrow_mut().settle_boosts(&run) {
            let pageblock_order = self.state.borrow().alloc.geometry.pageblock_order;
            self.wakeup_kcompactd(node, pageblock_order, highest);
        }
        let mut state = self.state.borrow_mut();
        state.mark_reclaim_active(&run, false);
        state.snapshot_refaults(node);
        run.sc.order
    }

    async fn lower_priorities(&self, run: &mut Run, task: &TaskContext) -> Ended {
        while run.sc.priority >= 1 {
            self.env.work(task, Work::Resched).await;
            let balanced = self.state.borrow_mut().pgdat_balanced(run.node, run.sc.order, run.highest);
            if !balanced && run.boost_left > 0 {
                run.boost_left = 0;
                return Ended::Restart;
            }
            if balanced && run.boost_left == 0 {
                return Ended::Balanced;
            }
            let before = run.sc.nr_reclaimed;
            let here = self.here(task);
            let enough_scanned = self.reclaim_once(run, &here).await;
            let held = run.boost_left > 0 && run.sc.priority == BOOST_PRIORITY;
            let got = run.sc.nr_reclaimed - before;
            run.boost_left -= run.boost_left.min(got);
            if run.boost_left > 0 && got == 0 {
                return Ended::Exhausted;
            }
            if got == 0 || !(enough_scanned || held) {
                run.sc.priority -= 1;
            }
        }
        Ended::Exhausted
    }

    /// One pass at one priority (9.6.3 to 9.6.7): whether it scanned as much as it set out to reclaim.
    pub(super) async fn reclaim_once(&self, run: &mut Run, task: &TaskContext) -> bool {
        let reclaimed_before = run.sc.nr_reclaimed;
        let per_zone = {
            let policy = &self.state.borrow().alloc.policy;
            let boosting = run.boost_left > 0;
            // A boost is worth dropping clean cache, not writing or swapping.
            run.sc.may_writepage = policy.sysctl.laptop_mode == 0 && !boosting;
            run.sc.may_swap = !boosting;
            run.sc.spare_slab = boosting && policy.reclaim.boost_skips_slab;
            policy.reclaim.lru == LruRule::PerZone
        };
        self.age_active_anon(run.node, &mut run.sc, task).await;
        if run.sc.priority < BOOST_PRIORITY {
            run.sc.may_writepage = true;
        }
        let enough_scanned =
            if per_zone { self.shrink_unbalanced_zones(run, task).await } else { self.shrink_whole(run, task).await };
        if run.sc.order > 0 && self.state.borrow().leaves_rest_to_compaction(run, reclaimed_before) {
            run.sc.order = 0;
        }
        if self.env.has_waiters(Queue::Pfmemalloc(run.node)) && self.state.borrow_mut().allow_direct_reclaim(run.node) {
            self.env.wake(Queue::Pfmemalloc(run.node));
        }
        enough_scanned
    }

    /// Shrinks the node as a whole, by the sum of its high marks.
    async fn shrink_whole(&self, run: &mut Run, task: &TaskContext) -> bool {
        let (target, before) = (self.state.borrow().reclaim_target(run.node, run.highest), run.sc.nr_reclaimed);
        run.sc.nr_to_reclaim = target;
        run.sc.nr_scanned = 0;
        self.shrink_node(run.node, &mut run.sc, task).await;
        let reclaimed = run.sc.nr_reclaimed - before;
        let counts = self.state.borrow().alloc.policy.kswapd.reclaimed_counts_as_scanned;
        run.sc.nr_scanned.max(if counts { reclaimed } else { 0 }) >= target
    }
}

impl<W: World> State<W> {
    fn begin_balance(&mut self, node: NodeId, order: Order, highest: ZoneType) -> Run {
        self.alloc.vmstat.bump(Counter::Pageoutrun);
        let mut boosts = self.zone_boosts(node, highest);
        if let Some(seen) = self.nodes[node.index()].kswapd.boosts_at_wakeup.take() {
            boosts.iter_mut().zip(seen).for_each(|(boost, seen)| *boost = seen.min(*boost));
        }
        let sc = ScanControl { kswapd: true, ..ScanControl::new(order, Gfp::KERNEL, highest) };
        Run { node, highest, sc, scanned: 0, boosts, boost_left: boosts.iter().sum() }
    }

    /// Boosts of a node's zones by type.
    pub(super) fn zone_boosts(&self, node: NodeId, highest: ZoneType) -> [u64; NR_ZONE_TYPES] {
        let mut boosts = [0; NR_ZONE_TYPES];
        for zone in self.managed_zones_up_to(node, highest) {
            boosts[self.alloc.zone_info(zone).kind as usize] = self.alloc.boost(zone);
        }
        boosts
    }

    fn mark_reclaim_active(&mut self, run: &Run, active: bool) {
        for zone in self.managed_zones_up_to(run.node, run.highest) {
            self.alloc.set_reclaim_active(zone, active);
        }
    }

    fn reclaim_target(&self, node: NodeId, highest: ZoneType) -> u64 {
        let high = |zone| self.alloc.wmark(zone, AllocFlags::WMARK_HIGH).max(SWAP_CLUSTER_MAX.into());
        self.managed_zones_up_to(node, highest).map(high).sum()
    }

    /// Whether as much has been reclaimed as compaction wants for a gap, after which only base pages count (9.6.6): in
    /// the run, or in the pass that began at `reclaimed_before`.
    pub(super) fn leaves_rest_to_compaction(&self, run: &Run, reclaimed_before: u64) -> bool {
        let policy = &self.alloc.policy;
        let counted = if policy.kswapd.counts_each_pass { reclaimed_before } else { 0 };
        let gap = policy.compaction.gap.pages(run.sc.order);
        let gives_up = policy.kswapd.gives_up_order && policy.kswapd.rounds == KswapdRounds::Single;
        gives_up && run.sc.nr_reclaimed - counted >= gap
    }

    /// A run without a page counts against the node (9.6.10); since 6.19 not if it was for a boost only.
    fn note_run(&mut self, run: &Run, boosted: bool) {
        if run.sc.nr_reclaimed == 0 && (!boosted || self.alloc.policy.kswapd.boosted_run_may_fail) {
            self.note_kswapd_failure(run.node);
        }
    }

    /// Takes back the boost that the run began with; what was added meanwhile stays (9.7). Whether there was any.
    fn settle_boosts(&mut self, run: &Run) -> bool {
        for zone in self.managed_zones_up_to(run.node, run.highest) {
            let boost = run.boosts[self.alloc.zone_info(zone).kind as usize];
            if boost > 0 {
                self.alloc.reduce_boost(zone, boost.min(self.alloc.boost(zone)));
            }
        }
        run.boosts.iter().any(|&boost| boost > 0)
    }
}
