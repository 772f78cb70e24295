//! The block that mmtests prints under its tables: labels, order, derived figures and formats of its vmstat monitor.
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
    /// Percentage with two decimals, and without a sign: rows that mmtests got later.
    Ratio(f64),
    /// Pages per second.
    PerSecond(f64),
}

impl Value {
    /// The bare number.
    pub fn number(self) -> f64 {
        match self {
            Value::Int(value) => value as f64,
            Value::Percent(value) => value as f64,
            Value::Ratio(value) | Value::PerSecond(value) => value,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Percent(value) => write!(f, "{value}%"),
            Value::Ratio(value) => write!(f, "{value:.2}"),
            Value::PerSecond(value) => write!(f, "{value:.3}"),
        }
    }
}

/// Suffixes of counters that are split by zone.
const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

/// Base pages of a huge page, as mmtests has them built in.
const HUGE_PAGE: u64 = 512;

/// Reclaimed per scanned, in percent; 100 when nothing was scanned.
pub fn efficiency(reclaimed: u64, scanned: u64) -> u64 {
    share(reclaimed, scanned.into()).unwrap_or(100)
}

/// Direct scans in percent of all; 0 when there were none.
pub fn percentage_direct(direct: u64, kswapd: u64) -> u64 {
    share(direct, u128::from(direct) + u128::from(kswapd)).unwrap_or(0)
}

/// Whole percent; nothing of 0. Products are wider than the counters that they are of.
fn share(part: u64, whole: u128) -> Option<u64> {
    (100 * u128::from(part)).checked_div(whole).map(capped)
}

fn capped(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Sum of counters, each so many times, in millions.
fn millions<const N: usize>(terms: [(u64, u64); N]) -> u64 {
    let sum: u128 = terms.into_iter().map(|(times, counter)| u128::from(times) * u128::from(counter)).sum();
    capped(sum / 1_000_000)
}

/// One counter without another.
fn less(counter: u64, other: u64) -> i64 {
    let most = if counter > other { i64::MAX } else { i64::MIN };
    i64::try_from(i128::from(counter) - i128::from(other)).unwrap_or(most)
}

/// Pages per second.
pub fn velocity(pages: u64, seconds: f64) -> f64 {
    pages as f64 / seconds
}

/// mmtests' cost of compaction, in millions of word copies. Scanning for free pages is not counted, because its model
/// asks for a counter that does not exist.
pub fn compaction_cost(migrate_scanned: u64, isolated: u64, migrated: u64, failed: u64) -> u64 {
    millions([(7, migrate_scanned), (19, isolated), (1038, migrated), (14, failed)])
}

/// mmtests' cost of NUMA balancing, in millions.
pub fn autonuma_cost(pte_updates: u64, hint_faults: u64, migrated: u64) -> u64 {
    millions([(7, pte_updates), (5000, hint_faults), (19, migrated)])
}

/// Writes of file pages by reclaim: all writes without swap-outs. Negative when swap-outs bypass reclaim's count.
pub fn writes_file(vmscan_write: u64, swapped_out: u64) -> i64 {
    less(vmscan_write, swapped_out)
}

/// What rows are made from.
struct Source<'a> {
    counters: &'a Counters,
    /// Length of the window; rates are left out without it.
    seconds: Option<f64>,
}

impl Source<'_> {
    fn known(&self, name: &str) -> bool {
        self.counters.contains_key(name)
    }

    fn any_known(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.known(name))
    }

    fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// The counter, or where the kernel splits it the sum of its zones'.
    fn whole_or_by_zone(&self, name: &str) -> Option<u64> {
        let zones = || ZONES.iter().filter_map(|zone| self.counters.get(&format!("{name}_{zone}")).copied());
        let by_zone = || zones().reduce(u64::saturating_add);
        self.counters.get(name).copied().or_else(by_zone)
    }

    fn kswapd_scanned(&self) -> u64 {
        self.whole_or_by_zone("pgscan_kswapd").unwrap_or(0)
    }

    fn direct_scanned(&self) -> u64 {
        self.whole_or_by_zone("pgscan_direct").unwrap_or(0)
    }

    /// Before 3.4: `kswapd_steal`.
    fn kswapd_reclaimed(&self) -> u64 {
        self.whole_or_by_zone("pgsteal_kswapd").unwrap_or_else(|| self.get("kswapd_steal"))
    }

    /// Before 3.4: all that was reclaimed, without kswapd's.
    fn direct_reclaimed(&self) -> u64 {
        let old = || self.whole_or_by_zone("pgsteal").unwrap_or(0).saturating_sub(self.kswapd_reclaimed());
        self.whole_or_by_zone("pgsteal_direct").unwrap_or_else(old)
    }

    /// Whether anything is known of scanning.
    fn scans(&self) -> bool {
        self.counters.keys().any(|name| name.starts_with("pgscan_"))
    }

    /// Only kernels before 4.8 count scans by zone.
    fn zone_velocity(&self, zone: &str) -> Option<Value> {
        let names = [format!("pgscan_kswapd_{zone}"), format!("pgscan_direct_{zone}")];
        names.iter().any(|name| self.known(name)).then_some(())?;
        self.per_second(names.iter().map(|name| self.get(name)).fold(0, u64::saturating_add))
    }

    fn per_second(&self, pages: u64) -> Option<Value> {
        self.seconds.map(|seconds| Value::PerSecond(velocity(pages, seconds)))
    }

    fn ratio(&self, part: &str, whole: &str) -> Option<Value> {
        let whole = self.counters.get(whole).copied().filter(|&whole| whole > 0)?;
        Some(Value::Ratio(100.0 * self.get(part) as f64 / whole as f64))
    }
}

