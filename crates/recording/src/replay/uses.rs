//! When is a page that is in use used next? The trace does not say. Between two uses a fixed time goes by, the same for all
//! pages of a kind; where in it a page is now hangs on its place among the pages that were asked for: what was asked for
//! together is used together.

use crate::pagelog::{Class, ObjectId, PageLog};
use mm::Nanos;

/// Median time after which evicted page cache comes back on the recordings that the next two were tuned on.
const USUAL_RETURN_NS: Nanos = 6_400_000_000;
/// Interval at which a page of the page cache that is in use is used there: two looks within it find it idle the second time.
const FILE_REUSE_NS: Nanos = 20_000_000_000;
/// The same for anonymous memory, which its task works in.
const ANON_REUSE_NS: Nanos = 6_000_000_000;
/// Objects in a row, 2 to this, that are used at one time: 256 KiB of single pages.
const TOGETHER: u32 = 6;

/// How often pages of a recorded machine that are in use are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reuse {
    file: Nanos,
    anon: Nanos,
    seed: u64,
}

impl Reuse {
    /// On a larger machine, or one with a busier host, more time goes by between two uses of a page: by as much as evicted page
    /// cache takes longer to come back. A short recording shows short times only: nothing follows from these.
    pub fn of(log: &PageLog, seed: u64) -> Reuse {
        let returned = u128::from(log.file_return.unwrap_or(0).max(USUAL_RETURN_NS));
        let longer = |usual: Nanos| (u128::from(usual) * returned / u128::from(USUAL_RETURN_NS)) as Nanos;
        Reuse { file: longer(FILE_REUSE_NS), anon: longer(ANON_REUSE_NS), seed }
    }

    /// Between two uses.
    pub fn interval(self, class: Class) -> Nanos {
        if class == Class::Anon { self.anon } else { self.file }
    }

    /// When an object that was taken now, while it was in use, is used again. Page cache had just been judged by its whole
    /// interval; anonymous memory is anywhere in it.
    pub fn next_use(self, object: ObjectId, class: Class, now: Nanos) -> Nanos {
        if class != Class::Anon {
            return now + self.file;
        }
        now + self.anon - (now + self.phase(object)) % self.anon
    }

    /// How far into the interval of anonymous memory the object was at time 0.
    fn phase(self, object: ObjectId) -> Nanos {
        // Fibonacci hashing spreads neighbouring groups over the interval.
        let hash = (u64::from(object >> TOGETHER) ^ self.seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((u128::from(hash) * u128::from(self.anon)) >> 32) as Nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REUSE: Reuse = Reuse { file: 20 * SECOND, anon: 6 * SECOND, seed: 1 };
    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn anonymous_pages_of_a_group_are_used_together_and_groups_are_not() {
        let next = |object| REUSE.next_use(object, Class::Anon, 1_000 * SECOND);
        assert!((0..64).all(|object| next(object) == next(0)));
        let times: Vec<_> = (0..100).map(|group| next(group << TOGETHER)).collect();
        assert!(times.iter().all(|time| (1_000 * SECOND + 1..=1_006 * SECOND).contains(time)));
        let late = times.iter().filter(|time| **time > 1_003 * SECOND).count();
        assert!((40..=60).contains(&late), "{late} of 100 in the second half");
    }

    #[test]
    fn a_group_is_used_every_interval() {
        let first = REUSE.next_use(7, Class::Anon, 0);
        assert_eq!(REUSE.next_use(7, Class::Anon, first), first + 6 * SECOND);
        assert_eq!(REUSE.next_use(7, Class::Anon, first - 1), first);
        assert_eq!(REUSE.next_use(7, Class::File, first), first + 20 * SECOND);
    }
}
