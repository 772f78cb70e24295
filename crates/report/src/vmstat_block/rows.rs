//! What each row of the block is called, and made of.

use super::arithmetic::{autonuma_cost, compaction_cost, efficiency, less, percentage_direct, writes_file};
use super::source::Source;
use super::value::Value;
use Formula::{Counter, Of};

/// Base pages of a huge page, as mmtests has them built in.
const HUGE_PAGE: u64 = 512;

/// How a row is made; `None` where nothing is known of it.
pub(super) enum Formula {
    /// Change of the first of these counters that is known, summed over zones.
    Counter(&'static [&'static str]),
    /// A formula.
    Of(fn(&Source) -> Option<Value>),
}

impl Formula {
    pub fn value(&self, source: &Source) -> Option<Value> {
        match self {
            Formula::Counter(names) => names.iter().find_map(|name| source.whole_or_by_zone(name)).map(int),
            Formula::Of(formula) => formula(source),
        }
    }
}

/// All rows in mmtests' order, which is that of its posted tables.
pub(super) const ROWS: &[(&str, Formula)] = &[
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

fn int(value: u64) -> Value {
    Value::Int(less(value, 0))
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
