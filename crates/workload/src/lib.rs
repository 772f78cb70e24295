//! *What is asked for, and when?* Scenarios as streams of operations, for a real kernel and for the simulated computer.
#![forbid(unsafe_code)]

mod drive;
mod op;
mod spawn;
mod system;
mod workload;

pub use drive::{Program, TaskReport, Timing, drive};
pub use op::{Access, Advice, FileId, HandleId, Op, RegionId};
pub use spawn::{Spawn, TaskId};
pub use system::{Errno, System, Touched};
pub use workload::{Root, Workload};
