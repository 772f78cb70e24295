//! How soon page cache that the recorded kernel's reclaim took was read back. A trace has no memory accesses; this tells how
//! much time goes by between two uses of a page on the recorded machine, which hangs on its load, its size and its host.
//!
//! The kernel itself notices a return by the shadow entry that eviction leaves in the page's place. It is gone if the inode
//! went in between, and its tree with it, or if the shrinker of such entries had the tree's node (`workingset_nodereclaim`); how
//! often tells the kernel's own count of refaults.

use super::{LEAVE_SHIFT, NEVER, Object};

/// Fewer returns than that say nothing.
const FEWEST: usize = 1_000;

/// Share of shadow entries, of 65,536, where none is lost.
pub(super) const ALL_KEPT: u64 = 1 << 16;

/// Share of page cache that returned to be read which found its shadow entry, of 65,536: of `returned` base pages the kernel counted that
/// many as refaults (`workingset_refault_file`; both count a folio whole).
pub(super) fn shadows_kept(counted: u64, returned: u64) -> u64 {
    if returned < FEWEST as u64 { ALL_KEPT } else { (counted.saturating_mul(ALL_KEPT) / returned).min(ALL_KEPT) }
}

/// Times between leaving and coming back, in units of 2^16 ns.
#[derive(Default)]
pub(super) struct Returns(Vec<u32>);

impl Returns {
    /// A page that reclaim took is there again.
    pub fn came_back(&mut self, before: &Object, ts: u64) {
        if before.leave != NEVER {
            self.0.push(((ts >> LEAVE_SHIFT) as u32).saturating_sub(before.leave));
        }
    }

    /// Their median, nanoseconds; `None` where there are too few.
    pub fn median(mut self) -> Option<u64> {
        let middle = self.0.len() / 2;
        (self.0.len() >= FEWEST).then(|| u64::from(*self.0.select_nth_unstable(middle).1) << LEAVE_SHIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Class;
    use super::*;

    #[test]
    fn shadows_are_kept_as_often_as_the_kernel_noticed() {
        assert_eq!(shadows_kept(60_000, 100_000), 39_321);
        assert_eq!(shadows_kept(100_001, 100_000), ALL_KEPT, "more than the trace shows");
        assert_eq!(shadows_kept(1, 999), ALL_KEPT, "too few to tell");
        assert_eq!(shadows_kept(u64::MAX, 100_000), ALL_KEPT, "counters of a damaged file");
    }

    #[test]
    fn the_median_of_enough_returns() {
        let left = |leave| Object { leave, link: 0, gfp: 0, order: 0, class: Class::File, flags: 0 };
        let mut returns = Returns::default();
        for at in 0..999u64 {
            // Back after 1 to 999 units.
            returns.came_back(&left(100), (101 + at) << LEAVE_SHIFT);
        }
        returns.came_back(&left(NEVER), 1 << LEAVE_SHIFT);
        assert_eq!(Returns(returns.0.clone()).median(), None);
        returns.came_back(&left(100), 2_000 << LEAVE_SHIFT);
        assert_eq!(returns.median(), Some(501 << LEAVE_SHIFT));
    }
}
