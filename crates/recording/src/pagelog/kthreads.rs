//! The CPUs that kswapd and kcompactd had, and how much more slowly the others asked for memory meanwhile.

use lab::KthreadCpus;

/// A kernel thread and the others on the CPUs of a trace.
#[derive(Default)]
pub(super) struct Kthreads {
    /// By CPU: whether it was a kernel thread that was last heard of there.
    has: Vec<bool>,
    taken: Vec<(u64, u8)>,
    /// kswapd reclaims: the others ask for memory all the time.
    busy: bool,
    last: u64,
    /// Time, and requests of others in it, while no kernel thread had a CPU and while one had, kswapd being busy.
    free: Rate,
    shared: Rate,
}

/// A whole CPU, as [`KthreadCpus::missed`] counts it.
const WHOLE: u128 = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Rate {
    ns: u64,
    requests: u64,
}

impl Kthreads {
    /// Somebody is heard of on a CPU, which a kernel thread that goes to sleep leaves.
    pub fn heard(&mut self, ts: u64, cpu: u16, kthread: bool) {
        // A trace as text may go backwards by what its CPUs' clocks differ.
        let (ts, cpu) = (ts.max(self.last), usize::from(cpu));
        if self.has.len() <= cpu {
            self.has.resize(cpu + 1, false);
        }
        if self.busy {
            self.rate().ns += ts - self.last;
        }
        self.last = ts;
        if std::mem::replace(&mut self.has[cpu], kthread) != kthread {
            let count = self.has.iter().filter(|has| **has).count();
            self.taken.push((ts, count.min(u8::MAX.into()) as u8));
        }
    }

    /// Somebody else asks for memory.
    pub fn others_ask(&mut self) {
        if self.busy {
            self.rate().requests += 1;
        }
    }

    /// kswapd begins to reclaim, or is done with it.
    pub fn reclaims(&mut self, busy: bool) {
        self.busy = busy;
    }

    fn rate(&mut self) -> &mut Rate {
        let taken = self.taken.last().is_some_and(|(_, cpus)| *cpus > 0);
        if taken { &mut self.shared } else { &mut self.free }
    }

    /// What a replay needs of it, for a machine of so many CPUs.
    pub fn cpus(self, cpus: u16) -> KthreadCpus {
        let product = |requests: u64, ns: u64| u128::from(requests) * u128::from(ns);
        let kept = (product(self.shared.requests, self.free.ns) << 16)
            .checked_div(product(self.free.requests, self.shared.ns))
            .unwrap_or(WHOLE);
        let missed = (WHOLE.saturating_sub(kept) * u128::from(cpus)).min(WHOLE) as u64;
        KthreadCpus { taken: self.taken, missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Others ask for memory each 10 ns on CPU 0, and on CPU 1 unless kswapd has it, as it has half of the time.
    fn heard(busy: bool, on_cpu_1: bool) -> Kthreads {
        let mut kthreads = Kthreads::default();
        kthreads.reclaims(busy);
        for ts in (0..10_000).step_by(10) {
            let kswapd = ts % 2_000 < 1_000;
            kthreads.heard(ts, 0, false);
            kthreads.others_ask();
            kthreads.heard(ts, 1, kswapd);
            if on_cpu_1 && !kswapd {
                kthreads.others_ask();
            }
        }
        kthreads
    }

    #[test]
    fn who_has_a_cpu_shows_in_what_others_ask_for() {
        let found = heard(true, true).cpus(2);
        assert_eq!(found.taken[..3], [(0, 1), (1_000, 0), (2_000, 1)]);
        assert!((60_000..=65_536).contains(&found.missed), "{}", found.missed);
    }

    #[test]
    fn an_idle_cpu_is_not_missed() {
        assert!(heard(true, false).cpus(2).missed < 4_000);
        assert_eq!(heard(false, true).cpus(2).missed, 0, "not known");
    }
}
