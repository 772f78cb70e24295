//! The two-column block that mmtests prints under its tables: labels, derived figures and formats of its vmstat monitor.
//!
//! A counter that is missing counts as zero inside a formula, as in mmtests; a row none of whose counters is known is
//! left out instead of printing a zero that nobody measured. Deliberate differences: `allocstall_*` is summed over zones
//! (mmtests shows the last zone only), and formats do not slip when a zone is absent.

use std::collections::BTreeMap;
use std::fmt;

/// Counter changes by /proc/vmstat name.
pub type Counters = BTreeMap<String, u64>;

/// A value with the format that mmtests gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Whole number; may be negative where one counter is taken from another.
    Int(i64),
    /// Percentage, cut to a whole number.
    Percent(u64),
    /// Pages per second.
    PerSecond(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Percent(value) => write!(f, "{value}%"),
            Value::PerSecond(value) => write!(f, "{value:.3}"),
        }
    }
}

/// Pages scanned and reclaimed by kswapd and directly, whatever era the counters are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scans {
    kswapd_scanned: u64,
    direct_scanned: u64,
    kswapd_reclaimed: u64,
    direct_reclaimed: u64,
}

impl Scans {
    fn of(counters: &Counters) -> Scans {
        Scans {
            kswapd_scanned: whole_or_by_zone(counters, "pgscan_kswapd"),
            direct_scanned: whole_or_by_zone(counters, "pgscan_direct"),
            kswapd_reclaimed: whole_or_by_zone(counters, "pgsteal_kswapd"),
            direct_reclaimed: whole_or_by_zone(counters, "pgsteal_direct"),
        }
    }
}

/// Suffixes of counters that are split by zone.
const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

fn get(counters: &Counters, name: &str) -> u64 {
    counters.get(name).copied().unwrap_or(0)
}

/// The counter, or before 4.8 the sum of its zones'.
fn whole_or_by_zone(counters: &Counters, name: &str) -> u64 {
    counters
        .get(name)
        .copied()
        .unwrap_or_else(|| ZONES.iter().map(|zone| get(counters, &format!("{name}_{zone}"))).sum())
}

/// Reclaimed per scanned, in percent; 100 when nothing was scanned.
pub fn efficiency(reclaimed: u64, scanned: u64) -> u64 {
    (100 * reclaimed).checked_div(scanned).unwrap_or(100)
}

/// Direct scans in percent of all; 0 when there were none.
pub fn percentage_direct(direct: u64, kswapd: u64) -> u64 {
    (100 * direct).checked_div(direct + kswapd).unwrap_or(0)
}

/// Pages per second.
pub fn velocity(pages: u64, seconds: f64) -> f64 {
    pages as f64 / seconds
}

/// mmtests' cost of compaction, in millions of word copies. Scanning for free pages is not counted, because its model
/// asks for a counter that does not exist.
pub fn compaction_cost(migrate_scanned: u64, isolated: u64, migrated: u64, failed: u64) -> u64 {
    (7 * migrate_scanned + 19 * isolated + 1038 * migrated + 14 * failed) / 1_000_000
}

/// mmtests' cost of NUMA balancing, in millions.
pub fn autonuma_cost(pte_updates: u64, hint_faults: u64, migrated: u64) -> u64 {
    (7 * pte_updates + 5000 * hint_faults + 19 * migrated) / 1_000_000
}

/// Writes of file pages by reclaim: all writes without swap-outs. Negative when swap-outs bypass reclaim's count.
pub fn writes_file(vmscan_write: u64, swapped_out: u64) -> i64 {
    vmscan_write as i64 - swapped_out as i64
}

/// Rows that are one counter's change, or the sum of its zones'.
const PLAIN_BEFORE: &[(&str, &str)] = &[
    ("Major Faults", "pgmajfault"),
    ("Swap Ins", "pswpin"),
    ("Swap Outs", "pswpout"),
    ("Allocation stalls", "allocstall"),
    ("Fragmentation stalls", "fragment_stall"),
    ("DMA allocs", "pgalloc_dma"),
    ("DMA32 allocs", "pgalloc_dma32"),
    ("Normal allocs", "pgalloc_normal"),
    ("Movable allocs", "pgalloc_movable"),
];

const PLAIN_AFTER: &[(&str, &str)] = &[
    ("Page reclaim immediate", "nr_vmscan_immediate_reclaim"),
    ("Sector Reads", "pgpgin"),
    ("Sector Writes", "pgpgout"),
    ("Slabs scanned", "slabs_scanned"),
    ("Direct inode steals", "pginodesteal"),
    ("Kswapd inode steals", "kswapd_inodesteal"),
    ("THP fault alloc", "thp_fault_alloc"),
    ("THP fault fallback", "thp_fault_fallback"),
    ("THP collapse alloc", "thp_collapse_alloc"),
    ("THP collapse fail", "thp_collapse_alloc_failed"),
    ("THP splits", "thp_split_page"),
    ("THP split failed", "thp_split_page_failed"),
    ("Compaction stalls", "compact_stall"),
    ("Compaction success", "compact_success"),
    ("Compaction failures", "compact_fail"),
    ("Page migrate success", "pgmigrate_success"),
    ("Page migrate failure", "pgmigrate_fail"),
    ("Compaction pages isolated", "compact_isolated"),
    ("Compaction migrate scanned", "compact_migrate_scanned"),
    ("Compaction free scanned", "compact_free_scanned"),
];

