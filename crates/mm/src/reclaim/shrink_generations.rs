//! What is one pass over a node's generations? (docs/mglru.md, 5)

use super::aging::evictable_kinds;
use super::evict::{MIN_BATCH, Met};
use super::slab::LruShare;
use super::{DEF_PRIORITY, ScanControl};
use crate::env::{Env, TaskContext, Work};
use crate::lru::{LruList, MIN_NR_GENS, index_of};
use crate::owner::Owner;
use crate::state::{Mm, State, World};
use pagealloc::policy::{FailuresEnd, FlusherWake, GenerationRules, PassQuota};
use pagealloc::{AllocFlags, Gfp, NodeId, ZoneId};

/// How many pages a pass is to scan.
enum Quota {
    Pages(u64),
    /// The generations have to age first.
    Age {
        /// Pages that may be scanned afterwards in the same pass.
        then: u64,
    },
}

impl<W: World> Mm<W> {
    /// One pass over a node and its slab, where reclaim works on whole nodes.
    pub(super) async fn shrink_node_generations(
        &self,
        node: NodeId,
        rules: GenerationRules,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        let at_start = sc.nr_reclaimed;
        if sc.may_writepage && sc.may_unmap {
            self.state.borrow().set_first_priority(node, rules, sc);
            let before = if sc.kswapd { core::mem::take(&mut sc.nr_reclaimed) } else { 0 };
            self.shrink_generations(node, rules, sc, task).await;
            self.shrink_slab(node, LruShare::default(), sc, task).await;
            sc.nr_reclaimed += before;
        }
        let mut state = self.state.borrow_mut();
        if sc.nr_reclaimed > at_start || state.alloc.policy.kswapd.failures_end == FailuresEnd::AfterEachPass {
            state.reset_kswapd_failures(node, sc.order, sc.reclaim_idx);
        }
    }

    /// Evicts from the oldest generations until the pass's quota is scanned or enough is reclaimed.
    pub(super) async fn shrink_generations(
        &self,
        node: NodeId,
        rules: GenerationRules,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        let swappiness = self.state.borrow().effective_swappiness(sc, rules);
        let mut met = Met::default();
        match rules.quota {
            PassQuota::Once => self.shrink_by_one_quota(node, swappiness, rules, (sc, &mut met), task).await,
            PassQuota::Anew | PassQuota::AnewExact => {
                self.shrink_by_quotas(node, swappiness, rules, (sc, &mut met), task).await;
            }
        }
        let all_dirty = met.unqueued_dirty > 0 && met.unqueued_dirty == met.file;
        if rules.wakes_flushers == FlusherWake::AfterPass && all_dirty {
            self.env.wake_flushers(u64::MAX);
        }
    }

    /// The quota is what was evictable when the pass began; each batch uses up what it looks at.
    async fn shrink_by_one_quota(
        &self,
        node: NodeId,
        swappiness: u64,
        rules: GenerationRules,
        (sc, met): (&mut ScanControl, &mut Met),
        task: &TaskContext,
    ) {
        let mut quota = self.state.borrow().evictable_pages(node, swappiness) >> sc.priority;
        while quota > 0 {
            let ages = self.state.borrow().ages_within(node, swappiness, rules, sc);
            if ages {
                self.age(node, swappiness, rules, task).await;
            }
            let looked_at = self.evict_batch(node, quota, swappiness, rules, (&mut *sc, &mut *met), task).await;
            quota = quota.saturating_sub(looked_at);
            if looked_at == 0 || ages || self.state.borrow().should_abort_scan(node, rules, sc) {
                break;
            }
            self.env.work(task, Work::Resched).await;
        }
    }

    /// The quota is that of the moment.
    async fn shrink_by_quotas(
        &self,
        node: NodeId,
        swappiness: u64,
        rules: GenerationRules,
        (sc, met): (&mut ScanControl, &mut Met),
        task: &TaskContext,
    ) {
        let mut scanned = 0;
        loop {
            let quota = self.state.borrow().generation_quota(node, swappiness, rules, sc);
            let quota = match quota {
                Quota::Age { then } if self.age(node, swappiness, rules, task).await => then,
                Quota::Age { .. } => 0,
                Quota::Pages(quota) => quota,
            };
            if quota == 0 {
                break;
            }
            let progress = self.evict_batch(node, quota, swappiness, rules, (&mut *sc, &mut *met), task).await;
            scanned += progress;
            let enough = progress == 0 || scanned >= quota;
            if enough || self.state.borrow().should_abort_scan(node, rules, sc) {
                break;
            }
            self.env.work(task, Work::Resched).await;
        }
    }

    /// kswapd's look ahead of a pass, where aging is its business.
    pub(super) async fn age_ahead(&self, node: NodeId, rules: GenerationRules, sc: &ScanControl, task: &TaskContext) {
        let swappiness = self.state.borrow().effective_swappiness(sc, rules);
        let due = self.state.borrow().should_age(node, swappiness, rules);
        if due {
            self.age(node, swappiness, rules, task).await;
        }
    }
}

impl<W: World> State<W> {
    /// Swappiness of a run: 0 where nothing can be swapped; by era 1 (page cache first) for those who may not do I/O.
    fn effective_swappiness(&self, sc: &ScanControl, rules: GenerationRules) -> u64 {
        if !rules.node_at_once && !sc.may_swap && self.owner.free_swap_pages() >= MIN_BATCH.into() {
            return u64::from(self.alloc.policy.sysctl.swappiness.min(1));
        }
        if !sc.may_swap || self.owner.free_swap_pages() < MIN_BATCH.into() {
            return 0;
        }
        let swappiness = u64::from(self.alloc.policy.sysctl.swappiness);
        if rules.file_first_no_io && !sc.gfp.contains(Gfp::IO) { swappiness.min(1) } else { swappiness }
    }

