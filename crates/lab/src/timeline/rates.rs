//! Counters that are followed over time: how much they grow a second.

use super::gauge::{Group, Key, Unit};
use super::moment::Moment;
use crate::outcome::ExtfragAt;

/// Counters of /proc/vmstat by plot. A name that ends in `_` stands for the sum over zones.
const COUNTERS: [(Group, &[&str]); 5] = [
    (Group::Thp, &["thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc", "thp_split_page", "thp_swpout"]),
    (Group::Stalls, &["allocstall_", "compact_stall", "fragment_stall", "pgscan_direct_throttle", "oom_kill"]),
    (
        Group::Reclaim,
        &[
            "pgscan_kswapd",
            "pgscan_direct",
            "pgsteal_kswapd",
            "pgsteal_direct",
            "pageoutrun",
            "slabs_scanned",
            "workingset_refault_file",
            "workingset_refault_anon",
        ],
    ),
    (
        Group::Compaction,
        &[
            "compact_migrate_scanned",
            "compact_free_scanned",
            "compact_isolated",
            "compact_success",
            "compact_fail",
            "compact_daemon_wake",
            "pgmigrate_success",
            "pgmigrate_fail",
        ],
    ),
    (Group::Io, &["pgpgin", "pgpgout", "pswpin", "pswpout"]),
];

const ZONES: [&str; 5] = ["dma", "dma32", "normal", "high", "movable"];
/// Kinds of fragmentation events (Weiner's classes).
const EVENTS: [&str; 3] = ["claim", "steal", "pollute"];

/// Keys of all rates, in the order of [`totals`].
pub(super) fn keys() -> Vec<Key> {
    let key = |group: Group, name: String, label: String| Key { name, label, unit: Unit::PerSecond, group, zone: None };
    let events = EVENTS.map(|kind| key(Group::Events, format!("extfrag.{kind}"), format!("fragmentation: {kind}")));
    let counters = COUNTERS.iter().flat_map(|(group, names)| {
        names.iter().map(move |name| {
            let name = name.trim_end_matches('_');
            key(*group, name.to_owned(), name.to_owned())
        })
    });
    events.into_iter().chain(counters).collect()
}

/// Counts so far; `None`: not known.
pub(super) fn totals(moment: &Moment<'_>, events: [u64; 3]) -> Vec<Option<u64>> {
    let counter = |name: &&str| match name.strip_suffix('_') {
        Some(_) => ZONES.iter().filter_map(|zone| (moment.counter)(&format!("{name}{zone}"))).reduce(|a, b| a + b),
        None => (moment.counter)(name),
    };
    let counters = COUNTERS.iter().flat_map(|(_, names)| names.iter().map(counter));
    events.into_iter().map(Some).chain(counters).collect()
}

/// Claims, steals and pollutions among events.
pub(super) fn classes(events: &[ExtfragAt]) -> [u64; 3] {
    let mut counts = [0; 3];
    for event in events {
        counts[event.class() as usize] += 1;
    }
    counts
}