const PLAIN_LAST: &[(&str, &str)] = &[
    ("Kcompactd wake", "compact_daemon_wake"),
    ("Kcompactd migrate scanned", "compact_daemon_migrate_scanned"),
    ("Kcompactd free scanned", "compact_daemon_free_scanned"),
    ("NUMA alloc hit", "numa_hit"),
    ("NUMA alloc miss", "numa_miss"),
    ("NUMA alloc local", "numa_local"),
    ("NUMA PTE updates", "numa_pte_updates"),
    ("NUMA hint faults", "numa_hint_faults"),
    ("NUMA hint local faults", "numa_hint_faults_local"),
    ("NUMA pages migrated", "numa_pages_migrated"),
];

/// The block's rows in mmtests' order. Rates need the window's length in seconds; without it they are left out.
pub fn block(counters: &Counters, seconds: Option<f64>) -> Vec<(&'static str, Value)> {
    let mut rows = Vec::new();
    if counters.contains_key("pgfault") {
        let minor = get(counters, "pgfault") as i64 - get(counters, "pgmajfault") as i64;
        rows.push(("Minor Faults", Value::Int(minor)));
    }
    plain(&mut rows, counters, PLAIN_BEFORE);
    scans(&mut rows, counters, seconds);
    writes(&mut rows, counters);
    plain(&mut rows, counters, PLAIN_AFTER);
    costs(&mut rows, counters);
    plain(&mut rows, counters, PLAIN_LAST);
    autonuma(&mut rows, counters);
    rows
}

