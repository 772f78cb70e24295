//! One run over one zone: how does it proceed? (11.4, 11.12b, 11.13)

use super::control::pageblock_start;
use super::source_block::Isolated;
use super::{CompactControl, CompactMode, CompactResult};
use crate::env::{Env, Work};
use crate::event::{MmEvent, MmObserver};
use crate::reclaim::ThrottleReason;
use crate::state::{Mm, State, World};
use pagealloc::policy::{CompactDrains, FailedBatch, SkipOnFailure};
use pagealloc::{Capture, Counter, Gfp, Pfn};

/// What one step did: isolate a batch, move it, drain.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Frames that the migrate scanner looked at.
    migrate_scanned: u32,
    /// Frames that the free scanner looked at.
    free_scanned: u32,
    /// There was something to migrate.
    isolated: bool,
    /// Base pages moved.
    moved: u32,
    /// The run ends here.
    verdict: Option<CompactResult>,
}

impl<W: World> Mm<W> {
    /// Compacts a zone until the control's goal is reached or the scanners meet.
    pub(crate) async fn compact_zone(&self, control: &mut CompactControl) -> CompactResult {
        let refused = self.state.borrow_mut().begin_compaction(control);
        if let Some(result) = refused {
            return result;
        }
        let began = self.yields_from(control.mode == CompactMode::Async);
        let result = loop {
            control.kswapd_running = control.proactive && self.kswapd_runs(control.node);
            // A batch that failed is followed by the rest of its block, whatever the free lists say by now (11.12).
            if !control.rescan {
                let verdict = self.state.borrow_mut().compact_finished(control);
                if verdict != CompactResult::Continue {
                    break verdict;
                }
            }
            if self.had_to_yield(began) {
                break CompactResult::Contended;
            }
            if !self.wait_for_room(control).await {
                break self.state.borrow().gives_up();
            }
            control.contended |= control.mode == CompactMode::Async && self.env.lock_contended(&control.task);
            control.now = self.env.now();
            let step = self.state.borrow_mut().step(control);
            self.report_work(control, step).await;
            if let Some(verdict) = self.state.borrow_mut().end_step(control, step) {
                break verdict;
            }
        };
        self.state.borrow_mut().end_compaction(control, result);
        result
    }

    /// Waits while others hold too many isolated pages (11.5.1); false: give up.
    async fn wait_for_room(&self, control: &CompactControl) -> bool {
        while self.state.borrow().compaction_too_many_isolated(control) {
            if control.mode == CompactMode::Async {
                return false;
            }
            self.reclaim_throttle(control.node, ThrottleReason::Isolated, &control.task).await;
            if control.fatal_signal() {
                return false;
            }
        }
        self.wake_throttled_isolated(control.node);
        true
    }

    /// The time that a step takes, with the frames that it leaves freed half-way. Others run while pages are copied, and take from the
    /// per-CPU list what this batch has freed to it: that, more than anything else, is what keeps a cleared block from merging.
    async fn report_work(&self, control: &mut CompactControl, step: Step) {
        let Step { migrate_scanned, free_scanned, moved, .. } = step;
        self.work_on(control, migrate_scanned, Work::ScanMigrate).await;
        self.work_on(control, free_scanned, Work::ScanFree).await;
        self.work_on(control, moved, Work::Unmap).await;
        self.state.borrow_mut().free_vacated(control);
        self.work_on(control, moved, Work::Migrate).await;
    }

    async fn work_on(&self, control: &CompactControl, pages: u32, work: fn(u32) -> Work) {
        if pages > 0 {
            self.env.work(&control.task, work(pages)).await;
        }
    }
}

impl<W: World> State<W> {
    /// Checks that the run makes sense and finds its starting positions (11.4); a result if it does not.
    fn begin_compaction(&mut self, control: &mut CompactControl) -> Option<CompactResult> {
        let suitable = self.suits_run(control);
        if suitable != CompactResult::Continue {
            return Some(suitable);
        }
        if control.order.is_some_and(|order| self.zones[control.zone.index()].compaction.restarting(order)) {
            self.reset_hints_for_restart(control);
        }
        self.place_scanners(control);
        let cached = self.zones[control.zone.index()].compaction.cached_migrate;
        let follows = control.mode == CompactMode::Async && self.alloc.policy.compaction.fast_search;
        control.update_cached = follows && cached[0] == cached[1];
        let CompactControl { zone, migrate_pfn, free_pfn, mode, .. } = *control;
        self.alloc.observer.mm(&MmEvent::CompactionBegin { zone, migrate_pfn, free_pfn, mode });
        None
    }

