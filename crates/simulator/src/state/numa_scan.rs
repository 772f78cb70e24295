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
