//! When do generations age, and what does it change? (docs/mglru.md, 4)

use super::page_tables::Tables;
use crate::env::{Env, Nanos, TaskContext, Work};
use crate::lru::{End, MAX_NR_GENS, MIN_NR_GENS, index_of, is_full, tier_of};
use crate::lru_kind::LruKind::{self, Anon, File};
use crate::owner::Owner;
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use pagealloc::policy::GenerationRules;
use pagealloc::{FrameState, NR_ZONE_TYPES, NodeId, Pfn, ZoneId};

impl<W: World> Mm<W> {
    /// Makes a new youngest generation, after a look through the page tables for pages in use. Who comes while somebody looks
    /// takes part, and the last to end makes the generation. `false`: that is somebody else.
    pub(super) async fn age(&self, node: NodeId, swappiness: u64, rules: GenerationRules, task: &TaskContext) -> bool {
        if !self.state.borrow_mut().join_walk(node, swappiness, rules, self.env.now()) {
            return false;
        }
        while let Some(entries) = self.next_step(node) {
            self.env.work(task, Work::WalkPageTables(entries)).await;
        }
        if !self.state.borrow_mut().generations_mut(node).walk.leave() {
            return false;
        }
        let moved = self.state.borrow_mut().inc_max_seq(node, swappiness, rules);
        self.env.work(task, Work::Deactivate(moved)).await;
        true
    }

    fn next_step(&self, node: NodeId) -> Option<u32> {
        self.state.borrow_mut().generations_mut(node).walk.next_step()
    }
}

/// Kinds that may be evicted under a swappiness.
pub(super) const fn evictable_kinds(swappiness: u64) -> &'static [LruKind] {
    if swappiness == 0 { &[File] } else { &LruKind::ALL }
}

impl<W: World> State<W> {
    /// Begins a walk, or takes part in one. `false`: nothing is left of it.
    fn join_walk(&mut self, node: NodeId, swappiness: u64, rules: GenerationRules, now: Nanos) -> bool {
        if let Some(joined) = self.generations_mut(node).walk.join() {
            return joined;
        }
        let walks = self.alloc.policy.lru_gen_walks();
        let entries = if walks { self.walk_page_tables(node, swappiness, rules, now) } else { 0 };
        self.generations_mut(node).walk.begin(entries);
        true
    }

    /// Looks at the mapped pages of the node whose page tables are worth it, and promotes those in use: how many entries that takes.
    fn walk_page_tables(&mut self, node: NodeId, swappiness: u64, rules: GenerationRules, now: Nanos) -> u32 {
        let walk = &mut self.generations_mut(node).walk;
        let before = core::mem::replace(&mut walk.began, now);
        let mut tables = Tables::to_walk(core::mem::take(&mut walk.worth), before);
        for zone in self.alloc.zones_of(node).map(ZoneId) {
            let info = self.alloc.zone_info(zone);
            for pfn in (info.start.0..info.end.0).map(Pfn) {
                if self.is_walked(pfn, swappiness) {
                    self.look_at(pfn, rules, now, &mut tables);
                }
            }
        }
        tables.looked_at_swapped(|table| self.owner.swapped_entries(table));
        self.generations_mut(node).walk.worth = tables.worth_another();
        tables.entries()
    }

    fn is_walked(&self, pfn: Pfn, swappiness: u64) -> bool {
        let flags = self.pages.flags(pfn);
        self.alloc.frames.state(pfn) == FrameState::LRU
            && flags.contains(PageFlags::MAPPED)
            && !flags.contains(PageFlags::UNEVICTABLE)
            && (swappiness > 0 || !flags.contains(PageFlags::ANON))
    }

    fn look_at(&mut self, pfn: Pfn, rules: GenerationRules, now: Nanos, tables: &mut Tables) {
        let (tag, order) = (self.pages.tag(pfn), self.alloc.frames.order(pfn));
        // The entry of a huge page lies in the table above.
        let table = (order < self.alloc.geometry.pmd_order).then(|| self.owner.page_table(tag));
        if !tables.take_in(table, self.owner.address_space_since(tag)) {
            return;
        }
        let used = self.owner.walked(tag, pfn, now);
        if used {
            self.promote(pfn, rules);
        }
        tables.looked_at(table, 1 << order, used);
    }