    fn place_scanners(&mut self, control: &mut CompactControl) {
        let last_block = pageblock_start(&self.alloc.geometry, Pfn(control.end.0 - 1));
        let fast_search = self.alloc.policy.compaction.fast_search;
        let cached = &mut self.zones[control.zone.index()].compaction;
        if control.whole_zone {
            control.migrate_pfn = control.start;
            control.free_pfn = last_block;
            return;
        }
        // Positions never used are 0, which no zone of a real machine starts at.
        let inside = control.start.max(Pfn(1))..control.end;
        control.migrate_pfn = cached.cached_migrate[usize::from(control.mode != CompactMode::Async)];
        control.free_pfn = cached.cached_free;
        if !inside.contains(&control.free_pfn) {
            control.free_pfn = last_block;
            cached.cached_free = last_block;
        }
        if !inside.contains(&control.migrate_pfn) {
            control.migrate_pfn = control.start;
            cached.cached_migrate = [control.start; 2];
        }
        // Up to 5.0 only a run from the very start of the zone covered all of it (own knowledge).
        let first = if fast_search { cached.init_migrate } else { control.start };
        control.whole_zone = control.migrate_pfn <= first;
    }

    /// Isolates a batch, moves it, drains.
    fn step(&mut self, control: &mut CompactControl) -> Step {
        let (migrate_before, free_before) = (control.migrate_scanned, control.free_scanned);
        self.choose_finish_pageblock(control);
        let mut step = self.isolate_and_migrate(control);
        step.migrate_scanned = (control.migrate_scanned - migrate_before) as u32;
        step.free_scanned = (control.free_scanned - free_before) as u32;
        step
    }

    fn choose_finish_pageblock(&mut self, control: &mut CompactControl) {
        if control.rescan {
            control.rescan = false;
            return;
        }
        let block_of = |pfn: Pfn| self.alloc.geometry.block_of(pfn);
        control.finish_pageblock = self.alloc.policy.compaction.fast_search
            && control.last_migrated.is_some_and(|pfn| block_of(pfn) == block_of(control.migrate_pfn));
    }

    /// Runs a step with capture set up (11.13), if this run captures and has not yet.
    fn capturing<R>(
        &mut self,
        control: &mut CompactControl,
        step: impl FnOnce(&mut State<W>, &mut CompactControl) -> R,
    ) -> R {
        let wanted = control.capture_order.filter(|_| control.captured.is_none());
        if let Some(order) = wanted {
            let (zone, migratetype) = (control.zone, control.migratetype);
            self.alloc.begin_capture(Capture { zone, order, migratetype, page: None });
        }
        let result = step(self, control);
        if wanted.is_some() {
            control.captured = self.alloc.end_capture();
        }
        result
    }

    fn isolate_and_migrate(&mut self, control: &mut CompactControl) -> Step {
        let mut step = Step::default();
        let from = control.migrate_pfn;
        if self.isolate_migratepages(control) == Isolated::Nothing {
            if control.update_cached {
                let cached = &mut self.zones[control.zone.index()].compaction.cached_migrate;
                cached[1] = cached[0];
            }
            return step;
        }
        control.update_cached = false;
        self.note_last_migrated(control, from);
        let migrated = self.capturing(control, |state, control| state.migrate_sources(control));
        (step.isolated, step.moved) = (true, migrated.moved);
        if migrated.no_target && !control.scanners_met(&self.alloc.geometry) {
            step.verdict = Some(self.gives_up());
            return step;
        }
        if migrated.failed > 0 {
            self.after_failure(control);
        }
        step
    }

    /// What a run ends with that lacks targets, or finds too many pages isolated.
    fn gives_up(&self) -> CompactResult {
        if self.alloc.policy.compaction.lack_contends {
            CompactResult::Contended
        } else {
            CompactResult::NoSuitablePage
        }
    }

    /// Ends a step, and maybe the run. A block that is scanned again is not done yet.
    fn end_step(&mut self, control: &mut CompactControl, step: Step) -> Option<CompactResult> {
        if control.rescan || step.verdict.is_some() {
            return step.verdict;
        }
        if step.isolated && control.captured.is_some() {
            // What a drain captures is noticed here too, one batch later, as in the kernel (own knowledge).
            return Some(CompactResult::Success);
        }
        self.drain_if_left_window(control);
        None
    }

