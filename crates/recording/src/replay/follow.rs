//! Following a replay over time, beside it: nothing that happens depends on it.

use super::counters;
use super::driver::Driver;
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
}

impl Driver<'_> {
    /// The samples that fall due before `ts`, the time of the next operation.
    #[inline(always)]
    pub(super) fn look_until(&mut self, ts: u64) {
        if self.follow.next < ts {
            self.look(ts);
        }
    }

    #[inline(never)]
    fn look(&mut self, ts: u64) {
        while self.follow.next < ts {
            self.run_until(self.follow.next);
            let began = Instant::now();
            let state = self.mm.state.borrow();
            let Some(sampler) = &mut self.follow.sampler else { return };
            sampler.look(&state.alloc, &|name| counters::value(&state.alloc.vmstat, name));
            self.follow.next = sampler.due();
            self.follow.spent += began.elapsed();
        }
    }
}
