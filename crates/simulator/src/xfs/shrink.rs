//! What reclaim gets of it: names, inodes once they are on disk, and buffers that nobody needs.

use super::Xfs;
use crate::folio::FolioId;
use crate::slab::Object;

/// What a shrinker gives back.
#[derive(Default)]
pub(crate) struct Given {
    /// Entries that were looked at.
    pub scanned: u64,
    pub objects: Vec<Object>,
    pub pages: Vec<FolioId>,
}

impl Xfs {
    /// Names and inodes of a node.
    pub fn count_files(&self, node: usize) -> u64 {
        self.files.get(node).map_or(0, |files| (files.dentries.len() + files.reclaimable.len()) as u64)
    }

    /// Drops names, oldest first, and inodes that no name holds, in proportion. An inode that has yet to be written stays.
    pub fn shrink_files(&mut self, node: usize, nr: u64) -> Given {
        let mut given = Given::default();
        let total = self.count_files(node).max(1);
        let Some(files) = self.files.get_mut(node) else { return given };
        let names = (nr * files.dentries.len() as u64).div_ceil(total);
        let inodes = nr.saturating_sub(names).min(files.reclaimable.len() as u64);
        for _ in 0..names {
            let Some((dentry, inode)) = files.dentries.pop_front() else { break };
            given.scanned += 1;
            given.objects.push(dentry);
            files.reclaimable.push_back(inode);
        }
        for _ in 0..inodes {
            let Some(inode) = self.files[node].reclaimable.pop_front() else { break };
            given.scanned += 1;
            if self.is_dirty(&inode) {
                self.push_all = true;
                self.files[node].reclaimable.push_back(inode);
            } else {
                given.objects.extend(inode.objects);
            }
        }
        given
    }

    /// Buffers of a node.
    pub fn count_buffers(&self, node: usize) -> u64 {
        self.lru.get(node).map_or(0, |lru| lru.len() as u64)
    }

    /// Looks at the buffers that were unused for longest: each round that they have left keeps them, and so does what is not on
    /// disk yet.
    pub fn shrink_buffers(&mut self, node: usize, nr: u64) -> Given {
        let mut given = Given::default();
        for _ in 0..nr.min(self.count_buffers(node)) {
            let Some((_, id)) = self.lru[node].pop_first() else { break };
            given.scanned += 1;
            let place = self.next();
            let buffer = &mut self.buffers[id as usize];
            if buffer.rounds > 0 || buffer.is_busy() {
                buffer.rounds = buffer.rounds.saturating_sub(1);
                buffer.place = place;
                self.lru[node].insert(place, id);
                continue;
            }
            given.pages.append(&mut buffer.pages);
            given.objects.append(&mut buffer.objects);
            if buffer.abandoned {
                self.vacant.push(id);
            }
        }
        given
    }
}
