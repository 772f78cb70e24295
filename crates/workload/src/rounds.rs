//! Programs in rounds: a script writes down one round of operations at a time, and the driver takes them one by one.

use crate::Op;
use crate::drive::Program;

/// A program that goes on in rounds.
pub trait Script: Send + 'static {
    /// Adds what is done once, before the first round.
    fn begin(&mut self, _ops: &mut Vec<Op>) {}
    /// Adds the next round. `false` if there is none.
    fn round(&mut self, ops: &mut Vec<Op>) -> bool;
}

/// A script's operations in order.
struct Rounds<S> {
    script: S,
    begun: bool,
    /// The round, and how many of its operations were taken.
    ops: Vec<Op>,
    taken: usize,
}

impl<S: Script> Iterator for Rounds<S> {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        loop {
            if let Some(op) = self.ops.get(self.taken) {
                self.taken += 1;
                return Some(*op);
            }
            self.ops.clear();
            self.taken = 0;
            if !self.begun {
                self.begun = true;
                self.script.begin(&mut self.ops);
            } else if !self.script.round(&mut self.ops) {
                return None;
            }
        }
    }
}

/// The script as a program.
pub fn program(script: impl Script) -> Program {
    Box::new(Rounds { script, begun: false, ops: Vec::new(), taken: 0 })
}

/// Operations until the end of this many rounds: the quota of a root that owes them.
pub fn quota(mut script: impl Script, rounds: u32) -> u64 {
    let mut ops = Vec::new();
    script.begin(&mut ops);
    let mut count = ops.len() as u64;
    for _ in 0..rounds {
        ops.clear();
        if !script.round(&mut ops) {
            break;
        }
        count += ops.len() as u64;
    }
    count
}
