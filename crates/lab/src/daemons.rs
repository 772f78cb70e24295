//! What runs on every machine beside its tasks.

use crate::env::VirtualEnv;
use crate::executor::Executor;
use mm::{Env, Mm, Nanos, World};
use pagealloc::{CpuId, NodeId};

/// Starts kswapd and kcompactd of each node, each CPU's vmstat worker, and the worker that flushes statistics, which comes so long after each
/// whole number of its intervals.
pub fn start_daemons<'a, W: World<Env = VirtualEnv>>(executor: &mut Executor<'a>, mm: &'a Mm<W>, flushes: Nanos) {
    let (nodes, cpus) = (mm.state.borrow().alloc.nr_nodes(), mm.state.borrow().alloc.cpus());
    for node in (0..nodes as u8).map(NodeId) {
        executor.spawn_daemon(&mm.env, mm.kswapd(node));
        executor.spawn_daemon(&mm.env, mm.kcompactd(node));
    }
    for cpu in cpus {
        executor.spawn_daemon(&mm.env, decay(mm, cpu));
    }
    if let Some(interval) = mm.stats_flush_interval() {
        executor.spawn_daemon(&mm.env, flush_stats(mm, interval, flushes));
    }
}

/// The vmstat worker of a CPU: decay of its page lists, once every `stat_interval` (5.11), on whole seconds since boot (`round_jiffies_relative`;
/// that each CPU's comes three jiffies before the last one's is left out).
async fn decay<W: World<Env = VirtualEnv>>(mm: &Mm<W>, cpu: CpuId) {
    loop {
        let interval = u64::from(mm.state.borrow().alloc.policy.sysctl.stat_interval) * 1_000_000_000;
        mm.env.sleep(interval - mm.env.now() % interval).await;
        mm.state.borrow_mut().alloc.pcp_decay(cpu);
    }
}

/// The worker of `reclaim.stats_flush_ms`. What it had flushed last when the run begins, it flushes then.
async fn flush_stats<W: World<Env = VirtualEnv>>(mm: &Mm<W>, interval: Nanos, phase: Nanos) {
    loop {
        mm.state.borrow_mut().flush_stats();
        let since = (mm.env.now() + interval - phase % interval) % interval;
        mm.env.sleep(interval - since).await;
    }
}
