//! What came out of a run, in one shape for the recorded kernel and for every replay, so that a table can hold both.

use pagealloc::{Extfrag, Gfp, NR_MIGRATETYPES, NR_ORDERS, Order};
use std::collections::BTreeMap;

/// Result of one run over the recording's window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Change of every known counter over the window, by /proc/vmstat name.
    pub counters: BTreeMap<String, u64>,
    /// Fragmentation events in time order, whole-block claims included.
    pub extfrag: Vec<ExtfragAt>,
    /// Nothing was traced: that there are no fragmentation events says nothing.
    pub untraced: bool,
    /// Zones at the end of the window.
    pub zones: Vec<ZoneEnd>,
    /// Requests that had to take the slow path: how long they took. All others count as 0 ns in `fast_requests`.
    pub slow_requests: Vec<SlowRequest>,
    /// Requests served on the fast path, by order.
    pub fast_requests: [u64; NR_ORDERS],
    /// Requests that failed for good, by order.
    pub failed_requests: [u64; NR_ORDERS],
    /// Every `mm_page_alloc` without a page, in time order: requests that failed, or that their caller tried again in
    /// another way. Not known where only rare events were traced.
    pub failures: Option<Vec<FailedAttempt>>,
    /// CPU time over the run, nanoseconds: programs' own, and the kernel's; only the simulated computer tells.
    pub cpu_ns: Option<(u64, u64)>,
    /// Fragmentation events below the pageblock order by the node whose block they broke; only the model tells.
    pub extfrag_by_node: Vec<u64>,
    /// Microseconds that each stall against fragmentation lasted (`mm_fragmentation_stall`, in whole jiffies), in order; only
    /// the model tells.
    pub fragment_stalls: Vec<u64>,
    /// Samples over time, one a second of the recording.
    pub series: Vec<Sample>,
}

/// A fragmentation event with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtfragAt {
    /// Nanoseconds on the recording's clock.
    pub ts: u64,
    /// The event.
    pub event: Extfrag,
}

/// Weiner's classes: every event is exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventClass {
    /// A whole pageblock or more was taken.
    Claim,
    /// Less, and the block went over to the request's type.
    Steal,
    /// Less, and the block kept its type.
    Pollute,
}

impl ExtfragAt {
    /// Its class.
    pub const fn class(&self) -> EventClass {
        match (self.event.fragmenting(), self.event.change_ownership) {
            (false, _) => EventClass::Claim,
            (true, true) => EventClass::Steal,
            (true, false) => EventClass::Pollute,
        }
    }
}

/// A request that ended without a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Nanoseconds on the recording's clock.
    pub ts: u64,
    /// Order.
    pub order: Order,
    /// Mask.
    pub gfp: Gfp,
}

/// A request that was not served at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowRequest {
    /// Nanoseconds on the recording's clock when it was made.
    pub ts: u64,
    /// Order.
    pub order: Order,
    /// Mask.
    pub gfp: Gfp,
    /// Nanoseconds until it was served or failed.
    pub duration: u64,
    /// Whether it was served.
    pub served: bool,
}

/// A zone's state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ZoneEnd {
    /// Node number.
    pub node: u8,
    /// Zone name as in /proc.
    pub name: String,
    /// Pageblocks by type.
    pub blocks: [u64; NR_MIGRATETYPES],
    /// Free blocks by type and order, as /proc/pagetypeinfo prints them.
    pub free: [[u64; NR_ORDERS]; NR_MIGRATETYPES],
}

/// State at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sample {
    /// Nanoseconds on the recording's clock.
    pub ts: u64,
    /// Zones.
    pub zones: Vec<ZoneEnd>,
    /// Counters since the start of the window, by /proc/vmstat name.
    pub counters: BTreeMap<String, u64>,
    /// Fragmentation events below the pageblock order since the start of the window.
    pub extfrag: u64,
}
