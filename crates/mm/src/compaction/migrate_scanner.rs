//! The migrate scanner: which pages of a block are taken to be moved? (11.5, 11.6)

use super::control::Source;
use super::{COMPACT_CLUSTER_MAX, CompactControl, CompactMode};
use crate::event::{MmEvent, MmObserver};
use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::{CachedPositions, SkipOnFailure};
use pagealloc::{BlockId, Counter, FrameState, Gfp, Order, Pfn};

/// Aligned windows of the wanted order: a single page that stays makes the rest of its window useless to a hasty run.
struct Windows {
    order: Order,
    /// End of the current window.
    end: Pfn,
}

/// What a run may do with the frame under its eyes.
enum Look {
    /// A free block of that order: nothing to do, nothing lost.
    Free(Order),
    /// Take it; base pages.
    Take { pages: u32, lru: bool },
    /// It stays, and with it this many frames.
    Stays(u32),
}

/// Progress within one block.
struct BlockScan {
    pfn: Pfn,
    end: Pfn,
    windows: Option<Windows>,
    scanned: u32,
    /// The block, if its hint may be set: since 5.1, where the scan began at its start.
    hint: Option<BlockId>,
    hint_updated: bool,
    /// Pages taken in this scan.
    taken: u32,
}

impl<W: World> State<W> {
    /// Isolates up to 32 pages from `low` on, within one block; more if the block is to be finished.
    pub(super) fn isolate_migratepages_block(&mut self, control: &mut CompactControl, low: Pfn, end: Pfn) {
        let rules = self.alloc.policy.compaction;
        let at_start = low == low.align_down(self.alloc.geometry.pageblock_order) || low == control.start;
        let hints = at_start || !rules.fast_search;
        let hasty = control.hasty() && rules.skip_on_failure != SkipOnFailure::Off;
        let mut scan = BlockScan {
            pfn: low,
            end,
            windows: control.order.filter(|_| hasty).map(|order| Windows { order, end: window_end(low, order) }),
            scanned: 0,
            hint: hints.then(|| self.alloc.geometry.block_of(low)),
            hint_updated: false,
            taken: 0,
        };
        self.scan_block(control, &mut scan);
        scan.pfn = scan.pfn.min(end);
        self.end_of_scan(control, low, &scan);
    }

    fn scan_block(&mut self, control: &mut CompactControl, scan: &mut BlockScan) {
        while scan.pfn < scan.end {
            if let Some(windows) = &mut scan.windows
                && scan.pfn >= windows.end
            {
                if !control.sources.is_empty() {
                    // All of the window can go: do that now, it may be all that the request needs.
                    return;
                }
                windows.end = window_end(scan.pfn, windows.order);
            }
            scan.scanned += 1;
            match self.look(control, scan.pfn) {
                Look::Free(order) => self.step_over(scan, 1 << order),
                Look::Stays(pages) => {
                    self.step_over(scan, pages);
                    self.leave_window(control, scan);
                }
                Look::Take { pages, lru } => {
                    if self.block_was_skipped(control, scan) {
                        scan.pfn = scan.end;
                        return;
                    }
                    self.take(control, scan, pages, lru);
                    if control.nr_sources >= COMPACT_CLUSTER_MAX && !control.finish_pageblock && !control.contended {
                        return;
                    }
                }
            }
        }
    }

    /// Moves on behind `pages` frames, of which the first is counted already.
    fn step_over(&self, scan: &mut BlockScan, pages: u32) {
        scan.pfn = scan.pfn.add(pages);
        if self.alloc.policy.compaction.counts_stepped_over {
            scan.scanned += pages - 1;
        }
    }

