//! How fast the recorded machine reclaimed and migrated: nanoseconds a page, measured from the time between the events of a task in reclaim
//! or compaction, as far as nobody else had its CPU. A replay spends the same virtual time for the same work.

use super::shrink_cost::{ShrinkCost, Shrunk};
use super::turns::{KswapdTurns, TaskTurns};
use lab::{Speeds, Turns, TurnsByJob};

/// When and where a task did something that the trace tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub ts: u64,
    pub cpu: u16,
    /// Whose turn it was on that CPU, by number.
    pub turn: u32,
}

impl Step {
    /// Time until what the task did next, if the CPU was the task's all the while: nobody else reported anything on it.
    pub fn worked_until(self, next: Step) -> Option<u64> {
        (self.cpu == next.cpu && self.turn == next.turn).then(|| next.ts.saturating_sub(self.ts))
    }
}

/// Who runs on each CPU, as far as events tell.
#[derive(Default)]
pub(super) struct Running(Vec<(i32, u32)>);

impl Running {
    /// A task reports something.
    pub fn runs(&mut self, cpu: u16, pid: i32) {
        let cpu = usize::from(cpu);
        if self.0.len() <= cpu {
            self.0.resize(cpu + 1, (pid, 0));
        }
        let (last, turn) = &mut self.0[cpu];
        *turn = turn.wrapping_add(u32::from(*last != pid));
        *last = pid;
    }

    /// Number of the turn on a CPU.
    pub fn turn(&self, cpu: u16) -> u32 {
        self.0.get(usize::from(cpu)).map_or(0, |(_, turn)| *turn)
    }
}

/// Cost of one kind of work: what was worked in its steps. Most long steps are interrupted by others, so that the undisturbed ones alone would
/// say that long steps are cheap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    ns: u64,
    pages: u64,
}

impl Cost {
    /// A step of this many pages took this much work.
    pub fn add(&mut self, ns: u64, pages: u64) {
        // No machine has more pages than 32 bits count.
        if (1..=u64::from(u32::MAX)).contains(&pages) {
            self.ns += ns;
            self.pages += pages;
        }
    }

    fn mean(self, default: u64) -> u64 {
        self.ns.checked_div(self.pages).unwrap_or(default)
    }
}

/// kswapd's calls of shrinkers, in which it reports nothing: whether it had a CPU does not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlabCalls {
    wall: u64,
    objects: u64,
}

impl SlabCalls {
    /// So much time passed in a call.
    pub fn passed(&mut self, wall: u64) {
        self.wall = self.wall.saturating_add(wall);
    }

    /// A call ended that looked at so many objects.
    pub fn scanned(&mut self, objects: u64) {
        self.objects = self.objects.saturating_add(objects);
    }

    /// What an object costs, if kswapd had a CPU for as much of the calls as it has between them.
    fn cost(self, turns: Option<Turns>) -> Option<u64> {
        let (worked, away) = turns.map_or((1, 0), |turns| (turns.again.mean(), turns.away.mean()));
        let worked = (u128::from(self.wall) * u128::from(worked)).checked_div((worked + away).into())?;
        (worked as u64).checked_div(self.objects)
    }
}

/// Sums over a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Scanning by tasks for themselves, and by kswapd, which has more pages to share the fixed costs.
    shrink: [[ShrinkCost; 2]; 2],
    pub kswapd: KswapdTurns,
    /// Turns of kcompactd, and of tasks that compact or reclaim for themselves.
    pub kcompactd: TaskTurns,
    pub compaction: TaskTurns,
    pub reclaim: TaskTurns,
    pub scan_migrate: Cost,
    pub scan_free: Cost,
    pub migrate: Cost,
    /// What kswapd's calls of shrinkers took.
    pub slab: SlabCalls,
    /// Requests that failed inside reclaim, each from its predecessor on.
    pub failed_request: Cost,
    /// Blocks that asynchronous compaction looked at, and how often it broke off for a lock.
    pub async_blocks: u64,
    pub async_contended: u64,
    /// Anonymous pages that reclaim looked at, and those in batches of which it could judge none.
    pub looked: u64,
    pub unjudged: u64,
    /// Pages that compaction moved, and single pages that it failed to.
    pub moved: u64,
    pub stayed: u64,
}

/// Reclaim's flag of batches of anonymous pages (`RECLAIM_WB_ANON`).
pub(super) const ANON_BATCH: i32 = 1;
/// A batch of so many pages that were all kept as referenced: they were not, but could not be looked at. Used pages come
/// mixed with others. Only generations have batches of this size; of the 32 pages of a classic one, all may well be in use,
/// and so may a huge page.
const WHOLE_BATCH: std::ops::Range<u64> = 64..512;
/// A migration that left this many pages or more behind had no target for a large folio, of which those of the page cache
/// have four pages at least, or ran out of targets: that is the model's to decide. Fewer were held by somebody.
const LARGE: u64 = 4;

impl Measured {
    /// Compaction migrated a list of pages, on which so many may have been held by a journal.
    pub fn migrated(&mut self, succeeded: u64, failed: u64, held: u64) {
        self.moved += succeeded;
        let otherwise = failed.saturating_sub(held);
        if otherwise < LARGE {
            self.stayed += otherwise;
        }
    }

