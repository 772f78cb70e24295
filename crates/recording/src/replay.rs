//! The replay's interface; the engine follows.

use crate::outcome::Outcome;
use pagealloc::Policy;

/// How to replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Policy in force.
    pub policy: Policy,
    /// Seed of what the trace leaves open.
    pub seed: u64,
    /// Run all invariant checks as it goes.
    pub check: bool,
}

/// What a replay leaves.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The result.
    pub outcome: Outcome,
    /// Page events (allocations and frees) of the log that were replayed.
    pub page_events: u64,
    /// Wall-clock seconds of the replay itself.
    pub replay_seconds: f64,
    /// Digest of the event stream.
    pub digest: u64,
    /// What could not be attributed, as (what, how many) in print order.
    pub unattributed: Vec<(String, u64)>,
}
