//! A workload: which tasks there are, and what each one asks for.

use crate::drive::Program;
use crate::spawn::Spawn;
use crate::{Measure, RunReport};

/// A root task and what it owes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Root {
    /// The task.
    pub spawn: Spawn,
    /// Operations after which it has done its share; it then goes on as load until every root has.
    pub quota: u64,
}

/// A workload with its parameters and seed.
pub trait Workload: Send + Sync {
    /// The tasks that there are at the start.
    fn roots(&self) -> Vec<Root>;
    /// The operations of a task: a function of the spawn alone. A root's never end; a child's do.
    fn program(&self, spawn: &Spawn) -> Program;
    /// Names of the roles, by number.
    fn roles(&self) -> Vec<&str>;
    /// Names of what is timed or marked, by the label of [`Op::Begin`](crate::Op::Begin) and [`Op::Mark`](crate::Op::Mark).
    fn labels(&self) -> Vec<&str>;
    /// What the experiment measures, in the order of its table. `huge_bytes` is the size of a huge page.
    fn measures(&self, _run: &RunReport, _huge_bytes: u64) -> Vec<Measure> {
        Vec::new()
    }
}
