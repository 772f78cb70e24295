//! Rules of kswapd: when it is woken, what it does, when it sleeps (chapter 9).

use crate::ZoneType;

/// kswapd eras (chapter 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KswapdRules {
    /// When `wakeup_kswapd` really wakes it.
    pub wake: KswapdWake,
    /// How it raises the pressure on a node that it has not balanced yet.
    pub rounds: KswapdRounds,
    /// Whether there is a kcompactd (4.6+); before, kswapd compacts itself.
    pub kcompactd: bool,
    /// When kswapd, on its way to sleep, resets skip hints and wakes kcompactd.
    pub hands_over: HandOver,
    /// kswapd's sleep is judged by the order that it has balanced the node for, and kcompactd is woken for it (up to 4.7, own
    /// knowledge). Later it reads anew what was asked for, which is nothing if nobody has asked since, unless it gave up the
    /// order: then kcompactd is woken for that.
    pub sleeps_by_order: bool,
    /// A run that nobody has asked for since the last one began (kswapd could not go to sleep, or was woken by a
    /// fragmentation stall alone) looks at the lowest zone only, as if that were the highest allowed one: it finds it
    /// balanced and ends (4.8 to 5.2; own knowledge). Later it looks at the zones of the run before. While a request
    /// waits that came during a run or the nap after it, the higher of both zones counts in these kernels (read in 4.20
    /// and 5.0.1), later the request's.
    pub forgets_zones: bool,
    /// kswapd goes to sleep, and wakes kcompactd, only if every eligible zone is balanced, though its run ends once one
    /// of them is (4.8 to 4.11: "mm, vmscan: fix zone balance check in prepare_kswapd_sleep"). A small zone that is
    /// never balanced for the order keeps kcompactd asleep.
    pub sleeps_when_all_balanced: bool,
    /// What a run has reclaimed is counted anew at each priority (up to 4.11: "mm: fix 100% CPU kswapd busyloop on unreclaimable nodes",
    /// 4.12), so the order is given up only after twice its pages in one pass, not in the whole run (9.6.6).
    pub counts_each_pass: bool,
    /// A run falls back to order 0 once twice the order's pages are reclaimed; 4.6 keeps to its order (read in 4.6.2).
    pub gives_up_order: bool,
    /// What a pass has reclaimed counts as scanned where that is more, as slab may make it (6.2 to 6.6: read in 6.6.57, not in 6.1.192).
    pub reclaimed_counts_as_scanned: bool,
    /// Proactive compaction (5.9+).
    pub proactive_compaction: bool,
    /// kswapd gives up after 16 fruitless runs (4.12+); before, zones are judged by pages scanned.
    pub failures: bool,
    /// What ends a row of such runs.
    pub failures_end: FailuresEnd,
    /// A free that empties part of a CPU's list and finds the zone above its high mark again, for the first time since
    /// an allocation did not, ends them as well, if a memory node of a higher number follows (6.18+; read in 6.18.15
    /// and 7.3.4, not in 6.17.13).
    pub frees_end_failures: bool,
    /// A run that reclaimed nothing while it spared active page cache is made once more without that (read in 6.12.117, not in 6.6.57).
    pub retries_without_trim: bool,
    /// The boost series wakes kswapd at a refill's first fallback, within the zone's lock, as posted; it begins while the refill goes on,
    /// and knows only the boost of that moment. 5.0 wakes it after the refill (7.8).
    pub woken_amid_refill: bool,
    /// A boosted run that reclaims nothing counts as a failure (up to 6.18).
    pub boosted_run_may_fail: bool,
}

impl KswapdRules {
    /// Highest zone that kswapd is to look after: `asked` since its last run, which looked after those up to `previous`.
    pub fn next_zone(&self, asked: Option<ZoneType>, previous: ZoneType) -> ZoneType {
        match asked {
            Some(asked) if self.forgets_zones => asked.max(previous),
            Some(asked) => asked,
            None => previous,
        }
    }
}

/// When kswapd leaves the rest to compaction (9.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Once nobody has called it for HZ/10 and the node is still balanced (up to 4.6-rc5: "mm: wake kcompactd before kswapd's short
    /// sleep", April 2016). Requests that come more often than that keep it from happening.
    BeforeSleep,
    /// As soon as the node is balanced, before that first tenth of a second.
    BeforeNap,
}

/// When kswapd's failures are counted anew (9.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailuresEnd {
    /// Anybody's reclaim of the node got a page.
    OnProgress,
    /// The same, and any pass over generations of the node, which so never gives up (read in 6.6.57, not in 6.12.117).
    AfterEachPass,
    /// It got a page, and the node is balanced for the order and the zones that it was for (read in 7.1.9, 7.2.13 and 7.3.4, not in
    /// 6.19.11).
    WhenBalanced,
}

/// How kswapd raises the pressure (9.6; own knowledge up to 3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdRounds {
    /// Round after round until the node is balanced: each lowers the priority by one a pass, to 0, where both kinds of pages are scanned
    /// whole, and begins anew once it has 32 pages. No zone has a target (up to 3.10).
    Restarted,
    /// One round, whose priority stays as it is while passes reclaim and scan enough, and ends at 1. A zone's target is
    /// its high mark (3.11+).
    Single,
}

/// When `wakeup_kswapd` wakes (9.2, 9.11, 9.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KswapdWake {
    /// 3.11: unless the zone is above low by then (the missed wake).
    ZoneBelowLow,
    /// 3.12 to 4.7: unless the zone is balanced at high.
    ZoneNotBalanced,
    /// 4.8 to 4.11: unless any eligible zone is balanced.
    NoZoneBalanced,
    /// 4.12+: the same; a hopeless or balanced node wakes kcompactd only.
    NoZoneBalancedOrKcompactd,
    /// 5.0+: the same, and a boosted zone counts as unbalanced.
    NoZoneBalancedOrBoosted,
}
