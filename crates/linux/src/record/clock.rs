//! Times of the machine and of this process.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of this process with all its threads, in seconds.
pub(crate) fn process_cpu_seconds() -> f64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime)) as f64 / 1e9
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
