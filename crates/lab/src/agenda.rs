//! What falls due, in order of time; of the same time in order of registration.

use mm::Nanos;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Something that falls due. Its time and its number are one key, which is compared at once: tasks that work side by side make the heap the
/// busiest part of a simulation.
struct Entry<T> {
    key: u128,
    what: T,
}

impl<T> Entry<T> {
    fn at(&self) -> Nanos {
        (self.key >> 64) as Nanos
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The largest is the first one.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Entry<T>) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// An agenda. What a device will have done comes in order, one after the other and often by the thousand: it stands in a line, so that
/// the heap holds the few others.
pub(crate) struct Agenda<T> {
    line: VecDeque<Entry<T>>,
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda { line: VecDeque::new(), heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<T> Agenda<T> {
    fn entry(&mut self, at: Nanos, what: T) -> Entry<T> {
        self.sequence += 1;
        Entry { key: u128::from(at) << 64 | u128::from(self.sequence), what }
    }

    /// Something falls due at a time.
    pub fn add(&mut self, at: Nanos, what: T) {
        let entry = self.entry(at, what);
        self.heap.push(entry);
    }

    /// Something falls due at a time that is rarely before that of what was last added in this way.
    pub fn add_in_line(&mut self, at: Nanos, what: T) {
        if self.line.back().is_some_and(|last| last.at() > at) {
            return self.add(at, what);
        }
        let entry = self.entry(at, what);
        self.line.push_back(entry);
    }

    fn line_is_first(&self) -> bool {
        match (self.line.front(), self.heap.peek()) {
            (Some(first), Some(other)) => first.key < other.key,
            (first, _) => first.is_some(),
        }
    }

    /// When the first one falls due; the end of time if there is none.
    pub fn next(&self) -> Nanos {
        let of_line = self.line.front().map_or(Nanos::MAX, Entry::at);
        let of_heap = self.heap.peek().map_or(Nanos::MAX, Entry::at);
        of_line.min(of_heap)
    }

    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        let first = if self.line_is_first() { self.line.pop_front() } else { self.heap.pop() };
        first.map(|first| (first.at(), first.what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_by_registration_whether_in_line_or_not() {
        let mut agenda = Agenda::default();
        agenda.add(5, 'b');
        agenda.add_in_line(5, 'c');
        agenda.add_in_line(9, 'f');
        agenda.add_in_line(7, 'd');
        agenda.add(1, 'a');
        agenda.add_in_line(9, 'g');
        agenda.add(8, 'e');
        agenda.add(9, 'h');
        assert_eq!(agenda.next(), 1);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 5, 5, 7, 8, 9, 9, 9]);
        assert_eq!(order.iter().map(|(_, what)| what).collect::<String>(), "abcdefgh");
        assert_eq!(agenda.next(), Nanos::MAX);
    }
}
