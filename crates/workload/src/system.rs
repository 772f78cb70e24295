//! The computer as one of its processes sees it.

use crate::Op;
use std::collections::BTreeMap;
use std::future::Future;

/// A failed operation: the error number that a system call would give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, thiserror::Error)]
#[error("errno {0}")]
pub struct Errno(pub i32);

/// What a touch met.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Touched {
    /// Huge pages under the range afterwards, where that can be told.
    pub huge: Option<u32>,
}

/// A process of a computer, real or simulated. Operations are performed in the order in which they are asked for.
///
/// A real kernel answers before the future is first polled to its end; the simulated computer lets virtual time pass.
pub trait System {
    /// Performs an operation of this process. `Begin`, `End` and `Mark` are the driver's business and never arrive here.
    ///
    /// # Errors
    /// What the system call would fail with. The task goes on: a scenario is a load, not a program that cares.
    fn perform(&mut self, op: &Op) -> impl Future<Output = Result<Touched, Errno>>;
    /// Nanoseconds on a clock that never goes back.
    fn now(&self) -> u64;
    /// The kernel's counters at this moment, by /proc/vmstat name; none where they can't be told. Beside them, where it is known,
    /// CPU time of all programs and of the kernel: `cpu_user_ns` and `cpu_system_ns`.
    fn counters(&self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
    /// Whether the run has ended: every root has done its quota, or the time is up. The task exits at its next operation.
    fn over(&self) -> bool;
    /// A root task has done its quota. It goes on as load for those that have not.
    fn quota_done(&mut self);
}
