//! *What happens inside the virtual machine?* The init of a guest: it mounts what a kernel offers, loads modules, applies
//! the settings of its plan, runs the task, streams the results to a raw disk, and powers off.
//!
//! Everything that it needs is in the initramfs: this binary, the modules, the plan. It is linked statically, so that there
//! is no root file system. The plan and the format of the results belong to [`linux::vm`].
//!
//! Process 1 must not die: every error ends up in the report or on the console, and then the machine stops.

pub mod disks;
pub mod error;
pub mod init;
pub mod kernel;
pub mod load;
pub mod mounts;
pub mod network;
pub mod recorded;
pub mod results;
pub mod swap;
pub mod task;
