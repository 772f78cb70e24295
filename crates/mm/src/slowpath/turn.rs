//! A turn of the slow path's loop, as those see it who watch for loops that go on for ever.
//!
//! Whether a turn can come out differently from the last one depends on two things: where the request's own loop is, and
//! what it meets. The first is bounded (retry counts stop mattering once they are above their limit); of the second, part
//! only grows (pages freed, moved, killed for), part comes back (free pages, marks, deferral). If what grows has not grown,
//! and everything else is as it was in an earlier turn, then the turns in between have changed nothing.

use super::{Slow, retry};
use crate::state::{State, World};
use pagealloc::{AllocFlags, Counter, Gfp, Migratetype, NodeId, Order, ZoneId, ZoneType};

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

/// What has happened so far that no loop can undo: counters whose growth may let a request go on.
const GROWING: [Counter; 8] = [
    Counter::Pgfree,
    Counter::OomKill,
    Counter::PgmigrateSuccess,
    Counter::NrVmscanWrite,
    Counter::PgpgIn,
    Counter::PgpgOut,
    Counter::PswpIn,
    Counter::ThpSplitPage,
];

/// FNV-1a over words.
struct Fold(u64);

impl Fold {
    fn new() -> Fold {
        Fold(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}

impl<W: World> State<W> {
    /// The turn that a request is about to take.
    pub(super) fn turn(&self, slow: &Slow, retry: Retry) -> Turn {
        Turn {
            retry,
            order: slow.request.order,
            gfp: slow.request.gfp,
            migratetype: slow.request.migratetype,
            flags: slow.flags,
            priority: slow.priority as u8,
            compaction_retries: slow.compaction_retries,
            no_progress_loops: slow.no_progress_loops,
            kills: slow.kills,
            progress: self.what_grows(),
            state: self.what_comes_back(slow, retry),
        }
    }

    fn what_grows(&self) -> u64 {
        let mut fold = Fold::new();
        GROWING.iter().for_each(|&counter| fold.add(self.alloc.vmstat.get(counter)));
        ZoneType::ALL.iter().for_each(|&zone| fold.add(self.alloc.vmstat.get(Counter::pgalloc(zone))));
        fold.0
    }

    fn what_comes_back(&self, slow: &Slow, retry: Retry) -> u64 {
        let mut fold = Fold::new();
        fold.add(retry as u64);
        fold.add(u64::from(slow.flags.0) << 32 | u64::from(slow.task.flags.0) << 16 | slow.priority as u64);
        fold.add(u64::from(slow.compaction_retries) << 32 | u64::from(slow.kills));
        fold.add(u64::from(retry::forgiven(slow.no_progress_loops)) << 1 | u64::from(slow.restart));
        // Only whether it has reached the size of the request matters (8.13).
        fold.add(slow.reclaimed.min(1 << slow.request.order));
        for zone in (0..self.alloc.nr_zones() as u8).map(ZoneId) {
            self.zone_comes_back(zone, &mut fold);
        }
        for node in (0..self.alloc.nr_nodes() as u8).map(NodeId) {
            fold.add(u64::from(self.kswapd_failures(node)));
        }
        fold.0
    }

    fn zone_comes_back(&self, zone: ZoneId, fold: &mut Fold) {
        fold.add(self.alloc.free_pages(zone));
        fold.add(self.alloc.free_pages_blocks(zone));
        fold.add(self.alloc.wmark(zone, AllocFlags::WMARK_HIGH));
        fold.add(self.zones[zone.index()].compaction.deferral());
    }
}
