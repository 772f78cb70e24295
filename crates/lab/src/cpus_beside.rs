//! CPUs beside the machine's, in runs that do not know what else its CPUs do: whose page lists work uses, and who takes them over when
//! the work pauses.

use crate::chance::Chance;
use crate::turns::Job;
use mm::Nanos;
use pagealloc::{CpuId, NodeId};
use std::cell::{Cell, RefCell};

/// How long a thread that leaves a CPU and comes back is taken to find the same one.
const STAYS: Nanos = 1_000_000_000;

/// The CPUs beside the machine's; none where every task has a CPU that is known.
#[derive(Clone, Debug, Default)]
pub struct CpusBeside {
    /// Of kernel threads, by node: of each that has CPUs.
    pub kthreads: Vec<KthreadLists>,
    /// Of tasks that compact for themselves: one for each of the machine's.
    pub compactors: Vec<CpuId>,
}

/// The page lists of a node's kernel threads.
#[derive(Clone, Debug)]
pub struct KthreadLists {
    /// The node.
    pub node: NodeId,
    /// The CPU beside the machine's whose lists they are.
    pub cpu: CpuId,
    /// The node's own CPUs, of which the threads have one at a time.
    pub homes: Vec<CpuId>,
}

/// Who has left them.
pub(crate) struct Leavings {
    pub beside: CpusBeside,
    /// Kernel threads that have left since this was last asked, as `beside` has them.
    kthreads: Vec<Kthread>,
    /// Compactors' CPUs that were left since then.
    compactors: RefCell<Vec<CpuId>>,
}

/// A node's kernel threads.
#[derive(Default)]
struct Kthread {
    /// One has left since this was last asked.
    left: Cell<bool>,
    /// The machine's CPU that they are on, and until when.
    on: Cell<(CpuId, Nanos)>,
}

impl Leavings {
    pub fn new(beside: CpusBeside) -> Leavings {
        let kthreads = beside.kthreads.iter().map(|_| Kthread::default()).collect();
        Leavings { beside, kthreads, compactors: RefCell::default() }
    }

    /// The kernel thread of a node sleeps; where the node has no CPUs it works on the first one's.
    pub fn kthread_sleeps(&self, node: NodeId) {
        self.kthread_leaves(|lists| lists.node == node);
    }

    fn kthread_leaves(&self, is_its: impl Fn(&KthreadLists) -> bool) {
        let lists = self.beside.kthreads.iter().position(is_its).unwrap_or(0);
        self.kthreads.get(lists).into_iter().for_each(|kthread| kthread.left.set(true));
    }

    /// The CPU whose lists a kernel thread uses that is on this one of the machine's.
    pub fn of_kthread(&self, cpu: CpuId) -> CpuId {
        self.beside.kthreads.iter().find(|lists| lists.homes.contains(&cpu)).map_or(cpu, |lists| lists.cpu)
    }

    /// Who does this job on this CPU loses it.
    pub fn loses(&self, cpu: CpuId, job: Job) {
        match job {
            Job::Kswapd | Job::Kcompactd => self.kthread_leaves(|lists| lists.cpu == cpu),
            Job::Compaction => self.compactors.borrow_mut().push(cpu),
            Job::Reclaim => {}
        }
    }

    /// The CPU that a task of this one uses while it compacts.
    pub fn of_compactor(&self, cpu: CpuId) -> CpuId {
        self.beside.compactors.get(cpu.index()).copied().unwrap_or(cpu)
    }

    /// CPUs that were left since this was last asked, each with the machine's that it stands for from now on.
    pub fn take(&self, now: Nanos, chance: &Chance) -> Vec<(CpuId, CpuId)> {
        let mut left: Vec<_> =
            self.compactors.take().into_iter().filter_map(|cpu| Some((cpu, self.home_of(cpu)?))).collect();
        let kthreads = self.beside.kthreads.iter().zip(&self.kthreads);
        left.extend(kthreads.filter(|(_, kthread)| kthread.left.replace(false)).map(|(lists, kthread)| {
            let home = kthread.home(now, &lists.homes, chance);
            (lists.cpu, home)
        }));
        left
    }

    fn home_of(&self, compactor: CpuId) -> Option<CpuId> {
        let home = self.beside.compactors.iter().position(|&cpu| cpu == compactor)?;
        Some(CpuId(home as u16))
    }
}

impl Kthread {
    fn home(&self, now: Nanos, cpus: &[CpuId], chance: &Chance) -> CpuId {
        let (mut on, until) = self.on.get();
        if now >= until {
            on = cpus[chance.below(cpus.len() as u64) as usize];
            self.on.set((on, now + STAYS));
        }
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_once_with_the_cpu_that_it_stands_for() {
        let chance = Chance::new(1);
        let kthreads = vec![KthreadLists { node: NodeId(0), cpu: CpuId(2), homes: vec![CpuId(0), CpuId(1)] }];
        let leavings = Leavings::new(CpusBeside { kthreads, compactors: vec![CpuId(3), CpuId(4)] });
        assert_eq!([0, 1, 2].map(|cpu| leavings.of_compactor(CpuId(cpu)).0), [3, 4, 2]);
        leavings.loses(CpuId(4), Job::Compaction);
        leavings.loses(CpuId(1), Job::Reclaim);
        leavings.loses(CpuId(2), Job::Kswapd);
        let left = leavings.take(0, &chance);
        assert_eq!((left[0], left[1].0, left.len()), ((CpuId(4), CpuId(1)), CpuId(2), 2));
        assert_eq!(leavings.take(1, &chance), []);
        leavings.kthread_sleeps(NodeId(0));
        assert_eq!(leavings.take(2, &chance), left[1..], "it comes back to the same one");
    }

    #[test]
    fn kernel_threads_stay_on_the_cpus_of_their_node() {
        let chance = Chance::new(1);
        let of_node = |node: u8| KthreadLists {
            node: NodeId(node),
            cpu: CpuId(4 + u16::from(node)),
            homes: [0, 2].map(|cpu| CpuId(cpu + u16::from(node))).into(),
        };
        let leavings = Leavings::new(CpusBeside { kthreads: vec![of_node(0), of_node(1)], compactors: Vec::new() });
        assert_eq!([0, 1, 2, 3].map(|cpu| leavings.of_kthread(CpuId(cpu)).0), [4, 5, 4, 5]);
        for second in 0..20 {
            leavings.kthread_sleeps(NodeId(1));
            let left = leavings.take(second * STAYS, &chance);
            assert!(matches!(left[..], [(CpuId(5), CpuId(1 | 3))]), "{left:?}");
        }
        leavings.loses(CpuId(4), Job::Kcompactd);
        assert!(matches!(leavings.take(0, &chance)[..], [(CpuId(4), CpuId(0 | 2))]));
        leavings.kthread_sleeps(NodeId(2));
        assert!(matches!(leavings.take(0, &chance)[..], [(CpuId(4), _)]), "a node without CPUs");
    }

    #[test]
    fn where_cpus_are_known_nobody_works_beside_them() {
        let leavings = Leavings::new(CpusBeside::default());
        leavings.kthread_sleeps(NodeId(0));
        leavings.loses(CpuId(0), Job::Compaction);
        assert_eq!(leavings.take(0, &Chance::new(1)), []);
        assert_eq!(leavings.of_compactor(CpuId(0)), CpuId(0));
    }
}
