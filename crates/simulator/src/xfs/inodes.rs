//! What the log keeps in memory for the inodes of files that are known by name.
//!
//! A transaction copies what it changes of an inode to a log vector, memory that the kernel can neither move nor reclaim. Since 4.8 it takes
//! that memory before it commits: into the item's shadow, which then takes the vector's place, unless the vector of an earlier transaction of
//! the same checkpoint has room. So an inode that was logged twice since the last checkpoint holds two vectors. The checkpoint frees what it
//! has written; shadows stay until the inode is logged again, or leaves memory. Left out: vectors of directory blocks and inode trees.

use super::{CLUSTER_BYTES, INODES_A_CLUSTER, LOG_BYTES};
use crate::address_space::Pid;
use crate::computer::Computer;
use crate::file::File;
use crate::rows::Rows;
use crate::sim::Sim;
use crate::slab::{Cache, Object};
use lab::Stream;
use mm::{Env, Nanos};
use std::collections::VecDeque;
use workload::{Filesystem, Scale};

/// What a checkpoint writes of an inode: format, core, and one extent, with their headers.
const LOGGED_BYTES: u64 = 272;
/// How often everything is written (`xfssyncd_centisecs`).
const SYNC: Nanos = 30_000_000_000;

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
struct Vector {
    object: Object,
    holds_extents: bool,
}

/// An inode's log item.
#[derive(Default, Debug)]
pub(crate) struct InodeItem {
    /// For the next checkpoint.
    vector: Option<Vector>,
    shadow: Option<Vector>,
    /// Extents changed since the inode was last written.
    extents: bool,
    in_cil: bool,
    /// Offset in the log of the checkpoint that the log still needs for it.
    in_ail: Option<u64>,
}

impl InodeItem {
    /// Whether what is logged of the inode has room there.
    fn fits(&self, memory: Option<&Vector>) -> bool {
        memory.is_some_and(|memory| memory.holds_extents || !self.extents)
    }

    /// The cache that a new shadow comes from, if the transaction needs one.
    fn begin(&mut self, logged: Logged) -> Option<Cache> {
        self.extents |= logged == Logged::Extents;
        (!self.fits(self.shadow.as_ref())).then_some(if self.extents { Cache::Kmalloc1k } else { Cache::Kmalloc512 })
    }

    fn replace_shadow(&mut self, object: Object, cache: Cache) -> Option<Object> {
        let shadow = Vector { object, holds_extents: cache == Cache::Kmalloc1k };
        self.shadow.replace(shadow).map(|old| old.object)
    }

    /// The transaction commits: whether the item is new in this checkpoint.
    fn commit(&mut self) -> bool {
        if !self.fits(self.vector.as_ref()) {
            std::mem::swap(&mut self.vector, &mut self.shadow);
        }
        !std::mem::replace(&mut self.in_cil, true)
    }

    /// All its memory.
    fn take_memory(&mut self) -> impl Iterator<Item = Object> + use<> {
        self.vector.take().into_iter().chain(self.shadow.take()).map(|vector| vector.object)
    }
}

/// The log of such inodes.
#[derive(Default)]
pub(crate) struct InodeLog {
    bytes: u64,
    /// What the next checkpoint holds.
    cil: Vec<u32>,
    /// What the log still needs, by the offset of its checkpoint. An inode that was logged again, or has left memory, is here in vain
    /// until its turn comes: its item has another offset.
    ail: VecDeque<(u64, u32)>,
    head: u64,
}

impl InodeLog {
    /// The log of the filesystem at full size, brought to scale.
    pub fn new(scale: Scale) -> InodeLog {
        InodeLog { bytes: scale.of(LOG_BYTES), ..InodeLog::default() }
    }

    fn pending(&self) -> u64 {
        self.cil.len() as u64 * LOGGED_BYTES
    }

    /// A checkpoint is due (`XLOG_CIL_SPACE_LIMIT`).
    fn is_due(&self) -> bool {
        self.pending() > self.bytes / 8
    }

