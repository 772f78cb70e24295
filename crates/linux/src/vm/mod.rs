//! Kernels under QEMU: fetched, booted, and their results brought back.
//!
//! ```no_run
//! use linux::vm::{Job, Kernel, Machine, Task};
//! # fn main() -> Result<(), linux::vm::VmError> {
//! let kernel = Kernel::from_file("arch/x86/boot/bzImage".as_ref(), None)?;
//! let machine = Machine { memory_mib: 512, nodes: 2, ..Machine::default() };
//! let job = Job {
//!     task: Task::Command { argv: vec!["busybox".into(), "uname".into()], env: Vec::new() },
//!     settings: Vec::new(),
//!     files: Vec::new(),
//!     busybox: true,
//!     snapshots: true,
//! };
//! let result = linux::vm::run(&machine, &kernel, &job, "results".as_ref())?;
//! println!("{} took {} ms", result.report.release, result.report.task_ms);
//! # Ok(())
//! # }
//! ```

pub mod cache;
pub mod cpio;
pub mod debian;
mod disks;
mod error;
mod guest_binary;
mod initramfs;
pub mod job;
mod kernel;
mod modinfo;
mod modules;
mod qemu;
mod run;
mod spec;
pub mod stream;

pub use cache::Cache;
pub use error::VmError;
pub use initramfs::SentFile;
pub use job::{KernelSetting, Report, Task};
pub use kernel::{Kernel, KernelSource, Package, Provenance};
pub use run::{CONSOLE_FILE, Job, VmResult, run, shell};
pub use spec::{Accel, Machine};
