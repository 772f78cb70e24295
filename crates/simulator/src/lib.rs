//! *What would the machine do?* The simulated computer that runs a scenario in virtual time.
//!
//! A [`Workload`](workload::Workload)'s tasks become processes on a few simulated CPUs; what they ask for becomes page
//! faults, page cache, slab objects and I/O; and every page of it comes from [`mm`] and [`pagealloc`] under a policy.
//! `docs/simulator.md` says what is modelled, what is not, and where the constants come from.
//!
//! ```
//! use pagealloc::policy::preset;
//! use simulator::{MachineSpec, Simulation};
//! use workload::Scenario;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let workload = Scenario::shipped("kbuild-mix")?.workload();
//! let mut machine = MachineSpec::guest(512 << 20);
//! machine.time_limit = Some(100_000_000); // a tenth of a second is enough to see it move
//! let policy = preset("linux-6.18").expect("a shipped preset");
//! let simulated = Simulation::run(&*workload, &machine, &policy, 1)?;
//! assert!(simulated.outcome.counters["pgalloc_dma32"] > 1_000);
//! assert_eq!(simulated.digest, Simulation::run(&*workload, &machine, &policy, 1)?.digest);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod background;
mod boot;
mod check;
mod costs;
mod ending;
mod errno;
mod files;
mod follow;
mod memory;
mod owner;
mod phases;
mod sim;
mod simulation;
mod spec;
mod state;
mod system;
#[cfg(test)]
mod tests;
mod zone_scans;

pub use costs::Costs;
pub use simulation::{Hang, Simulated, Simulation, SimulationError};
pub use spec::{Boot, Disks, MachineSpec, Thp};
