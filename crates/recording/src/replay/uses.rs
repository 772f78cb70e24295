//! When is a page that is in use used next? The trace does not say. Between two uses a time goes by that differs from page to
//! page by orders of magnitude; pages that were asked for together are used together.

use crate::pagelog::{Class, LEAVE_SHIFT, ObjectId, PageLog};
use mm::Nanos;
use pagealloc::policy::Policy;

/// Median time after which evicted page cache comes back on the recordings that the next two were tuned on.
const USUAL_RETURN_NS: Nanos = 6_400_000_000;
/// Where generations count uses, the median interval between those of a page of the page cache that is in use.
const COUNTED_REUSE_NS: Nanos = 2_000_000_000;
/// Median interval at which anonymous memory is used that its task works in.
const ANON_REUSE_NS: Nanos = 6_000_000_000;

/// Objects in a row, 2 to this, that are used at one time: 256 KiB of single pages.
const TOGETHER: u32 = 6;

/// Intervals there are around a median: a hundredth of the median to a hundred times it, each one 10^(1/16) times the one
/// before. What is known of a time is its order of magnitude, so each of these is as likely.
const INTERVALS: usize = 64;
const SHORTEST: Nanos = 100;
/// 10^(1/16), of 65,536.
const LONGER: Nanos = 75_680;

/// How often pages of a recorded machine that are in use are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reuse {
    file: [Nanos; INTERVALS],
    anon: [Nanos; INTERVALS],
    seed: u64,
}

impl Reuse {
    /// On a larger machine, or one with a busier host, more time goes by between two uses of a page: by as much as evicted page
    /// cache takes longer to come back. A short recording shows short times only: nothing follows from these. On classic lists, which learn of
    /// uses as they happen ([`super::readers`]), page cache in use that was taken all the same comes back like what the recorded kernel took.
    pub fn of(log: &PageLog, policy: &Policy, seed: u64) -> Reuse {
        let returned = u128::from(return_time(log));
        let longer = |usual: Nanos| (u128::from(usual) * returned / u128::from(USUAL_RETURN_NS)) as Nanos;
        let file = if policy.lru_gen().is_some() { COUNTED_REUSE_NS } else { USUAL_RETURN_NS };
        Reuse { file: intervals(longer(file)), anon: intervals(longer(ANON_REUSE_NS)), seed }
    }

    /// When an object that was taken now, while it was in use, is used again.
    pub fn next_use(&self, object: ObjectId, class: Class, now: Nanos) -> Nanos {
        let (interval, phase) = self.rhythm(object, class);
        now + interval - (now + phase) % interval
    }

    /// Whether an object that is in use was used between two looks, the first of which forgot the uses before it. Times in units
    /// of 2^16 ns.
    pub fn used_between(&self, object: ObjectId, class: Class, looked: u32, now: u32) -> bool {
        self.uses_between(object, class, looked, now) > 0
    }

    /// How often it was used.
    pub fn uses_between(&self, object: ObjectId, class: Class, looked: u32, now: u32) -> u64 {
        let (interval, phase) = self.rhythm(object, class);
        let number = |time: u32| ((Nanos::from(time) << LEAVE_SHIFT) + phase) / interval;
        number(now) - number(looked.min(now))
    }

    /// Interval of an object, and how far into it it was at time 0.
    fn rhythm(&self, object: ObjectId, class: Class) -> (Nanos, Nanos) {
        let hash = self.hash(object);
        let intervals = if class == Class::Anon { &self.anon } else { &self.file };
        let interval = intervals[(hash >> (64 - INTERVALS.ilog2())) as usize];
        // The bits below those that tell the interval tell the phase.
        let phase = (hash << INTERVALS.ilog2()) >> 32;
        (interval, ((u128::from(phase) * u128::from(interval)) >> 32) as Nanos)
    }

    /// Of the object's group: all bits of its number, and of the seed, have a part in all of those that come out (the finalizer of
    /// MurmurHash3, which is in the public domain).
    fn hash(&self, object: ObjectId) -> u64 {
        let mut hash = u64::from(object >> TOGETHER) ^ self.seed << 32;
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    }
}

/// Median time after which page cache that the recorded kernel had evicted was back; a short recording shows short times only.
pub(super) fn return_time(log: &PageLog) -> Nanos {
    log.file_return.unwrap_or(0).max(USUAL_RETURN_NS)
}

fn intervals(median: Nanos) -> [Nanos; INTERVALS] {
    let mut interval = median / SHORTEST;
    std::array::from_fn(|_| {
        let this = interval;
        interval = ((u128::from(this) * u128::from(LONGER)) >> 16) as Nanos;
        this
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn reuse() -> Reuse {
        Reuse { file: intervals(2 * SECOND), anon: intervals(6 * SECOND), seed: 1 }
    }

    fn coarse(time: Nanos) -> u32 {
        (time >> LEAVE_SHIFT) as u32
    }

    #[test]
    fn intervals_lie_in_the_four_decades_around_their_median() {
        let all = intervals(6 * SECOND);
        assert_eq!(all[0], SECOND * 6 / 100);
        assert!((5_990_000_000..6_010_000_000).contains(&all[32]), "{}", all[32]);
        assert!((518 * SECOND..521 * SECOND).contains(&all[63]), "{}", all[63]);
    }

    #[test]
    fn anonymous_pages_of_a_group_are_used_together_and_groups_are_not() {
        let reuse = reuse();
        assert!((0..64).all(|object| reuse.rhythm(object, Class::Anon) == reuse.rhythm(0, Class::Anon)));
        let groups: Vec<_> = (0..6_400).map(|group| reuse.rhythm(group << TOGETHER, Class::Anon)).collect();
        let often = groups.iter().filter(|(interval, _)| *interval < 6 * SECOND).count();
        assert!((3_000..3_400).contains(&often), "{often} of 6,400 more often than the median");
        let late = groups.iter().filter(|(interval, phase)| *phase > interval / 2).count();
        assert!((3_000..3_400).contains(&late), "{late} of 6,400 in the second half");
    }

    #[test]
    fn looks_and_faults_go_by_the_same_clock() {
        let reuse = reuse();
        for object in (0..6_400).step_by(64) {
            let taken = 1_000 * SECOND;
            let next = reuse.next_use(object, Class::Anon, taken);
            assert_eq!(next, reuse.next_use(object, Class::Anon, next - 1));
            let used = |from, to| reuse.used_between(object, Class::Anon, coarse(from), coarse(to));
            assert!(used(taken, next + 131_072), "{object}");
            assert!(next < taken + 131_072 || !used(taken, next - 131_072), "{object}");
        }
    }

    #[test]
    fn uses_are_counted_by_the_interval() {
        let reuse = reuse();
        for object in (0..6_400).step_by(64) {
            let (interval, _) = reuse.rhythm(object, Class::File);
            let uses = reuse.uses_between(object, Class::File, coarse(SECOND), coarse(10 * SECOND));
            assert!(uses.abs_diff(9 * SECOND / interval) <= 1, "{object}: {uses} at {interval}");
            assert_eq!(reuse.used_between(object, Class::File, coarse(SECOND), coarse(10 * SECOND)), uses > 0);
        }
    }
}
