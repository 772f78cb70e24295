//! Which pages of the oldest generation are taken, and what becomes of the batch? (docs/mglru.md, 5)

use super::aging::evictable_kinds;
use super::isolate::Taken;
use super::page_out::Rules;
use super::tier_feedback::choose_kind;
use super::{Batch, ScanControl};
use crate::env::{Env, Nanos, TaskContext};
use crate::lru::{End, MIN_NR_GENS, index_of, is_full, tier_of};
use crate::lru_kind::LruKind;
use crate::owner::Owner;
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::{FlusherWake, GenerationRules, PassQuota};
use pagealloc::{Counter, FrameList, Frames, Gfp, NR_ZONE_TYPES, NodeId, Pfn, ZoneType};

/// Pages that a batch takes: it ends with the page that reaches this number.
pub(super) const MIN_BATCH: u32 = 64;
/// Pages that a batch looks at, at most.
const MAX_BATCH: u64 = 4096;

/// What a batch looks for.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    node: NodeId,
    kind: LruKind,
    /// The highest tier that is not protected.
    tier: usize,
    rules: GenerationRules,
    sc: &'a ScanControl,
}

/// What a batch looked at.
#[derive(Default)]
struct Scan {
    pages: FrameList,
    /// Base pages that a scan before it looked at and put elsewhere, all of them.
    in_vain: u32,
    /// Base pages looked at, taken, and put elsewhere.
    looked_at: u32,
    taken: u32,
    sorted: u32,
    /// Pages that may still be looked at.
    remaining: u64,
    now: Nanos,
    /// Base pages of dirty page cache that it met, and of these, those that nobody was writing.
    dirty: u32,
    unqueued: u32,
}

/// What a pass met of dirty page cache (only where the flushers are woken for it).
#[derive(Default)]
pub(super) struct Met {
    pub unqueued_dirty: u64,
    pub file: u64,
}

impl<W: World> Mm<W> {
    /// Evicts a batch. Returns how far the pass has come by it: base pages looked at, 0 if there is nothing to evict.
    pub(super) async fn evict_batch(
        &self,
        node: NodeId,
        quota: u64,
        swappiness: u64,
        rules: GenerationRules,
        (sc, met): (&mut ScanControl, &mut Met),
        task: &TaskContext,
    ) -> u64 {
        let now = self.env.now();
        let (batch, kind, progress, writes, sent) = {
            let mut state = self.state.borrow_mut();
            let quota = match rules.quota {
                PassQuota::Anew => MAX_BATCH,
                PassQuota::AnewExact => quota.min(MAX_BATCH),
                PassQuota::Once => quota.min(MIN_BATCH.into()),
            };
            if rules.quota == PassQuota::Once {
                state.drop_empty_generations(node, swappiness, rules);
            }
            let (scan, kind) = state.scan_kinds(node, quota, swappiness, rules, (sc, met), now);
            let dropped = state.drop_empty_generations(node, swappiness, rules);
            let out_of_old =
                state.evictable_min_seq(node, swappiness, rules) + MIN_NR_GENS > state.generations(node).max_seq;
            let progress = match rules.quota {
                PassQuota::Once => scan.progress(rules),
                _ if out_of_old => 0,
                _ => scan.progress(rules) + u64::from(dropped),
            };
            let mut writes = core::mem::take(&mut state.nodes[node.index()].reclaim.writes);
            let limits = Rules::new(sc, &state.nodes[node.index()].reclaim, now, task);
            let batch = state.evict_scanned(node, scan, kind, sc, &limits, &mut writes);
            let sent = state.note_sent(&writes);
            (batch, kind, progress, writes, sent)
        };
        met.unqueued_dirty += u64::from(batch.unqueued_dirty);
        if rules.wakes_flushers == FlusherWake::AfterBatch && batch.is_unqueued_dirty() {
            self.env.wake_flushers(u64::MAX);
        }
        self.end_batch(node, kind, &batch, writes, sc, task).await;
        self.evict_again(node, kind, (&sent, batch.examined), rules, sc, task).await;
        progress
    }

    /// What a batch came to is the run's, and its writes go to their device; their list is the next batch's.
    pub(super) async fn end_batch(
        &self,
        node: NodeId,
        kind: LruKind,
        batch: &Batch,
        mut writes: Vec<Pfn>,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        sc.nr_scanned += u64::from(batch.scanned);
        sc.nr_reclaimed += u64::from(batch.reclaimed);
        self.settle_batch(batch, kind, &mut writes, task).await;
        self.state.borrow_mut().nodes[node.index()].reclaim.writes = writes;
    }
}

