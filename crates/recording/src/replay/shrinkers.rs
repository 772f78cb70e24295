//! What do a filesystem's shrinkers have to scan? A trace tells which slab pages they emptied, not of how many objects: names that
//! nobody uses come with the work that is done, and go when they are scanned.

use crate::pagelog::{NEVER, ObjectId};
use mm::SHRINK_BATCH;
use std::collections::BTreeSet;

/// Names and inodes (`super_cache_scan`).
const SUPER_BLOCK: usize = 0;
/// How many there are: the other is that of the extents of files (`ext4_es_scan`).
pub(super) const NUMBER: usize = 2;
/// Both cost as much as pages do (`DEFAULT_SEEKS`).
pub(super) const SEEKS: u32 = 2;

/// Of a hundred objects that are scanned, those that came for each shrinker, some to be scanned twice: 79, 86, 77 and 67, and 18, 17, 15 and 20,
/// in guests of `kbuild-short` (6.18 twice, 6.12, 6.1) whose `mm_shrink_slab_start` and `mm_shrink_slab_end` events tell.
const COME: [u64; NUMBER] = [77, 18];
/// Of a hundred that are scanned so many go, others had been used meanwhile: 90, 89, 91 and 90, and 61, 63, 63 and 66, in those guests.
const GO: [u64; NUMBER] = [90, 63];
/// Names in a page that is full of them: a dentry takes 192 bytes. Extents are few, and share pages by the hundred.
const NAMES_PER_PAGE: u64 = 21;

/// Whether a shrinker does nothing for a request that must not call the filesystem.
pub(super) fn needs_fs(shrinker: usize) -> bool {
    shrinker == SUPER_BLOCK
}

/// Objects of a call: a filesystem asks for more than usual.
pub(super) fn batch(shrinker: usize) -> u64 {
    if shrinker == SUPER_BLOCK { 1024 } else { SHRINK_BATCH }
}

/// Objects that shrinkers can free.
pub(super) struct Shrinkers {
    /// See [`PageLog::slabs_scanned`](crate::pagelog::PageLog::slabs_scanned).
    scanned: u64,
    /// Pages that came so far.
    pages: u64,
    /// Objects that went so far, of a hundred.
    gone: [u64; NUMBER],
    /// Pages of reclaimable slab that the kernel's shrinkers emptied, by the time at which they did.
    cold: BTreeSet<(u32, ObjectId)>,
}

impl Shrinkers {
    /// Of a recording in which so many objects were scanned for each 65,536 pages.
    pub fn new(scanned: u64) -> Shrinkers {
        Shrinkers { scanned, pages: 0, gone: [0; NUMBER], cold: BTreeSet::new() }
    }

    /// The work that is done brings objects, too.
    #[inline(always)]
    pub fn pages_came(&mut self, pages: u64) {
        self.pages += pages;
    }

    /// A page of reclaimable slab came. `leave`: when the kernel's shrinkers emptied it, or [`NEVER`].
    pub fn page_came(&mut self, page: ObjectId, leave: u32) {
        if leave != NEVER {
            self.cold.insert((leave, page));
        }
    }

    /// It went by itself.
    pub fn page_went(&mut self, page: ObjectId, leave: u32) {
        self.cold.remove(&(leave, page));
    }

    /// The page that the kernel's shrinkers emptied first, if they had by this time: it is empty now.
    pub fn empty_page(&mut self, by: u32) -> Option<ObjectId> {
        let first = self.cold.first().filter(|(leave, _)| *leave <= by)?.1;
        self.cold.pop_first();
        Some(first)
    }

    /// Freeable objects.
    pub fn count(&self, shrinker: usize) -> u64 {
        let came = ((self.pages * self.scanned) >> 16) * COME[shrinker];
        came.saturating_sub(self.gone[shrinker]) / 100
    }

    /// Scans objects. Returns how many pages they fill.
    pub fn scan(&mut self, shrinker: usize, objects: u64) -> u64 {
        self.gone[shrinker] += objects * GO[shrinker];
        if shrinker == SUPER_BLOCK { objects.div_ceil(NAMES_PER_PAGE) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_with_pages_and_go_when_scanned() {
        let mut shrinkers = Shrinkers::new(6_554);
        shrinkers.pages_came(200_000);
        assert_eq!([0, 1].map(|shrinker| shrinkers.count(shrinker)), [15_400, 3_600]);
        assert_eq!(shrinkers.scan(SUPER_BLOCK, 1024), 49, "pages that names fill");
        assert_eq!(shrinkers.count(SUPER_BLOCK), 15_400 - 921);
        assert_eq!(shrinkers.scan(1, 3_600), 0);
        assert_eq!(shrinkers.count(1), 1_332);
        shrinkers.scan(1, 3_600);
        assert_eq!(shrinkers.count(1), 0);
    }

    #[test]
    fn pages_are_emptied_in_the_kernels_order_and_not_before_their_time() {
        let mut shrinkers = Shrinkers::new(0);
        for (page, leave) in [(1, 30), (2, 10), (3, NEVER), (4, 20)] {
            shrinkers.page_came(page, leave);
        }
        shrinkers.page_went(4, 20);
        assert_eq!([9, 10, 29, 30, NEVER].map(|by| shrinkers.empty_page(by)), [None, Some(2), None, Some(1), None]);
    }

    #[test]
    fn names_are_scanned_in_large_batches_and_not_from_inside_a_filesystem() {
        assert_eq!([0, 1].map(batch), [1024, 128]);
        assert_eq!([0, 1].map(needs_fs), [true, false]);
    }
}
