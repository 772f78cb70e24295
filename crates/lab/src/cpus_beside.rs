//! CPUs beside the machine's, in runs that do not know what else its CPUs do: whose page lists work uses, and who takes them over when
//! the work pauses.

use crate::chance::Chance;
use crate::turns::Job;
use mm::Nanos;
use pagealloc::CpuId;
use std::cell::{Cell, RefCell};

/// How long a thread that leaves a CPU and comes back is taken to find the same one.
const STAYS: Nanos = 1_000_000_000;

/// The CPUs beside the machine's; none where every task has a CPU that is known.
#[derive(Clone, Debug, Default)]
pub struct CpusBeside {
    /// Of kernel threads.
    pub kthreads: Option<CpuId>,
    /// Of tasks that compact for themselves: one for each of the machine's.
    pub compactors: Vec<CpuId>,
}

/// Who has left them.
pub(crate) struct Leavings {
    pub beside: CpusBeside,
    /// A kernel thread has left since this was last asked.
    kthread: Cell<bool>,
    /// Compactors' CPUs that were left since then.
    compactors: RefCell<Vec<CpuId>>,
    /// The machine's CPU that kernel threads are on, and until when.
    on: Cell<(CpuId, Nanos)>,
}

impl Leavings {
    pub fn new(beside: CpusBeside) -> Leavings {
        Leavings { beside, kthread: Cell::new(false), compactors: RefCell::default(), on: Cell::new((CpuId(0), 0)) }
    }

    /// The kernel thread that runs sleeps.
    pub fn kthread_sleeps(&self) {
        self.kthread.set(true);
    }

    /// Who does this job on this CPU loses it.
    pub fn loses(&self, cpu: CpuId, job: Job) {
        match job {
            Job::Kswapd | Job::Kcompactd => self.kthread_sleeps(),
            Job::Compaction => self.compactors.borrow_mut().push(cpu),
            Job::Reclaim => {}
        }
    }

    /// The CPU that a task of this one uses while it compacts.
    pub fn of_compactor(&self, cpu: CpuId) -> CpuId {
        self.beside.compactors.get(cpu.index()).copied().unwrap_or(cpu)
    }

    /// CPUs that were left since this was last asked, each with the machine's that it stands for from now on.
    pub fn take(&self, now: Nanos, cpus: usize, chance: &Chance) -> Vec<(CpuId, CpuId)> {
        let mut left: Vec<_> =
            self.compactors.take().into_iter().filter_map(|cpu| Some((cpu, self.home_of(cpu)?))).collect();
        if let Some(kthreads) = self.beside.kthreads.filter(|_| self.kthread.replace(false)) {
            left.push((kthreads, self.kthreads_home(now, cpus, chance)));
        }
        left
    }

    fn home_of(&self, compactor: CpuId) -> Option<CpuId> {
        let home = self.beside.compactors.iter().position(|&cpu| cpu == compactor)?;
        Some(CpuId(home as u16))
    }

    fn kthreads_home(&self, now: Nanos, cpus: usize, chance: &Chance) -> CpuId {
        let (mut on, until) = self.on.get();
        if now >= until {
            on = CpuId(chance.below(cpus as u64) as u16);
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
        let leavings = Leavings::new(CpusBeside { kthreads: Some(CpuId(2)), compactors: vec![CpuId(3), CpuId(4)] });
        assert_eq!([0, 1, 2].map(|cpu| leavings.of_compactor(CpuId(cpu)).0), [3, 4, 2]);
        leavings.loses(CpuId(4), Job::Compaction);
        leavings.loses(CpuId(1), Job::Reclaim);
        leavings.loses(CpuId(2), Job::Kswapd);
        let left = leavings.take(0, 2, &chance);
        assert_eq!((left[0], left[1].0, left.len()), ((CpuId(4), CpuId(1)), CpuId(2), 2));
        assert_eq!(leavings.take(1, 2, &chance), []);
        leavings.kthread_sleeps();
        assert_eq!(leavings.take(2, 2, &chance), left[1..], "it comes back to the same one");
    }

    #[test]
    fn where_cpus_are_known_nobody_works_beside_them() {
        let leavings = Leavings::new(CpusBeside::default());
        leavings.kthread_sleeps();
        leavings.loses(CpuId(0), Job::Compaction);
        assert_eq!(leavings.take(0, 1, &Chance::new(1)), []);
        assert_eq!(leavings.of_compactor(CpuId(0)), CpuId(0));
    }
}
