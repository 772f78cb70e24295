//! Kernels under QEMU: fetched, booted, and their results brought back.
//!
//! ```no_run
//! use linux::vm::{Job, Kernel, KernelSetting, Machine};
//! # fn main() -> Result<(), linux::vm::VmError> {
//! let kernel = Kernel::from_file("arch/x86/boot/bzImage".as_ref(), None)?;
//! let machine = Machine { memory_mib: 512, nodes: 2, ..Machine::default() };
//! let mut job = Job::command(&["./workload".to_owned(), "--seed=1".to_owned()])?;
//! job.settings.push(KernelSetting::sysctl("vm.defrag_mode", "1"));
//! let result = linux::vm::run(&machine, &kernel, &job, "results".as_ref())?;
//! println!("{} took {} ms", result.report.release, result.report.task_ms);
//! # Ok(())
//! # }
//! ```

pub mod cache;
mod command;
pub mod cpio;
pub mod debian;
mod disks;
mod error;
mod guest_binary;
mod initramfs;
pub mod job;
mod kernel;
mod kernel_source;
mod manifest;
mod modinfo;
mod modules;
mod qemu;
mod run;
mod spec;
pub mod stream;
mod tsc;

pub use cache::Cache;
pub use command::Job;
pub use error::VmError;
pub use initramfs::SentFile;
pub use job::{KernelSetting, Report, Task};
pub use kernel::{Kernel, Package, Provenance};
pub use kernel_source::KernelSource;
pub use manifest::MANIFEST_FILE;
pub use run::{CONSOLE_FILE, VmResult, check_host, check_results, run, shell};
pub use spec::{Accel, Machine};