    /// Base pages of the kinds that may be evicted, all generations.
    fn evictable_pages(&self, node: NodeId, swappiness: u64) -> u64 {
        let generations = self.generations(node);
        evictable_kinds(swappiness)
            .iter()
            .map(|&kind| {
                let live = (generations.min_seq[kind]..=generations.max_seq).map(index_of);
                live.map(|generation| generations.pages[generation][kind].iter().sum::<u64>()).sum::<u64>()
            })
            .sum()
    }

    /// Base pages of a generation of the kinds that may be evicted.
    fn pages_of(&self, node: NodeId, seq: u64, swappiness: u64) -> u64 {
        let generations = self.generations(node);
        let live = evictable_kinds(swappiness).iter().filter(|&&kind| generations.min_seq[kind] <= seq);
        live.map(|&kind| generations.pages[index_of(seq)][kind].iter().sum::<u64>()).sum()
    }

    /// Nothing can be evicted any more without a new generation.
    fn must_age(&self, node: NodeId, swappiness: u64, rules: GenerationRules) -> bool {
        self.evictable_min_seq(node, swappiness, rules) + MIN_NR_GENS > self.generations(node).max_seq
    }

    /// should_run_aging: fewer generations than there can be; before that was all, only if pages are spread unevenly, too
    /// many young or too few old.
    fn should_age(&self, node: NodeId, swappiness: u64, rules: GenerationRules) -> bool {
        let max_seq = self.generations(node).max_seq;
        let last = self.evictable_min_seq(node, swappiness, rules) + MIN_NR_GENS;
        if last > max_seq {
            return true;
        }
        if rules.kinds_apart || last < max_seq {
            return last == max_seq;
        }
        let total = self.evictable_pages(node, swappiness);
        let young = self.pages_of(node, max_seq, swappiness);
        let old = self.pages_of(node, max_seq - MIN_NR_GENS, swappiness);
        young * MIN_NR_GENS > total || old * (MIN_NR_GENS + 2) < total
    }

    /// Whether a pass makes a new generation before its next batch: if nothing can be evicted otherwise, or below the first priority
    /// if it is due.
    fn ages_within(&self, node: NodeId, swappiness: u64, rules: GenerationRules, sc: &ScanControl) -> bool {
        self.must_age(node, swappiness, rules)
            || sc.priority != DEF_PRIORITY && self.should_age(node, swappiness, rules)
    }

    /// get_nr_to_scan. A pass at the first priority does without aging if it can.
    fn generation_quota(&self, node: NodeId, swappiness: u64, rules: GenerationRules, sc: &ScanControl) -> Quota {
        let must_age = self.must_age(node, swappiness, rules);
        let pages = self.evictable_pages(node, swappiness) >> sc.priority;
        if !self.should_age(node, swappiness, rules) {
            return Quota::Pages(pages);
        }
        match sc.priority {
            DEF_PRIORITY if must_age => Quota::Pages(0),
            DEF_PRIORITY => Quota::Pages(pages),
            _ if !rules.kswapd_ages_ahead => Quota::Age { then: 0 },
            _ if sc.kswapd => Quota::Pages(0),
            _ => Quota::Age { then: pages },
        }
    }

    /// Whether a pass may end early: as much is reclaimed as is wanted, or all zones are safe for kswapd.
    fn should_abort_scan(&self, node: NodeId, rules: GenerationRules, sc: &ScanControl) -> bool {
        if sc.nr_reclaimed >= sc.nr_to_reclaim.max(self.alloc.policy.compaction.gap.pages(sc.order)) {
            return true;
        }
        if !rules.stops_at_high || !sc.kswapd || sc.order > 0 {
            return false;
        }
        self.node_zones(node, sc.reclaim_idx).all(|zone| self.is_safe(zone, sc))
    }

    fn is_safe(&self, zone: ZoneId, sc: &ScanControl) -> bool {
        let mark = self.alloc.wmark(zone, AllocFlags::WMARK_HIGH) + u64::from(MIN_BATCH);
        let free = self.alloc.free_pages(zone);
        self.alloc.zone_info(zone).managed == 0
            || self.alloc.watermark_ok(zone, 0, mark, sc.reclaim_idx, AllocFlags::NONE, free)
    }

    /// A run that has much to reclaim does not start with a 4096th of the lists (set_initial_priority): the priority at
    /// which the inactive part of what a pass scans is what it is to reclaim.
    fn set_first_priority(&self, node: NodeId, rules: GenerationRules, sc: &mut ScanControl) {
        let Some(lowest) = rules.first_priority else { return };
        if sc.priority != DEF_PRIORITY || sc.nr_to_reclaim < MIN_BATCH.into() {
            return;
        }
        let anon = if self.can_reclaim_anon() { self.nr_lru(node, LruList::InactiveAnon) } else { 0 };
        let reclaimable = self.nr_lru(node, LruList::InactiveFile) + anon;
        let bits = |number: u64| i64::from(u64::BITS - number.leading_zeros());
        let priority = bits(reclaimable) - 1 - bits(sc.nr_to_reclaim - 1);
        sc.priority = priority.clamp(lowest.into(), DEF_PRIORITY.into()) as u8;
    }
}
