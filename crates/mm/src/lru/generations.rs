//! Generations: the lists of the multi-generational LRU, and which one a page enters (docs/mglru.md, 1 and 3).
//!
//! Generations are numbered by sequence. Both kinds share the youngest, `max_seq`; the oldest, `min_seq`, is each
//! kind's own. A page is counted in the generation that its bits name, but hangs on the list of its *home* generation:
//! promotion changes the count at once, and the list when eviction meets the page.

use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use crate::reclaim::tier_feedback::TierFeedback;
use crate::reclaim::walk::Walk;
use pagealloc::policy::GenerationRules;
use pagealloc::{FrameList, NR_ZONE_TYPES};

/// Fewest generations of a kind: the two youngest are never evicted.
pub const MIN_NR_GENS: u64 = 2;
/// Most generations of a kind.
pub const MAX_NR_GENS: u64 = 4;

/// The generations of a node. Arrays of two are indexed by [`LruKind`].
pub struct Generations {
    /// The youngest.
    pub max_seq: u64,
    /// The oldest of each kind.
    pub min_seq: [u64; 2],
    /// Lists by generation (sequence modulo 4), kind and zone type.
    pub lists: [[[FrameList; NR_ZONE_TYPES]; 2]; MAX_NR_GENS as usize],
    /// Base pages that count in each.
    pub pages: [[[u64; NR_ZONE_TYPES]; 2]; MAX_NR_GENS as usize],
    /// Refaults against evictions by kind and tier.
    pub feedback: [TierFeedback; 2],
    /// The walk through page tables that goes on at this moment, if one does.
    pub walk: Walk,
}

impl Default for Generations {
    fn default() -> Self {
        Generations {
            max_seq: MIN_NR_GENS + 1,
            min_seq: [0; 2],
            lists: Default::default(),
            pages: Default::default(),
            feedback: Default::default(),
            walk: Walk::default(),
        }
    }
}

/// Index of a sequence number's generation.
#[inline(always)]
pub const fn index_of(seq: u64) -> usize {
    (seq % MAX_NR_GENS) as usize
}

impl Generations {
    /// Number of generations of a kind.
    pub fn nr_gens(&self, kind: LruKind) -> u64 {
        self.max_seq - self.min_seq[kind] + 1
    }

    /// Whether a generation counts as active in gauges: the youngest two.
    #[inline(always)]
    pub fn is_active(&self, generation: usize) -> bool {
        generation == index_of(self.max_seq) || generation == index_of(self.max_seq - 1)
    }

    /// Sequence of the generation that a page of these flags enters (3). `oldest`: it is to be evicted next.
    pub fn entry_seq(&self, flags: PageFlags, oldest: bool, rules: GenerationRules) -> u64 {
        let min_seq = self.min_seq[LruKind::of(flags)];
        let active = flags.contains(PageFlags::ACTIVE);
        let unready = flags.contains(PageFlags::ANON) && !flags.contains(PageFlags::SWAPCACHE)
            || flags.contains(PageFlags::RECLAIM) && flags.intersects(PageFlags::DIRTY.with(PageFlags::WRITEBACK));
        if rules.second_look {
            let in_workingset = flags.contains(PageFlags::WORKINGSET);
            let known = in_workingset || !rules.faults_activate && flags.contains(PageFlags::REFERENCED);
            let age = match () {
                () if active => 1 - u64::from(in_workingset),
                () if oldest => MAX_NR_GENS - 1,
                () if unready => 1,
                () => MAX_NR_GENS - 1 - u64::from(known),
            };
            return (self.max_seq - age.min(self.max_seq)).max(min_seq);
        }
        match () {
            () if active => self.max_seq,
            () if unready => self.max_seq - 1,
            () if oldest || min_seq + MIN_NR_GENS >= self.max_seq => min_seq,
            () => min_seq + 1,
        }
    }
}
