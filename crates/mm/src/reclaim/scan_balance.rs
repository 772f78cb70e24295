//! How much of which list? (10.5, 10.7, 10.8)

use super::{DEF_PRIORITY, ScanControl};
use crate::lru::{LruList, LruvecId};
use crate::lru_kind::LruKind::{self, Anon, File};
use crate::owner::Owner;
use crate::state::{State, World};
use pagealloc::AllocFlags;
use pagealloc::policy::{ListsJudged, LruRule, PassEnd, ScanBalance};

/// What is decided once per pass over a set of lists (`prepare_scan_control`, 10.5).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Balance {
    /// Active lists of these kinds may be shrunk.
    pub may_deactivate: [bool; 2],
    /// Plenty of inactive page cache: leave everything else alone.
    pub cache_trim_mode: bool,
    /// So little page cache that scanning it would thrash.
    pub file_is_tiny: bool,
}

/// Weights of anon and file by the cost of having scanned them (10.8). Up to 200 for swappiness.
pub(crate) fn fractions_by_cost(swappiness: u64, anon_cost: u64, file_cost: u64) -> [u64; 2] {
    let total = anon_cost + file_cost;
    let (anon_cost, file_cost) = (total + anon_cost, total + file_cost);
    let total = anon_cost + file_cost;
    [swappiness * (total + 1) / (anon_cost + 1), (200 - swappiness) * (total + 1) / (file_cost + 1)]
}

/// Weights up to 5.7: by the share of scanned pages that were rotated (own knowledge).
pub(crate) fn fractions_by_rotation(swappiness: u64, scanned: [u64; 2], rotated: [u64; 2]) -> [u64; 2] {
    let weight = |priority: u64, kind: LruKind| priority * (scanned[kind] + 1) / (rotated[kind] + 1);
    [weight(swappiness, Anon), weight(200 - swappiness, File)]
}

/// Ratio of active to inactive pages above which the inactive list is low, for lists of that many pages (10.7).
pub(crate) fn inactive_ratio(pages: u64, page_shift: u8) -> u64 {
    let gigabytes = pages >> (30 - page_shift);
    if gigabytes == 0 { 1 } else { (10 * gigabytes).isqrt() }
}

impl<W: World> State<W> {
    /// Whether anonymous pages can leave memory now.
    #[inline]
    pub fn can_reclaim_anon(&self) -> bool {
        self.owner.free_swap_pages() > 0
    }

    /// Whether it is worth keeping anonymous pages sorted (`can_age_anon_pages`).
    pub(crate) fn can_age_anon(&self) -> bool {
        self.owner.total_swap_pages() > 0
    }

    /// inactive_is_low (10.7).
    pub(crate) fn inactive_is_low(&self, id: LruvecId, kind: LruKind, sc: &ScanControl) -> bool {
        let [inactive, active] = [LruList::inactive(kind), LruList::active(kind)].map(|list| self.judged(id, list, sc));
        let rules = &self.alloc.policy.reclaim;
        if kind == File && rules.lru == LruRule::PerZone {
            return inactive < active;
        }
        let full_size = (inactive + active) * self.stands_for.0 / self.stands_for.1;
        inactive * inactive_ratio(full_size, self.alloc.geometry.page_shift) < active
    }

    /// Pages of a list as far as it is compared with others.
    fn judged(&self, id: LruvecId, list: LruList, sc: &ScanControl) -> u64 {
        match self.alloc.policy.reclaim.lists_judged {
            ListsJudged::EachBatch => self.lru_size(id, list, sc.reclaim_idx),
            ListsJudged::EachPass => self.stats(id).pages[list as usize],
        }
    }

    /// Whether active pages of a kind may be deactivated now.
    pub(crate) fn may_deactivate(&self, id: LruvecId, kind: LruKind, sc: &ScanControl) -> bool {
        let rules = &self.alloc.policy.reclaim;
        if matches!(rules.scan_balance, ScanBalance::ByLists | ScanBalance::ByListsAndSize) {
            return self.inactive_is_low(id, kind, sc);
        }
        let (known, snapshot) = (self.stats(id).activated, self.lruvec(id).activated_snapshot);
        sc.force_deactivate || known[kind] != snapshot[kind] || self.inactive_is_low(id, kind, sc)
    }

