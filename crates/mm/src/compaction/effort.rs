//! How hard may a run try, and what may it come to? (11.1)

/// How hard a run may try (11.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum CompactMode {
    /// Never waits; direct runs take only blocks of the request's own type and leave windows that can't be freed.
    Async,
    /// May wait for locks, not for writeback.
    SyncLight,
    /// May wait for writeback too.
    Sync,
}

/// Results, ascending: a zonelist's result is the maximum (11.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum CompactResult {
    /// Fragmentation is not what the request fails by.
    NotSuitableZone,
    /// Too few free pages to work with, or not allowed.
    Skipped,
    /// Failed too often lately.
    Deferred,
    /// No free block of the order yet.
    NoSuitablePage,
    /// Go on.
    Continue,
    /// The whole zone was scanned in vain.
    Complete,
    /// Part of the zone was scanned in vain.
    PartialSkipped,
    /// Given up for others' sake.
    Contended,
    /// The allocation should succeed now.
    Success,
}

impl CompactResult {
    /// The status string that tracepoints print (15.6).
    pub const fn name(self) -> &'static str {
        match self {
            CompactResult::NotSuitableZone => "not_suitable_zone",
            CompactResult::Skipped => "skipped",
            CompactResult::Deferred => "deferred",
            CompactResult::NoSuitablePage => "no_suitable_page",
            CompactResult::Continue => "continue",
            CompactResult::Complete => "complete",
            CompactResult::PartialSkipped => "partial_skipped",
            CompactResult::Contended => "contended",
            CompactResult::Success => "success",
        }
    }

    /// Whether a run scanned until there was nothing left to scan.
    pub(super) const fn is_exhausted(self) -> bool {
        matches!(self, CompactResult::Complete | CompactResult::PartialSkipped)
    }
}

/// Priority of direct compaction (8.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum CompactPriority {
    /// Everything, hints and deferral ignored.
    SyncFull = 0,
    /// The usual one.
    SyncLight = 1,
    /// The first attempt.
    Async = 2,
}
