//! What the driver does for tasks that lag ([`super::pace`] tells when).

use super::driver::{Driver, LOAD_AHEAD, load_ahead};
use mm::Env;

impl Driver<'_> {
    /// The task has its answer.
    pub(super) fn resume(&mut self, task: u16) {
        let now = self.mm.env.now();
        self.mm.state.borrow_mut().owner.goes_on(task, now);
        self.held.resume(task, now);
    }

    /// Loads what the next operations of a task that lags will ask, every so many of them: since they were held back, much
    /// has left the cache.
    #[inline(always)]
    fn load_backlog(&mut self, task: u16) {
        self.lagging += 1;
        if self.lagging.is_multiple_of(LOAD_AHEAD) {
            std::hint::black_box(load_ahead(&self.mm.state.borrow(), self.held.ahead_of(task)));
        }
    }

    /// The next operation of a task that lags.
    pub(super) fn next_lagging(&mut self) {
        self.mm.env.clock.set(self.mm.env.clock.get().max(self.held.next));
        if let Some(op) = self.held.pop_late() {
            return self.free(op);
        }
        if let Some((at, op)) = self.held.pop_operation() {
            self.load_backlog(op.task);
            self.perform(op);
            self.held.go_on(op, at);
        }
    }
}
