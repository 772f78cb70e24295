//! Which huge pages are mapped in part, and wait to be split?

use crate::state::address_space::Pid;
use crate::state::folio::FolioId;
use pagealloc::NodeId;
use std::collections::BTreeMap;

/// Huge pages that are mapped in part, longest first (`deferred_split_queue`).
#[derive(Default, Debug)]
pub(crate) struct DeferredSplits {
    queues: BTreeMap<NodeId, BTreeMap<u64, FolioId>>,
    mapped: BTreeMap<FolioId, Parts>,
    sequence: u64,
}

/// Where the parts of a huge page are mapped: nobody shares them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parts {
    pub pid: Pid,
    pub window: u32,
    /// Where it was when it was queued: each node has its queue.
    node: NodeId,
    place: u64,
}

impl DeferredSplits {
    pub fn add(&mut self, id: FolioId, pid: Pid, window: u32, node: NodeId) {
        self.sequence += 1;
        self.queues.entry(node).or_default().insert(self.sequence, id);
        self.mapped.insert(id, Parts { pid, window, node, place: self.sequence });
    }

    pub fn on(&self, node: NodeId) -> impl Iterator<Item = FolioId> + '_ {
        self.queues.get(&node).into_iter().flat_map(BTreeMap::values).copied()
    }

    /// How many wait on a node.
    pub fn count(&self, node: NodeId) -> u64 {
        self.queues.get(&node).map_or(0, BTreeMap::len) as u64
    }

    /// It is split, or gone: where its parts were.
    pub fn remove(&mut self, id: FolioId) -> Option<Parts> {
        let parts = self.mapped.remove(&id)?;
        self.queues.get_mut(&parts.node)?.remove(&parts.place);
        Some(parts)
    }

    /// What is tried and stays comes last the next time.
    pub fn requeue(&mut self, id: FolioId) {
        if let Some(Parts { pid, window, node, .. }) = self.remove(id) {
            self.add(id, pid, window, node);
        }
    }

    pub fn is_mapped_at(&self, id: FolioId, pid: Pid, window: u32) -> bool {
        self.mapped.get(&id).is_some_and(|parts| (parts.pid, parts.window) == (pid, window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_comes_last() {
        let mut deferred = DeferredSplits::default();
        let order = |deferred: &DeferredSplits| deferred.on(NodeId(0)).map(|id| id.0).collect::<Vec<_>>();
        for (id, node) in [(1, 0), (2, 0), (3, 0), (4, 1)] {
            deferred.add(FolioId(id), 7, id, NodeId(node));
        }
        deferred.requeue(FolioId(1));
        assert_eq!(order(&deferred), [2, 3, 1]);
        assert_eq!([0, 1].map(|node| deferred.count(NodeId(node))), [3, 1]);
        assert!(deferred.is_mapped_at(FolioId(1), 7, 1) && !deferred.is_mapped_at(FolioId(1), 8, 1));
        assert!(deferred.remove(FolioId(3)).is_some() && deferred.remove(FolioId(3)).is_none());
        assert_eq!(order(&deferred), [2, 1]);
    }
}
