//! Clocks of the kernel, in nanoseconds.

use rustix::time::{ClockId, clock_gettime};

/// The monotonic clock.
pub fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time that this process has used.
pub fn cpu_time() -> u64 {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
