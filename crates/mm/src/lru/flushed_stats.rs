//! What does reclaim know of the lists that it compares, and since when? With `CONFIG_MEMCG` it reads the root group's
//! statistics, which are summed up over CPUs by a worker (`flush_memcg_stats_dwork`): between two flushes they stand
//! still.

use super::lists::{FlushedStats, LruvecId};
use crate::env::{Env, Nanos};
use crate::state::{Mm, State, World};
use crate::timer;
use pagealloc::policy::LruRule;
use pagealloc::{NodeId, ZoneId};

impl<W: World> Mm<W> {
    /// Nanoseconds between two flushes, if there are any: what the timer wheel makes of `reclaim.stats_flush_ms`.
    pub fn stats_flush_interval(&self) -> Option<Nanos> {
        let interval = u64::from(self.state.borrow().alloc.policy.reclaim.stats_flush_ms);
        (interval > 0).then(|| timer::wheel_timeout(interval * 1_000_000, self.env.hz()))
    }
}

impl<W: World> State<W> {
    /// The worker's turn: from here on reclaim knows all lists as they are now.
    pub fn flush_stats(&mut self) {
        match self.alloc.policy.reclaim.lru {
            LruRule::PerNode => {
                (0..self.nodes.len()).for_each(|node| self.flush_lruvec(LruvecId::Node(NodeId(node as u8))))
            }
            LruRule::PerZone => {
                (0..self.zones.len()).for_each(|zone| self.flush_lruvec(LruvecId::Zone(ZoneId(zone as u8))))
            }
        }
    }

    fn flush_lruvec(&mut self, id: LruvecId) {
        let now = self.stats_now(id);
        self.lruvec_mut(id).flushed = Some(now);
    }

    /// What reclaim knows of a set of lists: as of the last flush, or, where there is none, as it is.
    #[inline]
    pub(crate) fn stats(&self, id: LruvecId) -> FlushedStats {
        self.lruvec(id).flushed.unwrap_or_else(|| self.stats_now(id))
    }

    fn stats_now(&self, id: LruvecId) -> FlushedStats {
        let lru = self.lruvec(id);
        FlushedStats { pages: lru.pages, activated: lru.activated, costs: lru.costs }
    }
}
