//! The feedback loop of tiers and kinds (docs/mglru.md, 6): which come back less often than others once they are evicted?
//!
//! After control theory: the share of evicted pages that come back is what is measured, and the first tier (or the other kind) is the set
//! point. Tiers that come back more often than it are protected; the kind that comes back less often, weighted by swappiness, is evicted.

use crate::lru::tiers::MAX_NR_TIERS;
use crate::lru_kind::LruKind::{self, Anon, File};
use core::ops::Range;
use pagealloc::policy::GenerationRules;

/// Refaults below which a tier counts as not missed: one batch of eviction.
const MIN_REFAULTS: u64 = 64;

/// Evictions and refaults of a kind by tier: those since its oldest generation became the oldest, and averages over the
/// generations before.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct TierFeedback {
    /// Base pages that came back.
    pub(super) refaulted: [u64; MAX_NR_TIERS],
    /// Base pages that left.
    pub(super) evicted: [u64; MAX_NR_TIERS],
    /// Base pages that were spared when it was their turn.
    protected: [u64; MAX_NR_TIERS],
    avg_refaulted: [u64; MAX_NR_TIERS],
    avg_total: [u64; MAX_NR_TIERS],
}

/// A measurement, with the weight of its refaults.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Position {
    refaulted: u64,
    total: u64,
    gain: u64,
}

impl Position {
    /// Whether what is measured comes back no more often than the set point: it may be evicted.
    fn is_cheaper_than(self, set_point: Position) -> bool {
        self.refaulted < MIN_REFAULTS
            || self.refaulted * (set_point.total + MIN_REFAULTS) * set_point.gain
                <= (set_point.refaulted + 1) * self.total * self.gain
    }
}

impl TierFeedback {
    /// The measurement of some tiers together.
    fn position(&self, tiers: Range<usize>, gain: u64) -> Position {
        tiers.fold(Position { gain, ..Position::default() }, |sum, tier| Position {
            refaulted: sum.refaulted + self.avg_refaulted[tier] + self.refaulted[tier],
            total: sum.total + self.avg_total[tier] + self.evicted[tier] + self.protected[tier],
            gain,
        })
    }

    /// The oldest generation is gone: what was counted goes into the averages by half.
    pub(crate) fn carry_over(&mut self) {
        for tier in 0..MAX_NR_TIERS {
            self.avg_refaulted[tier] = (self.avg_refaulted[tier] + self.refaulted[tier]) / 2;
            let total = self.evicted[tier] + self.protected[tier];
            self.avg_total[tier] = (self.avg_total[tier] + total) / 2;
        }
        (self.refaulted, self.evicted, self.protected) = Default::default();
    }

    /// Pages of a tier were spared.
    pub(crate) fn note_protected(&mut self, tier: usize, pages: u64) {
        self.protected[tier] += pages;
    }

    /// The highest tier that is not protected, within the kind.
    pub(crate) fn evictable_tier(&self, rules: GenerationRules) -> usize {
        // A margin against fluctuations: later tiers have been used at least twice as often as the first.
        let (first, other) = if rules.second_look { (2, 3) } else { (1, 2) };
        self.last_cheap_tier(self.position(0..1, first), other)
    }

    fn last_cheap_tier(&self, set_point: Position, gain: u64) -> usize {
        let cheap = |tier: &usize| self.position(*tier..*tier + 1, gain).is_cheaper_than(set_point);
        (1..MAX_NR_TIERS).take_while(cheap).count()
    }
}