impl Met {
    fn note(&mut self, scan: &Scan, kind: LruKind) {
        if kind == LruKind::File {
            self.file += u64::from(scan.taken + scan.dirty);
        }
        self.unqueued_dirty += u64::from(scan.unqueued);
    }
}

impl Scan {
    /// Nothing, where pages were looked at in vain and there are no more, and no quota makes the pass end.
    fn progress(&self, rules: GenerationRules) -> u64 {
        let counts = rules.quota == PassQuota::Once || self.taken > 0 || self.remaining == 0;
        if counts { u64::from(self.in_vain) + u64::from(self.looked_at) } else { 0 }
    }
}

impl<W: World> State<W> {
    /// Scans the kind that is to be evicted from; the other one if it has nothing to look at. With one quota a pass, a
    /// kind of which all that was looked at went elsewhere is scanned once more: it is not short of pages.
    fn scan_kinds(
        &mut self,
        node: NodeId,
        quota: u64,
        swappiness: u64,
        rules: GenerationRules,
        (sc, met): (&ScanControl, &mut Met),
        now: Nanos,
    ) -> (Scan, LruKind) {
        let fresh = || Scan { remaining: quota, now, ..Scan::default() };
        let generations = self.generations(node);
        let (mut kind, tier) = choose_kind(&generations.feedback, generations.min_seq, swappiness, rules);
        let wanted = Wanted { node, kind, tier, rules, sc };
        let mut scan = self.scan_oldest(&wanted, fresh());
        met.note(&scan, kind);
        let in_vain = if rules.quota == PassQuota::Once && scan.taken == 0 { scan.looked_at } else { 0 };
        if (in_vain > 0 || scan.progress(rules) == 0) && evictable_kinds(swappiness).contains(&kind.other()) {
            kind = if in_vain > 0 { kind } else { kind.other() };
            let tier = self.generations(node).feedback[kind].evictable_tier(rules);
            scan = self.scan_oldest(&Wanted { kind, tier, ..wanted }, Scan { in_vain, ..fresh() });
            met.note(&scan, kind);
        }
        (scan, kind)
    }

    /// Looks at pages from the tails of a kind's oldest generation, the highest zone of the request first.
    fn scan_oldest(&mut self, wanted: &Wanted, mut scan: Scan) -> Scan {
        let &Wanted { node, kind, sc, .. } = wanted;
        if self.generations(node).nr_gens(kind) <= MIN_NR_GENS {
            return scan;
        }
        for back in 0..NR_ZONE_TYPES {
            let zone = (sc.reclaim_idx as usize + NR_ZONE_TYPES - back) % NR_ZONE_TYPES;
            self.scan_zone(wanted, zone, &mut scan);
            if scan.remaining == 0 || scan.taken >= MIN_BATCH {
                break;
            }
        }
        self.count_scan(kind, sc, &scan);
        scan
    }

    fn scan_zone(&mut self, wanted: &Wanted, zone: usize, scan: &mut Scan) {
        let &Wanted { node, kind, rules, sc, .. } = wanted;
        let oldest = index_of(self.generations(node).min_seq[kind]);
        let (mut aside, mut skipped) = (FrameList::default(), 0);
        while scan.remaining > 0 && scan.taken.max(skipped) < MIN_BATCH {
            let Some(pfn) = self.generations(node).lists[oldest][kind][zone].tail() else { break };
            let pages = 1 << self.alloc.frames.order(pfn);
            scan.looked_at += pages;
            scan.remaining -= 1;
            if self.sort(wanted, pfn, scan) {
                scan.sorted += pages;
            } else if self.may_take(pfn, sc, rules) {
                self.isolate_from_generation(pfn, rules);
                scan.pages.push_head(&mut self.alloc.frames, pfn);
                scan.taken += pages;
            } else {
                let (list, frames) = self.list_and_frames(node, oldest, kind, zone);
                list.remove(frames, pfn);
                aside.push_head(frames, pfn);
                skipped += pages;
            }
        }
        while let Some(pfn) = aside.pop_tail(&mut self.alloc.frames) {
            let (list, frames) = self.list_and_frames(node, oldest, kind, zone);
            list.push_head(frames, pfn);
        }
        self.alloc.vmstat.add(Counter::pgskip(ZoneType::ALL[zone]), u64::from(skipped));
    }

    fn list_and_frames(
        &mut self,
        node: NodeId,
        generation: usize,
        kind: LruKind,
        zone: usize,
    ) -> (&mut FrameList, &mut Frames) {
        (&mut self.nodes[node.index()].generations.lists[generation][kind][zone], &mut self.alloc.frames)
    }

