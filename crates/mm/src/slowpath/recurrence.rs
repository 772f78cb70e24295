//! Can a turn of the slow path's loop come out differently from an earlier one?
//!
//! Those who watch for loops that go on for ever want to know. It depends on two things: where the request's own loop is, and
//! what it meets. The first is bounded (retry counts stop mattering once they are above their limit); of the second, part
//! only grows (pages freed, moved, killed for), part comes back (free pages, marks, deferral). If what grows has not grown,
//! and everything else is as it was in an earlier turn, then the turns in between have changed nothing.

use super::{Slow, retry};
use crate::state::{State, World};
use crate::turn::{Retry, Turn};
use pagealloc::{AllocFlags, Counter, NodeId, ZoneId, ZoneType};

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

/// A digest of words: as FNV-1a has it of bytes, with a rotation, so that high bits reach low ones.
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
