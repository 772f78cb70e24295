//! The kinds of workload that a scenario can have, each a section of its file.

use crate::{Machine, Scale, Workload};

/// Parameters of a kind of workload.
pub(crate) trait Kind {
    /// The workload on a machine.
    fn workload(&self, machine: &Machine, seed: u64) -> Box<dyn Workload>;
    /// Brings sizes that do not follow the machine's memory to scale.
    fn scale(&mut self, _scale: Scale) {}
}
