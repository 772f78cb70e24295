//! When were the recorded kernel's statistics flushed? Every two seconds or so, by a timer: of when that was, each time that reclaim noticed
//! the lack of page cache tells a little ([`PageLog::noticed`]).

use mm::Nanos;

/// Steps in which a time is looked for: ticks of 250 Hz.
const STEP_NS: Nanos = 4_000_000;
/// Steps by which a flush may precede a look at page cache alone.
const SLACK: u64 = 4;
/// So many of reclaim's times have to agree, and more than half of all.
const FEWEST: u32 = 2;

/// How long after a whole number of intervals since boot statistics were flushed: the middle of what most of the times have in common. Zero
/// where the recording does not tell.
pub(super) fn phase(noticed: &[(u64, u64)], interval: Nanos) -> Nanos {
    let steps = (interval / STEP_NS).max(1);
    let mut votes = vec![0u32; steps as usize];
    for &(from, to) in noticed {
        // A pass that is under way does not hear of it: the flush may have come a little before the last look, too.
        let (from, to) = ((from / STEP_NS).saturating_sub(SLACK), to / STEP_NS);
        for step in from..=to.min(from + steps - 1) {
            votes[(step % steps) as usize] += 1;
        }
    }
    let most = votes.iter().copied().max().unwrap_or(0);
    if most < FEWEST || 2 * most as usize <= noticed.len() {
        return 0;
    }
    longest_run(&votes, most) * STEP_NS
}

/// The middle of the longest run of steps, around the circle, that have so many votes.
fn longest_run(votes: &[u32], most: u32) -> u64 {
    let steps = votes.len();
    let length = |from: usize| (0..steps).take_while(|offset| votes[(from + offset) % steps] == most).count();
    let (longest, first) = (0..steps)
        .map(|from| (length(from), from))
        .max_by_key(|(length, from)| (*length, steps - from))
        .unwrap_or((0, 0));
    ((first + longest / 2) % steps) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const INTERVAL: u64 = 2_016 * MS;

    fn at(number: u64, from: u64, to: u64) -> (u64, u64) {
        (number * INTERVAL + from * MS, number * INTERVAL + to * MS)
    }

    #[test]
    fn what_most_times_have_in_common() {
        let noticed = [at(3, 380, 440), at(5, 400, 430), at(9, 360, 420), at(11, 1_000, 1_100)];
        // 384 (16 before 400) to 420.
        assert_eq!(phase(&noticed, INTERVAL) / MS, 404);
    }

    #[test]
    fn around_the_end_of_the_interval() {
        let noticed = [at(3, 2_000, 2_040), at(7, 2_008, 2_032)];
        assert_eq!(phase(&noticed, INTERVAL) / MS, 2_012);
        let noticed = [at(3, 2_012, 2_060), at(7, 2_008, 2_070)];
        assert_eq!(phase(&noticed, INTERVAL) / MS, 12, "the middle of 1,996 to 2,060");
    }

    #[test]
    fn one_time_or_two_that_differ_tell_nothing() {
        assert_eq!(phase(&[], INTERVAL), 0);
        assert_eq!(phase(&[at(3, 380, 440)], INTERVAL), 0);
        assert_eq!(phase(&[at(3, 380, 440), at(4, 1_000, 1_010)], INTERVAL), 0);
        assert_eq!(phase(&[at(3, 380, 440), at(4, 400, 440), at(5, 1_000, 1_010), at(6, 0, 9)], INTERVAL), 0);
    }
}
