//! When does a log's time begin? A trace tells time since boot, which on a machine that has been up for long is more than [`Object::leave`](super::Object) has
//! room for. So a log counts from a moment before its trace began.

use super::LEAVE_SHIFT;
use crate::{Error, Record};

/// Logs begin at multiples of 2^16 s (18.2 hours) since boot: what recurs with the seconds, with jiffies or with the granularity of
/// [`LEAVE_SHIFT`] does so at the same times, and a machine that was up for less has the times of its trace. 2^32 times that granularity
/// are 78.2 hours, so a trace may take 60.
const EPOCH: u64 = 1_000_000_000 << LEAVE_SHIFT;

/// The longest trace, and the longest time between two of its events. A machine that allocates nothing for a day is none that was recorded:
/// the time is damaged, and a replay would work through all that lies before it.
pub(super) const LONGEST_TRACE: u64 = 60 * 3_600_000_000_000;
pub(super) const LONGEST_GAP: u64 = 24 * 3_600_000_000_000;

/// The records with times since the log's beginning.
pub(crate) fn since_epoch(
    records: impl Iterator<Item = Result<Record, Error>>,
) -> impl Iterator<Item = Result<Record, Error>> {
    let mut epoch = None;
    records.map(move |record| {
        let record = record?;
        let epoch = *epoch.get_or_insert(record.ts_ns / EPOCH * EPOCH);
        Ok(Record { ts_ns: record.ts_ns.saturating_sub(epoch), ..record })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{NEVER, leave_time};
    use super::*;
    use crate::Event;
    use crate::record::Other;

    fn other() -> Other {
        Other { name: "made up".into() }
    }

    fn times(uptime: u64) -> Vec<u64> {
        let at = |ts_ns| Ok(Record { ts_ns, cpu: 0, pid: 0, in_interrupt: false, event: Event::Other(other()) });
        since_epoch([uptime, uptime + 4_000_000, uptime + EPOCH].map(at).into_iter())
            .map(|record| record.unwrap().ts_ns)
            .collect()
    }

    #[test]
    fn a_log_of_a_machine_that_was_up_for_a_year_has_room_for_its_times() {
        let (hour, year) = (3_600_000_000_000, 31_557_600_000_000_000);
        assert_eq!(leave_time(year), NEVER - 1, "of the trace there is none");
        assert_eq!(times(hour), [hour, hour + 4_000_000, hour + EPOCH]);
        let begun = year % EPOCH;
        assert_eq!(times(year), [begun, begun + 4_000_000, begun + EPOCH]);
        assert!(leave_time(begun + EPOCH) < NEVER - 1);
    }
}
