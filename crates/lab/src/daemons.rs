//! What runs on every machine beside its tasks.

use crate::env::VirtualEnv;
use crate::executor::Executor;
use mm::{Env, Mm, World};
use pagealloc::{CpuId, NodeId};

/// Starts kswapd and kcompactd of each node, and each CPU's vmstat worker.
pub fn start_daemons<'a, W: World<Env = VirtualEnv>>(executor: &mut Executor<'a>, mm: &'a Mm<W>) {
    let (nodes, cpus) = (mm.state.borrow().alloc.nr_nodes(), mm.state.borrow().alloc.cpus());
    for node in (0..nodes as u8).map(NodeId) {
        executor.spawn_daemon(&mm.env, mm.kswapd(node));
        executor.spawn_daemon(&mm.env, mm.kcompactd(node));
    }
    for cpu in cpus {
        executor.spawn_daemon(&mm.env, decay(mm, cpu));
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
