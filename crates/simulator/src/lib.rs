//! *What would the machine do?* The simulated computer that runs a scenario in virtual time.
//!
#![forbid(unsafe_code)]

mod address_space;
mod boot;
mod check;
mod computer;
mod costs;
mod dentry;
mod fault;
mod file;
mod file_io;
mod folio;
mod handles;
mod names;
mod process;
mod sim;
mod simulation;
mod slab;
mod spec;
mod system;
#[cfg(test)]
mod tests;
mod writeback;

pub use costs::Costs;
pub use simulation::{Simulated, Simulation, SimulationError};
pub use spec::{Boot, MachineSpec, Thp};