/// How a row is made; `None` where nothing is known of it.
enum Formula {
    /// Change of the first of these counters that is known, summed over zones.
    Counter(&'static [&'static str]),
    /// A formula.
    Of(fn(&Source) -> Option<Value>),
}

impl Formula {
    fn value(&self, source: &Source) -> Option<Value> {
        match self {
            Formula::Counter(names) => names.iter().find_map(|name| source.whole_or_by_zone(name)).map(int),
            Formula::Of(formula) => formula(source),
        }
    }
}

fn int(value: u64) -> Value {
    Value::Int(less(value, 0))
}

use Formula::{Counter, Of};

/// All rows in mmtests' order, which is that of its posted tables.
const ROWS: &[(&str, Formula)] = &[
    ("Minor Faults", Of(minor_faults)),
    ("Major Faults", Counter(&["pgmajfault"])),
    ("Swap Ins", Counter(&["pswpin"])),
    ("Swap Outs", Counter(&["pswpout"])),
    ("Allocation stalls", Counter(&["allocstall"])),
    ("Fragmentation stalls", Counter(&["fragment_stall"])),
    ("DMA allocs", Counter(&["pgalloc_dma"])),
    ("DMA32 allocs", Counter(&["pgalloc_dma32"])),
    ("Normal allocs", Counter(&["pgalloc_normal"])),
    ("Movable allocs", Counter(&["pgalloc_movable"])),
    ("Direct pages scanned", Of(|s| s.scans().then(|| int(s.direct_scanned())))),
    ("Kswapd pages scanned", Of(|s| s.scans().then(|| int(s.kswapd_scanned())))),
    ("Kswapd pages reclaimed", Of(|s| s.scans().then(|| int(s.kswapd_reclaimed())))),
    ("Direct pages reclaimed", Of(|s| s.scans().then(|| int(s.direct_reclaimed())))),
    ("Kswapd efficiency", Of(kswapd_efficiency)),
    ("Kswapd velocity", Of(|s| s.scans().then(|| s.per_second(s.kswapd_scanned()))?)),
    ("Direct efficiency", Of(direct_efficiency)),
    ("Direct velocity", Of(|s| s.scans().then(|| s.per_second(s.direct_scanned()))?)),
    ("Percentage direct scans", Of(direct_share)),
    ("Zone normal velocity", Of(|s| s.zone_velocity("normal"))),
    ("Zone dma32 velocity", Of(|s| s.zone_velocity("dma32"))),
    ("Zone dma velocity", Of(|s| s.zone_velocity("dma"))),
    ("Page writes by reclaim", Counter(&["nr_vmscan_write"])),
    ("Page writes file", Of(page_writes_file)),
    ("Page writes anon", Of(|s| s.known("nr_vmscan_write").then(|| int(s.get("pswpout"))))),
    ("Page reclaim immediate", Counter(&["nr_vmscan_immediate_reclaim"])),
    ("Sector Reads", Counter(&["pgpgin"])),
    ("Sector Writes", Counter(&["pgpgout"])),
    ("Page rescued immediate", Counter(&["pgrescued"])),
    ("Slabs scanned", Counter(&["slabs_scanned"])),
    ("Direct inode steals", Counter(&["pginodesteal"])),
    ("Kswapd inode steals", Counter(&["kswapd_inodesteal"])),
    ("Kswapd skipped wait", Counter(&["kswapd_skip_congestion_wait"])),
    ("THP fault alloc", Counter(&["thp_fault_alloc"])),
    ("THP collapse alloc", Counter(&["thp_collapse_alloc"])),
    ("THP splits", Counter(&["thp_split_page", "thp_split"])),
    ("THP split failed", Counter(&["thp_split_page_failed"])),
    ("THP fault fallback", Counter(&["thp_fault_fallback"])),
    ("THP collapse fail", Counter(&["thp_collapse_alloc_failed"])),
    ("Compaction stalls", Counter(&["compact_stall"])),
    ("Compaction success", Counter(&["compact_success"])),
    ("Compaction failures", Counter(&["compact_fail"])),
    ("Compaction efficiency", Of(|s| s.ratio("compact_success", "compact_stall"))),
    ("Page migrate success", Counter(&["pgmigrate_success"])),
    ("Page migrate failure", Counter(&["pgmigrate_fail"])),
    ("Compaction pages isolated", Counter(&["compact_isolated"])),
    ("Compaction migrate scanned", Counter(&["compact_migrate_scanned"])),
    ("Compaction free scanned", Counter(&["compact_free_scanned"])),
    ("Compact scan efficiency", Of(|s| s.ratio("compact_migrate_scanned", "compact_free_scanned"))),
    ("Compaction cost", Of(cost_of_compaction)),
    ("Kcompactd wake", Counter(&["compact_daemon_wake"])),
    ("Kcompactd migrate scanned", Counter(&["compact_daemon_migrate_scanned"])),
    ("Kcompactd free scanned", Counter(&["compact_daemon_free_scanned"])),
    ("NUMA alloc hit", Counter(&["numa_hit"])),
    ("NUMA alloc miss", Counter(&["numa_miss"])),
    ("NUMA alloc interleave", Counter(&["numa_interleave"])),
    ("NUMA alloc local", Counter(&["numa_local"])),
    ("NUMA base-page range updates", Of(numa_range_updates)),
    ("NUMA PTE updates", Of(numa_pte_updates)),
    ("NUMA PMD updates", Counter(&["numa_huge_pte_updates"])),
    ("NUMA hint faults", Counter(&["numa_hint_faults"])),
    ("NUMA hint local faults", Counter(&["numa_hint_faults_local"])),
    ("NUMA hint local percent", Of(numa_local_percent)),
    ("NUMA pages migrated", Counter(&["numa_pages_migrated"])),
    ("AutoNUMA cost", Of(cost_of_autonuma)),
];

