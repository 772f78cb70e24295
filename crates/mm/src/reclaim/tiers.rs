//! What do evictions and refaults teach, by tier? (docs/mglru.md, 6 and 7)

use super::shadow::Shadow;
use crate::lru::{MAX_NR_GENS, MAX_NR_TIERS, MAX_REFS, tier_of, tier_of_uses, uses};
use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::GenerationRules;
use pagealloc::{Counter, NodeId, Pfn};

impl<W: World> State<W> {
    /// What to remember of a page that is evicted (7): how old its kind's oldest generation is, and its uses.
    pub(super) fn generation_eviction(&mut self, pfn: Pfn, rules: GenerationRules) -> Shadow {
        let (flags, bits, zone) = (self.pages.flags(pfn), self.pages.bits(pfn), self.alloc.zone_of(pfn));
        let node = self.alloc.zone_info(zone).node;
        let pages = 1 << self.alloc.frames.order(pfn);
        let kind = LruKind::of(flags);
        let uses = uses(flags, bits, rules);
        let generations = self.generations_mut(node);
        generations.feedback[kind].evicted[tier_of(flags, bits, rules)] += pages;
        let workingset = if rules.second_look { flags.contains(PageFlags::WORKINGSET) } else { uses != 0 };
        Shadow { node, zone, age: generations.min_seq[kind], workingset, uses: uses.saturating_sub(1), swap: None }
    }

    /// A page that reclaim evicted is back, and on its list, by a page fault or not (7).
    pub(super) fn generation_refault(&mut self, pfn: Pfn, shadow: Shadow, faulted: bool, rules: GenerationRules) {
        let flags = self.pages.flags(pfn);
        let pages = 1u64 << self.alloc.frames.order(pfn);
        let kind = LruKind::of(flags);
        let same_node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node == shadow.node;
        let recent = same_node && self.is_recent(shadow.node, shadow.age, kind, rules);
        // What left another node is nobody's refault.
        if same_node && (recent || !rules.recent_refaults_only) {
            self.count_refault(Refault::Any, kind, pages);
        }
        // What a fault reads back comes by way of the swap cache, used once.
        let enters_used = faulted && kind == LruKind::Anon && !rules.faults_activate;
        if !recent {
            if enters_used {
                self.enter_used(pfn);
            }
            return;
        }
        let uses = shadow.uses + u8::from(rules.second_look || shadow.workingset);
        let tier = tier_of_uses(uses, shadow.workingset, rules);
        self.generations_mut(shadow.node).feedback[kind].refaulted[tier] += pages;
        let restored = match rules.second_look {
            true => shadow.workingset,
            false => faulted || usize::from(uses) >= MAX_NR_TIERS - 1,
        };
        let young = faulted && (rules.faults_activate || restored);
        if young || !rules.second_look && rules.node_at_once {
            self.count_refault(Refault::Activated, kind, pages);
        }
        if restored {
            self.count_refault(Refault::Restored, kind, pages);
        }
        if enters_used && !restored {
            self.enter_used(pfn);
        } else if restored || rules.second_look {
            self.enter_again(pfn, restored, shadow.uses, young, rules);
        }
    }

    /// Puts an anonymous page that a fault read back where one in the swap cache enters.
    fn enter_used(&mut self, pfn: Pfn) {
        self.lru_del(pfn);
        self.pages.clear_flags(pfn, PageFlags::ACTIVE);
        self.pages.set_bits(pfn, self.pages.bits(pfn).with_refs(0));
        self.pages.add_flags(pfn, PageFlags::REFERENCED.with(PageFlags::SWAPCACHE));
        self.lru_putback(pfn);
        self.pages.clear_flags(pfn, PageFlags::SWAPCACHE);
    }

    /// Puts the page where it would have entered had its past been known: in the workingset, or with its uses.
    fn enter_again(&mut self, pfn: Pfn, workingset: bool, uses: u8, young: bool, rules: GenerationRules) {
        self.lru_del(pfn);
        self.pages.clear_flags(pfn, PageFlags::ACTIVE);
        if workingset {
            self.pages.add_flags(pfn, PageFlags::WORKINGSET);
            if !rules.faults_activate {
                self.pages.clear_flags(pfn, PageFlags::REFERENCED);
            }
            if !rules.second_look {
                self.pages.set_bits(pfn, self.pages.bits(pfn).with_refs(MAX_REFS));
            }
        } else {
            self.pages.set_bits(pfn, self.pages.bits(pfn).with_refs(uses));
        }
        if young {
            self.pages.add_flags(pfn, PageFlags::ACTIVE);
        }
        self.lru_putback(pfn);
    }

    /// Whether the generation that a page was evicted from is recent enough to compare it with those there are.
    fn is_recent(&self, node: NodeId, evicted_at: u64, kind: LruKind, rules: GenerationRules) -> bool {
        let generations = self.generations(node);
        if rules.second_look {
            generations.max_seq.abs_diff(evicted_at) < MAX_NR_GENS
        } else {
            generations.min_seq[kind] == evicted_at
        }
    }

    fn count_refault(&mut self, what: Refault, kind: LruKind, pages: u64) {
        let counters = match what {
            Refault::Any => [Counter::WorkingsetRefaultAnon, Counter::WorkingsetRefaultFile],
            Refault::Activated => [Counter::WorkingsetActivateAnon, Counter::WorkingsetActivateFile],
            Refault::Restored => [Counter::WorkingsetRestoreAnon, Counter::WorkingsetRestoreFile],
        };
        self.alloc.vmstat.add(counters[kind], pages);
    }
}

/// Which of the `workingset_*` counters.
#[derive(Clone, Copy)]
enum Refault {
    Any,
    Activated,
    Restored,
}
