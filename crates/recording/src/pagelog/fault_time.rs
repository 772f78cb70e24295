//! How fast the recorded machine's tasks worked: an anonymous fault takes its CPU's time, what tracing it costs, and what a
//! hypervisor's or emulator's host takes for others.

use crate::Record;
use crate::event::Event;
use pagealloc::Gfp;

/// Longest time between two faults that is taken as work, nanoseconds: a longer one is a wait.
const LONGEST_NS: u64 = 20_000_000;
/// Fewer faults in a row say nothing.
const FEWEST: usize = 1_000;

/// Faults in a row: for anonymous pages of order 0, one after the other on one CPU, by one task, and nothing in between that the
/// trace knows of.
#[derive(Default)]
pub(super) struct FaultsInARow {
    /// On each CPU, task and time of the last event, if it was such a fault.
    last: Vec<Option<(i32, u64)>>,
    /// Times between two of them, nanoseconds.
    between: Vec<u32>,
}

impl FaultsInARow {
    /// Something happened.
    pub fn saw(&mut self, record: &Record) {
        let cpu = usize::from(record.cpu);
        if self.last.len() <= cpu {
            self.last.resize(cpu + 1, None);
        }
        let fault = is_anonymous_fault(&record.event).then_some((record.pid, record.ts_ns));
        let before = std::mem::replace(&mut self.last[cpu], fault);
        if let (Some((pid, since)), Some((task, ts))) = (before, fault)
            && pid == task
            && ts - since <= LONGEST_NS
        {
            self.between.push((ts - since) as u32);
        }
    }

    /// Time that a fault takes in the mean, with clearing its page and the program's write to it, nanoseconds. `None` where there
    /// are too few.
    pub fn mean(self) -> Option<u32> {
        let sum: u64 = self.between.iter().map(|time| u64::from(*time)).sum();
        (self.between.len() >= FEWEST).then(|| (sum / self.between.len() as u64) as u32)
    }
}

/// Whether a zeroed page for user memory was handed out.
fn is_anonymous_fault(event: &Event) -> bool {
    let zeroed = Gfp::HIGHUSER_MOVABLE | Gfp::ZERO;
    matches!(event, Event::PageAlloc(alloc) if alloc.order == 0 && alloc.pfn.is_some() && Gfp(alloc.gfp_flags as u32).contains(zeroed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::PageAlloc;

    fn fault(pid: i32, cpu: u16, ts_ns: u64) -> Record {
        let gfp_flags = u64::from((Gfp::HIGHUSER_MOVABLE | Gfp::ZERO).0);
        Record {
            pid,
            cpu,
            ts_ns,
            in_interrupt: false,
            event: Event::PageAlloc(PageAlloc { pfn: Some(1), order: 0, gfp_flags, migratetype: 1 }),
        }
    }

    fn mean_of(records: impl Iterator<Item = Record>) -> Option<u32> {
        let mut faults = FaultsInARow::default();
        records.for_each(|record| faults.saw(&record));
        faults.mean()
    }

    #[test]
    fn what_is_stolen_counts_and_what_others_did_between_does_not() {
        // Every tenth fault comes 41 us later than the others, which are 10 us apart; another task's on the CPU breaks the row.
        let mut now = 0;
        let mut records = Vec::new();
        for number in 0..10_000 {
            now += if number % 10 == 9 { 51_000 } else { 10_000 };
            records.push(fault(1, 0, now));
            records.push(fault(2, 1, now + 5));
            if number % 100 == 0 {
                records.push(fault(3, 0, now + 1));
            }
        }
        let mean = mean_of(records.into_iter());
        assert!(mean.is_some_and(|mean| (14_000..=14_200).contains(&mean)), "{mean:?}");
    }

    #[test]
    fn a_few_faults_say_nothing() {
        assert_eq!(mean_of((0..900).map(|at| fault(1, 0, at * 10_000))), None);
    }
}
