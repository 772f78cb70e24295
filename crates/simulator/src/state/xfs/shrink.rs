//! What reclaim gets of it: names, inodes once they are on disk, and buffers that nobody needs.

use super::{BufferId, Inode, LogVector, Xfs};
use crate::state::folio::FolioId;
use crate::state::slab::Object;
use pagealloc::NodeId;

/// What a shrinker gives back.
#[derive(Default)]
pub(crate) struct Given {
    /// Entries that were looked at.
    pub scanned: u64,
    pub objects: Vec<Object>,
    pub pages: Vec<FolioId>,
    pub(crate) vector: Option<LogVector>,
}

impl Xfs {
    /// Names and inodes of a node.
    pub fn count_files(&self, node: NodeId) -> u64 {
        self.names.len(node) + self.reclaimable.len(node)
    }

    /// Drops names, oldest first, and inodes that no name holds, in proportion. For an inode that is not on disk yet, its cluster is
    /// written (`SYNC_WAIT`; that reclaim waits for it is left out); what the log has not written stays until it has.
    pub fn shrink_files(&mut self, node: NodeId, nr: u64) -> Given {
        let mut given = Given::default();
        let names = (nr * self.names.len(node)).div_ceil(self.count_files(node).max(1));
        let inodes = nr.saturating_sub(names).min(self.reclaimable.len(node));
        for _ in 0..names {
            let Some((dentry, inode)) = self.names.pop_first(node) else { break };
            given.scanned += 1;
            given.objects.push(dentry);
            self.reclaimable.push(node, inode);
        }
        // `xfs_reclaim_inodes_nr` has all metadata written first.
        self.push_metadata |= inodes > 0;
        for _ in 0..inodes {
            let Some(inode) = self.reclaimable.pop_first(node) else { break };
            given.scanned += 1;
            if self.is_pinned(&inode) {
                self.push_all = true;
                self.reclaimable.push(node, inode);
            } else {
                self.flush(&inode, &mut given);
                given.objects.extend(inode.objects);
            }
        }
        given
    }

    /// Takes all inodes of a node that no name holds and that are on disk: their objects. Dirty ones are left to the writer of
    /// metadata.
    pub fn reclaim_clean(&mut self, node: NodeId) -> Vec<Object> {
        let mut objects = Vec::new();
        for _ in 0..self.reclaimable.len(node) {
            let Some(inode) = self.reclaimable.pop_first(node) else { break };
            let cluster = &self.buffers[inode.cluster as usize];
            let dirty = cluster.generation == inode.generation && (cluster.in_cil || cluster.in_ail.is_some());
            if dirty {
                self.reclaimable.push(node, inode);
            } else {
                objects.extend(inode.objects);
            }
        }
        objects
    }

    pub fn flush(&mut self, inode: &Inode, given: &mut Given) {
        let cluster = &mut self.buffers[inode.cluster as usize];
        if cluster.generation != inode.generation || cluster.users > 0 {
            return;
        }
        if let Some(key) = cluster.in_ail.take() {
            cluster.dirty = None;
            self.flushed += u64::from(cluster.bytes);
            self.ail.remove(&key);
            if self.buffers[inode.cluster as usize].doomed {
                self.dispose(inode.cluster, given);
            }
        }
    }

    /// Buffers of a node.
    pub fn count_buffers(&self, node: NodeId) -> u64 {
        self.lru.len(node)
    }

    /// Looks at the buffers that were unused for longest: each round that they have left keeps them. What is in use or not on disk yet
    /// leaves the list and is freed as soon as it can be, unless somebody asks for it before.
    pub fn shrink_buffers(&mut self, node: NodeId, nr: u64) -> Given {
        let mut given = Given::default();
        for _ in 0..nr.min(self.count_buffers(node)) {
            let Some(id) = self.lru.pop_first(node) else { break };
            given.scanned += 1;
            let buffer = &mut self.buffers[id as usize];
            buffer.place = None;
            if buffer.rounds > 0 {
                buffer.rounds -= 1;
                buffer.place = Some(self.lru.push(node, id));
            } else if buffer.is_busy() {
                buffer.doomed = true;
            } else {
                self.dispose(id, &mut given);
            }
        }
        given
    }

    /// Frees a buffer that is on no list.
    pub(crate) fn dispose(&mut self, id: BufferId, given: &mut Given) {
        let buffer = &mut self.buffers[id as usize];
        given.pages.append(&mut buffer.pages);
        given.objects.append(&mut buffer.objects);
        buffer.doomed = false;
        if buffer.abandoned {
            self.vacant.push(id);
        }
    }
}
