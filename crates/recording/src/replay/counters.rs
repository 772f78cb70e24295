//! The counters of a replay: those of the model that mean something without the parts of a kernel that a replay lacks.

use pagealloc::{Counter, VmStat};
use std::collections::BTreeMap;

/// Counters that a replay cannot know, so that they have no rows: 0 would be a claim. Block I/O is not modelled; faults, NUMA
/// balancing and khugepaged need page tables, and what they did in the recorded kernel is in the demand; partial unmaps are not
/// in a trace.
const UNKNOWN: [Counter; 14] = [
    Counter::Pgfault,
    Counter::Pgmajfault,
    Counter::PgpgIn,
    Counter::PgpgOut,
    Counter::NumaPteUpdates,
    Counter::NumaHugePteUpdates,
    Counter::NumaHintFaults,
    Counter::NumaHintFaultsLocal,
    Counter::NumaPagesMigrated,
    Counter::PgscanKhugepaged,
    Counter::PgstealKhugepaged,
    Counter::ThpCollapseAlloc,
    Counter::ThpCollapseAllocFailed,
    Counter::ThpDeferredSplitPage,
];

/// All counters that a replay knows, by name.
pub(super) fn known(vmstat: &VmStat) -> BTreeMap<String, u64> {
    let known = vmstat.iter().filter(|(counter, _)| !UNKNOWN.contains(counter));
    let mut counters: BTreeMap<String, u64> =
        known.map(|(counter, value)| (counter.name().to_owned(), value)).collect();
    // Every anonymous page that comes back is read from swap: a replay has no swap cache that could hold it.
    counters.insert(Counter::PswpIn.name().to_owned(), vmstat.get(Counter::WorkingsetRefaultAnon));
    counters
}

/// One of them.
pub(super) fn value(vmstat: &VmStat, name: &str) -> Option<u64> {
    match Counter::from_name(name)? {
        Counter::PswpIn => Some(vmstat.get(Counter::WorkingsetRefaultAnon)),
        counter => Some(vmstat.get(counter)).filter(|_| !UNKNOWN.contains(&counter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_absent_and_swap_ins_are_refaults() {
        let mut vmstat = VmStat::default();
        vmstat.add(Counter::WorkingsetRefaultAnon, 3);
        let counters = known(&vmstat);
        assert_eq!((counters["pswpin"], counters.get("pgpgin")), (3, None));
        assert!(counters.iter().all(|(name, known)| value(&vmstat, name) == Some(*known)));
        assert!(value(&vmstat, "pgpgin").is_none() && value(&vmstat, "nr_hope").is_none());
        assert_eq!(counters.len(), Counter::ALL.len() - UNKNOWN.len());
    }
}