type Block = Vec<(&'static str, Value)>;

fn plain(rows: &mut Block, counters: &Counters, list: &[(&'static str, &str)]) {
    for &(label, name) in list {
        let by_zone = ZONES.iter().any(|zone| counters.contains_key(&format!("{name}_{zone}")));
        if by_zone || counters.contains_key(name) {
            rows.push((label, Value::Int(whole_or_by_zone(counters, name) as i64)));
        }
    }
}

fn scans(rows: &mut Block, counters: &Counters, seconds: Option<f64>) {
    if !counters.keys().any(|name| name.starts_with("pgscan_")) {
        return;
    }
    let scans = Scans::of(counters);
    rows.push(("Kswapd pages scanned", Value::Int(scans.kswapd_scanned as i64)));
    rows.push(("Kswapd pages reclaimed", Value::Int(scans.kswapd_reclaimed as i64)));
    rows.push(("Direct pages scanned", Value::Int(scans.direct_scanned as i64)));
    rows.push(("Direct pages reclaimed", Value::Int(scans.direct_reclaimed as i64)));
    rows.push(("Kswapd efficiency", Value::Percent(efficiency(scans.kswapd_reclaimed, scans.kswapd_scanned))));
    if let Some(seconds) = seconds {
        rows.push(("Kswapd velocity", Value::PerSecond(velocity(scans.kswapd_scanned, seconds))));
    }
    rows.push(("Direct efficiency", Value::Percent(efficiency(scans.direct_reclaimed, scans.direct_scanned))));
    if let Some(seconds) = seconds {
        rows.push(("Direct velocity", Value::PerSecond(velocity(scans.direct_scanned, seconds))));
    }
    let direct = percentage_direct(scans.direct_scanned, scans.kswapd_scanned);
    rows.push(("Percentage direct scans", Value::Percent(direct)));
    zone_velocities(rows, counters, seconds);
}

/// Only kernels before 4.8 count scans by zone.
fn zone_velocities(rows: &mut Block, counters: &Counters, seconds: Option<f64>) {
    let Some(seconds) = seconds else { return };
    let zones = [("normal", "Zone normal velocity"), ("dma32", "Zone dma32 velocity"), ("dma", "Zone dma velocity")];
    for (zone, label) in zones {
        let names = [format!("pgscan_kswapd_{zone}"), format!("pgscan_direct_{zone}")];
        if names.iter().any(|name| counters.contains_key(name)) {
            let pages = names.iter().map(|name| get(counters, name)).sum();
            rows.push((label, Value::PerSecond(velocity(pages, seconds))));
        }
    }
}

fn writes(rows: &mut Block, counters: &Counters) {
    if let Some(&written) = counters.get("nr_vmscan_write") {
        let swapped_out = get(counters, "pswpout");
        rows.push(("Page writes by reclaim", Value::Int(written as i64)));
        rows.push(("Page writes file", Value::Int(writes_file(written, swapped_out))));
        rows.push(("Page writes anon", Value::Int(swapped_out as i64)));
    }
}

fn costs(rows: &mut Block, counters: &Counters) {
    let names = ["compact_migrate_scanned", "compact_isolated", "pgmigrate_success", "pgmigrate_fail"];
    if names.iter().any(|name| counters.contains_key(*name)) {
        let [scanned, isolated, migrated, failed] = names.map(|name| get(counters, name));
        let cost = compaction_cost(scanned, isolated, migrated, failed);
        rows.push(("Compaction cost", Value::Int(cost as i64)));
    }
}

fn autonuma(rows: &mut Block, counters: &Counters) {
    let names = ["numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"];
    if names.iter().any(|name| counters.contains_key(*name)) {
        let [updates, faults, migrated] = names.map(|name| get(counters, name));
        let local = efficiency(get(counters, "numa_hint_faults_local"), faults);
        rows.push(("NUMA hint local percent", Value::Percent(local)));
        rows.push(("AutoNUMA cost", Value::Int(autonuma_cost(updates, faults, migrated) as i64)));
    }
}

#[cfg(test)]
mod tests {
    //! Published figures of the postings named in each test.
    use super::*;

    fn counters(list: &[(&str, u64)]) -> Counters {
        list.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    fn printed(counters: &Counters, seconds: f64, label: &str) -> Option<String> {
        block(counters, Some(seconds)).into_iter().find(|(name, _)| *name == label).map(|(_, value)| value.to_string())
    }

    #[test]
    fn parallelio_baseline_of_2013() {
        let counters = counters(&[("pgscan_kswapd_normal", 32975063), ("pgsteal_kswapd_normal", 6323069)]);
        assert_eq!(printed(&counters, 9737.00, "Kswapd efficiency").as_deref(), Some("19%"));
        assert_eq!(printed(&counters, 9737.00, "Kswapd velocity").as_deref(), Some("3386.573"));
        assert_eq!(printed(&counters, 9737.00, "Direct efficiency").as_deref(), Some("100%"));
    }

    #[test]
    fn parallelio_with_direct_reclaim() {
        let counters = counters(&[
            ("pgscan_kswapd", 8128269),
            ("pgsteal_kswapd", 7093495),
            ("pgscan_direct", 41824),
            ("pgsteal_direct", 41824),
        ]);
        let row = |label| printed(&counters, 8879.34, label);
        assert_eq!(row("Kswapd efficiency").as_deref(), Some("87%"));
        assert_eq!(row("Kswapd velocity").as_deref(), Some("915.414"));
        assert_eq!(row("Direct efficiency").as_deref(), Some("100%"));
        assert_eq!(row("Direct velocity").as_deref(), Some("4.710"));
        assert_eq!(row("Percentage direct scans").as_deref(), Some("0%"));
    }

    #[test]
    fn zone_velocities_add_up_to_the_whole() {
        let seconds = 9737.00;
        let pages = |velocity: f64| (velocity * seconds).round() as u64;
        let zones = [("normal", 2011.338), ("dma32", 1365.623), ("dma", 9.612)];
        let counters: Counters =
            zones.iter().map(|&(zone, velocity)| (format!("pgscan_kswapd_{zone}"), pages(velocity))).collect();
        for (zone, velocity) in zones {
            let label = format!("Zone {zone} velocity");
            assert_eq!(printed(&counters, seconds, &label), Some(format!("{velocity:.3}")));
        }
        assert_eq!(printed(&counters, seconds, "Kswapd velocity").as_deref(), Some("3386.573"));
    }

    #[test]
    fn page_writes_of_files() {
        let counters = counters(&[("nr_vmscan_write", 18732404), ("pswpout", 4907092)]);
        assert_eq!(printed(&counters, 1.0, "Page writes file").as_deref(), Some("13825312"));
        assert_eq!(writes_file(1, 3), -2);
    }

    #[test]
    fn compaction_cost_vectors() {
        assert_eq!(compaction_cost(0, 0, 881492, 0), 914);
        assert_eq!(compaction_cost(53505, 60334, 82278, 0), 86);
        assert_eq!(compaction_cost(168160492, 7868232, 3781876, 45817), 5252);
        assert_eq!(compaction_cost(127269354, 6941457, 3326819, 41774), 4476);
        assert_eq!(compaction_cost(1501322768, 1947918, 925279, 77284), 11507);
    }

    #[test]
    fn autonuma_cost_vectors() {
        assert_eq!(autonuma_cost(46738231, 31175564, 881492), 156221);
        assert_eq!(autonuma_cost(41988419, 24213387, 55344), 121361);
    }

    #[test]
    fn stalls_are_summed_over_zones() {
        let counters = counters(&[("allocstall_dma32", 3), ("allocstall_movable", 4)]);
        assert_eq!(printed(&counters, 1.0, "Allocation stalls").as_deref(), Some("7"));
    }

    #[test]
    fn nothing_is_invented() {
        assert!(block(&Counters::new(), Some(1.0)).is_empty());
    }
}
