//! When is an address space scanned next by NUMA balancing? (14.2, 14.3, 14.7)

use mm::Nanos;
use pagealloc::NodeId;
use pagealloc::policy::NumaBalancing;

const MS: Nanos = 1_000_000;
/// `scan_delay`: an address space this young is left alone.
const SCAN_DELAY: Nanos = 1_000 * MS;
/// 14.7: shortest and longest period, what a fault that moves nothing adds, and when the period starts anew.
const OLD_PERIODS: (Nanos, Nanos) = (100 * MS, 5_000 * MS);
const OLD_SLOWER: Nanos = 10 * MS;
const OLD_RESET: Nanos = 60_000 * MS;
/// 14.2: shortest and longest period of the whole address space, and the shortest of all (2560 MB/s).
const PERIODS: (Nanos, Nanos) = (1_000 * MS, 60_000 * MS);
const PERIOD_FLOOR: Nanos = 100 * MS;
/// 14.3: shares from which on the period gets longer, in tenths.
const THRESHOLD: u64 = 7;

/// Where the scan of an address space is.
#[derive(Default)]
pub(crate) struct NumaScan {
    /// When the next scan may be; 0 before the first look.
    next: Nanos,
    period: Nanos,
    /// The next window to be scanned.
    pub window: u32,
    /// Times that it has begun anew.
    pub sequence: u32,
    /// The node that it ran on first, and whether it has run on another.
    home: Option<NodeId>,
    roamed: bool,
    reset_at: Nanos,
    /// Faults and failed migrations of this sequence.
    local: u64,
    remote: u64,
    failed: u64,
}

impl NumaScan {
    /// Whether a scan may be now, the task being on this node.
    pub fn is_due(&mut self, rules: NumaBalancing, here: NodeId, now: Nanos) -> bool {
        let home = *self.home.get_or_insert(here);
        self.roamed |= home != here;
        if self.next == 0 {
            self.next = now + SCAN_DELAY;
            self.reset_at = now + OLD_RESET;
        }
        now >= self.next && (rules == NumaBalancing::TwoStage || self.roamed)
    }

    /// A new sequence: by the faults of the last one, scans come sooner or later (14.3).
    pub fn end_of_sequence(&mut self) {
        (self.window, self.sequence) = (0, self.sequence + 1);
        let (local, faults) = (self.local, self.local + self.remote);
        let slot = self.period / 10;
        if faults == 0 || self.failed > 0 {
            self.period *= 2;
        } else if 10 * local / faults >= THRESHOLD {
            self.period += slot * (10 * local / faults - THRESHOLD).max(1);
        } else {
            // Every page is private to its process here: the share of private faults is ten tenths.
            self.period += slot * (10 - THRESHOLD);
        }
        (self.local, self.remote, self.failed) = (0, 0, 0);
    }

    /// When the next scan comes. `pieces`: scans that the address space takes.
    pub fn plan(&mut self, rules: NumaBalancing, now: Nanos, pieces: u64) {
        let (shortest, longest) = match rules {
            NumaBalancing::RateLimited => OLD_PERIODS,
            NumaBalancing::TwoStage => {
                let shortest = PERIOD_FLOOR.max(PERIODS.0 / pieces);
                (shortest, shortest.max(PERIODS.1 / pieces))
            }
        };
        if rules == NumaBalancing::RateLimited && now >= self.reset_at {
            (self.period, self.reset_at) = (shortest, now + OLD_RESET);
        }
        self.period = self.period.clamp(shortest, longest);
        self.next = now + self.period;
    }

    /// Counts a fault on a page that was marked.
    pub fn note_fault(&mut self, rules: NumaBalancing, local: bool, moved: bool, wanted: bool) {
        *(if local { &mut self.local } else { &mut self.remote }) += 1;
        self.failed += u64::from(wanted && !moved);
        if rules == NumaBalancing::RateLimited && !moved {
            self.period += OLD_SLOWER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NumaBalancing::{RateLimited, TwoStage};

    const HERE: NodeId = NodeId(0);
    const THERE: NodeId = NodeId(1);

    #[test]
    fn the_first_scan_waits_a_second_and_in_old_kernels_for_a_second_node() {
        let at = [0, 999, 1_000].map(|ms| (ms + 5) * MS);
        let mut new = NumaScan::default();
        assert_eq!(at.map(|now| new.is_due(TwoStage, HERE, now)), [false, false, true]);
        let mut old = NumaScan::default();
        assert_eq!(at.map(|now| old.is_due(RateLimited, HERE, now)), [false; 3]);
        assert!(old.is_due(RateLimited, THERE, at[2]), "it runs elsewhere");
        assert!(old.is_due(RateLimited, HERE, at[2]), "or has run");
    }

    /// 14.3: a tenth of the period a slot; one slot at seven tenths of local faults, one more for each tenth above.
    #[test]
    fn a_sequence_without_use_doubles_the_period_and_local_faults_lengthen_it() {
        let period = |local: u64, remote: u64, failed: u64| {
            let mut scan = NumaScan { period: 1_000 * MS, window: 9, ..NumaScan::default() };
            (0..local).for_each(|_| scan.note_fault(TwoStage, true, false, false));
            (0..remote).for_each(|at| scan.note_fault(TwoStage, false, at >= failed, true));
            scan.end_of_sequence();
            assert_eq!((scan.window, scan.sequence, scan.local + scan.remote + scan.failed), (0, 1, 0));
            scan.period / MS
        };
        assert_eq!([period(0, 0, 0), period(9, 1, 1)], [2_000, 2_000], "nor does one with failed migrations tell");
        assert_eq!([7, 8, 9, 10].map(|local| period(local, 10 - local, 0)), [1_100, 1_100, 1_200, 1_300]);
        assert_eq!(period(6, 4, 0), 1_300, "pages that nobody shares: three tenths of faults are above seven");
    }

    /// 14.2: a second for a whole address space, and no more often than 2560 MB/s allow; at least once a minute.
    #[test]
    fn periods_have_bounds_by_the_pieces_of_the_address_space() {
        let planned = |rules, period: Nanos, pieces| {
            let mut scan = NumaScan { period: period * MS, reset_at: Nanos::MAX, ..NumaScan::default() };
            scan.plan(rules, 7 * MS, pieces);
            scan.next / MS - 7
        };
        assert_eq!(
            [(0, 1), (0, 4), (0, 40)].map(|(period, pieces)| planned(TwoStage, period, pieces)),
            [1_000, 250, 100]
        );
        assert_eq!(
            [(90_000, 1), (90_000, 4), (90_000, 900)].map(|(period, pieces)| planned(TwoStage, period, pieces)),
            [60_000, 15_000, 100]
        );
        assert_eq!([0, 700, 9_000].map(|period| planned(RateLimited, period, 40)), [100, 700, 5_000]);
    }

    /// 14.7: what moves nothing makes scans rarer, and after a minute they begin anew.
    #[test]
    fn old_kernels_slow_down_by_faults_that_move_nothing() {
        let mut scan = NumaScan::default();
        scan.is_due(RateLimited, HERE, 0);
        scan.plan(RateLimited, 0, 1);
        for (moved, local) in [(false, true), (false, false), (true, false)] {
            scan.note_fault(RateLimited, local, moved, !local);
        }
        assert_eq!(scan.period, 120 * MS);
        scan.plan(RateLimited, OLD_RESET - 1, 1);
        assert_eq!(scan.period, 120 * MS);
        scan.plan(RateLimited, OLD_RESET, 1);
        assert_eq!(scan.period, 100 * MS);
    }
}
