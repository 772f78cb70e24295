//! When does a timer fire? The timer wheel (4.8 and later) is coarser the longer a timeout is, and rounds up.

use crate::env::Nanos;

/// Timeouts that the wheel keeps to the tick: buckets of a level, less one.
const EXACT: u64 = 63;
/// Each level's buckets are eight times as long as those of the level below.
const COARSER: u64 = 8;

/// How long a timer lasts that a worker arms again as soon as it has fired: from one boundary of its level's buckets to
/// the first one that is no earlier than the timeout.
pub fn wheel_timeout(timeout: Nanos, hz: u64) -> Nanos {
    let ticks = (timeout * hz).div_ceil(1_000_000_000);
    let (mut bucket, mut longest) = (1, EXACT);
    while ticks >= longest {
        bucket *= COARSER;
        longest *= COARSER;
    }
    (ticks / bucket + 1) * bucket * 1_000_000_000 / hz
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_seconds_are_504_ticks_of_250_hz() {
        assert_eq!(wheel_timeout(2_000_000_000, 250), 2_016_000_000);
        assert_eq!(wheel_timeout(2_000_000_000, 1_000), 2_048_000_000);
        assert_eq!(wheel_timeout(2_000_000_000, 100), 2_080_000_000);
    }

    #[test]
    fn short_timeouts_last_until_the_tick_after() {
        assert_eq!(wheel_timeout(40_000_000, 250), 44_000_000);
        assert_eq!(wheel_timeout(1, 1_000), 2_000_000, "part of a tick counts as a whole one");
    }
}
