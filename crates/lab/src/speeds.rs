//! How fast a machine reclaims, compacts and writes: measured from a recording, or given by a cost model.

use crate::spread::Spread;
use crate::turns::TurnsByJob;

/// Nanoseconds a page for each kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    /// Scanning a page of page cache on an LRU list, its reclaim included, for a task that needs memory.
    pub shrink: u64,
    /// What each folio of the page cache costs beside its pages if it is reclaimed: its lookup, lock, and place in the cache.
    pub shrink_folio: u64,
    /// The same as the first for an anonymous page, which is on its way to swap.
    pub shrink_anon: u64,
    /// Page cache, for kswapd.
    pub shrink_kswapd: u64,
    /// A folio of the page cache, for kswapd.
    pub shrink_kswapd_folio: u64,
    /// Anonymous memory, for kswapd.
    pub shrink_kswapd_anon: u64,
    /// Turns on a CPU of those who reclaim and compact.
    pub turns: TurnsByJob,
    /// From the moment at which kswapd is woken until it runs. Nothing: at once.
    pub kswapd_latency: Option<Spread>,
    /// Looking at a page for migration.
    pub scan_migrate: u64,
    /// Looking at a page for a free target.
    pub scan_free: u64,
    /// Moving a page.
    pub migrate: u64,
    /// A request inside reclaim that fails after all its attempts.
    pub failed_request: u64,
    /// Scanning a slab object.
    pub slab: u64,
    /// Writing a page to disk or swap, one after the other. Not in a trace: in its busiest second a recorded machine
    /// (`m512lru-d0-s21`) wrote 21,500 pages (`nr_written`).
    pub swap_write: u64,
    /// Share of blocks, in 1/65536, at whose end asynchronous compaction found a lock taken: the other CPUs' doing.
    pub lock_contention: u64,
    /// Share of mapped pages, in 1/65536, whose page tables reclaim could not look at because somebody else held the lock
    /// that leads to them.
    pub rmap_contention: u64,
    /// Share of pages, in 1/65536, that compaction fails to move because somebody else holds them.
    pub busy_pages: u64,
}

impl Speeds {
    /// Orders of magnitude of a 3 GHz machine and a slow disk; nothing here is measured.
    pub const BARE_METAL: Speeds = Speeds {
        shrink: 500,
        shrink_folio: 0,
        shrink_anon: 500,
        shrink_kswapd: 500,
        shrink_kswapd_folio: 0,
        shrink_kswapd_anon: 500,
        turns: TurnsByJob::NONE,
        kswapd_latency: None,
        scan_migrate: 20,
        scan_free: 10,
        migrate: 1_500,
        failed_request: 1_000,
        slab: 200,
        swap_write: 46_500,
        lock_contention: 0,
        rmap_contention: 0,
        busy_pages: 0,
    };
}

impl Default for Speeds {
    fn default() -> Speeds {
        Speeds::BARE_METAL
    }
}
