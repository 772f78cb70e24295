//! Why does a reclaimer wait, where, and for how long?

use crate::env::{Nanos, Queue};
use pagealloc::NodeId;

/// Why a reclaimer waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ThrottleReason {
    /// For writes to finish.
    Writeback,
    /// For others to put back what they isolated.
    Isolated,
    /// Because nothing could be reclaimed.
    NoProgress,
    /// Because all dirty pages of the node wait for a slow device.
    Congested,
}

impl ThrottleReason {
    /// The name as the tracepoint prints it.
    pub const fn name(self) -> &'static str {
        match self {
            ThrottleReason::Writeback => "VMSCAN_THROTTLE_WRITEBACK",
            ThrottleReason::Isolated => "VMSCAN_THROTTLE_ISOLATED",
            ThrottleReason::NoProgress => "VMSCAN_THROTTLE_NOPROGRESS",
            ThrottleReason::Congested => "VMSCAN_THROTTLE_CONGESTED",
        }
    }

    /// Where those who wait for this reason are woken.
    pub const fn queue(self, node: NodeId) -> Queue {
        match self {
            ThrottleReason::Writeback => Queue::Writeback(node),
            ThrottleReason::Isolated => Queue::Isolated(node),
            ThrottleReason::NoProgress => Queue::NoProgress(node),
            ThrottleReason::Congested => Queue::Congested(node),
        }
    }

    /// Longest wait, whole ticks.
    pub(super) const fn timeout(self, hz: u64) -> Nanos {
        let ticks = match self {
            ThrottleReason::Writeback => hz / 10,
            ThrottleReason::Isolated => hz / 50,
            ThrottleReason::NoProgress | ThrottleReason::Congested => 1,
        };
        ticks * (1_000_000_000 / hz)
    }
}