/// The block's rows in mmtests' order. Rates need the window's length in seconds; without it they are left out.
pub fn block(counters: &Counters, seconds: Option<f64>) -> Vec<(&'static str, Value)> {
    let source = Source { counters, seconds };
    ROWS.iter().filter_map(|(label, formula)| Some((*label, formula.value(&source)?))).collect()
}

/// Labels of all rows that the block can have, in its order.
pub fn labels() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(label, _)| *label)
}

fn minor_faults(s: &Source) -> Option<Value> {
    s.known("pgfault").then(|| Value::Int(less(s.get("pgfault"), s.get("pgmajfault"))))
}

fn kswapd_efficiency(s: &Source) -> Option<Value> {
    s.scans().then(|| Value::Percent(efficiency(s.kswapd_reclaimed(), s.kswapd_scanned())))
}

fn direct_efficiency(s: &Source) -> Option<Value> {
    s.scans().then(|| Value::Percent(efficiency(s.direct_reclaimed(), s.direct_scanned())))
}

fn direct_share(s: &Source) -> Option<Value> {
    s.scans().then(|| Value::Percent(percentage_direct(s.direct_scanned(), s.kswapd_scanned())))
}

fn page_writes_file(s: &Source) -> Option<Value> {
    s.known("nr_vmscan_write").then(|| Value::Int(writes_file(s.get("nr_vmscan_write"), s.get("pswpout"))))
}

fn cost_of_compaction(s: &Source) -> Option<Value> {
    let names = ["compact_migrate_scanned", "compact_isolated", "pgmigrate_success", "pgmigrate_fail"];
    let [scanned, isolated, migrated, failed] = names.map(|name| s.get(name));
    s.any_known(&names).then(|| int(compaction_cost(scanned, isolated, migrated, failed)))
}

/// Kernels that count huge entries apart include them in `numa_pte_updates`, as base pages.
fn numa_range_updates(s: &Source) -> Option<Value> {
    s.known("numa_huge_pte_updates").then(|| int(s.get("numa_pte_updates")))
}

fn numa_pte_updates(s: &Source) -> Option<Value> {
    let huge = s.get("numa_huge_pte_updates").saturating_mul(HUGE_PAGE);
    s.known("numa_pte_updates").then(|| Value::Int(less(s.get("numa_pte_updates"), huge)))
}

const NUMA: [&str; 3] = ["numa_pte_updates", "numa_hint_faults", "numa_pages_migrated"];

fn numa_local_percent(s: &Source) -> Option<Value> {
    let local = efficiency(s.get("numa_hint_faults_local"), s.get("numa_hint_faults"));
    s.any_known(&NUMA).then_some(Value::Percent(local))
}

