//! Which way a row is better, and which rows a comparison shows unless told otherwise.

use crate::pattern::fits;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The less of it the better.
    Lower,
    /// The more of it the better.
    Higher,
}

impl Better {
    /// Its name in JSON and CSV.
    pub const fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }
    }
}

/// Rows with a direction: harm done, time lost, or work for nothing; and what it is all for. Other rows say how much of
/// something there was, which is good or bad only together with others: they have a change, but no improvement.
const DIRECTIONS: &[(&str, Better)] = &[
    ("extfrag_total", Better::Lower),
    ("extfrag.*", Better::Lower),
    ("pollute.*", Better::Lower),
    ("steal.*", Better::Lower),
    ("failed.*", Better::Lower),
    ("allocstall*", Better::Lower),
    ("fragment_stall*", Better::Lower),
    ("pgscan_direct*", Better::Lower),
    ("oom_kill", Better::Lower),
    ("pgmajfault", Better::Lower),
    ("pswpin", Better::Lower),
    ("pswpout", Better::Lower),
    ("workingset_refault*", Better::Lower),
    ("nr_vmscan_write", Better::Lower),
    ("thp_fault_alloc", Better::Higher),
    ("thp_fault_fallback*", Better::Lower),
    ("thp_collapse_alloc", Better::Higher),
    ("thp_collapse_alloc_failed", Better::Lower),
    ("thp_split_page*", Better::Lower),
    ("compact_success", Better::Higher),
    ("compact_fail", Better::Lower),
    ("compact_migrate_scanned", Better::Lower),
    ("compact_free_scanned", Better::Lower),
    ("compact_daemon_migrate_scanned", Better::Lower),
    ("compact_daemon_free_scanned", Better::Lower),
    ("pgmigrate_fail", Better::Lower),
    ("workload.complete", Better::Higher),
    ("workload.elapsed", Better::Lower),
    ("workload.tasks_killed", Better::Lower),
    ("workload.*.failed", Better::Lower),
    ("workload.*.mean", Better::Lower),
    ("workload.*.median", Better::Lower),
    ("workload.*.p95", Better::Lower),
    ("workload.*.huge_percent", Better::Higher),
    // stress-highalloc counts what it got; mmtests printed these rows with the sign the wrong way round.
    ("success*", Better::Higher),
];

/// Rows that a comparison shows by default, in this order: what the postings argue with.
pub(super) const HEADLINES: &[&str] = &[
    "measure.*",
    "workload.elapsed",
    "success*",
    "extfrag_total",
    "extfrag.*",
    "pageblocks.unmovable",
    "pageblocks.movable",
    "pageblocks.reclaimable",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "failed.*",
    "allocstall",
    "fragment_stall",
    "oom_kill",
    "compact_stall",
    "compact_success",
    "compact_fail",
    "compact_migrate_scanned",
    "compact_daemon_migrate_scanned",
    "pgscan_kswapd",
    "pgscan_direct",
    "pswpin",
    "pswpout",
    "pgmajfault",
    "workingset_refault_anon",
    "workingset_refault_file",
];

/// Rows that the user gave a direction, before those that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Patterns of rows of which less is better.
    pub lower: Vec<String>,
    /// Patterns of rows of which more is better.
    pub higher: Vec<String>,
}

impl Directions {
    /// Which way a row is better, if either.
    pub fn of(&self, row: &str) -> Option<Better> {
        let named = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, row));
        if named(&self.lower) {
            return Some(Better::Lower);
        }
        if named(&self.higher) {
            return Some(Better::Higher);
        }
        DIRECTIONS.iter().find(|(pattern, _)| fits(pattern, row)).map(|(_, better)| *better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions() {
        let own = Directions { lower: vec!["pgscan_*".into()], higher: vec!["free.*".into()] };
        assert_eq!(own.of("pgscan_kswapd"), Some(Better::Lower));
        assert_eq!(Directions::default().of("pgscan_kswapd"), None);
        assert_eq!(own.of("free.order9"), Some(Better::Higher));
        assert_eq!(own.of("success.1"), Some(Better::Higher));
        assert_eq!(own.of("thp_fault_fallback_charge"), Some(Better::Lower));
        assert_eq!(own.of("pageblocks.movable"), None);
    }
}
