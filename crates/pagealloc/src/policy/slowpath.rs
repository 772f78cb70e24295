//! Rules of the allocation slow path: retries and OOM (chapter 8).

/// Slow path eras (8.1, 8.7, 8.8, 8.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowpathRules {
    /// Retry and compaction scheme.
    pub scheme: SlowpathScheme,
    /// Initial async compaction also for non-movable orders above 0 (4.12+), else for costly orders only.
    pub initial_compaction_nonmovable: bool,
    /// What ends a request with `__GFP_NORETRY` after its initial compaction.
    pub noretry_leaves: NoRetryLeaves,
    /// What `compact_stall` counts.
    pub compact_stalls: CompactStalls,
    /// Form of should_compact_retry.
    pub compact_retry: CompactRetry,
    /// For which requests the OOM killer may kill.
    pub oom_kills: OomKills,
    /// How much of the reserves a task that the OOM killer has chosen may use.
    pub victim_reserve: VictimReserve,
}

/// For which requests the OOM killer may kill, beside those that it kills for in every kernel (8.13; own knowledge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OomKills {
    /// Any that must not fail, whatever it asks for, and those without `__GFP_FS` (3.x).
    NofailAndNofs,
    /// None: reclaim without `__GFP_FS` left too much untried, so such requests go on looping (4.x+).
    WithFs,
}

/// What a victim of the OOM killer has of the reserves below the min mark (2.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimReserve {
    /// All of them: `ALLOC_NO_WATERMARKS` (up to 4.13, own knowledge).
    All,
    /// Half: `ALLOC_OOM` (4.14+).
    Half,
}

/// When a request with `__GFP_NORETRY` leaves after an initial compaction that gave no page (8.1.4). Who stays has one round of reclaim and
/// compaction, async as before. Up to 6.19 this is for costly orders; others with the mask go on as requests without it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetryLeaves {
    /// If compaction was deferred (up to 5.3).
    OnDeferred,
    /// If it was deferred or skipped (5.4 to 6.19; in 5.4 for huge pages only, and for those without the mask as well).
    OnSkippedOrDeferred,
    /// Whatever it came to, too, if the mask has `__GFP_THISNODE` (read in 5.10.265, 5.15.215, 6.1.192 and 6.12.117,
    /// 6.19.11, not in 6.6.57, 6.14, 6.17 and 6.18.15; Debian's changelogs name 6.1.165 and 6.12.75).
    AlsoOnThisNode,
    /// Only with `__GFP_THISNODE`, at every order that compacts first. The initial compaction is part of the first round, which reclaims
    /// nothing if there is one, and has made the one attempt of a request that enters (7.1+ or 7.0+; read in 7.1.9, 7.2.13 and 7.3.4,
    /// not in 6.19.11).
    OnThisNodeOnly,
}

/// What `compact_stall` counts (8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactStalls {
    /// Every request that looks for a zone to compact, also where none is suitable (3.x).
    Attempts,
    /// Runs in at least one zone.
    Runs,
    /// Every request for more than a page that may reclaim, also where every zone was skipped or deferred, or the mask forbids compaction
    /// (5.1 to 5.11: read in 5.4.301 and 5.10.265).
    Requests,
    /// Runs, and requests that all zones deferred (5.12 to 7.1: read in 5.15.215 and 7.1.9; 7.2.13 counts none).
    RunsAndDeferred,
}

/// Overall shape of the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowpathScheme {
    /// 3.x: compaction first async, later sync; retry by pages reclaimed (8.13).
    AsyncThenSync3x,
    /// 4.6: the same with THP special cases.
    AsyncThenSync,
    /// 4.8+: compaction priorities.
    Priorities,
}

/// should_compact_retry (8.7, 8.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactRetry {
    /// 4.8 to 5.3: progress, failed, withdrawn.
    Classified,
    /// 5.4 to 6.4 (read in 5.15.215): the same, but what was withdrawn for another reason than a lack of free pages is tried harder.
    ClassifiedByNeed,
    /// 6.5+: by result.
    ByResult,
}
