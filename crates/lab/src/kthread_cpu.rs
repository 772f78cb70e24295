//! The CPU of kernel threads in runs that do not know where they run.

use crate::chance::Chance;
use mm::Nanos;
use pagealloc::CpuId;
use std::cell::Cell;

/// How long a thread that leaves a CPU and comes back is taken to find the same one.
const STAYS: Nanos = 1_000_000_000;

/// The CPU beside the machine's, and which of the machine's stands behind it.
pub(crate) struct KthreadCpu {
    /// The CPU whose page lists they use while they work; none where it is known.
    pub number: Option<CpuId>,
    /// A thread has left since it was last asked.
    left: Cell<bool>,
    /// The machine's CPU that they are on, and until when.
    on: Cell<(CpuId, Nanos)>,
}

impl KthreadCpu {
    pub fn new(number: Option<CpuId>) -> KthreadCpu {
        KthreadCpu { number, left: Cell::new(false), on: Cell::new((CpuId(0), 0)) }
    }

    /// The thread that runs sleeps, or another one takes its CPU.
    pub fn leave(&self) {
        self.left.set(self.number.is_some());
    }

    /// If a thread has left since this was last asked: the CPU beside the machine's, and the one of the machine's.
    pub fn left(&self, now: Nanos, cpus: usize, chance: &Chance) -> Option<(CpuId, CpuId)> {
        let number = self.number.filter(|_| self.left.replace(false))?;
        let (mut on, until) = self.on.get();
        if now >= until {
            on = CpuId(chance.below(cpus as u64) as u16);
            self.on.set((on, now + STAYS));
        }
        Some((number, on))
    }
}
