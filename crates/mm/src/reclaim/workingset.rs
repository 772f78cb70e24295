//! What do evictions and refaults teach? (10.15, 10.16)
//!
//! The clock is the number of pages that left the inactive list, by eviction or activation. A page that comes back
//! before as many others have left as the active list holds would have survived on it: it is activated at once.

use super::SWAP_CLUSTER_MAX;
use super::shadow::Shadow;
use crate::lru::{LruList, LruState, LruvecId};
use crate::lru_kind::LruKind::{self, Anon, File};
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::{LruRule, ReclaimRules};
use pagealloc::{Counter, CpuId, FrameState, Gfp, NodeId, Pfn, ZoneId, ZoneType};

/// Whether a page of the page cache that is asked for with `gfp` counts as a refault if it had been evicted before: by the
/// kernel's rule not if its user asked for it to write to it (`__GFP_WRITE`). Its [`Shadow`] is dropped then.
#[must_use]
pub fn cache_refaults(rules: &ReclaimRules, gfp: Gfp) -> bool {
    rules.writes_refault || !gfp.contains(Gfp::WRITE)
}

/// Whether a page that was away for `distance` evictions fits into what a workingset may use (10.16). `sizes` are the
/// base pages of the four evictable lists; other lists than active file only count if anonymous pages are tracked.
fn is_recent(distance: u64, sizes: [u64; 4], kind: LruKind, swap: bool, anon_workingset: bool) -> bool {
    let [inactive_anon, active_anon, inactive_file, active_file] = sizes;
    let mut workingset = active_file;
    if anon_workingset {
        if kind == Anon {
            workingset += inactive_file;
        }
        if swap {
            workingset += active_anon + if kind == File { inactive_anon } else { 0 };
        }
    }
    distance <= workingset
}

impl LruState {
    /// Adds to the cost of scanning a kind, and halves both costs once they exceed a quarter of the lists' `total` (10.15).
    fn note_cost(&mut self, kind: LruKind, cost: u64, total: u64) {
        if cost == 0 {
            return;
        }
        self.cost[kind] += cost;
        if self.cost[Anon] + self.cost[File] > total / 4 {
            self.cost = self.cost.map(|cost| cost / 2);
        }
    }
}

impl<W: World> State<W> {
    /// Pages of a kind were written, or read again, and others scanned in vain.
    pub(super) fn note_cost(&mut self, id: LruvecId, kind: LruKind, written: u64, rotated: u64) {
        let cost = match self.alloc.policy.reclaim.cost_of_rotations {
            true => written * u64::from(SWAP_CLUSTER_MAX) + rotated,
            false => written,
        };
        if self.alloc.policy.reclaim.costs_by_pass {
            self.lruvec_mut(id).costs[kind] += cost;
            return;
        }
        let total = self.stats(id).pages[..4].iter().sum();
        self.lruvec_mut(id).note_cost(kind, cost, total);
    }

    /// A pass takes what has come up since the last one, where costs are not noted at each event. Both are halved as often as it takes.
    pub(super) fn take_costs(&mut self, id: LruvecId) {
        if !self.alloc.policy.reclaim.costs_by_pass {
            return;
        }
        let known = self.stats(id);
        let limit = known.pages[..4].iter().sum::<u64>() / 4;
        let lru = self.lruvec_mut(id);
        for kind in LruKind::ALL {
            lru.cost[kind] += known.costs[kind] - lru.costs_taken[kind];
        }
        lru.costs_taken = known.costs;
        while lru.cost[Anon] + lru.cost[File] > limit {
            lru.cost = lru.cost.map(|cost| cost / 2);
        }
    }

    /// What to remember of a page that is being evicted from a zone, and the clock's step (10.16).
    pub fn workingset_eviction(&mut self, zone: ZoneId, pages: u64, workingset: bool) -> Shadow {
        let node = self.alloc.zone_info(zone).node;
        let id = self.lruvec_of(zone);
        let lru = self.lruvec_mut(id);
        let age = lru.nonresident_age;
        lru.nonresident_age += pages;
        Shadow { node, zone, age, workingset, uses: 0, swap: None }
    }

    /// A page was activated: inactive pages move closer to eviction as if it had been evicted.
    pub(crate) fn workingset_activation(&mut self, pfn: Pfn) {
        let id = self.lruvec_of(self.alloc.zone_of(pfn));
        let pages = 1 << self.alloc.frames.order(pfn);
        self.lruvec_mut(id).nonresident_age += pages;
    }

    /// Puts a page back that reclaim of the classic lists had taken; on an active list, it counts as activated where the kernel has it so.
    pub(super) fn put_back_isolated(&mut self, pfn: Pfn) {
        self.lru_putback(pfn);
        if self.alloc.policy.reclaim.putback_ages && self.pages.flags(pfn).contains(PageFlags::ACTIVE) {
            self.workingset_activation(pfn);
        }
    }

