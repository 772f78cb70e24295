//! Log items of inodes of files that are known by name, and what the log still needs of them.

use super::LOG_BYTES;
use crate::state::slab::{Cache, Object};
use std::collections::VecDeque;
use workload::Scale;

/// What a checkpoint writes for an inode, with what is logged of its directory: 5.9 MB for the first 17,300 to 18,800 files that a guest of
/// 6.18 unpacked.
pub(crate) const LOGGED_BYTES: u64 = 320;

/// What of an inode a transaction changes. What it sizes the vector by is all that changed since the inode was last written to its
/// cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Logged {
    /// Size and times: format (56 bytes), core (176), vector and headers.
    Core,
    /// Its extents as well: room for all that an inode of 512 bytes holds (336).
    Extents,
}

/// Memory for a copy of what is logged.
#[derive(Debug)]
pub(crate) struct Vector {
    pub object: Object,
    holds_extents: bool,
}

/// An inode's log item.
#[derive(Default, Debug)]
pub(crate) struct InodeItem {
    /// For the next checkpoint.
    pub vector: Option<Vector>,
    pub shadow: Option<Vector>,
    /// Extents changed since the inode was last written.
    pub extents: bool,
    pub in_cil: bool,
    /// In a checkpoint whose end is not on disk yet.
    pub in_checkpoint: bool,
    /// Offset in the log of the checkpoint that the log still needs for it.
    pub in_ail: Option<u64>,
}

impl InodeItem {
    /// Whether what is logged of the inode has room there.
    pub fn fits(&self, memory: Option<&Vector>) -> bool {
        memory.is_some_and(|memory| memory.holds_extents || !self.extents)
    }

    /// The cache that a new shadow comes from, if the transaction needs one.
    pub fn begin(&mut self, logged: Logged) -> Option<Cache> {
        self.extents |= logged == Logged::Extents;
        (!self.fits(self.shadow.as_ref())).then_some(if self.extents { Cache::Kmalloc1k } else { Cache::Kmalloc512 })
    }

    pub fn replace_shadow(&mut self, object: Object, cache: Cache) -> Option<Object> {
        let shadow = Vector { object, holds_extents: cache == Cache::Kmalloc1k };
        self.shadow.replace(shadow).map(|old| old.object)
    }

    /// The transaction commits: whether the item is new in this checkpoint.
    pub fn commit(&mut self) -> bool {
        if !self.fits(self.vector.as_ref()) {
            std::mem::swap(&mut self.vector, &mut self.shadow);
        }
        !std::mem::replace(&mut self.in_cil, true)
    }

    /// All its memory.
    pub fn take_memory(&mut self) -> impl Iterator<Item = Object> + use<> {
        self.vector.take().into_iter().chain(self.shadow.take()).map(|vector| vector.object)
    }
}

/// Inodes of a checkpoint, and the memory of their vectors.
pub(crate) struct InodeCheckpoint {
    pub files: Vec<u32>,
    pub vectors: Vec<Object>,
}

/// The log of such inodes.
#[derive(Default)]
pub(crate) struct InodeLog {
    bytes: u64,
    counts_by_cpu: bool,
    /// What the next checkpoint holds.
    pub cil: Vec<u32>,
    /// The last checkpoint, until its end is on disk.
    pub unended: Option<InodeCheckpoint>,
    /// What the log still needs, by the offset of its checkpoint. An inode that was logged again, or has left memory, is here in vain
    /// until its turn comes: its item has another offset.
    pub ail: VecDeque<(u64, u32)>,
    pub head: u64,
}

impl InodeLog {
    /// The log of the filesystem at full size, brought to scale.
    pub fn new(scale: Scale, counts_by_cpu: bool) -> InodeLog {
        InodeLog { bytes: scale.of(LOG_BYTES), counts_by_cpu, ..InodeLog::default() }
    }

    pub fn pending(&self) -> u64 {
        self.cil.len() as u64 * LOGGED_BYTES
    }

    /// Whether there is something that is not on disk.
    pub fn is_used(&self) -> bool {
        !self.cil.is_empty() || self.unended.is_some()
    }

    /// A checkpoint is due at an eighth of the log (`XLOG_CIL_SPACE_LIMIT`). CPUs that count for themselves keep up to their share of that
    /// back, half of it on average.
    pub fn is_due(&self) -> bool {
        let limit = self.bytes / 8;
        let uncounted = if self.counts_by_cpu { limit / 2 } else { 0 };
        self.pending() > limit + uncounted
    }

