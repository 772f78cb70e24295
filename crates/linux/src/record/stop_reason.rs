//! Why does a recording end?

/// Why a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was asked to.
    Asked,
    /// The bound on its size is reached.
    MaxSize,
    /// The disk is nearly full, or is full.
    DiskFull,
    /// Something failed.
    Failed,
}