    /// A page that reclaim evicted is back and on its list (10.16): activation by refault distance. `shadow` is what
    /// `reclaimed` left. Does nothing where the kernel keeps no shadow of such a page. Swap slots are given back.
    pub fn refault(&mut self, pfn: Pfn, shadow: Shadow, cpu: CpuId) {
        self.refault_by(pfn, shadow, self.pages.flags(pfn).contains(PageFlags::MAPPED), cpu);
    }

    /// [`refault`](Self::refault) of a page that a page fault read along: with generations it counts as faulted in, mapped or not.
    pub fn refault_in_fault(&mut self, pfn: Pfn, shadow: Shadow, cpu: CpuId) {
        self.refault_by(pfn, shadow, true, cpu);
    }

    fn refault_by(&mut self, pfn: Pfn, shadow: Shadow, faulted: bool, cpu: CpuId) {
        self.forget_swapped(shadow, cpu);
        match self.lru_gen {
            Some(rules) => self.generation_refault(pfn, shadow, faulted, rules),
            None => self.classic_refault(pfn, shadow),
        }
    }

    fn classic_refault(&mut self, pfn: Pfn, shadow: Shadow) {
        let rules = self.alloc.policy.reclaim;
        let kind = LruKind::of(self.pages.flags(pfn));
        if !rules.workingset || kind == Anon && !rules.anon_workingset {
            return;
        }
        let pages = 1u64 << self.alloc.frames.order(pfn);
        self.alloc.vmstat.add([Counter::WorkingsetRefaultAnon, Counter::WorkingsetRefaultFile][kind], pages);
        let id = match rules.lru {
            LruRule::PerNode => LruvecId::Node(shadow.node),
            LruRule::PerZone => LruvecId::Zone(shadow.zone),
        };
        let evicted_from = self.lruvec(id);
        let distance = evicted_from.nonresident_age.wrapping_sub(shadow.age);
        let known = self.stats(id).pages;
        let sizes = LruList::EVICTABLE.map(|list| known[list as usize]);
        if is_recent(distance, sizes, kind, self.can_reclaim_anon(), rules.anon_workingset) {
            self.activate_refault(pfn, kind, pages, shadow.workingset);
        }
    }

    fn activate_refault(&mut self, pfn: Pfn, kind: LruKind, pages: u64, workingset: bool) {
        let listed = self.alloc.frames.state(pfn) == FrameState::LRU;
        if listed {
            self.lru_del(pfn);
        }
        self.pages.add_flags(pfn, PageFlags::ACTIVE);
        self.alloc.vmstat.add([Counter::WorkingsetActivateAnon, Counter::WorkingsetActivateFile][kind], pages);
        let cost_model = self.alloc.policy.reclaim.cost_model;
        let id = self.lruvec_of(self.alloc.zone_of(pfn));
        let lru = self.lruvec_mut(id);
        lru.nonresident_age += pages;
        lru.activated[kind] += pages;
        if workingset {
            if cost_model {
                self.note_cost(id, kind, pages, 0);
            }
            self.pages.add_flags(pfn, PageFlags::WORKINGSET);
            self.alloc.vmstat.add([Counter::WorkingsetRestoreAnon, Counter::WorkingsetRestoreFile][kind], pages);
        }
        if listed {
            self.lru_putback(pfn);
        }
    }

    /// snapshot_refaults (9.7, 10.3): later activations of refaults permit deactivation (10.5).
    pub fn snapshot_refaults(&mut self, node: NodeId) {
        for id in self.lruvecs_up_to(node, ZoneType::Movable) {
            let known = self.stats(id).activated;
            self.lruvec_mut(id).activated_snapshot = known;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refault_distance_is_compared_with_what_the_kind_may_use() {
        let sizes = [1, 10, 100, 1000];
        let recent = |distance, kind, swap| is_recent(distance, sizes, kind, swap, true);
        assert!(recent(1000, File, false) && !recent(1001, File, false));
        assert!(recent(1011, File, true) && !recent(1012, File, true));
        assert!(recent(1100, Anon, false) && !recent(1101, Anon, false));
        assert!(recent(1110, Anon, true) && !recent(1111, Anon, true));
    }

    #[test]
    fn before_5_9_only_the_active_file_list_counts() {
        assert!(is_recent(1000, [1, 10, 100, 1000], File, true, false));
        assert!(!is_recent(1001, [1, 10, 100, 1000], File, true, false));
    }

    #[test]
    fn costs_halve_above_a_quarter_of_the_lists() {
        let mut lru = LruState::default();
        lru.note_cost(File, 100, 400);
        assert_eq!(lru.cost, [0, 100], "100 is not above 400/4");
        lru.note_cost(Anon, 11, 400);
        assert_eq!(lru.cost, [5, 50]);
    }
}
