//! The block that mmtests prints under its tables: labels, order, derived figures and formats of its vmstat monitor.
//!
//! A counter that is missing counts as zero inside a formula, as in mmtests; a row none of whose counters is known is
//! left out instead of printing a zero that nobody measured. Deliberate differences: `allocstall_*` is summed over zones
//! (mmtests shows the last zone only), and formats do not slip when a zone is absent.
//!
//! | file | question |
//! | --- | --- |
//! | `rows` | what is each row called, and made of? |
//! | `source` | which counters of this kernel hold it? |
//! | `arithmetic` | how is it calculated? |
//! | `value` | how is it printed? |

mod arithmetic;
mod rows;
mod source;
mod value;

pub use arithmetic::{autonuma_cost, compaction_cost, efficiency, percentage_direct, velocity, writes_file};
pub use source::Counters;
pub use value::Value;

use rows::ROWS;
use source::Source;

/// The block's rows in mmtests' order. Rates need the window's length in seconds; without it they are left out.
pub fn block(counters: &Counters, seconds: Option<f64>) -> Vec<(&'static str, Value)> {
    let source = Source { counters, seconds };
    ROWS.iter().filter_map(|(label, formula)| Some((*label, formula.value(&source)?))).collect()
}

/// Labels of all rows that the block can have, in its order.
pub fn labels() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(label, _)| *label)
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