    /// Frees the frames that a batch has left, in the order in which their pages moved (11.12).
    fn free_vacated(&mut self, control: &mut CompactControl) {
        let cpu = control.task.cpu;
        self.capturing(control, |state, control| {
            control.vacated.drain(..).for_each(|pfn| state.release(pfn, cpu));
        });
    }

    /// Remembers where pages may have been freed, for the drain.
    fn note_last_migrated(&self, control: &mut CompactControl, from: Pfn) {
        let rules = self.alloc.policy.compaction;
        if rules.fast_search && rules.failed_batch == FailedBatch::NextWindow {
            // 5.1 to 6.2.
            control.last_migrated = Some(from);
        } else if rules.fast_search {
            let block = pageblock_start(&self.alloc.geometry, Pfn(control.migrate_pfn.0 - 1));
            control.last_migrated = Some(block.max(control.start));
        } else {
            // Up to 5.0: the lowest page isolated since the last drain (own knowledge).
            let lowest = control.sources.iter().map(|source| source.pfn).min().unwrap_or(from);
            control.last_migrated = control.last_migrated.or(Some(lowest));
        }
    }

    /// Some page of the batch stayed (11.12, 11.6).
    fn after_failure(&mut self, control: &mut CompactControl) {
        let geometry = self.alloc.geometry;
        let rules = self.alloc.policy.compaction;
        if rules.failed_batch == FailedBatch::RestOfBlock {
            let mid_block = control.migrate_pfn != pageblock_start(&geometry, control.migrate_pfn);
            if mid_block && !control.ignore_skip && !control.finish_pageblock && control.mode < CompactMode::Sync {
                control.finish_pageblock = true;
                control.rescan = true;
                if control.order == Some(geometry.pmd_order) {
                    // The block won't be free whatever is drained.
                    control.last_migrated = None;
                }
            }
        } else if let Some(order) = control.order
            && control.hasty()
            && rules.skip_on_failure != SkipOnFailure::Off
        {
            control.migrate_pfn = super::migrate_scanner::window_end(Pfn(control.migrate_pfn.0 - 1), order);
            control.last_migrated = None;
        }
    }

    /// The migrate scanner left the window that pages were freed in: drain them from this CPU's lists, or they never
    /// merge.
    fn drain_if_left_window(&mut self, control: &mut CompactControl) {
        if self.alloc.policy.compaction.drains == CompactDrains::AfterRun {
            return;
        }
        let Some(order) = control.order.filter(|&order| order > 0) else { return };
        if control.last_migrated.is_some_and(|pfn| pfn < control.migrate_pfn.align_down(order)) {
            self.capturing(control, |state, control| state.alloc.drain_cpu(control.task.cpu, Some(control.zone)));
            control.last_migrated = None;
        }
    }

    /// Returns what the run still holds, and counts (11.12b.vi).
    fn end_compaction(&mut self, control: &mut CompactControl, status: CompactResult) {
        self.capturing(control, |state, control| state.release_targets(control));
        debug_assert!(control.sources.is_empty() && control.targets.pages == 0);
        self.alloc.vmstat.add(Counter::CompactMigrateScanned, control.migrate_scanned);
        self.alloc.vmstat.add(Counter::CompactFreeScanned, control.free_scanned);
        let CompactControl { zone, migrate_pfn, free_pfn, mode, .. } = *control;
        self.alloc.observer.mm(&MmEvent::CompactionEnd { zone, migrate_pfn, free_pfn, mode, status });
    }

    /// too_many_isolated of compaction (11.5.1). Requests without FS may go beyond (`nofs_isolates_more`), or they
    /// could wait for one another.
    fn compaction_too_many_isolated(&self, control: &CompactControl) -> bool {
        let on_lists: u64 = (self.alloc.zones_of(control.node))
            .map(|zone| self.zones[zone as usize].lru_pages[..4].iter().sum::<u64>())
            .sum();
        let apart = self.alloc.policy.compaction.nofs_isolates_more;
        let shift = if apart && control.gfp.contains(Gfp::FS) { 3 } else { 0 };
        let isolated: i64 = self.nodes[control.node.index()].reclaim.isolated.iter().sum();
        isolated > (on_lists >> shift) as i64 / 2
    }
}
