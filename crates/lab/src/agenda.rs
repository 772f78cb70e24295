//! What falls due, in order of time; of the same time in order of registration.

use mm::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

type Entry<T> = (Nanos, u64, T);

/// An agenda. What a device will have done comes in order, one after the other and often by the thousand: it stands in a line, so that
/// the heap holds the few others.
pub(crate) struct Agenda<T> {
    line: VecDeque<Entry<T>>,
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

impl<T: Ord> Default for Agenda<T> {
    fn default() -> Agenda<T> {
        Agenda { line: VecDeque::new(), heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<T: Ord> Agenda<T> {
    fn next_number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Something falls due at a time.
    pub fn add(&mut self, at: Nanos, what: T) {
        let number = self.next_number();
        self.heap.push(Reverse((at, number, what)));
    }

    /// The same for what rarely falls due before what was added to the line before.
    pub fn add_in_line(&mut self, at: Nanos, what: T) {
        if self.line.back().is_some_and(|(last, ..)| *last > at) {
            return self.add(at, what);
        }
        let number = self.next_number();
        self.line.push_back((at, number, what));
    }

    fn line_is_first(&self) -> bool {
        match (self.line.front(), self.heap.peek()) {
            (Some((at, number, _)), Some(Reverse((other, its, _)))) => (at, number) < (other, its),
            (first, _) => first.is_some(),
        }
    }

    /// When the first one falls due; the end of time if there is none.
    pub fn next(&self) -> Nanos {
        let of_line = self.line.front().map_or(Nanos::MAX, |(at, ..)| *at);
        let of_heap = self.heap.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        of_line.min(of_heap)
    }

    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        let first =
            if self.line_is_first() { self.line.pop_front() } else { self.heap.pop().map(|Reverse(first)| first) };
        first.map(|(at, _, what)| (at, what))
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
