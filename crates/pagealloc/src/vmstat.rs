//! Event counters, under the names of /proc/vmstat.

use crate::ids::{NR_ZONE_TYPES, ZoneType};
use core::fmt;

macro_rules! counters {
    ($($name:ident = $text:literal,)*) => {
        /// A counter of /proc/vmstat. State gauges (`nr_free_pages`...) are read from the structures themselves.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
        #[repr(usize)]
        #[allow(missing_docs)] // The kernel's own names: documented under /proc/vmstat.
        pub enum Counter { $($name,)* }

        impl Counter {
            /// All counters, in an order much like /proc/vmstat's.
            pub const ALL: &'static [Counter] = &[$(Counter::$name,)*];
            /// The name that /proc/vmstat prints.
            pub const fn name(self) -> &'static str {
                match self { $(Counter::$name => $text,)* }
            }
        }
    };
}

counters! {
    NrVmscanWrite = "nr_vmscan_write",
    NrVmscanImmediateReclaim = "nr_vmscan_immediate_reclaim",
    WorkingsetRefaultAnon = "workingset_refault_anon",
    WorkingsetRefaultFile = "workingset_refault_file",
    WorkingsetActivateAnon = "workingset_activate_anon",
    WorkingsetActivateFile = "workingset_activate_file",
    WorkingsetRestoreAnon = "workingset_restore_anon",
    WorkingsetRestoreFile = "workingset_restore_file",
    NumaHit = "numa_hit",
    NumaMiss = "numa_miss",
    NumaForeign = "numa_foreign",
    NumaLocal = "numa_local",
    NumaOther = "numa_other",
    Pgfault = "pgfault",
    Pgmajfault = "pgmajfault",
    PgpgIn = "pgpgin",
    PgpgOut = "pgpgout",
    PswpIn = "pswpin",
    PswpOut = "pswpout",
    PgallocDma = "pgalloc_dma",
    PgallocDma32 = "pgalloc_dma32",
    PgallocNormal = "pgalloc_normal",
    PgallocHigh = "pgalloc_high",
    PgallocMovable = "pgalloc_movable",
    AllocstallDma = "allocstall_dma",
    AllocstallDma32 = "allocstall_dma32",
    AllocstallNormal = "allocstall_normal",
    AllocstallHigh = "allocstall_high",
    AllocstallMovable = "allocstall_movable",
    PgskipDma = "pgskip_dma",
    PgskipDma32 = "pgskip_dma32",
    PgskipNormal = "pgskip_normal",
    PgskipHigh = "pgskip_high",
    PgskipMovable = "pgskip_movable",
    Pgfree = "pgfree",
    Pgactivate = "pgactivate",
    Pgdeactivate = "pgdeactivate",
    Pgrefill = "pgrefill",
    PgstealKswapd = "pgsteal_kswapd",
    PgstealDirect = "pgsteal_direct",
    PgstealKhugepaged = "pgsteal_khugepaged",
    PgscanKswapd = "pgscan_kswapd",
    PgscanDirect = "pgscan_direct",
    PgscanKhugepaged = "pgscan_khugepaged",
    PgscanDirectThrottle = "pgscan_direct_throttle",
    PgscanAnon = "pgscan_anon",
    PgscanFile = "pgscan_file",
    PgstealAnon = "pgsteal_anon",
    PgstealFile = "pgsteal_file",
    SlabsScanned = "slabs_scanned",
    KswapdLowWmarkHitQuickly = "kswapd_low_wmark_hit_quickly",
    KswapdHighWmarkHitQuickly = "kswapd_high_wmark_hit_quickly",
    Pageoutrun = "pageoutrun",
    Pgrotated = "pgrotated",
    OomKill = "oom_kill",
    FragmentStall = "fragment_stall",
    NumaPteUpdates = "numa_pte_updates",
    NumaHugePteUpdates = "numa_huge_pte_updates",
    NumaHintFaults = "numa_hint_faults",
    NumaHintFaultsLocal = "numa_hint_faults_local",
    NumaPagesMigrated = "numa_pages_migrated",
    PgmigrateSuccess = "pgmigrate_success",
    PgmigrateFail = "pgmigrate_fail",
    ThpMigrationSuccess = "thp_migration_success",
    ThpMigrationFail = "thp_migration_fail",
    CompactMigrateScanned = "compact_migrate_scanned",
    CompactFreeScanned = "compact_free_scanned",
    CompactIsolated = "compact_isolated",
    CompactStall = "compact_stall",
    CompactFail = "compact_fail",
    CompactSuccess = "compact_success",
    CompactDaemonWake = "compact_daemon_wake",
    CompactDaemonMigrateScanned = "compact_daemon_migrate_scanned",
    CompactDaemonFreeScanned = "compact_daemon_free_scanned",
    ThpFaultAlloc = "thp_fault_alloc",
    ThpFaultFallback = "thp_fault_fallback",
    ThpCollapseAlloc = "thp_collapse_alloc",
    ThpCollapseAllocFailed = "thp_collapse_alloc_failed",
    ThpSplitPage = "thp_split_page",
    ThpSplitPageFailed = "thp_split_page_failed",
    ThpDeferredSplitPage = "thp_deferred_split_page",
    ThpSwpout = "thp_swpout",
    ThpSwpoutFallback = "thp_swpout_fallback",
}

