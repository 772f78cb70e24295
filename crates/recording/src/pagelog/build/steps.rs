//! What the steps of reclaim and compaction tell: their speed, and which pages they moved.

use super::Builder;
use crate::Record;
use crate::event::Event;
use crate::pagelog::speed::{ANON_BATCH, Step};
use crate::pagelog::turns::Did;
use pagealloc::Geometry;

/// Frames of a pageblock.
const PAGEBLOCK: u64 = Geometry::PAGES_4K.pageblock_pages() as u64;

impl Builder<'_> {
    /// A step of reclaim or compaction: how long it took, and what it did to pages.
    pub(super) fn daemon(&mut self, record: &Record, task: usize, event: &Event) {
        let (ts, cpu) = (record.ts_ns, record.cpu);
        if let Event::VmscanLruShrinkInactive(shrink) = event {
            self.reclaimed(task, shrink.nr_reclaimed);
        }
        let state = self.tasks.get(task);
        let step = Step { ts, cpu, turn: self.turns.turn(cpu) };
        let elapsed = state.last_step.and_then(|last| last.worked_until(step));
        let wall = state.last_step.map(|last| ts - last.ts);
        match event {
            Event::MigratePages(pages) if &*pages.reason == "compaction" => {
                self.measured.migrated(pages.succeeded, pages.failed, std::mem::take(&mut state.isolated_metadata));
                state.isolated.clear();
                return self.moved_again(task);
            }
            Event::VmscanWakeupKswapd(_) => return self.measured.kswapd.woken(ts),
            Event::VmscanKswapdWake(_) => {
                state.kswapd = true;
                self.measured.kswapd.runs(ts);
            }
            Event::VmscanKswapdSleep(_) => {
                self.measured.kswapd.sleeps();
                return state.last_step = None;
            }
            Event::VmscanDirectReclaimBegin(_) => state.direct_reclaim = true,
            Event::VmscanDirectReclaimEnd(_) => {
                state.direct_reclaim = false;
                self.measured.reclaim.step(&mut state.worked, elapsed, wall, Did::Rest);
                self.measured.reclaim.ends(&mut state.worked);
                return state.last_step = None;
            }
            Event::CompactionKcompactdWake(_) => return state.kcompactd = true,
            Event::CompactionBegin(begin) => {
                state.compacting = true;
                state.async_compaction = !begin.sync;
                state.isolated.clear();
                state.isolated_metadata = 0;
                state.run = self.migrations.begin();
            }
            Event::CompactionEnd(_) => {
                state.compacting = false;
                self.measured.compaction_turns(state.kcompactd).ends(&mut state.worked);
                self.attribution.targets_returned += state.unsettled.drain(..).count() as u64;
                return state.last_step = None;
            }
            Event::VmscanLruShrinkInactive(shrink) => {
                self.measured.judged(shrink);
                let anon = shrink.reclaim_flags & ANON_BATCH != 0;
                if state.direct_reclaim {
                    let did = Did::Shrink { anon, pages: shrink.nr_scanned };
                    self.measured.reclaim.step(&mut state.worked, elapsed, wall, did);
                }
                let failed = state.last_failure.take().is_some();
                if !failed {
                    self.measured.shrank(state.kswapd, anon, elapsed, wall, shrink.nr_scanned);
                }
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
                self.measured.scan_migrate.step(elapsed, scan.nr_scanned);
                let did = Did::ScanMigrate(scan.nr_scanned);
                self.measured.compaction_turns(state.kcompactd).step(&mut state.worked, elapsed, wall, did);
            }
            Event::CompactionIsolateFreepages(scan) => {
                self.measured.scan_free.step(elapsed, scan.nr_scanned);
                let did = Did::ScanFree(scan.nr_scanned);
                self.measured.compaction_turns(state.kcompactd).step(&mut state.worked, elapsed, wall, did);
                let run = state.run;
                self.took_targets(run, ts, scan.start_pfn, scan.end_pfn);
            }
            Event::CompactionFastIsolateFreepages(scan) => {
                self.measured.scan_free.step(elapsed, scan.nr_scanned);
                let did = Did::ScanFree(scan.nr_scanned);
                self.measured.compaction_turns(state.kcompactd).step(&mut state.worked, elapsed, wall, did);
                let run = state.run;
                self.took_targets(run, ts, scan.start_pfn, scan.end_pfn);
            }
            Event::CompactionMigratepages(migrate) => {
                let pages = migrate.nr_migrated.saturating_add(migrate.nr_failed);
                self.measured.migrate.step(elapsed, pages);
                let did = Did::Migrate(pages);
                self.measured.compaction_turns(state.kcompactd).step(&mut state.worked, elapsed, wall, did);
            }
            _ => return,
        }
        self.tasks.get(task).last_step = Some(step);
    }

    /// A request for a swap table failed: what that costs, if the step before it was another failure. The step of reclaim
    /// that it lies in is no measure of what scanning a page costs.
    pub(super) fn table_failed(&mut self, record: &Record, task: usize) {
        let step = Step { ts: record.ts_ns, cpu: record.cpu, turn: self.turns.turn(record.cpu) };
        let state = self.tasks.get(task);
        if let Some(elapsed) = state.last_failure.replace(step).and_then(|last| last.worked_until(step)) {
            self.measured.failed_request.add(elapsed, 1);
        }
    }

    fn took_targets(&mut self, run: u32, ts: u64, start: u64, end: u64) {
        let end = end.max(start.saturating_add(1)).min(self.owner.len() as u64);
        for block in (start >> 9)..=((end - 1) >> 9) {
            self.migrations.took_targets(run, block as usize, ts);
        }
    }
}
