//! Files: which of their pages are in memory, and what the filesystem keeps beside them.

use crate::state::address_space::Pid;
use crate::state::folio::FolioId;
use crate::state::last_used::LastUsed;
use crate::state::node_lines::NodeTicket;
use crate::state::page_size::PageSize;
use crate::state::page_tree::{PageTree, Slot};
use crate::state::readahead::Readahead;
use crate::state::slab::{Object, Objects};
use crate::state::xfs::InodeItem;
use mm::reclaim::Shadow;
use std::collections::BTreeMap;

/// The block device itself, whose cache holds inode tables and directories.
pub(crate) const BLOCK_DEVICE: u32 = u32::MAX;

/// Where a file is mapped: pages of an address space, the first of which is the file's first (`i_mmap`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MappedAt {
    pub pid: Pid,
    pub base: u32,
    pub pages: u32,
}

/// A file.
#[derive(Default)]
pub(crate) struct File {
    pub bytes: u64,
    /// Its pages; files of one page need no memory for nodes.
    pub tree: PageTree,
    /// Pages in memory.
    pub cached: u32,
    /// Buffer heads by the first page of their folio.
    pub buffers: BTreeMap<u32, Objects>,
    /// The inode and what hangs on it, if it is in memory.
    pub inode: Option<[Object; 3]>,
    /// What XFS's log keeps for it.
    pub item: InodeItem,
    /// Open files of it that processes hold.
    pub opened: u32,
    /// Address spaces that it is mapped in.
    pub mapped: Vec<MappedAt>,
    /// When it was used through those.
    pub used: LastUsed,
    /// Place on the LRU of unused inodes.
    pub unused: Option<NodeTicket>,
    pub readahead: Readahead,
    /// The page that the last read through an open file ended with.
    pub last_read: Option<u32>,
    pub written_since_read: bool,
    /// Its newest pages have no blocks on the disk yet (delayed allocation).
    pub grown: bool,
    /// Where its blocks are: what it has grown by goes to another place, as its neighbours have taken what follows.
    pub extents: u32,
}

impl File {
    /// It is given blocks for what it has grown by, if it has.
    pub fn take_blocks(&mut self) -> bool {
        let grown = std::mem::take(&mut self.grown);
        self.extents += u32::from(grown);
        grown
    }

    /// Pages of its length.
    pub fn pages(&self, size: PageSize) -> u32 {
        size.fill(self.bytes)
    }

    #[inline]
    pub fn page(&self, index: u32) -> Option<FolioId> {
        match self.tree.get(index) {
            Some(Slot::Page(id) | Slot::Tail(id)) => Some(id),
            Some(Slot::Shadow(_)) | None => None,
        }
    }

    /// A large folio of so many pages was split: each base page keeps its own buffer heads.
    pub fn split_buffers(&mut self, start: u32, pages: u32) {
        let buffers = self.buffers.remove(&start).unwrap_or_default();
        let a_page = (buffers.len() / pages as usize).max(1);
        for (index, of_page) in (start..).zip(buffers.chunks(a_page)) {
            self.buffers.insert(index, Objects::from_slice(of_page));
        }
    }

    /// The folio at `index` comes into the cache: what its eviction left.
    pub fn insert(&mut self, index: u32, pages: u32, id: FolioId) -> Option<Shadow> {
        let mut shadow = None;
        for page in index..index + pages {
            let slot = if page == index { Slot::Page(id) } else { Slot::Tail(id) };
            if let Some(Slot::Shadow(left)) = self.tree.insert(page, slot) {
                shadow = shadow.or(Some(left));
            }
        }
        self.cached += pages;
        shadow
    }

    /// The folio leaves the cache; reclaim leaves a shadow in its place.
    pub fn remove(&mut self, index: u32, pages: u32, shadow: Option<Shadow>) -> Objects {
        for page in index..index + pages {
            match shadow {
                Some(shadow) => self.tree.insert(page, Slot::Shadow(shadow)),
                None => self.tree.remove(page),
            };
        }
        self.cached -= pages;
        self.buffers.remove(&index).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::slab::{Cache, Slabs};
    use pagealloc::{CpuId, NodeId};

    #[test]
    fn a_large_folio_fills_its_slots_and_leaves_shadows() {
        let mut file = File::default();
        assert_eq!(file.insert(4, 4, FolioId(7)), None);
        assert_eq!((file.page(4), file.page(7), file.page(8)), (Some(FolioId(7)), Some(FolioId(7)), None));
        let shadow = Shadow { age: 3, ..Shadow::default() };
        file.remove(4, 4, Some(shadow));
        assert_eq!((file.page(5), file.cached), (None, 0));
        assert_eq!(file.insert(6, 1, FolioId(8)), Some(shadow));
        assert_eq!(file.insert(0, 1, FolioId(9)), None);
    }

    #[test]
    fn pages_of_a_split_folio_keep_their_own_buffers() {
        // Four blocks a page of 16 KiB, in a folio of two pages.
        let mut slabs = Slabs::on_one_cpu(PageSize::new(14));
        let first = slabs.grow(Cache::BufferHead, CpuId(0), (FolioId(1), NodeId(0)), 0);
        let others = (1..8).map(|_| slabs.take(Cache::BufferHead, CpuId(0)).unwrap());
        let buffers: Objects = [first].into_iter().chain(others).collect();
        let mut file = File { buffers: BTreeMap::from([(6, buffers.clone())]), ..File::default() };
        file.split_buffers(6, 2);
        assert_eq!(
            file.buffers,
            BTreeMap::from([(6, Objects::from_slice(&buffers[..4])), (7, Objects::from_slice(&buffers[4..]))])
        );
    }
}
