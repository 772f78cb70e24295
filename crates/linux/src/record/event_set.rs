//! Which events of the kernel a recording holds.

use std::fmt;
use std::str::FromStr;

/// How much to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventSet {
    /// Fragmentation events, and when compaction and reclaim ran: cheap, but cannot be replayed.
    Minimal,
    /// What a replay needs: every page handed out and given back, and what compaction and reclaim did.
    #[default]
    Standard,
    /// Standard, and everything else that memory management tells: LRU moves, per-CPU lists, all of vmscan.
    Full,
}

/// Fragmentation, and when compaction, reclaim and the OOM killer ran.
const MINIMAL: &[&str] = &[
    "kmem/mm_page_alloc_extfrag",
    "compaction/mm_compaction_begin",
    "compaction/mm_compaction_end",
    "compaction/mm_compaction_try_to_compact_pages",
    "compaction/mm_compaction_kcompactd_wake",
    "compaction/mm_compaction_kcompactd_sleep",
    "vmscan/mm_vmscan_kswapd_wake",
    "vmscan/mm_vmscan_kswapd_sleep",
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "oom",
];

/// What a replay reads.
const STANDARD: &[&str] = &[
    "kmem/mm_page_alloc_extfrag",
    "kmem/mm_page_alloc",
    "kmem/mm_page_free",
    "compaction",
    "filemap/mm_filemap_add_to_page_cache",
    "filemap/mm_filemap_delete_from_page_cache",
    "migrate/mm_migrate_pages",
    "huge_memory/mm_khugepaged_collapse_file",
    "huge_memory/mm_khugepaged_scan_file",
    "huge_memory/mm_khugepaged_scan_pmd",
    "huge_memory/mm_collapse_huge_page_swapin",
    "huge_memory/mm_collapse_huge_page_isolate",
    "huge_memory/mm_collapse_huge_page",
    "vmscan/mm_vmscan_kswapd_wake",
    "vmscan/mm_vmscan_kswapd_sleep",
    "vmscan/mm_vmscan_wakeup_kswapd",
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "vmscan/mm_vmscan_lru_shrink_inactive",
    "oom",
];

/// What comes on top of [`STANDARD`].
const FULL: &[&str] = &[
    "kmem/mm_page_free_batched",
    "kmem/mm_page_pcpu_drain",
    "kmem/mm_page_alloc_zone_locked",
    "kmem/mm_setup_per_zone_wmarks",
    "kmem/mm_setup_per_zone_lowmem_reserve",
    "kmem/mm_calculate_totalreserve_pages",
    "vmscan",
    "migrate",
    "huge_memory",
    "pagemap",
];

impl EventSet {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Minimal, Self::Standard, Self::Full];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }

    /// What it names in tracefs' `events`: events as `system/event`, or whole systems. Kernels lack some of them.
    pub fn selectors(self) -> impl Iterator<Item = &'static str> {
        let (first, second) = match self {
            Self::Minimal => (MINIMAL, &[][..]),
            Self::Standard => (STANDARD, &[][..]),
            Self::Full => (STANDARD, FULL),
        };
        first.iter().chain(second).copied()
    }

    /// Whether every page handed out and given back is in it, so that it can be replayed.
    pub fn has_pages(self) -> bool {
        self != Self::Minimal
    }
}

impl fmt::Display for EventSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for EventSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|set| set.name() == text);
        found.ok_or_else(|| format!("`{text}` is no set of events; choose minimal, standard or full"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sets_have_names_and_grow() {
        let events = |set: EventSet| set.selectors().collect::<BTreeSet<_>>();
        for set in EventSet::ALL {
            assert_eq!(set.name().parse(), Ok(set));
            assert_eq!(events(set).len(), set.selectors().count(), "an event is named twice in {set}");
        }
        assert!(events(EventSet::Full).is_superset(&events(EventSet::Standard)));
        assert!("all".parse::<EventSet>().unwrap_err().contains("minimal, standard or full"));
    }
}
