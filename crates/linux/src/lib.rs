//! *What does a real kernel do?* Recording a live host, and booting kernels under QEMU.
//!
//! - [`record`]: records a host through a tracefs instance of its own, in the format that `recording` reads.
//! - [`vm`]: boots a Debian kernel, or one the user has built, under QEMU, and brings back what happened in it.

pub mod record;
pub mod vm;
