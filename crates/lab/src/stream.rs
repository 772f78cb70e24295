//! What do writes to a device come from?

/// Writes that belong together: neighbours within a stream need no seek.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stream {
    /// Page cache that is written some time.
    Files,
    /// Page cache whose writer waits for it (`fdatasync`).
    Synced,
    /// Memory that is swapped out.
    Swap,
}
