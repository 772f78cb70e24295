//! Who runs?

/// Index of a task of the executor.
pub type TaskId = usize;
