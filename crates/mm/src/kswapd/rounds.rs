//! kswapd's rounds up to 3.10 (own knowledge): it does not stop before the node is balanced, and raises the pressure until it gets pages.

use super::balance::Run;
use crate::env::{Env, TaskContext, Work};
use crate::reclaim::{DEF_PRIORITY, SWAP_CLUSTER_MAX};
use crate::state::{Mm, World};
use pagealloc::{Counter, Order};

/// How a round ended.
#[derive(PartialEq, Eq)]
enum Round {
    Balanced,
    /// It has its pages, or has scanned all that there is.
    Over,
    /// It found nothing to scan at any priority: all that is left is hopeless.
    Futile,
}

impl<W: World> Mm<W> {
    /// Rounds until the node is balanced; then memory is compacted if the order is not there yet. The order that it ended with.
    pub(super) async fn balance_in_rounds(&self, run: &mut Run, task: &TaskContext) -> Order {
        while self.kswapd_round(run, task).await == Round::Over {
            if run.sc.nr_reclaimed < SWAP_CLUSTER_MAX.into() {
                // All was scanned: more of it would bring no block either.
                run.sc.order = 0;
            }
            self.state.borrow_mut().alloc.vmstat.bump(Counter::Pageoutrun);
        }
        if self.state.borrow().needs_compaction(run, run.highest) {
            self.compact_pgdat(run.node, run.sc.order, task).await;
        }
        run.sc.order
    }

    async fn kswapd_round(&self, run: &mut Run, task: &TaskContext) -> Round {
        (run.sc.priority, run.sc.nr_reclaimed, run.scanned) = (DEF_PRIORITY, 0, 0);
        loop {
            self.env.work(task, Work::Resched).await;
            self.reclaim_once(run, &self.here(task)).await;
            if self.state.borrow_mut().pgdat_balanced(run.node, run.sc.order, run.highest) {
                return Round::Balanced;
            }
            if run.sc.nr_reclaimed >= SWAP_CLUSTER_MAX.into() {
                return Round::Over;
            }
            match run.sc.priority.checked_sub(1) {
                Some(lower) => run.sc.priority = lower,
                None if run.scanned == 0 => return Round::Futile,
                None => return Round::Over,
            }
        }
    }
}
