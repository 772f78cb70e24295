//! How far has compaction of a zone come, and has it failed lately?

use pagealloc::{Order, Pfn};

/// Per zone: cached scanner positions, deferral (11.4, 11.8). Positions start at 0 and are put into the zone by the first
/// run, as in the kernel.
#[derive(Default, Debug)]
pub struct ZoneCompaction {
    /// Where the migrate scanner of async (0) and sync (1) runs starts.
    pub(crate) cached_migrate: [Pfn; 2],
    /// Where the free scanner starts.
    pub(crate) cached_free: Pfn,
    /// First source block that the last reset of the hints found (5.1+).
    pub(crate) init_migrate: Pfn,
    /// Last target block that it found.
    pub(crate) init_free: Pfn,
    /// Failures in a row, capped at 6: `2^defer_shift` attempts are refused.
    pub(crate) defer_shift: u32,
    /// Attempts since the last failure.
    pub(crate) considered: u32,
    /// Smallest order that failed. Only this order and larger ones are deferred.
    pub(crate) order_failed: Order,
    /// A direct run reached its end: the hints are due for a reset (11.9).
    pub(crate) blockskip_flush: bool,
}
