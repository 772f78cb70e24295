//! What has been asked of a node's kswapd, and what came of it? (9.1)

use pagealloc::{NR_ZONE_TYPES, Order, ZoneType};

/// Requests to a node's kswapd, and its failures (9.1).
#[derive(Default, Debug)]
pub struct Kswapd {
    /// Largest order that was asked for since it last looked.
    pub(super) order: Order,
    /// Highest zone that was asked for since then; lowest up to 4.7 (9.14).
    pub(super) highest: Option<ZoneType>,
    /// Fruitless runs in a row.
    pub(super) failures: u32,
    /// It waits on its queue, or is about to: it is woken rather than told.
    pub(super) sleeping: bool,
    /// It was woken and has not noticed yet. Makes a wake that comes before the wait count.
    pub(super) woken: bool,
    /// It waits in the middle of a run, for a device or for reclaim to get on: it is awake, but does not run.
    pub(super) blocked: bool,
    /// The zones' boosts when it was woken, by zone type, where it begins at that moment (7.8).
    pub(super) boosts_at_wakeup: Option<[u64; NR_ZONE_TYPES]>,
    /// Pages scanned since one was last reclaimed, by zone type: up to 4.11 what told a hopeless zone (9.13).
    pub(super) pages_scanned: [u64; NR_ZONE_TYPES],
}
