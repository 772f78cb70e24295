//! Log items of inodes of files that are known by name, and what the log still needs of them.

use super::LOG_BYTES;
use crate::state::slab::{Cache, Object};
use std::collections::VecDeque;
use workload::Scale;

/// What a checkpoint writes for an inode: format (56 bytes), core (176), and the header of each (12).
const CORE_BYTES: u64 = 256;
/// Its extents: a header, and a record for each.
const EXTENTS_BYTES: u64 = 12;
const EXTENT_BYTES: u64 = 16;
/// What is logged of the directory and of the inode tree for a new file: a guest of 6.18 that unpacked a tree wrote 5.9 MB for the first
/// 17,300 to 18,800, of which 64 % had blocks.
const NEW_FILE_BYTES: u64 = 54;

/// What of an inode a transaction changes. What it sizes the vector by is all that changed since the inode was last written to its
/// cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Logged {
    /// All of a new one, and its name.
    New,
    /// Size and times.
    Core,
    /// Its extents as well: the vector has room for all that an inode of 512 bytes holds (336).
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
    pub new_extents: bool,
    /// What the next checkpoint writes for it; nothing if it is not in that.
    in_cil: u64,
    /// In a checkpoint whose end is not on disk yet.
    pub in_checkpoint: bool,
    /// Offset in the log of the checkpoint that the log still needs for it.
    pub in_ail: Option<u64>,
}

impl InodeItem {
    /// Whether what is logged of the inode has room there.
    pub fn fits(&self, memory: Option<&Vector>) -> bool {
        memory.is_some_and(|memory| memory.holds_extents || !self.new_extents)
    }

    /// The cache that a new shadow comes from, if the transaction needs one.
    pub fn begin(&mut self, logged: Logged) -> Option<Cache> {
        self.new_extents |= logged == Logged::Extents;
        let cache = if self.new_extents { Cache::Kmalloc1k } else { Cache::Kmalloc512 };
        (!self.fits(self.shadow.as_ref())).then_some(cache)
    }

    pub fn replace_shadow(&mut self, object: Object, cache: Cache) -> Option<Object> {
        let shadow = Vector { object, holds_extents: cache == Cache::Kmalloc1k };
        self.shadow.replace(shadow).map(|old| old.object)
    }

    /// The transaction commits, with so many extents that the inode has.
    pub fn commit(&mut self, extents: u32) -> Committed {
        if !self.fits(self.vector.as_ref()) {
            std::mem::swap(&mut self.vector, &mut self.shadow);
        }
        let bytes = CORE_BYTES + if self.new_extents { EXTENTS_BYTES + EXTENT_BYTES * u64::from(extents) } else { 0 };
        let before = std::mem::replace(&mut self.in_cil, bytes);
        Committed { is_first: before == 0, bytes: bytes.saturating_sub(before) }
    }

    /// Whether the next checkpoint has it.
    pub fn is_in_cil(&self) -> bool {
        self.in_cil > 0
    }

    /// The next checkpoint begins, without an end yet: the memory that it takes over.
    pub fn begin_checkpoint(&mut self) -> Option<Object> {
        (self.in_cil, self.in_checkpoint) = (0, true);
        self.vector.take().map(|vector| vector.object)
    }

    /// All its memory.
    pub fn take_memory(&mut self) -> impl Iterator<Item = Object> + use<> {
        self.vector.take().into_iter().chain(self.shadow.take()).map(|vector| vector.object)
    }
}

/// What a transaction adds to the next checkpoint.
pub(crate) struct Committed {
    /// The item is new in it.
    pub is_first: bool,
    pub bytes: u64,
}

/// Inodes of a checkpoint, and the memory of their vectors.
pub(crate) struct InodeCheckpoint {
    /// What it writes.
    pub bytes: u64,
    pub files: Vec<u32>,
    pub vectors: Vec<Object>,
}

/// The log of such inodes.
#[derive(Default)]
pub(crate) struct InodeLog {
    bytes: u64,
    counts_by_cpu: bool,
    /// What the next checkpoint holds, and writes for it.
    pub cil: Vec<u32>,
    pub cil_bytes: u64,
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

    /// A transaction has committed what it logged of a file's inode: whether it is the first one for the next checkpoint.
    pub fn commit(&mut self, file: u32, logged: Logged, committed: Committed) -> bool {
        self.cil_bytes += committed.bytes + if logged == Logged::New { NEW_FILE_BYTES } else { 0 };
        let is_first = self.cil.is_empty();
        if committed.is_first {
            self.cil.push(file);
        }
        is_first
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
        self.cil_bytes > limit + uncounted
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
            item.commit(0).is_first
        }

        fn checkpoint(&mut self, item: &mut InodeItem) {
            item.begin_checkpoint().into_iter().for_each(|object| self.0.free(object));
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
        item.new_extents = false; // Written to its cluster.
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
    fn a_checkpoint_writes_an_inode_once_with_all_its_extents() {
        let mut item = InodeItem::default();
        let mut added = |logged, extents| {
            item.begin(logged);
            item.commit(extents).bytes
        };
        assert_eq!(added(Logged::New, 0), 256);
        assert_eq!(added(Logged::Core, 0), 0);
        assert_eq!(added(Logged::Extents, 1), 28, "a record and its header");
        assert_eq!(added(Logged::Core, 1), 0);
        assert_eq!(added(Logged::Extents, 3), 32);
        item.begin_checkpoint();
        item.begin(Logged::Core);
        assert_eq!(item.commit(3).bytes, 316, "they were not written to the cluster yet");
    }

    #[test]
    fn a_checkpoint_is_due_at_an_eighth_of_the_log_and_what_cpus_have_not_counted() {
        for (counts_by_cpu, bytes) in [(false, LOG_BYTES / 8), (true, LOG_BYTES * 3 / 16)] {
            let mut log = InodeLog::new(Scale::FULL, counts_by_cpu);
            let mut files = (0..).map(|file| (file, InodeItem::default()));
            while log.cil_bytes + CORE_BYTES + NEW_FILE_BYTES <= bytes {
                let (file, mut item) = files.next().expect("endless");
                assert_eq!(log.commit(file, Logged::New, item.commit(0)), file == 0);
                assert!(!log.commit(file, Logged::Core, item.commit(0)), "logged again: nothing is added");
                assert!(!log.is_due());
            }
            assert_eq!(log.cil_bytes, log.cil.len() as u64 * (CORE_BYTES + NEW_FILE_BYTES));
            let (file, mut item) = files.next().expect("endless");
            log.commit(file, Logged::New, item.commit(0));
            assert!(log.is_due());
        }
    }

    #[test]
    fn inodes_are_written_once_more_than_three_quarters_of_the_log_are_taken() {
        let log =
            |offset| InodeLog { bytes: 100, head: 100, ail: [(10, 7), (offset, 8)].into(), ..InodeLog::default() };
        // File 7 was logged again since.
        let popped = |offset, all| log(offset).pop_first(|file| (file == 8).then_some(offset), all);
        assert_eq!([popped(25, false), popped(24, false)], [None, Some((24, 8))]);
        assert_eq!(popped(100, true), Some((100, 8)));
    }
}