    /// Puts a page where it belongs if that is not the oldest generation: promoted pages, those of protected tiers, of
    /// zones that the request can't use, and page cache that has to be written first.
    fn sort(&mut self, wanted: &Wanted, pfn: Pfn, scan: &mut Scan) -> bool {
        let &Wanted { node, kind, rules, sc, .. } = wanted;
        let pages = 1 << self.alloc.frames.order(pfn);
        let generation = self.pages.bits(pfn).generation();
        if generation != index_of(self.generations(node).min_seq[kind]) {
            self.rehang(pfn, generation, End::Head);
            return true;
        }
        if kind == LruKind::File {
            self.catch_up_on_uses(pfn, scan.now);
        }
        let (flags, bits) = (self.pages.flags(pfn), self.pages.bits(pfn));
        let (tier, full) = (tier_of(flags, bits, rules), is_full(flags, bits, rules));
        if tier > wanted.tier || full {
            let next = self.grow_younger(pfn, rules);
            // The next one's head since 6.14.
            self.rehang(pfn, next, if rules.second_look { End::Head } else { End::Tail });
            self.count_activated(kind, pages, rules);
            if !(rules.second_look && full) {
                self.generations_mut(node).feedback[kind].note_protected(tier, pages);
            }
            return true;
        }
        let zone = self.alloc.zone_of(pfn);
        if self.alloc.zone_info(zone).kind > sc.reclaim_idx {
            let next = self.grow_younger(pfn, rules);
            self.rehang(pfn, next, End::Tail);
            return true;
        }
        if !rules.sorts_dirty {
            return false;
        }
        let (dirty, writeback) = (flags.contains(PageFlags::DIRTY), flags.contains(PageFlags::WRITEBACK));
        if kind == LruKind::File && dirty {
            scan.dirty += pages as u32;
            scan.unqueued += if writeback { 0 } else { pages as u32 };
        }
        if writeback || kind == LruKind::File && dirty {
            let next = self.grow_younger(pfn, rules);
            self.pages.add_flags(pfn, PageFlags::RECLAIM);
            self.rehang(pfn, next, End::Head);
            return true;
        }
        false
    }

    /// Counts uses that the owner learns of too late to tell.
    fn catch_up_on_uses(&mut self, pfn: Pfn, now: Nanos) {
        for _ in 0..self.owner.uses_meanwhile(self.pages.tag(pfn), pfn, now) {
            self.mark_accessed(pfn);
        }
    }

    /// Counts protected pages as activated, up to 6.2; from then on refaults are counted.
    fn count_activated(&mut self, kind: LruKind, pages: u64, rules: GenerationRules) {
        if !rules.node_at_once {
            let counters = [Counter::WorkingsetActivateAnon, Counter::WorkingsetActivateFile];
            self.alloc.vmstat.add(counters[kind], pages);
        }
    }

    /// Whether the run may take the page: without I/O, only what needs none, where dirty pages are not judged like others.
    fn may_take(&self, pfn: Pfn, sc: &ScanControl, rules: GenerationRules) -> bool {
        let flags = self.pages.flags(pfn);
        let needs_swap = flags.contains(PageFlags::ANON) && !flags.contains(PageFlags::SWAPCACHE);
        let needs_io = rules.sorts_dirty && (flags.contains(PageFlags::DIRTY) || needs_swap);
        (sc.gfp.contains(Gfp::IO) || !needs_io) && (sc.may_unmap || !flags.contains(PageFlags::MAPPED))
    }

    fn count_scan(&mut self, kind: LruKind, sc: &ScanControl, scan: &Scan) {
        let (by_whom, _) = sc.counters();
        let of_what = [Counter::PgscanAnon, Counter::PgscanFile][kind];
        let vmstat = &mut self.alloc.vmstat;
        vmstat.add(by_whom, u64::from(scan.taken));
        vmstat.add(of_what, u64::from(scan.taken));
        vmstat.add(Counter::Pgrefill, u64::from(scan.sorted));
    }

    /// Judges the pages that a scan took, as those of the inactive lists are.
    fn evict_scanned(
        &mut self,
        node: NodeId,
        scan: Scan,
        kind: LruKind,
        sc: &ScanControl,
        limits: &Rules,
        writes: &mut Vec<Pfn>,
    ) -> Batch {
        let mut batch = Batch { examined: scan.looked_at, taken: scan.taken, ..Batch::default() };
        let mut taken = Taken { pages: scan.pages, taken: scan.taken, examined: scan.looked_at };
        self.judge_pages(&mut taken, limits, &mut batch, writes);
        self.count_reclaimed(kind, sc, &batch);
        if batch.taken != 0 {
            self.trace_inactive(node, kind, sc.priority, &batch);
        }
        batch
    }
}