/// Number of counters.
pub const NR_COUNTERS: usize = Counter::ALL.len();

impl Counter {
    /// `pgalloc_<zone>`.
    #[inline(always)]
    pub const fn pgalloc(zone: ZoneType) -> Counter {
        Self::per_zone(Counter::PgallocDma, zone)
    }

    /// `allocstall_<zone>`.
    pub const fn allocstall(zone: ZoneType) -> Counter {
        Self::per_zone(Counter::AllocstallDma, zone)
    }

    /// `pgskip_<zone>`.
    pub const fn pgskip(zone: ZoneType) -> Counter {
        Self::per_zone(Counter::PgskipDma, zone)
    }

    #[inline(always)]
    const fn per_zone(first: Counter, zone: ZoneType) -> Counter {
        Self::ALL[first as usize + zone as usize]
    }

    /// The counter of that /proc/vmstat name.
    pub fn from_name(name: &str) -> Option<Counter> {
        Self::ALL.iter().copied().find(|counter| counter.name() == name)
    }
}

impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

const _: () = assert!(Counter::PgallocMovable as usize - Counter::PgallocDma as usize + 1 == NR_ZONE_TYPES);

/// Values of all counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VmStat([u64; NR_COUNTERS]);

impl Default for VmStat {
    fn default() -> Self {
        VmStat([0; NR_COUNTERS])
    }
}

impl VmStat {
    /// Adds `n` to a counter.
    #[inline(always)]
    pub fn add(&mut self, counter: Counter, n: u64) {
        self.0[counter as usize] += n;
    }

    /// Adds 1 to a counter.
    #[inline(always)]
    pub fn bump(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Value of a counter.
    #[inline(always)]
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Counters with their values, in the order of [`Counter::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        Counter::ALL.iter().map(|&counter| (counter, self.get(counter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn counters_of_a_zone_bear_its_name() {
        let zones = [(ZoneType::Dma, "dma"), (ZoneType::Dma32, "dma32"), (ZoneType::Normal, "normal")];
        for (zone, name) in zones.into_iter().chain([(ZoneType::HighMem, "high"), (ZoneType::Movable, "movable")]) {
            let counters = [Counter::pgalloc(zone), Counter::allocstall(zone), Counter::pgskip(zone)];
            let names = ["pgalloc", "allocstall", "pgskip"].map(|counter| format!("{counter}_{name}"));
            assert_eq!(counters.map(Counter::name), names.each_ref().map(|name| name.as_str()));
        }
        assert!(Counter::ALL.iter().all(|&counter| Counter::from_name(counter.name()) == Some(counter)));
    }
}
