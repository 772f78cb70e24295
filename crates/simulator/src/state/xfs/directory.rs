//! A directory of format version 5: which blocks a new name changes.

use super::BufferId;

/// Header of a block, and bytes of an entry for a name of 40 bytes: inode number, length, name, type, tag, in multiples of 8.
const HEADER: u32 = 64;
const ENTRY: u32 = 56;
/// Bytes of a leaf's entry: hash and address.
const LEAF_ENTRY: u32 = 8;

/// A leaf block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub buffer: BufferId,
    entries: u32,
}

/// A directory.
#[derive(Debug)]
pub(crate) struct Directory {
    block: u32,
    /// The data block that is being filled, and the end of what it holds.
    pub data: Option<BufferId>,
    end: u32,
    /// Leaf blocks, in the order of their hashes.
    pub leaves: Vec<Leaf>,
    names: u64,
    /// The cluster that new inodes come from, how many it still has, and clusters of the same chunk.
    pub clusters: Vec<BufferId>,
    pub inodes_left: u32,
}

/// A range of a block that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub buffer: BufferId,
    pub from: u32,
    pub to: u32,
}

impl Directory {
    pub fn new(block: u32) -> Directory {
        let (data, leaves, clusters) = (None, Vec::new(), Vec::new());
        Directory { block, data, end: HEADER, leaves, names: 0, clusters, inodes_left: 0 }
    }

    /// Whether another name needs a new data block: up to as many as fit with their hashes into one block, that is all there is.
    pub fn needs_data(&self) -> bool {
        let hashes = if self.leaves.is_empty() { self.names as u32 * LEAF_ENTRY } else { 0 };
        self.data.is_none() || self.end + ENTRY + hashes > self.block
    }

    pub fn start_data(&mut self, buffer: BufferId) -> Option<BufferId> {
        self.end = HEADER;
        self.data.replace(buffer)
    }

    /// Whether the leaves need one more block before this name, and which one is split: the first one takes over the hashes of
    /// the only data block.
    pub fn leaf_to_split(&self, hash: u64) -> Option<usize> {
        if self.leaves.is_empty() {
            let fits = self.names as u32 * (ENTRY + LEAF_ENTRY) + HEADER < self.block - (ENTRY + LEAF_ENTRY);
            return (!fits).then_some(0);
        }
        let (leaf, _) = self.leaf_of(hash)?;
        (HEADER + (self.leaves[leaf].entries + 1) * LEAF_ENTRY > self.block).then_some(leaf)
    }

    /// A new leaf takes the upper half of the one that is split.
    pub fn split(&mut self, at: usize, buffer: BufferId) -> Vec<Change> {
        if self.leaves.is_empty() {
            let entries = self.names as u32;
            self.leaves.push(Leaf { buffer, entries });
            return vec![Change { buffer, from: 0, to: HEADER + entries * LEAF_ENTRY }];
        }
        let upper = self.leaves[at].entries / 2;
        self.leaves[at].entries -= upper;
        self.leaves.insert(at + 1, Leaf { buffer, entries: upper });
        let whole = |leaf: &Leaf| Change { buffer: leaf.buffer, from: 0, to: HEADER + leaf.entries * LEAF_ENTRY };
        vec![whole(&self.leaves[at]), whole(&self.leaves[at + 1])]
    }

    /// The leaf that a hash belongs to, and its place there: hashes are spread evenly.
    pub fn leaf_of(&self, hash: u64) -> Option<(usize, u32)> {
        let total: u64 = self.leaves.iter().map(|leaf| u64::from(leaf.entries)).sum();
        let mut place = ((u128::from(hash) * u128::from(total + 1)) >> 64) as u64;
        for (number, leaf) in self.leaves.iter().enumerate() {
            if place <= u64::from(leaf.entries) {
                return Some((number, place as u32));
            }
            place -= u64::from(leaf.entries);
        }
        self.leaves.len().checked_sub(1).map(|last| (last, self.leaves[last].entries))
    }

    /// The leaf's buffer that a name with this hash changes.
    pub fn leaf_buffer(&self, hash: u64) -> Option<BufferId> {
        self.leaf_of(hash).map(|(leaf, _)| self.leaves[leaf].buffer)
    }

    /// Adds a name: the changes. In a leaf all entries behind the new one move up.
    pub fn add(&mut self, hash: u64) -> Vec<Change> {
        self.names += 1;
        let mut changes = Vec::with_capacity(2);
        if let Some(buffer) = self.data {
            let hashes = if self.leaves.is_empty() { self.names as u32 * LEAF_ENTRY } else { 0 };
            changes.push(Change { buffer, from: self.end, to: (self.end + ENTRY + hashes).min(self.block) });
            self.end += ENTRY;
        }
        if let Some((leaf, place)) = self.leaf_of(hash) {
            let Leaf { buffer, entries } = &mut self.leaves[leaf];
            *entries += 1;
            let (from, to) = (HEADER + place * LEAF_ENTRY, HEADER + *entries * LEAF_ENTRY);
            changes.push(Change { buffer: *buffer, from, to });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds names until a condition holds; buffers are numbered from 0.
    pub fn grown(block: u32, names: u64) -> Directory {
        let (mut directory, mut buffers) = (Directory::new(block), 0..);
        for name in 0..names {
            let hash = name.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if let Some(at) = directory.leaf_to_split(hash) {
                directory.split(at, buffers.next().unwrap());
            }
            if directory.needs_data() {
                directory.start_data(buffers.next().unwrap());
            }
            directory.add(hash);
        }
        directory
    }

    #[test]
    pub fn a_block_of_64_kib_holds_a_thousand_names_with_their_hashes() {
        assert!(grown(65_536, 1_021).leaves.is_empty());
        assert_eq!(grown(65_536, 1_030).leaves.len(), 1);
    }

    #[test]
    pub fn leaves_split_when_they_are_full_and_lose_nothing() {
        let directory = grown(65_536, 47_800);
        let entries: u32 = directory.leaves.iter().map(|leaf| leaf.entries).sum();
        assert_eq!(u64::from(entries), 47_800);
        assert!((6..=12).contains(&directory.leaves.len()), "{:?}", directory.leaves);
        assert!(directory.leaves.iter().all(|leaf| HEADER + leaf.entries * LEAF_ENTRY <= 65_536));
    }
}