/// Kind to evict from, and the highest tier of it that is not protected, for a swappiness (0 to 200). `min_seq` is the
/// oldest generation of each kind.
pub(crate) fn choose_kind(
    feedback: &[TierFeedback; 2],
    min_seq: [u64; 2],
    swappiness: u64,
    rules: GenerationRules,
) -> (LruKind, usize) {
    let gain = [swappiness, 200 - swappiness];
    let position = |kind: LruKind, tiers| feedback[kind].position(tiers, gain[kind]);
    let cheaper = |tiers: Range<usize>| match position(File, tiers.clone()).is_cheaper_than(position(Anon, tiers)) {
        true => File,
        false => Anon,
    };
    if rules.kinds_apart {
        let kind = match swappiness {
            0 | 1 => File,
            200 => Anon,
            _ => cheaper(0..MAX_NR_TIERS),
        };
        return (kind, feedback[kind].evictable_tier(rules));
    }
    let obvious = match swappiness {
        0 => Some(File),
        _ if min_seq[Anon] < min_seq[File] => Some(Anon),
        1 => Some(File),
        200 => Some(Anon),
        _ => None,
    };
    if let Some(kind) = obvious {
        return (kind, feedback[kind].evictable_tier(rules));
    }
    let kind = cheaper(0..1);
    (kind, feedback[kind].last_cheap_tier(position(kind.other(), 0..1), gain[kind]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::policy::preset;

    fn rules(era: &str) -> GenerationRules {
        preset(era).ok().and_then(|policy| policy.reclaim.generations).expect("a kernel with generations")
    }

    fn of(refaulted: [u64; 4], evicted: [u64; 4]) -> TierFeedback {
        TierFeedback { refaulted, evicted, ..TierFeedback::default() }
    }

    #[test]
    fn few_refaults_protect_nothing() {
        let feedback = of([0, 63, 63, 63], [1000, 64, 64, 64]);
        assert_eq!(feedback.evictable_tier(rules("linux-6.18")), 3);
    }

    #[test]
    fn a_tier_that_comes_back_more_often_is_protected_with_those_above() {
        // Tier 0: one in ten comes back; tier 1: one in eight; tier 2: one in two.
        let feedback = of([100, 125, 500, 0], [1000; 4]);
        assert_eq!(feedback.evictable_tier(rules("linux-6.18")), 1, "within the margin of 2 to 3");
        assert_eq!(of([100, 180, 500, 0], [1000; 4]).evictable_tier(rules("linux-6.18")), 0);
        assert_eq!(of([100, 180, 500, 0], [1000; 4]).evictable_tier(rules("linux-6.1")), 1, "margin of 1 to 2");
    }

    #[test]
    fn pages_that_were_spared_count_as_not_missed() {
        let mut feedback = of([100, 500, 0, 0], [1000, 1000, 0, 0]);
        assert_eq!(feedback.evictable_tier(rules("linux-6.18")), 0);
        feedback.note_protected(1, 5000);
        assert_eq!(feedback.evictable_tier(rules("linux-6.18")), 3);
    }

    #[test]
    fn averages_forget_by_half() {
        let mut feedback = of([100, 0, 0, 0], [1000, 0, 0, 0]);
        feedback.carry_over();
        assert_eq!(feedback.position(0..1, 1), Position { refaulted: 50, total: 500, gain: 1 });
        feedback.carry_over();
        assert_eq!(feedback.position(0..1, 1), Position { refaulted: 25, total: 250, gain: 1 });
    }

    #[test]
    fn the_kind_that_comes_back_less_is_evicted_weighted_by_swappiness() {
        let rules = rules("linux-6.18");
        let choose = |anon: u64, file: u64, swappiness| {
            let feedback = [of([anon, 0, 0, 0], [1000, 0, 0, 0]), of([file, 0, 0, 0], [1000, 0, 0, 0])];
            choose_kind(&feedback, [0, 0], swappiness, rules).0
        };
        assert_eq!(choose(0, 0, 60), File, "no refaults: page cache");
        assert_eq!(choose(0, 500, 60), Anon);
        assert_eq!(choose(300, 500, 60), File, "60 to 140");
        assert_eq!(choose(300, 500, 150), Anon);
        assert_eq!([choose(0, 500, 1), choose(0, 500, 0), choose(500, 0, 200)], [File, File, Anon]);
    }

    #[test]
    fn before_6_14_the_older_kind_is_obvious_and_first_tiers_decide() {
        let rules = rules("linux-6.1");
        let feedback = [of([0; 4], [1000; 4]), of([500, 0, 0, 0], [1000; 4])];
        assert_eq!(choose_kind(&feedback, [0, 1], 60, rules).0, Anon);
        assert_eq!(choose_kind(&feedback, [0, 1], 0, rules).0, File);
        assert_eq!(choose_kind(&feedback, [1, 1], 60, rules).0, Anon);
        let quiet = [of([0; 4], [1000; 4]), of([0; 4], [1000; 4])];
        assert_eq!(choose_kind(&quiet, [1, 1], 60, rules), (File, 3));
    }
}