    /// The first inode that the log still needs, if all is to be written, or if more of the log is taken than a quarter less than all.
    /// `offset_of` tells for which checkpoint the log still needs an inode.
    pub fn pop_first(&mut self, offset_of: impl Fn(u32) -> Option<u64>, all: bool) -> Option<(u64, u32)> {
        loop {
            let &(offset, file) = self.ail.front()?;
            let is_needed = offset_of(file) == Some(offset);
            if is_needed && !all && self.head - offset <= self.bytes * 3 / 4 {
                return None;
            }
            self.ail.pop_front();
            if is_needed {
                return Some((offset, file));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::folio::FolioId;
    use crate::state::page_size::PageSize;
    use crate::state::slab::Slabs;
    use pagealloc::{CpuId, NodeId};

    struct Memory(Slabs);

    impl Memory {
        fn take(&mut self, cache: Cache) -> Object {
            let taken = self.0.take(cache, CpuId(0));
            taken.unwrap_or_else(|| self.0.grow(cache, CpuId(0), (FolioId(self.0.next_slab()), NodeId(0)), 0))
        }

        /// A transaction; whether the item is new in the checkpoint.
        fn log(&mut self, item: &mut InodeItem, logged: Logged) -> bool {
            if let Some(cache) = item.begin(logged) {
                let object = self.take(cache);
                item.replace_shadow(object, cache).into_iter().for_each(|old| self.0.free(old));
            }
            item.commit()
        }

        fn checkpoint(&mut self, item: &mut InodeItem) {
            item.in_cil = false;
            item.vector.take().into_iter().for_each(|vector| self.0.free(vector.object));
        }

        fn held(&self) -> [u64; 2] {
            [Cache::Kmalloc512, Cache::Kmalloc1k].map(|cache| self.0.objects(cache))
        }
    }

    #[test]
    fn an_inode_logged_twice_holds_two_vectors_and_one_outlives_the_checkpoint() {
        let mut memory = Memory(Slabs::on_one_cpu(PageSize::new(12)));
        let mut item = InodeItem::default();
        assert!(memory.log(&mut item, Logged::Extents));
        assert_eq!(memory.held(), [0, 1]);
        assert!(!memory.log(&mut item, Logged::Core), "in this checkpoint already");
        assert_eq!(memory.held(), [0, 2], "extents have not been written since, so the shadow has room for them");
        memory.log(&mut item, Logged::Core);
        assert_eq!(memory.held(), [0, 2], "the vector has room");
        memory.checkpoint(&mut item);
        assert_eq!(memory.held(), [0, 1], "the shadow stays");
    }

    #[test]
    fn an_inode_logged_once_consumes_its_shadow() {
        let mut memory = Memory(Slabs::on_one_cpu(PageSize::new(12)));
        let mut item = InodeItem::default();
        memory.log(&mut item, Logged::Extents);
        memory.log(&mut item, Logged::Core);
        memory.checkpoint(&mut item);
        item.extents = false; // Written to its cluster.
        memory.log(&mut item, Logged::Core);
        assert_eq!(memory.held(), [0, 1], "the shadow of before has become the vector");
        memory.checkpoint(&mut item);
        assert_eq!(memory.held(), [0, 0]);
    }

    #[test]
    fn a_vector_that_is_too_small_becomes_the_shadow_and_then_goes() {
        let mut memory = Memory(Slabs::on_one_cpu(PageSize::new(12)));
        let mut item = InodeItem::default();
        memory.log(&mut item, Logged::Core);
        memory.log(&mut item, Logged::Extents);
        assert_eq!(memory.held(), [1, 1]);
        memory.log(&mut item, Logged::Core);
        assert_eq!(memory.held(), [0, 2], "the small shadow makes way");
        assert_eq!(item.take_memory().map(|object| memory.0.free(object)).count(), 2);
        assert_eq!(memory.held(), [0, 0]);
    }

    #[test]
    fn a_checkpoint_is_due_at_an_eighth_of_the_log_and_what_cpus_have_not_counted() {
        for (counts_by_cpu, bytes) in [(false, LOG_BYTES / 8), (true, LOG_BYTES * 3 / 16)] {
            let mut log = InodeLog::new(Scale::FULL, counts_by_cpu);
            let most = (bytes / LOGGED_BYTES) as u32;
            log.cil.extend(0..most);
            assert!(!log.is_due());
            log.cil.push(most);
            assert!(log.is_due());
        }
    }
}
