//! Kernels under QEMU: fetched, booted, and their results brought back.
