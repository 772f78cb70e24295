//! Operation streams as files: text, one operation a line, in a version (docs/operations.md).
//!
//! ```
//! use workload::{Saved, Workload, on_paper};
//!
//! let text = "fraglab-ops 1\nrole reader\nroot 1 0 0 0 quota 2\ntask 1\ncreate 0\nwrite 0 0 4096\nread 0 0 4096\nend-of-file 1\n";
//! let saved = Saved::parse(text.to_owned()).unwrap();
//! assert_eq!(saved.roots()[0].quota, 2);
//! assert_eq!(on_paper(&saved).by_role()[0].ops, 2);
//! ```

mod line;
mod read;
mod write;

pub use read::Saved;
pub use write::save;

/// What a stream's first line begins with.
const MAGIC: &str = "fraglab-ops";
/// The version written and read.
const VERSION: u32 = 1;
/// What begins the last line, before the number of tasks.
const END: &str = "end-of-file";

/// Why a saved stream can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SavedError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

#[cfg(test)]
mod tests;