    /// The tests of 11.5 in their order.
    fn look(&self, control: &CompactControl, pfn: Pfn) -> Look {
        let state = self.alloc.frames.state(pfn);
        if let Some(order) = state.free_order() {
            return Look::Free(order);
        }
        if !matches!(state, FrameState::USED | FrameState::LRU | FrameState::MOVABLE_OPS) {
            return Look::Stays(1);
        }
        let order = self.alloc.frames.order(pfn);
        if self.pages.flags(pfn).contains(PageFlags::NOT_COMPOUND) {
            return Look::Stays(1);
        }
        if order > 0 && self.too_large_to_move(control, order) {
            return Look::Stays(1 << order);
        }
        match state {
            FrameState::MOVABLE_OPS => Look::Take { pages: 1 << order, lru: false },
            FrameState::LRU if self.may_isolate(control, pfn) => Look::Take { pages: 1 << order, lru: true },
            FrameState::LRU => Look::Stays(1 << order),
            _ => Look::Stays(1),
        }
    }

    /// A compound page that is itself as large as what is wanted gains nothing by moving (11.5.5).
    fn too_large_to_move(&self, control: &CompactControl, order: Order) -> bool {
        !self.alloc.policy.compaction.moves_compound
            || order >= self.alloc.geometry.pageblock_order
            || control.order.is_some_and(|target| order >= target)
    }

    /// Whether a page on an LRU list may be taken (11.5.8 to 11).
    fn may_isolate(&self, control: &CompactControl, pfn: Pfn) -> bool {
        let flags = self.pages.flags(pfn);
        // Extra references of a page with a mapping show only when it is moved (11.5.8).
        if flags.contains(PageFlags::PINNED) && !flags.has_mapping() {
            return false;
        }
        if !control.gfp.contains(Gfp::FS) && flags.has_mapping() {
            return false;
        }
        if flags.contains(PageFlags::UNEVICTABLE) && !self.moves_unevictable() {
            return false;
        }
        let immovable = PageFlags::DIRTY.with(PageFlags::DIRTY_IMMOVABLE);
        let must_be_written = flags.contains(immovable) && flags.has_mapping();
        // Only a full sync run could wait; up to 4.6 every sync run tries.
        let light = self.alloc.policy.compaction.light_isolates_writeback;
        let tries = if light { control.mode != CompactMode::Async } else { control.mode == CompactMode::Sync };
        tries || !(must_be_written || flags.contains(PageFlags::WRITEBACK))
    }

    fn moves_unevictable(&self) -> bool {
        let policy = &self.alloc.policy;
        policy.sysctl_rules.compact_unevictable_allowed && policy.sysctl.compact_unevictable_allowed != 0
    }

    /// The first page taken sets the block's hint; if it was set already, another run has been here (11.5.12, 5.1+).
    fn block_was_skipped(&mut self, control: &CompactControl, scan: &mut BlockScan) -> bool {
        if scan.hint_updated || !self.alloc.policy.compaction.fast_search {
            return false;
        }
        let Some(block) = scan.hint else { return false };
        scan.hint_updated = true;
        if control.ignore_skip {
            return false;
        }
        let was_set = self.alloc.skip(block);
        self.alloc.set_skip(block, true);
        was_set && !control.finish_pageblock
    }

    fn take(&mut self, control: &mut CompactControl, scan: &mut BlockScan, pages: u32, lru: bool) {
        let pfn = scan.pfn;
        if lru {
            self.lru_del(pfn);
            if self.alloc.policy.compaction.skip_on_failure != SkipOnFailure::DriftingAccounting {
                self.account_isolated(pfn, i64::from(pages));
            }
        } else {
            self.alloc.frames.set_state(pfn, FrameState::ISOLATED);
        }
        control.sources.push(Source { pfn, lru });
        control.nr_sources += pages;
        scan.taken += pages;
        scan.scanned += pages - 1;
        scan.pfn = scan.pfn.add(pages);
    }

    /// A page stays in a hasty run's window: what was taken from it goes back, and the scan goes on behind it (11.6).
    fn leave_window(&mut self, control: &mut CompactControl, scan: &mut BlockScan) {
        let Some(windows) = &mut scan.windows else { return };
        if !control.sources.is_empty() {
            self.putback_sources(control);
            scan.taken = 0;
            control.last_migrated = control.last_migrated.filter(|_| self.alloc.policy.compaction.fast_search);
        }
        if scan.pfn.0 - 1 < windows.end.0 {
            scan.pfn = windows.end;
            windows.end = windows.end.add(1 << windows.order);
        }
    }