    /// prepare_scan_control (10.5).
    pub(crate) fn prepare_scan(&self, id: LruvecId, sc: &ScanControl) -> Balance {
        let (rule, judged) = (self.alloc.policy.reclaim.scan_balance, self.alloc.policy.reclaim.lists_judged);
        let may_deactivate = LruKind::ALL.map(|kind| self.may_deactivate(id, kind, sc));
        let yields = self.judged(id, LruList::InactiveFile, sc) >> sc.priority != 0;
        if matches!(rule, ScanBalance::ByLists | ScanBalance::ByListsAndSize) {
            let cache_trim_mode = !may_deactivate[File] && (yields || rule == ScanBalance::ByLists);
            return Balance { may_deactivate, cache_trim_mode, file_is_tiny: self.file_and_free_are_low(id) };
        }
        let file_is_low = match rule {
            ScanBalance::ByListsKept => self.inactive_is_low(id, File, sc),
            _ => may_deactivate[File],
        };
        let cache_trim_mode = yields && !file_is_low && !sc.no_cache_trim_mode;
        let inactive_anon = match judged {
            ListsJudged::EachBatch => self.judged(id, LruList::InactiveAnon, sc),
            ListsJudged::EachPass => self.lruvec(id).pages[LruList::InactiveAnon as usize],
        };
        let file_is_tiny = !may_deactivate[Anon] && inactive_anon >> sc.priority != 0 && self.file_and_free_are_low(id);
        Balance { may_deactivate, cache_trim_mode, file_is_tiny }
    }

    /// Whether even all of the page cache would not bring free memory back above the high mark.
    fn file_and_free_are_low(&self, id: LruvecId) -> bool {
        let pages = self.lruvec(id).pages;
        let file = pages[LruList::InactiveFile as usize] + pages[LruList::ActiveFile as usize];
        let (mut free, mut high) = (0, 0);
        for zone in self.zones_under(id) {
            free += self.alloc.free_pages(zone);
            if self.alloc.zone_info(zone).managed > 0 {
                high += self.alloc.wmark(zone, AllocFlags::WMARK_HIGH);
            }
        }
        file + free <= high
    }

    /// get_scan_count (10.8): pages to scan of each evictable list, and the kind that is scanned, if only one is.
    pub(crate) fn scan_counts(
        &mut self,
        id: LruvecId,
        sc: &ScanControl,
        balance: &Balance,
    ) -> ([u64; 4], Option<LruKind>) {
        let swappiness = u64::from(self.alloc.policy.sysctl.swappiness);
        let weights = self.scan_weights(id, sc, balance, swappiness);
        let (up, spare) = {
            let rules = &self.alloc.policy.reclaim;
            (rules.rounds_scan_up, u64::from(!rules.cost_model))
        };
        let counts = LruList::EVICTABLE.map(|list| {
            let scan = self.lru_size(id, list, sc.reclaim_idx) >> sc.priority;
            match weights {
                Weights::Equal => scan,
                Weights::Only(kind) if kind == list.kind() => scan,
                Weights::Only(_) => 0,
                Weights::Shares(shares) => {
                    let (part, all) = (shares[list.kind()], (shares[Anon] + shares[File] + spare).max(1));
                    if up { (scan * part).div_ceil(all) } else { scan * part / all }
                }
            }
        });
        let only = if let Weights::Only(kind) = weights { Some(kind) } else { None };
        (counts, only)
    }

    fn scan_weights(&mut self, id: LruvecId, sc: &ScanControl, balance: &Balance, swappiness: u64) -> Weights {
        if !sc.may_swap || !self.can_reclaim_anon() {
            Weights::Only(File)
        } else if sc.priority == 0 && swappiness != 0 {
            Weights::Equal
        } else if balance.file_is_tiny {
            Weights::Only(Anon)
        } else if balance.cache_trim_mode {
            Weights::Only(File)
        } else if self.alloc.policy.reclaim.cost_model {
            let [anon_cost, file_cost] = self.lruvec(id).cost;
            Weights::Shares(fractions_by_cost(swappiness, anon_cost, file_cost))
        } else {
            self.decay_recent(id);
            let lru = self.lruvec(id);
            Weights::Shares(fractions_by_rotation(swappiness, lru.recent_scanned, lru.cost))
        }
    }

