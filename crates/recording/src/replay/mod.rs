//! Replaying a page log through [`mm`] under any policy, in virtual time.
//!
//! The log's operations come at their recorded times. A task that has to wait holds back its own later operations, those of others while
//! it has their CPU, and tasks that began after its end (`pace`).
//! kswapd and kcompactd run beside them, and all work takes the time per page that was measured on the recorded machine
//! ([`Speeds`](lab::Speeds)). Memory accesses are not in a trace: that a page was cold shows in when the
//! kernel's reclaim took it (`objects::heat`).

mod counters;
mod driver;
mod flusher;
mod follow;
mod lagging;
mod late;
mod objects;
mod pace;
mod page_tables;
mod place;
mod policy;
mod policy_caveats;
mod readers;
mod requests;
mod results;
mod schedule;
mod shadows;
mod shrinkers;
mod stats_flushes;
mod ticks;
mod units;
mod used_again;
mod uses;
mod waiting;

pub use driver::{Progress, replay};
pub use policy::{RecordedPolicyError, policy_of, recorded_policy, setting_value};
pub use policy_caveats::{recorded_caveats, recorded_stand_in};

use lab::outcome::Outcome;
use lab::timeline::{Sampling, Timeline};
use pagealloc::Policy;

/// How to replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Policy in force.
    pub policy: Policy,
    /// Whether `policy` leaves the recorded machine's watermarks as they were; otherwise they are computed anew.
    pub recorded_watermarks: bool,
    /// Seed of what the trace leaves open: which of equally likely pages is looked at first.
    pub seed: u64,
    /// Run all invariant checks at every sample.
    pub check: bool,
    /// Follow it over time. What happens does not change by being looked at.
    pub sampling: Option<Sampling>,
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
    /// The run over time, if that was asked for.
    pub timeline: Option<Timeline>,
}

/// Why a replay can't run, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The start snapshot describes no possible machine.
    #[error("the start snapshot describes no machine that can be built: {0}")]
    Machine(#[from] pagealloc::MachineError),
    /// Who heard of its progress ended it.
    #[error("the replay was stopped")]
    Stopped,
    /// An invariant of the model does not hold: a bug of fraglab's.
    #[error(
        "an invariant of the model broke {at_ms} ms into the recording: {what}; please report it with the recording"
    )]
    Broken {
        /// Milliseconds since the start of the log.
        at_ms: u64,
        /// The first broken invariant.
        what: String,
    },
}
