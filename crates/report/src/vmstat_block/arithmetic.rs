//! The formulas that mmtests derives figures by, for counters of any size.

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
pub(super) fn less(counter: u64, other: u64) -> i64 {
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

#[cfg(test)]
mod tests {
    //! Published figures.
    use super::*;

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
}