    /// Up to 5.7: what was scanned weighs half once it exceeds a quarter of the kind's pages.
    fn decay_recent(&mut self, id: LruvecId) {
        let lru = self.lruvec_mut(id);
        for kind in LruKind::ALL {
            let pages = lru.pages[LruList::inactive(kind) as usize] + lru.pages[LruList::active(kind) as usize];
            if lru.recent_scanned[kind] > pages / 4 {
                lru.recent_scanned[kind] /= 2;
                lru.cost[kind] /= 2;
            }
        }
    }
}

/// Which kinds are scanned, and by how much.
#[derive(Clone, Copy)]
enum Weights {
    Equal,
    Only(LruKind),
    Shares([u64; 2]),
}

/// Pages still to scan of the four lists, and the rule that ends a pass early (10.9).
#[derive(Clone, Debug)]
pub(crate) struct Quotas {
    pub left: [u64; 4],
    original: [u64; 4],
    /// What is left is scanned whole: the kinds' quotas were cut to proportion already, or never are.
    adjusted: bool,
    rule: PassEnd,
    kswapd: bool,
}

impl Quotas {
    /// Direct reclaim at the first priority scans everything that it set out to.
    pub fn new(counts: [u64; 4], sc: &ScanControl, rule: PassEnd) -> Quotas {
        let first = sc.priority == DEF_PRIORITY;
        let whole = match rule {
            PassEnd::AtTarget => first,
            PassEnd::KswapdScansAll => false,
            PassEnd::ScansProportion | PassEnd::OneKindDone => first && !sc.kswapd,
        };
        Quotas { left: counts, original: counts, adjusted: whole, rule, kswapd: sc.kswapd }
    }

    /// Whether the pass goes on. What is left of active anon alone does not keep it going.
    pub fn remain(&self) -> bool {
        self.left[LruList::InactiveAnon as usize] != 0
            || self.left[LruList::ActiveFile as usize] != 0
            || self.left[LruList::InactiveFile as usize] != 0
    }

    /// The next bite of a list.
    pub fn take(&mut self, list: LruList, at_most: u32) -> u32 {
        let bite = self.left[list as usize].min(u64::from(at_most));
        self.left[list as usize] -= bite;
        bite as u32
    }

