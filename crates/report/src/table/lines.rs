//! Which rows stand in which section of the table, and under which label.

use crate::matrix::{fallback_pairs, type_name};
use crate::rows::pair_row;
use pagealloc::{Migratetype, NR_ORDERS};

/// A section of rows: title, and label with row name.
pub(super) type Section = (&'static str, Vec<(String, String)>);

/// All sections whose lines hold one row each.
pub(super) fn sections() -> Vec<Section> {
    vec![
        ("Fragmentation events (less than a pageblock taken)", fragmentation_lines()),
        ("Weiner's view: whole blocks claimed, pages put in foreign blocks, blocks stolen", weiner_lines()),
        ("Pageblocks at the end", block_lines()),
        ("Free memory at the end", free_lines()),
        ("Huge pages", same(&["thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc", "thp_split_page"])),
        ("Stalls and failures", stall_lines()),
        ("Reclaim", same(RECLAIM)),
        ("Compaction", same(COMPACTION)),
    ]
}

const RECLAIM: &[&str] = &[
    "pgscan_kswapd",
    "pgsteal_kswapd",
    "pgscan_direct",
    "pgsteal_direct",
    "pgscan_anon",
    "pgscan_file",
    "slabs_scanned",
    "pswpin",
    "pswpout",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pageoutrun",
    "kswapd_low_wmark_hit_quickly",
    "kswapd_high_wmark_hit_quickly",
];

const COMPACTION: &[&str] = &[
    "compact_stall",
    "compact_success",
    "compact_fail",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "compact_isolated",
    "compact_daemon_wake",
    "compact_daemon_migrate_scanned",
    "compact_daemon_free_scanned",
    "pgmigrate_success",
    "pgmigrate_fail",
];

fn same(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.to_string(), name.to_string())).collect()
}

fn fragmentation_lines() -> Vec<(String, String)> {
    let mut lines = vec![("extfrag_total".to_owned(), "extfrag_total".to_owned())];
    lines.extend(fallback_pairs().map(|(wanted, from)| {
        (format!("  {} from {}", type_name(wanted), type_name(from)), pair_row("extfrag", wanted, from))
    }));
    lines.push(("  other".into(), "extfrag.other".into()));
    lines.push(("change of ownership, any size".into(), "extfrag_change_ownership".into()));
    lines
}

fn weiner_lines() -> Vec<(String, String)> {
    let mut lines: Vec<_> = Migratetype::MERGEABLE
        .into_iter()
        .map(|wanted| (format!("@claimer[{}]:", type_name(wanted)), format!("claimer.{}", type_name(wanted))))
        .collect();
    for map in ["pollute", "steal"] {
        lines.extend(fallback_pairs().map(|(wanted, from)| {
            (format!("@{map}[{} from {}]:", type_name(wanted), type_name(from)), pair_row(map, wanted, from))
        }));
    }
    lines
}

fn block_lines() -> Vec<(String, String)> {
    let types = Migratetype::ALL.into_iter().take(4);
    types.map(|migratetype| (migratetype.name().to_owned(), format!("pageblocks.{}", type_name(migratetype)))).collect()
}

fn free_lines() -> Vec<(String, String)> {
    let mut lines = vec![("free_pages".to_owned(), "free_pages".to_owned())];
    lines.extend((0..NR_ORDERS).map(|order| (format!("  blocks of order {order}"), format!("free.order{order}"))));
    lines
}

fn stall_lines() -> Vec<(String, String)> {
    let mut lines = same(&["allocstall", "fragment_stall", "pgscan_direct_throttle", "oom_kill"]);
    lines.extend(
        (0..NR_ORDERS).map(|order| (format!("requests failed, order {order}"), format!("failed.order{order}"))),
    );
    lines
}

/// Derived rows of mmtests' block that are not a plain counter, which the sections already show.
pub(super) const DERIVED: &[&str] = &[
    "Kswapd efficiency",
    "Kswapd velocity",
    "Direct efficiency",
    "Direct velocity",
    "Percentage direct scans",
    "Compaction cost",
    "AutoNUMA cost",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads a table finds the row's name for `--rows` and scripts.
    #[test]
    fn labels_are_documented_beside_their_rows() {
        const LAST_OF_ITS_OWN: usize = 10;
        let documented = include_str!("../../../../docs/rows.md");
        let higher: Vec<String> = (LAST_OF_ITS_OWN + 1..NR_ORDERS).map(|order| format!(".order{order}")).collect();
        let lines = sections().into_iter().flat_map(|(_, lines)| lines);
        let named = lines.filter(|(label, row)| label != row && !higher.iter().any(|end| row.ends_with(end)));
        for (label, row) in named {
            let line = documented.lines().find(|line| line.starts_with(&format!("| `{row}` |")));
            let line = line.unwrap_or_else(|| panic!("docs/rows.md has no line of {row}"));
            assert!(line.ends_with(&format!(" | `{}` |", label.trim())), "{label}: {line}");
        }
    }
}
