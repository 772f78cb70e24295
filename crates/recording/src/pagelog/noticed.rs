//! When did reclaim notice that there was no longer page cache to spare? It takes page cache alone as long as it knows of enough that is not
//! used again, and it knows only what was flushed last (`reclaim.stats_flush_ms`): so statistics were flushed between its last look at page
//! cache alone and its first look at anonymous memory.

/// Reclaim's first priority: at others it may take anonymous memory without a flush.
const FIRST_PRIORITY: i32 = 12;
/// Page cache alone was scanned if anonymous memory was not for so long, and so many pages were.
const ALONE_NS: u64 = 50_000_000;
const ALONE_PAGES: u64 = 64;
/// If it was scanned longer ago than that, little is known of when.
const LONGEST_NS: u64 = 200_000_000;

/// Follows what is scanned.
#[derive(Default)]
pub(super) struct Noticed {
    last_anon: u64,
    last_file: u64,
    /// Pages of the page cache scanned since `last_anon`.
    file_pages: u64,
    times: Vec<(u64, u64)>,
}

impl Noticed {
    /// Reclaim judged a batch of so many pages.
    pub fn judged(&mut self, ts: u64, anon: bool, pages: u64, priority: i32) {
        let first = priority == FIRST_PRIORITY;
        if !anon {
            if first {
                self.file_pages = self.file_pages.saturating_add(pages);
                self.last_file = ts;
            }
            return;
        }
        let alone = self.file_pages >= ALONE_PAGES && ts.saturating_sub(self.last_anon) >= ALONE_NS;
        if first && alone && ts.saturating_sub(self.last_file) <= LONGEST_NS {
            self.times.push((self.last_file, ts));
        }
        (self.last_anon, self.file_pages) = (ts, 0);
    }

    /// Each time, between its last look at page cache alone and the first one at anonymous memory.
    pub fn times(self) -> Vec<(u64, u64)> {
        self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn times(batches: &[(u64, bool, u64, i32)]) -> Vec<(u64, u64)> {
        let mut noticed = Noticed::default();
        for &(ms, anon, pages, priority) in batches {
            noticed.judged((1_000 + ms) * MS, anon, pages, priority);
        }
        noticed.times().into_iter().map(|(from, to)| (from / MS - 1_000, to / MS - 1_000)).collect()
    }

    #[test]
    fn between_page_cache_alone_and_anonymous_memory() {
        let seen = times(&[
            (0, false, 32, 12),
            (40, false, 32, 12),
            (60, true, 3, 12),
            (61, true, 3, 12),
            (62, false, 32, 12),
        ]);
        assert_eq!(seen, [(40, 60)]);
    }

    #[test]
    fn both_at_once_tell_nothing() {
        assert_eq!(times(&[(0, false, 99, 12), (10, true, 3, 12), (20, false, 99, 12), (40, true, 3, 12)]), [(0, 10)]);
    }

    #[test]
    fn little_page_cache_other_priorities_and_long_pauses_tell_nothing() {
        assert_eq!(times(&[(0, false, 63, 12), (60, true, 3, 12)]), []);
        assert_eq!(times(&[(0, false, 99, 11), (60, true, 3, 12)]), []);
        assert_eq!(times(&[(0, false, 99, 12), (60, true, 3, 11)]), []);
        assert_eq!(times(&[(0, false, 99, 12), (201, true, 3, 12)]), []);
    }
}
