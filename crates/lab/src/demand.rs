//! The clock of a run that replays demand: it is the demand's. What was asked for comes at its recorded time, and was asked for more slowly
//! while kernel threads had one of the recorded machine's CPUs. So a kernel thread's work takes less of this clock's time where the recorded
//! one did not work at that moment, as the others would have got less far meanwhile; and what takes place while the recorded one worked takes
//! more of it. In `m512-d0-s1` the others ask for 35 pages a millisecond while kswapd is away from both CPUs, for 16 while it has one.

use crate::turns::Job;
use mm::Nanos;
use std::cell::Cell;

/// The CPUs that a recorded machine's kernel threads had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KthreadCpus {
    /// How many CPUs they had, from each of these times on.
    pub taken: Vec<(Nanos, u8)>,
    /// How much of a CPU the others' demand lacks where a kernel thread has one, in 1/65536: nothing on an idle machine.
    pub missed: u64,
}

/// What a kernel thread's work takes from demand.
#[derive(Default)]
pub(crate) struct Demand {
    recorded: KthreadCpus,
    /// All CPUs, in 1/65536. None: the run's time is everybody's.
    cpus: u64,
    /// When the run's own kswapd and kcompactd will be done with their work.
    kthreads: [Cell<Nanos>; 2],
}

impl Demand {
    pub fn new(recorded: KthreadCpus, cpus: usize) -> Demand {
        Demand { recorded, cpus: (cpus as u64) << 16, kthreads: Default::default() }
    }

    /// How much of the clock's time passes from a moment on while somebody works for so long.
    pub fn work(&self, from: Nanos, time: Nanos, job: Job) -> Nanos {
        let kthread = match job {
            Job::Kswapd => &self.kthreads[0],
            Job::Kcompactd => &self.kthreads[1],
            Job::Reclaim | Job::Compaction => return self.wait(from, time),
        };
        kthread.set(Nanos::MAX);
        let took = self.wait(from, time);
        kthread.set(from + took);
        took
    }

    /// How much of the clock's time passes from a moment on while somebody waits for so long.
    pub fn wait(&self, from: Nanos, time: Nanos) -> Nanos {
        if self.cpus == 0 || time == 0 {
            return time;
        }
        let working = self.kthreads.iter().filter(|until| until.get() > from).count();
        let (taken, here) = (&self.recorded.taken, self.left(working));
        let mut next = taken.partition_point(|(since, _)| *since <= from);
        let (mut at, mut left) = (from, u128::from(time));
        loop {
            let recorded = next.checked_sub(1).map_or(0, |last| taken[last].1);
            let there = self.left(recorded.into());
            let end = taken.get(next).map_or(Nanos::MAX, |(since, _)| *since);
            let passes = u128::from(end - at) * there / here;
            if passes >= left {
                return at - from + (left * here / there) as Nanos;
            }
            left -= passes;
            at = end;
            next += 1;
        }
    }

    /// What the others have of the CPUs while so many kernel threads work. They never stand quite still, or time would.
    fn left(&self, kthreads: usize) -> u128 {
        self.cpus.saturating_sub(kthreads as u64 * self.recorded.missed).max(self.cpus / 10).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: u64 = 1 << 16;

    fn demand(missed: u64) -> Demand {
        Demand::new(KthreadCpus { taken: vec![(1_000, 1), (1_400, 0)], missed }, 2)
    }

    #[test]
    fn work_of_kernel_threads_holds_demand_back() {
        let demand = demand(WHOLE);
        assert_eq!(demand.work(2_000, 600, Job::Kswapd), 300, "the others had one CPU of two");
        assert_eq!(demand.work(2_000, 600, Job::Compaction), 300, "so long as kswapd works");
        assert_eq!(demand.work(3_000, 600, Job::Compaction), 600);
        assert_eq!(self::demand(WHOLE).work(1_000, 400, Job::Kcompactd), 400, "as in the recording");
    }

    #[test]
    fn what_is_not_held_back_as_in_the_recording_is_faster() {
        let demand = demand(WHOLE);
        assert_eq!(
            demand.wait(900, 300),
            100 + 400,
            "in the 400 that the recorded one worked the others do what takes 200 now"
        );
        assert_eq!(demand.wait(900, 400), 100 + 400 + 100);
        assert_eq!(demand.work(1_200, 500, Job::Kswapd), 200 + 150);
    }

    #[test]
    fn an_idle_machine_misses_nothing_and_no_machine_stands_still() {
        assert_eq!(demand(0).work(900, 300, Job::Kswapd), 300);
        assert_eq!(Demand::default().work(900, 300, Job::Kswapd), 300);
        let one_cpu = Demand::new(KthreadCpus { taken: Vec::new(), missed: WHOLE }, 1);
        assert!((99..=100).contains(&one_cpu.work(900, 1_000, Job::Kswapd)));
    }
}
