//! *When is the run over, and who is told?* Programs go on until each root has done its share; what they do beside it ends then, sleep included.

use crate::sim::Sim;
use mm::{Env, Nanos};

impl Sim {
    /// Whether tasks end at their next operation.
    pub fn is_over(&self) -> bool {
        self.roots_left.get() == 0
            || self.stopped.get()
            || self.spec.time_limit.is_some_and(|limit| self.env().now() >= limit)
    }

    /// A root has done its share, or never will.
    pub fn root_is_done(&self) {
        self.roots_left.set(self.roots_left.get().saturating_sub(1));
        self.wake_nappers();
    }

    /// Who follows the run ends it.
    pub fn stop(&self) {
        self.stopped.set(true);
        self.wake_nappers();
    }

    fn wake_nappers(&self) {
        if self.is_over() {
            self.nappers.take().into_iter().for_each(|task| self.env().unpark(task));
        }
    }

    /// A program sleeps until then, or until the run is over.
    pub async fn nap_until(&self, at: Nanos) {
        let (at, now) = (self.spec.time_limit.map_or(at, |limit| at.min(limit)), self.env().now());
        if at <= now || self.is_over() {
            return;
        }
        let task = self.env().current.get();
        self.nappers.borrow_mut().push(task);
        self.env().park(Some(at - now)).await;
        self.nappers.borrow_mut().retain(|&napper| napper != task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::spec::MachineSpec;
    use crate::tests::{run_until, small_machine};
    use lab::Executor;
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;
    use std::cell::Cell;

    const SECOND: Nanos = 1_000_000_000;

    /// When a sleep of a minute ends beside a root that is done after a second.
    fn end_of_a_long_sleep(time_limit: Option<Nanos>, stopped: bool) -> Nanos {
        let spec = MachineSpec { time_limit, ..small_machine(ThpEnabled::Never) };
        let sim = boot(&spec, &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        sim.roots_left.set(1);
        let end = Cell::new(None);
        let mut executor = Executor::default();
        executor.spawn(sim.env(), async {
            sim.nap_until(60 * SECOND).await;
            end.set(Some(sim.env().now()));
        });
        executor.spawn(sim.env(), async {
            sim.env().sleep(SECOND).await;
            if stopped { sim.stop() } else { sim.root_is_done() }
        });
        run_until(&sim, &mut executor, || end.get().is_some());
        assert!(sim.nappers.borrow().is_empty());
        end.get().unwrap()
    }

    #[test]
    fn sleep_ends_with_the_run() {
        assert_eq!(end_of_a_long_sleep(None, false), SECOND);
        assert_eq!(end_of_a_long_sleep(None, true), SECOND);
        assert_eq!(end_of_a_long_sleep(Some(SECOND / 2), false), SECOND / 2);
    }
}
