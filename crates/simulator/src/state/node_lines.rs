//! Lines of what lies on nodes, one for each (`list_lru`).

use crate::state::line::{Line, Ticket};
use pagealloc::NodeId;

/// What an entry leaves by. Good until it has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeTicket {
    line: u8,
    ticket: Ticket,
}

/// A line for each node, or a single one where nodes are not told apart.
#[derive(Clone)]
pub(crate) struct NodeLines<T> {
    lines: Vec<Line<T>>,
}

impl<T: Copy> NodeLines<T> {
    /// `lines`: as many as nodes are told apart, 1 or more.
    pub fn new(lines: usize) -> NodeLines<T> {
        NodeLines { lines: vec![Line::default(); lines.max(1)] }
    }

    fn line(&self, node: NodeId) -> usize {
        node.index().min(self.lines.len() - 1)
    }

    /// Joins its node's line at the end.
    pub fn push(&mut self, node: NodeId, what: T) -> NodeTicket {
        let line = self.line(node);
        NodeTicket { line: line as u8, ticket: self.lines[line].push(what) }
    }

    /// Leaves from where it stands.
    pub fn remove(&mut self, place: NodeTicket) -> T {
        self.lines[usize::from(place.line)].remove(place.ticket)
    }

    /// The entry of a place.
    pub fn get(&self, place: NodeTicket) -> Option<T> {
        self.lines[usize::from(place.line)].get(place.ticket)
    }

    /// The entry of a node that came first.
    pub fn first(&self, node: NodeId) -> Option<T> {
        self.lines[self.line(node)].first()
    }

    /// Takes the entry that came first.
    pub fn pop_first(&mut self, node: NodeId) -> Option<T> {
        let line = self.line(node);
        self.lines[line].pop_first()
    }

    /// Entries of a node.
    pub fn len(&self, node: NodeId) -> u64 {
        self.lines[self.line(node)].len() as u64
    }

    /// All entries.
    pub fn total(&self) -> usize {
        self.lines.iter().map(Line::len).sum()
    }

    /// One node for each line: who asks for all of them sees every entry once.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<T> {
        (0..self.lines.len() as u8).map(NodeId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_shrinker_sees_its_own_entries_or_all() {
        let [first, second] = [NodeId(0), NodeId(1)];
        let mut apart = NodeLines::new(2);
        apart.push(first, 'a');
        let place = apart.push(second, 'b');
        assert_eq!(
            (apart.len(first), apart.first(second), apart.get(place), apart.total()),
            (1, Some('b'), Some('b'), 2)
        );
        assert_eq!((apart.remove(place), apart.pop_first(second), apart.pop_first(first)), ('b', None, Some('a')));
        let mut together = NodeLines::new(1);
        together.push(first, 'a');
        together.push(second, 'b');
        assert_eq!((together.len(first), together.len(second), together.nodes().count()), (2, 2, 1));
        assert_eq!((together.pop_first(second), together.pop_first(first)), (Some('a'), Some('b')));
    }
}
