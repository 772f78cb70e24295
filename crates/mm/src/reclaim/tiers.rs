//! What do evictions and refaults teach, by tier? (docs/mglru.md, 6 and 7)

use super::shadow::Shadow;
use crate::lru::{MAX_NR_GENS, MAX_NR_TIERS, MAX_REFS, tier_of, tier_of_uses, uses};
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
        let kind = usize::from(!flags.contains(PageFlags::ANON));
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
        let file = !flags.contains(PageFlags::ANON);
        let same_node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node == shadow.node;
        let recent = same_node && self.is_recent(shadow.node, shadow.age, file, rules);
        // What left another node is nobody's refault.
        if same_node && (recent || !rules.recent_refaults_only) {
            self.count_refault(Refault::Any, file, pages);
        }
        // What a fault reads back comes by way of the swap cache, used once.
        let enters_used = faulted && !file && !rules.faults_activate;
        if !recent {
            if enters_used {
                self.enter_used(pfn);
            }
            return;
        }
        let uses = shadow.uses + u8::from(rules.second_look || shadow.workingset);
        let tier = tier_of_uses(uses, shadow.workingset, rules);
        self.generations_mut(shadow.node).feedback[usize::from(file)].refaulted[tier] += pages;
        let restored = match rules.second_look {
            true => shadow.workingset,
            false => faulted || usize::from(uses) >= MAX_NR_TIERS - 1,
        };
        let young = faulted && (rules.faults_activate || restored);
        if young || !rules.second_look && rules.node_at_once {
            self.count_refault(Refault::Activated, file, pages);
        }
        if restored {
            self.count_refault(Refault::Restored, file, pages);
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
    fn is_recent(&self, node: NodeId, evicted_at: u64, file: bool, rules: GenerationRules) -> bool {
        let generations = self.generations(node);
        if rules.second_look {
            generations.max_seq.abs_diff(evicted_at) < MAX_NR_GENS
        } else {
            generations.min_seq[usize::from(file)] == evicted_at
        }
    }

    fn count_refault(&mut self, what: Refault, file: bool, pages: u64) {
        let counter = match (what, file) {
            (Refault::Any, false) => Counter::WorkingsetRefaultAnon,
            (Refault::Any, true) => Counter::WorkingsetRefaultFile,
            (Refault::Activated, false) => Counter::WorkingsetActivateAnon,
            (Refault::Activated, true) => Counter::WorkingsetActivateFile,
            (Refault::Restored, false) => Counter::WorkingsetRestoreAnon,
            (Refault::Restored, true) => Counter::WorkingsetRestoreFile,
        };
        self.alloc.vmstat.add(counter, pages);
    }
}

/// Which of the `workingset_*` counters.
#[derive(Clone, Copy)]
enum Refault {
    Any,
    Activated,
    Restored,
}
