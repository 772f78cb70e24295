//! The kinds of workload that a scenario can have, each a section of its file.

use crate::{Machine, Scale, Workload};

/// Parameters of a kind of workload.
pub(crate) trait Kind {
    /// The workload on a machine.
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload>;
    /// What single parameters don't tell: whether they go together. Why not, if they don't.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
    /// Brings sizes that do not follow the machine's memory to scale.
    fn scale(&mut self, _scale: Scale) {}
}
