//! What do the surroundings hear of a request that takes another turn of the slow path?

use pagealloc::{AllocFlags, Gfp, Migratetype, Order};

/// Why a request takes another turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Retry {
    /// First turn.
    Enter,
    /// Reclaim may still provide pages (8.6).
    Reclaim,
    /// Compaction may still provide a block (8.7).
    Compaction,
    /// defrag_mode changed the flags for another turn (8.1.14).
    DefragMode,
    /// Somebody was killed, or will be by another task (8.9).
    Oom,
    /// `__GFP_NOFAIL` does not give up (8.1.19).
    NoFail,
    /// Reclaim made progress, or repeats until it has (up to 4.7, 8.13).
    Progress,
}

impl Retry {
    /// The loop's name: who sends the request back to its start.
    pub const fn name(self) -> &'static str {
        match self {
            Retry::Enter => "slow path entered",
            Retry::Reclaim => "should_reclaim_retry",
            Retry::Compaction => "should_compact_retry",
            Retry::DefragMode => "defrag_mode retry",
            Retry::Oom => "out_of_memory retry",
            Retry::NoFail => "__GFP_NOFAIL retry",
            Retry::Progress => "reclaim progress retry",
        }
    }
}

/// A request that is about to take another turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Why.
    pub retry: Retry,
    /// Order asked for.
    pub order: Order,
    /// Mask asked with.
    pub gfp: Gfp,
    /// Type asked for.
    pub migratetype: Migratetype,
    /// Flags of the next attempt.
    pub flags: AllocFlags,
    /// Compaction priority: 0 full, 1 light, 2 asynchronous.
    pub priority: u8,
    /// Compactions with success but without a page.
    pub compaction_retries: u32,
    /// Rounds that count as without progress.
    pub no_progress_loops: u32,
    /// Kills in a row (defrag_mode=2).
    pub kills: u32,
    /// What only grows of that which the loop depends on, in one number.
    pub progress: u64,
    /// All else, the request's own part included, in one number.
    pub state: u64,
}
