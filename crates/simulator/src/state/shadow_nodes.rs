//! Nodes of file trees that hold nothing but what evictions left, as the kernel lists them (`shadow_nodes` of mm/workingset.c).

use crate::state::node_lines::{NodeLines, NodeTicket};
use foldhash::HashMap;
use pagealloc::NodeId;

/// A node of a file's tree: the file, and the node's number there.
pub(crate) type TreeNode = (u32, u32);

/// The list, oldest first.
pub(crate) struct ShadowNodes {
    lines: NodeLines<TreeNode>,
    places: HashMap<TreeNode, NodeTicket>,
    /// As many as may stay, of those that a shrinker sees.
    kept: u64,
}

impl ShadowNodes {
    /// `frames`: of memory, one in eight of which may have such a node (own simplification of pages on LRU lists).
    pub fn new(lines: usize, frames: u32) -> ShadowNodes {
        ShadowNodes {
            lines: NodeLines::new(lines),
            places: HashMap::default(),
            kept: u64::from(frames) / 8 / lines.max(1) as u64,
        }
    }

    /// The last page left `of`, whose memory is on `node`.
    pub fn insert(&mut self, node: NodeId, of: TreeNode) {
        let lines = &mut self.lines;
        self.places.entry(of).or_insert_with(|| lines.push(node, of));
    }

    /// It holds a page again, or is gone.
    pub fn remove(&mut self, of: TreeNode) {
        if let Some(place) = self.places.remove(&of) {
            self.lines.remove(place);
        }
    }

    /// Whether it is listed.
    pub fn contains(&self, of: TreeNode) -> bool {
        self.places.contains_key(&of)
    }

    /// The oldest one that a node's shrinker sees.
    pub fn first(&self, node: NodeId) -> Option<TreeNode> {
        self.lines.first(node)
    }

    /// How many are too many.
    pub fn surplus(&self, node: NodeId) -> u64 {
        self.lines.len(node).saturating_sub(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_too_many_first() {
        let node = NodeId(0);
        let mut shadows = ShadowNodes::new(1, 16);
        for of in [(1, 7), (1, 3), (1, 7), (2, 0)] {
            shadows.insert(node, of);
        }
        assert_eq!((shadows.surplus(node), shadows.first(node)), (1, Some((1, 7))), "two may stay of 16 frames");
        shadows.remove((1, 7));
        assert!(!shadows.contains((1, 7)));
        assert_eq!((shadows.surplus(node), shadows.first(node)), (0, Some((1, 3))));
    }

    #[test]
    fn nodes_share_what_may_stay() {
        let mut shadows = ShadowNodes::new(2, 32);
        (0..3).for_each(|of| shadows.insert(NodeId(0), (1, of)));
        (0..2).for_each(|of| shadows.insert(NodeId(1), (2, of)));
        assert_eq!([0, 1].map(|node| shadows.surplus(NodeId(node))), [1, 0], "four of 32 frames, two a node");
    }
}
