//! Which program a task runs: all that a forked child needs to know.

use serde::{Deserialize, Serialize};

/// A task's number, the same in every run of a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId(pub u64);

/// A task to be started. The operations of a task are a function of its `Spawn` and the scenario, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Spawn {
    /// The task.
    pub task: TaskId,
    /// Which of the workload's programs it runs.
    pub role: u16,
    /// A number for the program's use, such as its size in bytes.
    pub argument: u64,
    /// The scenario's seed, the key of all random numbers; the task selects the stream ([`Random`](crate::Random)).
    pub seed: u64,
}

impl Spawn {
    /// A root task: the `index`-th of a scenario with this seed.
    pub fn root(index: u16, role: u16, argument: u64, seed: u64) -> Spawn {
        Spawn { task: TaskId(mix(seed, u64::from(index) + 1)), role, argument, seed }
    }

    /// The `nth` child (from 0) of this task.
    #[must_use]
    pub fn child(&self, nth: u64, role: u16, argument: u64) -> Spawn {
        Spawn { task: TaskId(mix(self.task.0, nth + 1)), role, argument, seed: self.seed }
    }
}

/// Spreads two words over one (the finaliser of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut word = a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