    /// Turns of who compacts.
    pub fn compaction_turns(&mut self, kcompactd: bool) -> &mut TaskTurns {
        if kcompactd { &mut self.kcompactd } else { &mut self.compaction }
    }

    /// A step of reclaim.
    pub fn shrank(&mut self, kswapd: bool, anon: bool, step: Shrunk) {
        self.shrink[usize::from(kswapd)][usize::from(anon)].add(step);
    }

    /// Reclaim judged a batch of an inactive list or an oldest generation.
    pub fn judged(&mut self, shrink: &crate::event::VmscanLruShrinkInactive) {
        let (scanned, kept) = (shrink.nr_scanned, shrink.nr_ref_keep.unwrap_or(0));
        if shrink.reclaim_flags & ANON_BATCH != 0 {
            self.looked += scanned;
            if WHOLE_BATCH.contains(&kept) && kept == scanned {
                self.unjudged += kept;
            }
        }
    }

    /// Turns on a CPU. Who was not seen at work has those of tasks that compact.
    fn turns(&self) -> TurnsByJob {
        let compaction = self.compaction.turns();
        TurnsByJob {
            kswapd: self.kswapd.turns(),
            kcompactd: self.kcompactd.turns().or(compaction),
            reclaim: self.reclaim.turns().or(compaction),
            compaction,
        }
    }

    /// The speeds; where the trace has no such step, the default's.
    pub fn speeds(&self) -> Speeds {
        let default = Speeds::default();
        let file = |kswapd: usize, default: u64| self.shrink[kswapd][0].page_and_folio().unwrap_or((default, 0));
        let anon = |kswapd: usize, default: u64| {
            self.shrink[kswapd][1].page().or(self.shrink[kswapd][0].page()).unwrap_or(default)
        };
        let (shrink, shrink_folio) = file(0, default.shrink);
        let (shrink_kswapd, shrink_kswapd_folio) = file(1, default.shrink_kswapd);
        let turns = self.turns();
        Speeds {
            turns,
            slab: self.slab.cost(turns.kswapd).unwrap_or(default.slab),
            shrink,
            shrink_folio,
            shrink_anon: anon(0, default.shrink_anon),
            shrink_kswapd,
            shrink_kswapd_folio,
            shrink_kswapd_anon: anon(1, default.shrink_kswapd_anon),
            kswapd_latency: self.kswapd.latency(),
            scan_migrate: self.scan_migrate.mean(default.scan_migrate),
            scan_free: self.scan_free.mean(default.scan_free),
            migrate: self.migrate.mean(default.migrate),
            failed_request: self.failed_request.mean(default.failed_request),
            busy_pages: (self.stayed << 16).checked_div(self.stayed + self.moved).unwrap_or(0),
            rmap_contention: (self.unjudged << 16).checked_div(self.looked).unwrap_or(0),
            lock_contention: (self.async_contended << 16).checked_div(self.async_blocks).unwrap_or(0),
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::VmscanLruShrinkInactive;

    fn batch(reclaim_flags: i32, nr_scanned: u64, kept: u64) -> VmscanLruShrinkInactive {
        VmscanLruShrinkInactive {
            nid: 0,
            nr_scanned,
            nr_reclaimed: 0,
            nr_dirty: None,
            nr_writeback: None,
            nr_congested: None,
            nr_immediate: None,
            nr_activate0: None,
            nr_activate1: None,
            nr_ref_keep: Some(kept),
            nr_unmap_fail: None,
            priority: 12,
            reclaim_flags,
        }
    }

    #[test]
    fn a_whole_batch_of_a_generation_that_was_kept_could_not_be_looked_at() {
        let mut measured = Measured::default();
        let few_kept = batch(ANON_BATCH, 128, 64);
        let (classic, huge_page) = (batch(ANON_BATCH, 63, 63), batch(ANON_BATCH, 512, 512));
        for batch in [batch(ANON_BATCH, 64, 64), few_kept, classic, huge_page, batch(2, 64, 64)] {
            measured.judged(&batch);
        }
        assert_eq!((measured.looked, measured.unjudged), (64 + 128 + 63 + 512, 64), "of anonymous pages alone");
        assert_eq!(measured.speeds().rmap_contention, (64 << 16) / 767);
    }

    #[test]
    fn pages_that_stay_are_busy_unless_many_stay_or_a_journal_holds_them() {
        let mut measured = Measured::default();
        measured.migrated(10, 3, 1);
        measured.migrated(10, 3, 0);
        measured.migrated(10, 4, 0); // A large folio had no target.
        measured.migrated(10, 1, 2);
        assert_eq!((measured.moved, measured.stayed), (40, 2 + 3));
        assert_eq!(measured.speeds().busy_pages, (5 << 16) / (40 + 5));
    }

    #[test]
    fn locks_were_taken_in_so_many_of_the_blocks() {
        let of = |async_blocks, async_contended| {
            Measured { async_blocks, async_contended, ..Measured::default() }.speeds().lock_contention
        };
        assert_eq!([of(32, 8), of(0, 0)], [1 << 14, 0]);
    }
}
