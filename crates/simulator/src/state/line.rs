//! Entries in the order in which they came, each of which can leave from wherever it stands: LRU lists of what is not a page.

/// What an entry leaves by. Good until it has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket(u32);

/// No entry.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Entry<T> {
    /// Neighbours. Of a vacant entry, `next` is the next vacant one.
    before: u32,
    next: u32,
    what: T,
}

/// A line.
#[derive(Clone)]
pub(crate) struct Line<T> {
    entries: Vec<Entry<T>>,
    vacant: u32,
    first: u32,
    last: u32,
    len: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { entries: Vec::new(), vacant: NONE, first: NONE, last: NONE, len: 0 }
    }
}

impl<T: Copy> Line<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// The entry that came first.
    pub fn first(&self) -> Option<T> {
        self.at(self.first).map(|entry| entry.what)
    }

    /// The entry of a ticket.
    pub fn get(&self, ticket: Ticket) -> Option<T> {
        self.at(ticket.0).map(|entry| entry.what)
    }

    fn at(&self, number: u32) -> Option<&Entry<T>> {
        self.entries.get(number as usize)
    }

    /// Joins at the end.
    pub fn push(&mut self, what: T) -> Ticket {
        let entry = Entry { before: self.last, next: NONE, what };
        let number = match self.at(self.vacant).map(|vacant| vacant.next) {
            Some(next) => {
                let number = std::mem::replace(&mut self.vacant, next);
                self.entries[number as usize] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.link(self.last, number);
        self.last = number;
        self.len += 1;
        Ticket(number)
    }

    /// Leaves from where it stands.
    pub fn remove(&mut self, ticket: Ticket) -> T {
        let Entry { before, next, what } = self.entries[ticket.0 as usize];
        self.link(before, next);
        if next == NONE {
            self.last = before;
        }
        self.entries[ticket.0 as usize].next = std::mem::replace(&mut self.vacant, ticket.0);
        self.len -= 1;
        what
    }

    /// Takes the entry that came first.
    pub fn pop_first(&mut self) -> Option<T> {
        (self.first != NONE).then(|| self.remove(Ticket(self.first)))
    }

    /// Makes two entries neighbours; `next` may be none, and where `before` is, `next` is the first.
    fn link(&mut self, before: u32, next: u32) {
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.next = next,
            None => self.first = next,
        }
        if let Some(entry) = self.entries.get_mut(next as usize) {
            entry.before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Chance;
    use std::collections::BTreeMap;

    #[test]
    fn entries_leave_in_order_of_arrival_or_from_where_they_stand() {
        let (mut line, mut naive, chance) = (Line::default(), BTreeMap::new(), Chance::new(1));
        for arrival in 0..20_000 {
            match chance.below(4) {
                0 | 1 => {
                    naive.insert(arrival, line.push(arrival));
                }
                2 if !naive.is_empty() => {
                    let (&leaving, &ticket) = naive.iter().nth(chance.below(naive.len() as u64) as usize).unwrap();
                    naive.remove(&leaving);
                    assert_eq!(line.remove(ticket), leaving);
                }
                _ => assert_eq!(line.pop_first(), naive.pop_first().map(|(first, _)| first)),
            }
            assert_eq!((line.len(), line.first()), (naive.len(), naive.keys().next().copied()));
            if let Some((&arrival, &ticket)) = naive.iter().nth(chance.below(100) as usize) {
                assert_eq!(line.get(ticket), Some(arrival));
            }
        }
        let left = line.entries.len();
        while line.pop_first().is_some() {}
        for arrival in 0..left as u64 {
            line.push(arrival);
        }
        assert_eq!(line.entries.len(), left, "places of those that left are used again");
    }
}
