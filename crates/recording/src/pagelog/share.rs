//! How much of a CPU the recorded machine's tasks got while they worked: under a hypervisor or an emulator the host has others to
//! serve, and a guest's own interrupts and tracing take their part.

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

    /// Share of a CPU that tasks got, in thousandths: the median of the times is what such a fault takes, the mean has what was stolen
    /// from the task. `None` where there are too few.
    pub fn cpu_share(mut self) -> Option<u32> {
        (self.between.len() >= FEWEST).then(|| median_by_mean(&mut self.between))
    }
}

fn median_by_mean(times: &mut [u32]) -> u32 {
    let sum: u64 = times.iter().map(|time| u64::from(*time)).sum();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let share = 1_000 * u64::from(*median) * times.len() as u64 / sum.max(1);
    share.min(1_000) as u32
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
            event: Event::PageAlloc(PageAlloc { pfn: Some(1), order: 0, gfp_flags, migratetype: 1 }),
        }
    }

    fn share_of(records: impl Iterator<Item = Record>) -> Option<u32> {
        let mut faults = FaultsInARow::default();
        records.for_each(|record| faults.saw(&record));
        faults.cpu_share()
    }

    #[test]
    fn what_is_stolen_is_in_the_mean_and_not_in_the_median() {
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
        let share = share_of(records.into_iter());
        assert!(share.is_some_and(|share| (705..=715).contains(&share)), "{share:?}: 10 us by 14.1 us");
    }

    #[test]
    fn a_few_faults_say_nothing() {
        assert_eq!(share_of((0..900).map(|at| fault(1, 0, at * 10_000))), None);
    }
}
