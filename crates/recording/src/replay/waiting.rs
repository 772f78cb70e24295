//! Tasks that wait for memory use none: their anonymous pages are idle until they go on.

use crate::pagelog::ObjectId;
use mm::Nanos;
use std::collections::BTreeMap;

/// Since when tasks wait.
pub(super) struct Waiting {
    /// By task; the end of time for those that don't.
    since: Vec<Nanos>,
    /// By task that waits: what it would have used meanwhile and is not there.
    missed: BTreeMap<u16, Vec<ObjectId>>,
}

impl Waiting {
    /// For so many tasks, none of which waits.
    pub fn of(tasks: usize) -> Waiting {
        Waiting { since: vec![Nanos::MAX; tasks], missed: BTreeMap::new() }
    }

    /// A task waits from now on.
    pub fn begins(&mut self, task: u16, now: Nanos) {
        if let Some(since) = self.since.get_mut(usize::from(task)) {
            *since = now;
        }
    }

    /// It goes on: what it missed.
    pub fn ends(&mut self, task: u16) -> impl Iterator<Item = ObjectId> + use<> {
        self.begins(task, Nanos::MAX);
        self.missed.remove(&task).into_iter().flatten()
    }

    /// Since when a task waits, if it does.
    #[inline]
    pub fn since(&self, task: u16) -> Option<Nanos> {
        self.since.get(usize::from(task)).copied().filter(|since| *since != Nanos::MAX)
    }

    /// A task that waits would have used an object that is not there.
    pub fn misses(&mut self, task: u16, object: ObjectId) {
        self.missed.entry(task).or_default().push(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_on_comes_to_what_it_missed_once() {
        let mut waiting = Waiting::of(3);
        assert_eq!(waiting.since(1), None);
        waiting.begins(1, 50);
        assert_eq!((waiting.since(1), waiting.since(2)), (Some(50), None));
        waiting.misses(1, 7);
        waiting.misses(1, 8);
        assert_eq!(waiting.ends(1).collect::<Vec<_>>(), [7, 8]);
        assert_eq!((waiting.since(1), waiting.ends(1).count()), (None, 0));
    }
}