    /// The target is reached: stops the kind that has less left, and cuts the other one to the same share of its
    /// original quota. Returns whether the pass is over.
    pub fn reached_target(&mut self) -> bool {
        if self.adjusted {
            return false;
        }
        let lists = |kind: LruKind| [LruList::inactive(kind), LruList::active(kind)].map(|list| list as usize);
        let sum = |quota: &[u64; 4], kind: LruKind| lists(kind).map(|list| quota[list]).iter().sum::<u64>();
        let left = LruKind::ALL.map(|kind| sum(&self.left, kind));
        let over = match self.rule {
            PassEnd::ScansProportion | PassEnd::OneKindDone => left[Anon] == 0 || left[File] == 0,
            PassEnd::AtTarget => true,
            PassEnd::KswapdScansAll => !self.kswapd,
        };
        if over {
            return true;
        }
        let stopped = if left[File] > left[Anon] { Anon } else { File };
        let percent = 100 - (left[stopped] * 100 / (sum(&self.original, stopped) + 1)).min(100);
        for list in lists(stopped) {
            self.left[list] = 0;
        }
        for list in lists(stopped.other()) {
            let scanned = self.original[list] - self.left[list];
            self.left[list] = (self.original[list] * percent / 100).saturating_sub(scanned);
        }
        self.adjusted = self.rule != PassEnd::OneKindDone;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::{Gfp, ZoneType};

    #[test]
    fn fractions_of_appendix_b() {
        assert_eq!(fractions_by_cost(60, 0, 0), [60, 140]);
        assert_eq!(fractions_by_cost(60, 1000, 0), [89, 419]);
        assert_eq!(fractions_by_cost(60, 0, 1000), [179, 209]);
        assert_eq!(fractions_by_cost(100, 500, 500), [199, 199]);
        assert_eq!(fractions_by_cost(0, 0, 1000)[Anon], 0);
    }

    #[test]
    fn rotations_protect_a_kind_in_old_kernels() {
        assert_eq!(fractions_by_rotation(60, [0, 0], [0, 0]), [60, 140]);
        assert_eq!(fractions_by_rotation(60, [99, 99], [99, 0]), [60, 14000]);
    }

    #[test]
    fn inactive_ratio_by_size() {
        assert_eq!([0, 1, 10, 100].map(|gib: u64| inactive_ratio(gib << 18, 12)), [1, 3, 10, 31]);
        assert_eq!(inactive_ratio(10 << 16, 14), 10, "16 KiB pages");
    }

    fn quotas(counts: [u64; 4], kswapd: bool, priority: u8) -> Quotas {
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        (sc.kswapd, sc.priority) = (kswapd, priority);
        Quotas::new(counts, &sc, PassEnd::OneKindDone)
    }

    #[test]
    fn reaching_the_target_cuts_the_larger_rest_to_proportion() {
        let mut quotas = quotas([100, 0, 1000, 0], true, 12);
        assert_eq!(quotas.take(LruList::InactiveAnon, 32), 32);
        assert_eq!(quotas.take(LruList::InactiveFile, 32), 32);
        assert!(!quotas.reached_target());
        // 68 of 100 left: 67 % of 101, so 33 % count as scanned; 330 of 1000, 32 of which are done.
        assert_eq!(quotas.left, [0, 0, 298, 0]);
        assert_eq!(quotas.take(LruList::InactiveFile, 32), 32);
        assert!(quotas.reached_target(), "one round later, however much is left");
    }

    #[test]
    fn up_to_6_0_a_pass_scans_what_the_proportion_left() {
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        sc.priority = 11;
        let mut quotas = Quotas::new([100, 0, 1000, 0], &sc, PassEnd::ScansProportion);
        assert_eq!(quotas.take(LruList::InactiveAnon, 32), 32);
        assert!(!quotas.reached_target());
        let left = quotas.left;
        assert!(!quotas.reached_target(), "cut only once");
        assert_eq!(quotas.left, left);
    }

    #[test]
    fn a_pass_ends_when_one_kind_is_done() {
        assert!(quotas([0, 0, 1000, 0], true, 12).reached_target());
        assert!(quotas([10, 0, 0, 0], false, 11).reached_target());
        assert!(!quotas([0, 0, 1000, 0], false, 12).reached_target(), "direct reclaim at priority 12 scans it all");
    }

    #[test]
    fn kswapd_of_3_11_scans_on_where_there_is_nothing_to_keep_in_proportion() {
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        sc.kswapd = true;
        let mut quotas = Quotas::new([1000, 0, 0, 0], &sc, PassEnd::KswapdScansAll);
        assert_eq!(quotas.take(LruList::InactiveAnon, 32), 32);
        assert!(!quotas.reached_target());
        assert_eq!(quotas.left, [968, 0, 0, 0]);
        sc.kswapd = false;
        assert!(
            Quotas::new([1000, 0, 1000, 0], &sc, PassEnd::KswapdScansAll).reached_target(),
            "direct reclaim ends at once"
        );
    }

    #[test]
    fn up_to_3_10_a_pass_ends_at_its_target_but_at_the_first_priority() {
        let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
        for (priority, kswapd, ends) in [(12, false, false), (12, true, false), (11, false, true), (11, true, true)] {
            (sc.priority, sc.kswapd) = (priority, kswapd);
            assert_eq!(Quotas::new([1000, 0, 1000, 0], &sc, PassEnd::AtTarget).reached_target(), ends, "{priority}");
        }
    }

    #[test]
    fn active_anon_alone_does_not_keep_a_pass_going() {
        assert!(!quotas([0, 10, 0, 0], true, 12).remain());
        assert!(quotas([0, 0, 0, 10], true, 12).remain());
    }
}
