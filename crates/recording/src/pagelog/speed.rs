//! How fast the recorded machine reclaimed and migrated: nanoseconds a page, measured from the gaps between the steps
//! that a task in reclaim or compaction reports. A replay spends the same virtual time for the same work.

use lab::Speeds;

/// Longest gap between two steps that is taken as work; a longer one is a wait or another task's turn.
const LONGEST_STEP_NS: u64 = 20_000_000;

/// Cost of one kind of work, as a running sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    ns: u64,
    pages: u64,
}

impl Cost {
    /// A step of this many pages took this long.
    pub fn add(&mut self, ns: u64, pages: u64) {
        if ns <= LONGEST_STEP_NS && pages > 0 {
            self.ns += ns;
            self.pages += pages;
        }
    }

    fn mean(self, default: u64) -> u64 {
        self.ns.checked_div(self.pages).unwrap_or(default)
    }
}

/// Sums over a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub shrink: Cost,
    pub scan_migrate: Cost,
    pub scan_free: Cost,
    pub migrate: Cost,
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
const ANON_BATCH: u64 = 1;
/// A batch of at least so many pages that were all kept as referenced: they were not, but could not be looked at. Used
/// pages come mixed with others. Only generations have batches of this size; of the 32 pages of a classic one, all may
/// well be in use.
const WHOLE_BATCH: u64 = 64;
/// A migration that left this many pages or more behind ran out of targets; fewer were held by somebody.
const BATCH: u64 = 32;

impl Measured {
    /// Compaction migrated a list of pages.
    pub fn migrated(&mut self, succeeded: u64, failed: u64) {
        self.moved += succeeded;
        if failed < BATCH {
            self.stayed += failed;
        }
    }

    /// Reclaim judged a batch of an inactive list or an oldest generation.
    pub fn judged(&mut self, scanned: u64, kept: u64, flags: u64) {
        if flags & ANON_BATCH != 0 {
            self.looked += scanned;
            if kept >= WHOLE_BATCH && kept == scanned {
                self.unjudged += kept;
            }
        }
    }

    /// The speeds; where the trace has no such step, the default's.
    pub fn speeds(&self) -> Speeds {
        let default = Speeds::default();
        Speeds {
            shrink: self.shrink.mean(default.shrink),
            scan_migrate: self.scan_migrate.mean(default.scan_migrate),
            scan_free: self.scan_free.mean(default.scan_free),
            migrate: self.migrate.mean(default.migrate),
            busy_pages: (self.stayed << 16).checked_div(self.stayed + self.moved).unwrap_or(0),
            rmap_contention: (self.unjudged << 16).checked_div(self.looked).unwrap_or(0),
            lock_contention: (self.async_contended << 16).checked_div(self.async_blocks).unwrap_or(0),
            ..default
        }
    }
}
