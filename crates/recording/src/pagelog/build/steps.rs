//! What the steps of reclaim and compaction tell: their speed, and which pages they moved.

use super::Builder;
use crate::Record;
use crate::event::{Event, VmscanLruShrinkInactive};
use crate::pagelog::shrink_cost::Shrunk;
use crate::pagelog::speed::{ANON_BATCH, Step};
use crate::pagelog::turns::LONGEST_STEP_NS;
use pagealloc::Geometry;
use std::ops::Range;

/// Frames of a pageblock.
const PAGEBLOCK: u64 = Geometry::PAGES_4K.pageblock_pages() as u64;

impl Builder<'_> {
    /// A step of reclaim or compaction: how much work it was, and what it did to pages.
    pub(super) fn daemon(&mut self, record: &Record, task: usize, event: &Event) {
        let step = self.step_of(record);
        self.step_of_reclaim(step, task, event);
        self.step_of_compaction(step, task, event);
    }

    fn step_of_reclaim(&mut self, step: Step, task: usize, event: &Event) {
        let ts = step.ts;
        let state = self.tasks.get(task);
        match event {
            Event::VmscanWakeupKswapd(_) => self.measured.kswapd.woken(ts),
            Event::VmscanKswapdWake(_) => {
                state.kswapd = true;
                self.measured.kswapd.runs(ts);
                self.works(task, Some(step));
            }
            Event::VmscanKswapdSleep(_) => {
                self.measured.kswapd.sleeps();
                self.works(task, None);
            }
            Event::VmscanDirectReclaimBegin(_) => {
                state.direct_reclaim = true;
                self.works(task, Some(step));
            }
            Event::VmscanDirectReclaimEnd(_) => {
                state.direct_reclaim = false;
                self.measured.reclaim.ends(&mut state.worked);
                self.works(task, None);
            }
            Event::ShrinkSlabStart(start) => {
                state.slab_objects = state.last_seen.map(|_| start.total_scan);
            }
            Event::ShrinkSlabEnd(end) => {
                if let Some(objects) = state.slab_objects.take()
                    && state.kswapd
                {
                    self.measured.slab.scanned(objects.saturating_sub(end.total_scan.unsigned_abs()));
                }
            }
            Event::VmscanLruShrinkInactive(shrink) => self.shrank_inactive(ts, task, shrink),
            _ => {}
        }
    }

    fn step_of_compaction(&mut self, step: Step, task: usize, event: &Event) {
        let ts = step.ts;
        let state = self.tasks.get(task);
        match event {
            Event::CompactionKcompactdWake(_) => state.kcompactd = true,
            Event::CompactionBegin(begin) => {
                state.compacting = true;
                state.async_compaction = !begin.sync;
                state.isolated.clear();
                state.isolated_metadata = 0;
                state.run = self.migrations.begin();
                self.works(task, Some(step));
            }
            Event::CompactionEnd(_) => {
                state.compacting = false;
                self.measured.compaction_turns(state.kcompactd).ends(&mut state.worked);
                self.attribution.targets_returned += state.unsettled.drain(..).count() as u64;
                self.works(task, None);
            }
            Event::CompactionFinished(finished) => {
                let contended = finished.ret == crate::CompactResult::Contended;
                self.measured.async_contended += u64::from(state.async_compaction && contended);
            }
            Event::CompactionIsolateMigratepages(scan) => {
                // A compound page that is isolated may begin before the range.
                state.isolated.push(scan.start_pfn & !(PAGEBLOCK - 1)..scan.end_pfn);
                let scanned = self.owner.get(scan.start_pfn as usize..scan.end_pfn as usize).unwrap_or_default();
                state.isolated_metadata += self.metadata.count(scanned);
                self.measured.async_blocks += u64::from(state.async_compaction);
                self.measured.scan_migrate.add(std::mem::take(&mut state.worked_since_step), scan.nr_scanned);
            }
            Event::CompactionIsolateFreepages(scan) => {
                self.scanned_free(ts, task, scan.nr_scanned, scan.start_pfn..scan.end_pfn)
            }
            Event::CompactionFastIsolateFreepages(scan) => {
                self.scanned_free(ts, task, scan.nr_scanned, scan.start_pfn..scan.end_pfn)
            }
            Event::CompactionMigratepages(migrate) => {
                let pages = migrate.nr_migrated.saturating_add(migrate.nr_failed);
                self.measured.migrate.add(std::mem::take(&mut state.worked_since_step), pages);
            }
            Event::MigratePages(pages) if &*pages.reason == "compaction" => {
                self.measured.migrated(pages.succeeded, pages.failed, std::mem::take(&mut state.isolated_metadata));
                state.isolated.clear();
                self.moved_again(task);
            }
            _ => {}
        }
    }

    /// A task has judged a batch of inactive pages.
    fn shrank_inactive(&mut self, ts: u64, task: usize, shrink: &VmscanLruShrinkInactive) {
        let anon = shrink.reclaim_flags & ANON_BATCH != 0;
        self.reclaimed(task, shrink.nr_reclaimed);
        self.beside.activated.add(shrink.nr_activate0, shrink.nr_activate1);
        self.measured.judged(shrink);
        self.noticed.judged(ts, anon, shrink.nr_scanned, shrink.priority);
        let state = self.tasks.get(task);
        let worked = std::mem::take(&mut state.worked_since_step);
        let folios = std::mem::take(&mut state.folios_since_step);
        if state.last_failure.take().is_none() {
            self.measured.shrank(state.kswapd, anon, Shrunk { ns: worked, pages: shrink.nr_scanned, folios });
        }
    }

    /// The free scanner of a task looked at some pages.
    fn scanned_free(&mut self, ts: u64, task: usize, pages: u64, range: Range<u64>) {
        let state = self.tasks.get(task);
        self.measured.scan_free.add(std::mem::take(&mut state.worked_since_step), pages);
        let run = state.run;
        self.took_targets(run, ts, range.start, range.end);
    }

    /// A request for a swap table failed: what that costs, if the step before it was another failure. The step of reclaim
    /// that it lies in is no measure of what scanning a page costs.
    pub(super) fn table_failed(&mut self, record: &Record, task: usize) {
        let step = self.step_of(record);
        let state = self.tasks.get(task);
        let elapsed = state.last_failure.replace(step).and_then(|last| last.worked_until(step));
        if let Some(elapsed) = elapsed.filter(|elapsed| *elapsed <= LONGEST_STEP_NS) {
            self.measured.failed_request.add(elapsed, 1);
        }
    }

    fn took_targets(&mut self, run: u32, ts: u64, start: u64, end: u64) {
        let order = Geometry::PAGES_4K.pageblock_order;
        let end = end.max(start.saturating_add(1)).min(self.owner.len() as u64);
        for block in (start >> order)..=(end.saturating_sub(1) >> order) {
            self.migrations.took_targets(run, block as usize, ts);
        }
    }
}