    /// A new youngest generation. A kind that has as many generations as there can be gives up its oldest: base pages
    /// moved for that.
    fn inc_max_seq(&mut self, node: NodeId, swappiness: u64, rules: GenerationRules) -> u32 {
        let mut moved = 0;
        for kind in [File, Anon] {
            if self.generations(node).nr_gens(kind) == MAX_NR_GENS {
                moved += self.inc_min_seq(node, kind, swappiness, rules);
            }
        }
        self.generations_mut(node).max_seq += 1;
        self.regauge(node);
        moved
    }

    /// Gives up a kind's oldest generation by moving its pages to the next, so that cold and hot pages don't swap places;
    /// a kind that can't be evicted stays as it is. Base pages moved.
    fn inc_min_seq(&mut self, node: NodeId, kind: LruKind, swappiness: u64, rules: GenerationRules) -> u32 {
        let mut moved = 0;
        if evictable_kinds(swappiness).contains(&kind) {
            let oldest = index_of(self.generations(node).min_seq[kind]);
            for zone in 0..NR_ZONE_TYPES {
                while let Some(pfn) = self.generations(node).lists[oldest][kind][zone].tail() {
                    moved += 1 << self.alloc.frames.order(pfn);
                    self.move_on(node, pfn, kind, rules);
                }
            }
        }
        let generations = self.generations_mut(node);
        generations.feedback[kind].carry_over();
        generations.min_seq[kind] += 1;
        moved
    }

    fn move_on(&mut self, node: NodeId, pfn: Pfn, kind: LruKind, rules: GenerationRules) {
        let (flags, bits) = (self.pages.flags(pfn), self.pages.bits(pfn));
        let generation = self.grow_younger(pfn, rules);
        self.rehang(pfn, generation, End::Tail);
        if rules.second_look && !is_full(flags, bits, rules) {
            let pages = 1 << self.alloc.frames.order(pfn);
            self.generations_mut(node).feedback[kind].note_protected(tier_of(flags, bits, rules), pages);
        }
    }

    /// Gives up generations that hold no page any more: whether there were any (try_to_inc_min_seq).
    pub(super) fn drop_empty_generations(&mut self, node: NodeId, swappiness: u64, rules: GenerationRules) -> bool {
        let generations = self.generations_mut(node);
        let (max_seq, mut min_seq) = (generations.max_seq, generations.min_seq);
        for &kind in evictable_kinds(swappiness) {
            let is_empty = |seq: u64| generations.lists[index_of(seq)][kind].iter().all(|list| list.is_empty());
            while min_seq[kind] + MIN_NR_GENS <= max_seq && is_empty(min_seq[kind]) {
                min_seq[kind] += 1;
            }
        }
        if swappiness > 0 {
            min_seq = if rules.kinds_apart {
                let held = hold_together(min_seq, max_seq);
                LruKind::ALL.map(|kind| held[kind].max(generations.min_seq[kind]))
            } else {
                anon_not_younger(min_seq, generations.min_seq)
            };
        }
        let mut dropped = false;
        for kind in LruKind::ALL {
            if min_seq[kind] != generations.min_seq[kind] {
                generations.feedback[kind].carry_over();
                generations.min_seq[kind] = min_seq[kind];
                dropped = true;
            }
        }
        dropped
    }

    /// Oldest generation that can be evicted from under a swappiness.
    pub(super) fn evictable_min_seq(&self, node: NodeId, swappiness: u64, rules: GenerationRules) -> u64 {
        let min_seq = self.generations(node).min_seq;
        match (swappiness, rules.kinds_apart) {
            (0, _) => min_seq[File],
            (_, true) => min_seq[Anon].min(min_seq[File]),
            (_, false) => min_seq[Anon],
        }
    }
}

/// Both kinds' oldest generations, where one kind is out of old pages and the other is not: it waits for the other, so
/// that pages that leave the younger two find a generation to go to.
fn hold_together(mut min_seq: [u64; 2], max_seq: u64) -> [u64; 2] {
    let last = max_seq - MIN_NR_GENS;
    if min_seq[Anon] > last && min_seq[File] < last {
        min_seq[Anon] = last;
    } else if min_seq[File] > last && min_seq[Anon] < last {
        min_seq[File] = last;
    }
    min_seq
}

/// Anon's oldest generation is never younger than file's, which can always be evicted.
fn anon_not_younger(min_seq: [u64; 2], before: [u64; 2]) -> [u64; 2] {
    let anon = min_seq[Anon].min(min_seq[File]);
    [anon, before[File].max(anon)]
}
