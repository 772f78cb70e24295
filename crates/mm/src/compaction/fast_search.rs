//! Fast search: which blocks do the free lists suggest, as sources and as targets? (11.7, 11.11; 5.1+)
//!
//! Walking a zone is slow when few blocks are of use. The Movable free lists know where free pages are: a block low in
//! the zone with free pages is a cheap source, and a free block high in the zone is a target.

use super::CompactControl;
use super::control::{FastStart, pageblock_start};
use crate::event::{MmEvent, MmObserver};
use crate::state::{State, World};
use pagealloc::policy::FailedBatch;
use pagealloc::{Counter, FrameList, Migratetype, Order, PAGE_ALLOC_COSTLY_ORDER, Pfn};

/// What a walk of one free list found.
struct ListWalk {
    /// List entries looked at.
    scanned: u32,
    /// Block to take.
    chosen: Option<Pfn>,
    /// Whether it lies in the preferred quarter.
    preferred: bool,
    /// Entry that the walk stopped at; `None` if it saw the whole list.
    stopped_at: Option<Pfn>,
}

/// Range and effort of a search for targets.
struct TargetSearch {
    /// Lowest frame of the preferred quarter.
    low: Pfn,
    /// Lowest frame of the acceptable half.
    min: Pfn,
    /// Entries to look at per list; shrinks as candidates are found.
    limit: u32,
    /// Highest pageblock seen with a free block.
    highest: Option<Pfn>,
    scanned: u32,
    taken: u32,
}

/// Entries that a search may look at: fewer after each failure.
fn scan_limit(control: &CompactControl) -> u32 {
    32u32.checked_shr(control.fast_search_fail).unwrap_or(0) + 1
}

// ---- sources
impl<W: World> State<W> {
    /// Where the migrate scanner goes on: at a block that the free lists suggest, or where it stands.
    pub(super) fn fast_find_migrateblock(&mut self, control: &mut CompactControl) -> Pfn {
        if !self.may_jump(control) {
            return control.migrate_pfn;
        }
        let order = control.order.unwrap_or(0);
        let limit = scan_limit(control);
        let mut scanned = 0;
        let mut found = None;
        for order in (PAGE_ALLOC_COSTLY_ORDER..order).rev() {
            if found.is_some() || scanned >= limit {
                break;
            }
            found = self.find_source(control, order, limit, &mut scanned);
        }
        control.migrate_scanned += u64::from(scanned);
        match found {
            Some(pfn) => {
                control.fast_search_fail = 0;
                if self.alloc.policy.compaction.search_marks_source {
                    self.alloc.set_skip(self.alloc.geometry.block_of(pfn), true);
                }
                control.fast_start = match control.fast_start {
                    FastStart::Unset => FastStart::At(pfn),
                    FastStart::At(lowest) => FastStart::At(lowest.min(pfn)),
                    FastStart::Spent => FastStart::Spent,
                };
                pageblock_start(&self.alloc.geometry, pfn).max(control.start)
            }
            None => {
                control.fast_search_fail += 1;
                if let FastStart::At(lowest) = control.fast_start {
                    control.fast_start = FastStart::Spent;
                    control.migrate_pfn = lowest;
                }
                control.migrate_pfn
            }
        }
    }

    fn may_jump(&self, control: &CompactControl) -> bool {
        let at_start = control.migrate_pfn == control.start
            || control.migrate_pfn == pageblock_start(&self.alloc.geometry, control.migrate_pfn);
        let rules = self.alloc.policy.compaction;
        rules.fast_search
            && !control.ignore_skip
            && !(control.finish_pageblock && rules.failed_batch == FailedBatch::RestOfBlock)
            && at_start
            && control.order.is_some_and(|order| order > PAGE_ALLOC_COSTLY_ORDER)
            // A small unmovable request must not empty a Movable block just to spoil it.
            && (!control.direct
                || control.migratetype == Migratetype::Movable
                || self.works_for_whole_blocks(control))
    }

    /// First free block of one order below the search limit whose pageblock has no hint.
    fn find_source(&mut self, control: &CompactControl, order: Order, limit: u32, scanned: &mut u32) -> Option<Pfn> {
        let mut distance = control.free_pfn.0.saturating_sub(control.migrate_pfn.0) >> 1;
        if control.migrate_pfn != control.start {
            // Near the source scanner: a target of today must not be a source of tomorrow.
            distance >>= 2;
        }
        let high = pageblock_start(&self.alloc.geometry, control.migrate_pfn.add(distance));
        let list = self.alloc.free_list(control.zone, order, Migratetype::Movable);
        let mut found = None;
        let mut stopped = None;
        for pfn in list.iter(&self.alloc.frames) {
            let over = *scanned >= limit;
            *scanned += 1;
            let fits = pfn < high && !self.alloc.skip(self.alloc.geometry.block_of(pfn));
            if over || fits {
                stopped = Some(pfn);
                found = Some(pfn).filter(|_| !over);
                break;
            }
        }
        if let Some(behind) = stopped.and_then(|pfn| FrameList::next(&self.alloc.frames, pfn)) {
            self.alloc.rotate_free_list(control.zone, order, Migratetype::Movable, behind);
        }
        found
    }
}