fn cost_of_autonuma(s: &Source) -> Option<Value> {
    let [updates, faults, migrated] = NUMA.map(|name| s.get(name));
    s.any_known(&NUMA).then(|| int(autonuma_cost(updates, faults, migrated)))
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

    /// They came out as -1, 0% and remainders.
    #[test]
    fn counters_of_any_size() {
        let names = [
            "pgscan_kswapd",
            "pgsteal_kswapd",
            "pgscan_direct",
            "pgmigrate_success",
            "numa_hint_faults",
            "pgmajfault",
            "pgfault",
        ];
        let mut counters = counters(&names.map(|name| (name, u64::MAX)));
        counters.insert("pgfault".into(), 0);
        let row = |label| printed(&counters, 1.0, label);
        assert_eq!(row("Kswapd pages scanned"), Some(i64::MAX.to_string()));
        assert_eq!(row("Minor Faults"), Some(i64::MIN.to_string()));
        assert_eq!(row("Kswapd efficiency").as_deref(), Some("100%"));
        assert_eq!(row("Percentage direct scans").as_deref(), Some("50%"));
        assert_eq!(compaction_cost(0, 0, u64::MAX / 1038, 0), 18_446_744_073_709);
        assert_eq!(compaction_cost(u64::MAX, u64::MAX, u64::MAX, u64::MAX), 19_885_590_111_458_896);
        assert_eq!(autonuma_cost(0, u64::MAX, 0), 92_233_720_368_547_758);
    }

    #[test]
    fn nothing_is_invented() {
        assert!(block(&Counters::new(), Some(1.0)).is_empty());
    }

    /// Names and order of the rows of the posting of 2013 that its kernel still has counters for.
    #[test]
    fn order_of_the_documents() {
        let posted = [
            "Minor Faults",
            "Major Faults",
            "Swap Ins",
            "Swap Outs",
            "Direct pages scanned",
            "Kswapd pages scanned",
            "Kswapd pages reclaimed",
            "Direct pages reclaimed",
            "Kswapd efficiency",
            "Kswapd velocity",
            "Direct efficiency",
            "Direct velocity",
            "Percentage direct scans",
            "Zone normal velocity",
            "Zone dma32 velocity",
            "Zone dma velocity",
            "Page writes by reclaim",
            "Page writes file",
            "Page writes anon",
            "Page reclaim immediate",
            "Sector Reads",
            "Sector Writes",
            "Page rescued immediate",
            "Slabs scanned",
            "Direct inode steals",
            "Kswapd inode steals",
            "Kswapd skipped wait",
            "THP fault alloc",
            "THP collapse alloc",
            "THP splits",
            "THP fault fallback",
            "THP collapse fail",
            "Compaction stalls",
            "Compaction success",
            "Compaction failures",
            "Page migrate success",
            "Page migrate failure",
            "Compaction pages isolated",
            "Compaction migrate scanned",
            "Compaction free scanned",
            "Compaction cost",
            "NUMA PTE updates",
            "NUMA hint faults",
            "NUMA hint local faults",
            "NUMA pages migrated",
            "AutoNUMA cost",
        ];
        let ours: Vec<_> = labels().filter(|label| posted.contains(label)).collect();
        assert_eq!(ours, posted);
    }

    /// Counters of kernels before 3.4 and before 4.5, and the huge entries of later ones.
    #[test]
    fn eras() {
        let old =
            counters(&[("pgscan_kswapd_normal", 100), ("kswapd_steal", 60), ("pgsteal_normal", 80), ("thp_split", 3)]);
        assert_eq!(printed(&old, 1.0, "Kswapd pages reclaimed").as_deref(), Some("60"));
        assert_eq!(printed(&old, 1.0, "Direct pages reclaimed").as_deref(), Some("20"));
        assert_eq!(printed(&old, 1.0, "THP splits").as_deref(), Some("3"));
        let new = counters(&[("numa_pte_updates", 1100), ("numa_huge_pte_updates", 2), ("numa_hint_faults", 4)]);
        assert_eq!(printed(&new, 1.0, "NUMA base-page range updates").as_deref(), Some("1100"));
        assert_eq!(printed(&new, 1.0, "NUMA PTE updates").as_deref(), Some("76"));
        assert_eq!(printed(&new, 1.0, "NUMA hint local percent").as_deref(), Some("0%"));
    }

    #[test]
    fn later_ratios() {
        let counters = counters(&[("compact_stall", 33052), ("compact_success", 12121), ("compact_free_scanned", 0)]);
        assert_eq!(printed(&counters, 1.0, "Compaction efficiency").as_deref(), Some("36.67"));
        assert_eq!(printed(&counters, 1.0, "Compact scan efficiency"), None, "nothing was scanned");
        let counters = self::counters(&[("compact_migrate_scanned", 3), ("compact_free_scanned", 12)]);
        assert_eq!(printed(&counters, 1.0, "Compact scan efficiency").as_deref(), Some("25.00"));
    }
}
