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

mod address_space;
mod background;
mod boot;
mod check;
mod computer;
mod costs;
mod deferred_split;
mod dentry;
mod dirty_pace;
mod errno;
mod fault;
mod file;
mod file_io;
mod folio;
mod follow;
mod handles;
mod journal;
mod khugepaged;
mod line;
mod mapped;
mod names;
mod numa;
mod numa_scan;
mod owner;
mod page_size;
mod page_table;
mod page_tree;
mod phases;
mod process;
mod process_table;
mod readahead;
mod rows;
mod sim;
mod simulation;
mod slab;
mod spec;
mod stack;
mod swap;
mod system;
#[cfg(test)]
mod tests;
mod windows;
mod writeback;
mod xfs;
mod zone_scans;

pub use costs::Costs;
pub use simulation::{Hang, Simulated, Simulation, SimulationError};
pub use spec::{Boot, Disks, MachineSpec, Thp};
