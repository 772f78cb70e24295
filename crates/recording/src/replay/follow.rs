//! Following a replay over time, beside it: nothing that happens depends on it.

use super::counters;
use super::place::ReplayWorld;
use lab::activity::Activities;
use lab::timeline::{Sampler, Sampling, Timeline};
use mm::{Env, Mm};
use std::time::{Duration, Instant};

/// Looks at the machine whenever a sample is due, if it was asked to.
#[derive(Default)]
pub(super) struct Follow {
    sampler: Option<Sampler>,
    /// When it is; the end of time if it was not asked to.
    next: u64,
    /// Time that the looks took.
    spent: Duration,
}

impl Follow {
    /// From now on, if `sampling` says how often.
    pub fn new(mm: &Mm<ReplayWorld>, sampling: Option<Sampling>) -> Follow {
        let state = &mut *mm.state.borrow_mut();
        let sampler = sampling.map(|sampling| {
            state.alloc.observer.activities = Some(Activities::default());
            Sampler::of(mm.env.now(), &state.alloc, sampling)
        });
        let next = sampler.as_ref().map_or(u64::MAX, Sampler::due);
        Follow { sampler, next, spent: Duration::ZERO }
    }

    /// Time that the looks took so far: not the replay's own.
    pub fn spent(&self) -> Duration {
        self.spent
    }

    /// What was seen up to `end`, or until the last of what was going on had ended.
    pub fn finish(self, mm: &Mm<ReplayWorld>, end: u64) -> Option<Timeline> {
        let state = mm.state.borrow();
        let counter = |name: &str| counters::value(&state.alloc.vmstat, name);
        Some(self.sampler?.finish(mm.env.now().max(end), &state.alloc, &counter))
    }

    /// When the next sample is due.
    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes it.
    pub fn look(&mut self, mm: &Mm<ReplayWorld>) {
        let Some(sampler) = &mut self.sampler else { return };
        let began = Instant::now();
        let state = mm.state.borrow();
        sampler.look(&state.alloc, &|name| counters::value(&state.alloc.vmstat, name));
        self.next = sampler.due();
        self.spent += began.elapsed();
    }
}
