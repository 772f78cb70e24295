//! *What does a real kernel do?* Running a scenario on it, recording a live host, and booting kernels under QEMU.
//!
//! - [`child`]: processes that end with the one that started them.
//! - [`host`]: the operations of a scenario as system calls of real processes.
//! - [`record`]: records a host through a tracefs instance of its own, in the format that `recording` reads.
//! - [`vm`]: boots a Debian kernel, or one the user has built, under QEMU, and brings back what happened in it.

pub mod child;
pub mod host;
pub mod record;
pub mod signals;
pub mod vm;