// ---- targets
impl<W: World> State<W> {
    /// Takes a free block high in the zone, and what lies around it.
    pub(super) fn fast_isolate_freepages(&mut self, control: &mut CompactControl) {
        let Some(order) = control.order.filter(|&order| order > 0 && self.alloc.policy.compaction.fast_search) else {
            return;
        };
        let geometry = self.alloc.geometry;
        let at_zone_end = control.free_pfn >= self.zones[control.zone.index()].compaction.init_free;
        let distance = control.free_pfn.0.saturating_sub(control.migrate_pfn.0);
        let first_limit = if at_zone_end { geometry.pageblock_pages() >> 1 } else { scan_limit(control) >> 1 };
        let mut search = TargetSearch {
            low: pageblock_start(&geometry, Pfn(control.free_pfn.0 - (distance >> 2))),
            min: pageblock_start(&geometry, Pfn(control.free_pfn.0 - (distance >> 1))),
            limit: first_limit.max(1),
            highest: None,
            scanned: 0,
            taken: 0,
        };
        let found = self.search_target_lists(control, order, &mut search);
        self.alloc.observer.mm(&MmEvent::CompactionFastIsolateFreepages {
            start: search.min,
            end: control.free_pfn,
            nr_scanned: search.scanned,
            nr_taken: search.taken,
        });
        let near = match found {
            Some(pfn) => Some(pfn),
            None => {
                control.fast_search_fail += 1;
                if at_zone_end { self.restart_below(control, &search) } else { None }
            }
        };
        self.lower_cached_free(control, search.highest);
        control.free_scanned += u64::from(search.scanned);
        if let Some(pfn) = near {
            self.isolate_around(control, pfn);
        }
    }

    /// Orders from the last successful one downward, then from the top, each once.
    fn search_target_lists(
        &mut self,
        control: &mut CompactControl,
        order: Order,
        search: &mut TargetSearch,
    ) -> Option<Pfn> {
        control.search_order = control.search_order.min(order - 1);
        let mut at = control.search_order;
        loop {
            let walk = self.walk_target_list(control, at, search);
            if walk.preferred {
                control.fast_search_fail = 0;
                control.search_order = at;
            }
            if let Some(pfn) = walk.chosen {
                let pages = self.alloc.isolate_free(pfn);
                if pages == 0 {
                    // A watermark forbids: no other order would do better.
                    control.search_order = control.search_order.checked_sub(1).unwrap_or(order - 1);
                    return None;
                }
                search.scanned += pages - 1;
                search.taken += pages;
                self.hold_target(control, pfn, at);
                self.alloc.vmstat.add(Counter::CompactIsolated, pages.into());
                return Some(pfn);
            }
            // Enough is held, though not in blocks of the size that is wanted.
            if control.targets.pages >= control.nr_sources && self.alloc.nr_free(control.zone, at) > 0 {
                return None;
            }
            if walk.scanned >= search.limit {
                search.limit = (search.limit >> 1).max(1);
            }
            at = at.checked_sub(1).unwrap_or(order - 1);
            if at == control.search_order {
                control.search_order = at.checked_sub(1).unwrap_or(order - 1);
                return None;
            }
        }
    }

    /// Looks through one list from its tail.
    fn walk_target_list(&mut self, control: &CompactControl, order: Order, search: &mut TargetSearch) -> ListWalk {
        let list = self.alloc.free_list(control.zone, order, Migratetype::Movable);
        let mut walk = ListWalk { scanned: 0, chosen: None, preferred: false, stopped_at: None };
        let mut high: Option<Pfn> = None;
        let mut next = list.tail();
        while let Some(pfn) = next {
            walk.scanned += 1;
            search.highest = search.highest.max(Some(pageblock_start(&self.alloc.geometry, pfn).max(control.start)));
            if pfn >= search.low {
                (walk.chosen, walk.preferred, walk.stopped_at) = (Some(pfn), true, Some(pfn));
                break;
            }
            if pfn >= search.min && Some(pfn) > high {
                high = Some(pfn);
                search.limit >>= 1;
            }
            if walk.scanned >= search.limit {
                walk.stopped_at = Some(pfn);
                break;
            }
            next = FrameList::prev(&self.alloc.frames, pfn);
        }
        search.scanned += walk.scanned;
        if walk.chosen.is_none() && high.is_some() {
            (walk.chosen, walk.stopped_at) = (high, high);
        }
        if let Some(pfn) = walk.stopped_at {
            // The next search starts with what this one did not see.
            self.alloc.rotate_free_list(control.zone, order, Migratetype::Movable, pfn);
        }
        walk
    }

    /// Nothing found on the first search of a run: the linear scan need not start at the very end of the zone.
    fn restart_below(&mut self, control: &mut CompactControl, search: &TargetSearch) -> Option<Pfn> {
        if let Some(highest) = search.highest.filter(|&highest| highest >= search.min) {
            control.free_pfn = highest;
            return Some(highest);
        }
        if !control.direct {
            return None;
        }
        control.free_pfn = search.min;
        let block = self.alloc.geometry.block_of(search.min);
        Some(search.min).filter(|_| self.suitable_migration_target(control, block))
    }

    fn lower_cached_free(&mut self, control: &CompactControl, highest: Option<Pfn>) {
        let cached = &mut self.zones[control.zone.index()].compaction.cached_free;
        if let Some(highest) = highest.filter(|highest| highest >= cached) {
            *cached = Pfn(highest.0.saturating_sub(self.alloc.geometry.pageblock_pages()));
        }
    }

    /// Free blocks beside the one found are likely of use too.
    fn isolate_around(&mut self, control: &mut CompactControl, pfn: Pfn) {
        if control.targets.pages >= control.nr_sources || control.hasty() {
            return;
        }
        let geometry = self.alloc.geometry;
        let block = geometry.block_of(pfn);
        let (start, end) = (control.block_start(&geometry, block), control.block_end(&geometry, pfn));
        let (reached, _) = self.isolate_freepages_block(control, start, end, 1);
        if reached == end {
            self.alloc.set_skip(block, true);
        }
    }
}