    /// The first inode that the log still needs, if all is to be written, or if more of the log is taken than a quarter less than all.
    fn pop_first(&mut self, files: &Rows<File>, all: bool) -> Option<(u64, u32)> {
        loop {
            let &(offset, file) = self.ail.front()?;
            let is_needed = files.get(file).is_some_and(|of| of.item.in_ail == Some(offset));
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

impl Computer {
    /// The inode's item, with all its memory, goes when the inode does.
    pub fn drop_inode_item(&mut self, file: u32) {
        let Some(of) = self.files.get_mut(file) else { return };
        let mut item = std::mem::take(&mut of.item);
        self.free_objects(item.take_memory());
    }

    /// Whether the inode's last change is in no checkpoint yet: it can't leave memory.
    pub fn inode_is_pinned(&self, file: u32) -> bool {
        self.files.get(file).is_some_and(|of| of.item.in_cil)
    }

    /// Vectors of all items of the next checkpoint, and the items.
    fn take_inode_checkpoint(&mut self) -> (Vec<u32>, Vec<Object>) {
        let Some(xfs) = &mut self.xfs else { return Default::default() };
        let files = std::mem::take(&mut xfs.inodes.cil);
        let mut vectors = Vec::new();
        for &file in &files {
            let Some(of) = self.files.get_mut(file) else { continue };
            of.item.in_cil = false;
            vectors.extend(of.item.vector.take().map(|vector| vector.object));
        }
        (files, vectors)
    }

    /// The checkpoint is in the log: its inodes are to be written to their clusters some time.
    fn inodes_are_logged(&mut self, mut files: Vec<u32>) {
        let Some(xfs) = &mut self.xfs else { return };
        let log = &mut xfs.inodes;
        files.sort_unstable();
        for &file in &files {
            let Some(of) = self.files.get_mut(file).filter(|of| of.inode.is_some()) else { continue };
            of.item.in_ail = Some(log.head);
            log.ail.push_back((log.head, file));
        }
        log.head += files.len() as u64 * LOGGED_BYTES;
    }

    /// Writes inodes to their clusters, those that the log has needed for longest first: how many clusters. An inode that was changed
    /// again is left to the checkpoint that this change will be in.
    fn write_inodes(&mut self, all: bool) -> u64 {
        let Some(xfs) = &mut self.xfs else { return 0 };
        let log = &mut xfs.inodes;
        let (mut clusters, mut pinned) = (Vec::new(), Vec::new());
        while let Some((offset, file)) = log.pop_first(&self.files, all) {
            let Some(of) = self.files.get_mut(file) else { continue };
            if of.item.in_cil {
                pinned.push((offset, file));
                continue;
            }
            (of.item.in_ail, of.item.extents) = (None, false);
            clusters.push(file / INODES_A_CLUSTER);
        }
        pinned.into_iter().rev().for_each(|pinned| log.ail.push_front(pinned));
        clusters.sort_unstable();
        clusters.dedup();
        clusters.len() as u64
    }
}

impl Sim {
    /// A transaction that changes a file's inode.
    pub(crate) async fn log_inode(&self, pid: Pid, file: u32, logged: Logged) {
        if self.spec.disks.filesystem != Filesystem::Xfs {
            return;
        }
        let needed = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            let of = owner.files.get_mut(file).filter(|of| of.inode.is_some());
            let Some(of) = of else { return };
            of.item.begin(logged)
        };
        let mut spare = None;
        if let Some(cache) = needed {
            let object = self.nofs_object(cache, pid).await;
            let owner = &mut self.mm.state.borrow_mut().owner;
            spare = match owner.files.get_mut(file).filter(|of| of.inode.is_some()) {
                Some(of) => of.item.replace_shadow(object, cache),
                None => Some(object),
            };
        }
        self.free_objects(spare);
        if self.commit_inode(file) {
            self.wake_inode_log();
        }
    }

    /// Whether the log's worker has something to do.
    fn commit_inode(&self, file: u32) -> bool {
        let owner = &mut self.mm.state.borrow_mut().owner;
        let (Some(xfs), Some(of)) = (&mut owner.xfs, owner.files.get_mut(file)) else { return false };
        if of.item.shadow.is_none() && of.item.vector.is_none() || !of.item.commit() {
            return false;
        }
        let first = xfs.inodes.cil.is_empty();
        xfs.inodes.cil.push(file);
        first || xfs.inodes.is_due()
    }

    fn wake_inode_log(&self) {
        self.inode_log_worker.take().into_iter().for_each(|task| self.env().unpark(task));
    }

    /// The worker of this log: a checkpoint when there is enough for one; all of it, and all inodes to their clusters, every 30 s.
    pub(crate) async fn log_inodes_forever(&self) {
        let mut synced = 0;
        loop {
            let (used, due) = {
                let owner = &self.mm.state.borrow().owner;
                let log = owner.xfs.as_ref().map(|xfs| &xfs.inodes);
                (log.is_some_and(|log| !log.cil.is_empty()), log.is_some_and(InodeLog::is_due))
            };
            let sync = self.env().now() >= synced + SYNC;
            if due || used && sync {
                self.log_inodes().await;
                if sync {
                    synced = self.env().now();
                }
                self.write_logged_inodes(sync).await;
                continue;
            }
            self.inode_log_worker.set(Some(self.env().current.get()));
            self.env().park(used.then(|| synced + SYNC - self.env().now())).await;
            self.inode_log_worker.set(None);
        }
    }

    /// Writes a checkpoint, whose memory is free then.
    pub(crate) async fn log_inodes(&self) {
        let (files, vectors) = self.mm.state.borrow_mut().owner.take_inode_checkpoint();
        if files.is_empty() {
            return;
        }
        let pages = (files.len() as u64 * LOGGED_BYTES).div_ceil(self.spec.page());
        self.spend(self.spec.costs.copy_page * pages).await;
        let written = self.env().device(false).write(self.env().now(), Stream::Files, pages);
        self.env().sleep_until(written).await;
        self.mm.state.borrow_mut().owner.inodes_are_logged(files);
        self.free_objects(vectors);
    }

    async fn write_logged_inodes(&self, all: bool) {
        let clusters = self.mm.state.borrow_mut().owner.write_inodes(all);
        if clusters > 0 {
            self.spend(self.spec.costs.io_page * clusters).await;
            let pages = clusters * u64::from(CLUSTER_BYTES).div_ceil(self.spec.page());
            self.env().device(false).write(self.env().now(), Stream::Files, pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::FolioId;
    use crate::page_size::PageSize;
    use crate::slab::Slabs;
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
        let mut memory = Memory(Slabs::new(vec![NodeId(0)], PageSize::new(12)));
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
        let mut memory = Memory(Slabs::new(vec![NodeId(0)], PageSize::new(12)));
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
        let mut memory = Memory(Slabs::new(vec![NodeId(0)], PageSize::new(12)));
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
    fn a_checkpoint_is_due_at_an_eighth_of_the_log() {
        let mut log = InodeLog::new(Scale::FULL);
        let most = (LOG_BYTES / 8 / LOGGED_BYTES) as u32;
        log.cil.extend(0..most);
        assert!(!log.is_due());
        log.cil.push(most);
        assert!(log.is_due());
    }
}
