//! Who is due when, for the few who are on their way at one time and most often come next again.

/// Entries in order of time, then of whom; each one once. The last one is the first due, so that taking it, and adding what
/// comes soon, moves next to nothing.
pub(super) struct Schedule<T>(Vec<(u64, T)>);

impl<T> Default for Schedule<T> {
    fn default() -> Schedule<T> {
        Schedule(Vec::new())
    }
}

impl<T: Ord> Schedule<T> {
    /// Somebody is due at a time.
    #[inline]
    pub fn add(&mut self, at: u64, who: T) {
        let entry = (at, who);
        if self.0.last().is_none_or(|first| entry < *first) {
            self.0.push(entry);
        } else if let Err(index) = self.0.binary_search_by(|other| entry.cmp(other)) {
            self.0.insert(index, entry);
        }
    }

    /// When the first one is due; the end of time if nobody is.
    #[inline]
    pub fn next(&self) -> u64 {
        self.0.last().map_or(u64::MAX, |(at, _)| *at)
    }

    /// Takes the first one.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, T)> {
        self.0.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_by_time_then_by_whom_each_once() {
        let mut schedule = Schedule::default();
        for (at, who) in [(5, 'b'), (9, 'a'), (5, 'a'), (1, 'c'), (5, 'b')] {
            schedule.add(at, who);
        }
        assert_eq!(schedule.next(), 1);
        let order: Vec<_> = std::iter::from_fn(|| schedule.pop()).collect();
        assert_eq!(order, [(1, 'c'), (5, 'a'), (5, 'b'), (9, 'a')]);
        assert_eq!(schedule.next(), u64::MAX);
    }
}
