//! Following a run over time, beside it: nothing that happens depends on it.

use crate::sim::Sim;
use lab::activity::Activities;
use lab::timeline::{Sampler, Sampling, Timeline};
use mm::{Env, Nanos};
use pagealloc::{Counter, VmStat};
use std::cell::RefCell;

/// Looks at the machine whenever a sample is due, if it was asked to.
pub(crate) struct Follow {
    sampler: Option<RefCell<Sampler>>,
    at_boot: VmStat,
}

impl Follow {
    /// From now on, if `sampling` says how often.
    pub fn new(sim: &Sim, sampling: Option<Sampling>) -> Follow {
        let state = &mut *sim.mm.state.borrow_mut();
        let at_boot = state.alloc.vmstat.clone();
        let sampler = sampling.map(|sampling| {
            state.alloc.observer.activities = Some(Activities::default());
            RefCell::new(Sampler::of(sim.env().now(), &state.alloc, sampling))
        });
        Follow { sampler, at_boot }
    }

    /// Nothing happens until `next`: the samples that fall due before.
    pub fn until(&self, sim: &Sim, next: Nanos) {
        let Some(mut sampler) = self.sampler.as_ref().map(RefCell::borrow_mut) else { return };
        if sampler.due() >= next {
            return;
        }
        let state = sim.mm.state.borrow();
        while sampler.due() < next {
            sampler.look(&state.alloc, &|name| self.since_boot(&state.alloc.vmstat, name));
        }
    }

    /// What was seen.
    pub fn finish(self, sim: &Sim) -> Option<Timeline> {
        let Follow { sampler, at_boot } = self;
        let (sampler, this) = (sampler?.into_inner(), Follow { sampler: None, at_boot });
        let state = sim.mm.state.borrow();
        Some(sampler.finish(sim.env().now(), &state.alloc, &|name| this.since_boot(&state.alloc.vmstat, name)))
    }

    fn since_boot(&self, vmstat: &VmStat, name: &str) -> Option<u64> {
        let counter = Counter::from_name(name)?;
        Some(vmstat.get(counter) - self.at_boot.get(counter))
    }
}