    fn end_of_scan(&mut self, control: &mut CompactControl, start: Pfn, scan: &BlockScan) {
        if self.alloc.policy.compaction.skip_on_failure == SkipOnFailure::DriftingAccounting {
            // Accounted in one batch: what was put back above has been subtracted without ever being added (11.6).
            self.account_batch(control);
        }
        self.hint_scanned_block(control, start, scan);
        self.alloc.observer.mm(&MmEvent::CompactionIsolateMigratepages {
            start,
            end: scan.pfn,
            nr_scanned: scan.scanned,
            nr_taken: scan.taken,
        });
        control.migrate_scanned += u64::from(scan.scanned);
        self.alloc.vmstat.add(Counter::CompactIsolated, scan.taken.into());
        control.migrate_pfn = scan.pfn;
    }

    /// A block scanned to its end for nothing, or for the last time, need not be scanned again soon.
    fn hint_scanned_block(&mut self, control: &mut CompactControl, start: Pfn, scan: &BlockScan) {
        if !self.alloc.policy.compaction.fast_search {
            return self.hint_barren_scan(control, start, scan);
        }
        if scan.pfn != scan.end || (scan.taken > 0 && !control.finish_pageblock) {
            return;
        }
        if let Some(block) = scan.hint.filter(|_| !scan.hint_updated) {
            self.alloc.set_skip(block, true);
        }
        self.update_cached_migrate(control, scan.end);
    }
}

// ---- hints up to 5.0
impl<W: World> State<W> {
    /// A scan that has reached the end of its block and isolated nothing sets the block's hint, wherever it began, and
    /// moves the position there (read in 3.11 to 5.0.1). A run that ignores hints sets none up to 4.14 (own knowledge
    /// for the version).
    fn hint_barren_scan(&mut self, control: &mut CompactControl, start: Pfn, scan: &BlockScan) {
        if scan.taken > 0 {
            self.freeze_migrate_position(control);
        }
        if scan.pfn != scan.end || scan.taken > 0 {
            return;
        }
        if let Some(block) = scan.hint.filter(|_| !control.ignore_skip) {
            self.alloc.set_skip(block, true);
            if !control.migrate_frozen {
                self.update_cached_migrate(control, start);
            }
        }
    }

    /// Where there is one position for all runs, this one no longer moves it (3.x).
    pub(super) fn freeze_migrate_position(&self, control: &mut CompactControl) {
        control.migrate_frozen |= self.alloc.policy.compaction.positions == CachedPositions::One;
    }
}

// ---- accounting and putting back
impl<W: World> State<W> {
    /// Changes `nr_isolated_anon` or `nr_isolated_file` of the page's node.
    pub(super) fn account_isolated(&mut self, pfn: Pfn, pages: i64) {
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        let kind = LruKind::of(self.pages.flags(pfn));
        self.nodes[node.index()].reclaim.isolated[kind] += pages;
    }

    fn account_batch(&mut self, control: &CompactControl) {
        for source in control.sources.iter().filter(|source| source.lru) {
            self.account_isolated(source.pfn, 1 << self.alloc.frames.order(source.pfn));
        }
    }

    /// putback_movable_pages: isolated pages go back where they came from.
    pub(super) fn putback_sources(&mut self, control: &mut CompactControl) {
        control.nr_sources = 0;
        while let Some(source) = control.sources.pop() {
            self.putback_source(source);
        }
    }

    pub(super) fn putback_source(&mut self, source: Source) {
        let Source { pfn, lru } = source;
        if lru {
            self.account_isolated(pfn, -(1 << self.alloc.frames.order(pfn)));
            let (flags, bits, tag) = (self.pages.flags(pfn), self.pages.bits(pfn), self.pages.tag(pfn));
            self.lru_add_moved(pfn, flags, tag, bits);
        } else {
            self.alloc.frames.set_state(pfn, FrameState::MOVABLE_OPS);
        }
    }
}

/// End of the aligned window of an order that holds the frame.
pub(super) fn window_end(pfn: Pfn, order: Order) -> Pfn {
    pfn.align_down(order).add(1 << order)
}
