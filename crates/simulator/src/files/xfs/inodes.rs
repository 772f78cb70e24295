//! What the log keeps in memory for the inodes of files that are known by name.
//!
//! A transaction copies what it changes of an inode to a log vector, memory that the kernel can neither move nor reclaim. Since 4.8 it takes
//! that memory before it commits: into the item's shadow, which then takes the vector's place, unless the vector of an earlier transaction of
//! the same checkpoint has room. So an inode that was logged twice since the last checkpoint holds two vectors. A checkpoint's vectors are
//! free once its end is on disk. That lies in a buffer of the log (iclog) which is written when it is full, by the next checkpoint, or when
//! the log is forced, every 30 s (`xlog_cil_push_work`; in a guest of 6.18 the vectors of a checkpoint at 11 s were there until 29 s). Shadows
//! stay until the inode is logged again, or leaves memory. Left out: vectors of directory blocks and inode trees.

use super::SYNC;
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::computer::Computer;
use crate::state::slab::Object;
use crate::state::xfs::{CLUSTER_BYTES, INODES_A_CLUSTER, InodeCheckpoint, InodeLog, Logged};
use lab::Stream;
use mm::Env;
use workload::Filesystem;

impl Computer {
    /// The inode's item, with all its memory, goes when the inode does.
    pub fn drop_inode_item(&mut self, file: u32) {
        let Some(of) = self.files.get_mut(file) else { return };
        let mut item = std::mem::take(&mut of.item);
        self.free_objects(item.take_memory());
    }

    /// Whether the inode's last change is not in the log yet: it can't leave memory.
    pub fn inode_is_pinned(&self, file: u32) -> bool {
        self.files.get(file).is_some_and(|of| of.item.is_in_cil() || of.item.in_checkpoint)
    }

    /// The next checkpoint: from now on it is the one without an end. What it writes.
    fn begin_inode_checkpoint(&mut self) -> u64 {
        let Some(xfs) = &mut self.xfs else { return 0 };
        let files = std::mem::take(&mut xfs.inodes.cil);
        let bytes = std::mem::take(&mut xfs.inodes.cil_bytes);
        let mut vectors = Vec::new();
        for &file in &files {
            vectors.extend(self.files.get_mut(file).and_then(|of| of.item.begin_checkpoint()));
        }
        xfs.inodes.unended = (bytes > 0).then_some(InodeCheckpoint { bytes, files, vectors });
        bytes
    }

    /// The end of the last checkpoint is in the log: its inodes are to be written to their clusters some time. What is free then.
    fn end_inode_checkpoint(&mut self) -> Vec<Object> {
        let Some(log) = self.xfs.as_mut().map(|xfs| &mut xfs.inodes) else { return Vec::new() };
        let Some(InodeCheckpoint { bytes, mut files, vectors }) = log.unended.take() else { return Vec::new() };
        files.sort_unstable();
        for &file in &files {
            let Some(of) = self.files.get_mut(file).filter(|of| of.inode.is_some()) else { continue };
            (of.item.in_ail, of.item.in_checkpoint) = (Some(log.head), false);
            log.ail.push_back((log.head, file));
        }
        log.head += bytes;
        vectors
    }

    /// Writes inodes to their clusters, those that the log has needed for longest first: how many clusters. An inode that was changed
    /// again is left to the checkpoint that this change will be in.
    fn write_inodes(&mut self, all: bool) -> u64 {
        let Some(xfs) = &mut self.xfs else { return 0 };
        let log = &mut xfs.inodes;
        let (mut clusters, mut pinned) = (Vec::new(), Vec::new());
        while let Some((offset, file)) = log.pop_first(|file| self.files.get(file)?.item.in_ail, all) {
            let Some(of) = self.files.get_mut(file) else { continue };
            if of.item.is_in_cil() {
                pinned.push((offset, file));
                continue;
            }
            (of.item.in_ail, of.item.new_extents) = (None, false);
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
        if self.commit_inode(file, logged) {
            self.wake_inode_log();
        }
    }

    /// Whether the log's worker has something to do.
    fn commit_inode(&self, file: u32, logged: Logged) -> bool {
        let owner = &mut self.mm.state.borrow_mut().owner;
        let (Some(xfs), Some(of)) = (&mut owner.xfs, owner.files.get_mut(file)) else { return false };
        if of.item.shadow.is_none() && of.item.vector.is_none() {
            return false;
        }
        xfs.inodes.commit(file, logged, of.item.commit(of.extents)) || xfs.inodes.is_due()
    }

    fn wake_inode_log(&self) {
        self.wake_at(&self.inode_log_worker);
    }

    /// The worker of this log: a checkpoint when there is enough for one; all of it, and all inodes to their clusters, every 30 s.
    pub(crate) async fn log_inodes_forever(&self) {
        let mut synced = 0;
        loop {
            let (used, due) = {
                let owner = &self.mm.state.borrow().owner;
                let log = owner.xfs.as_ref().map(|xfs| &xfs.inodes);
                (log.is_some_and(InodeLog::is_used), log.is_some_and(InodeLog::is_due))
            };
            let sync = self.env().now() >= synced + self.writeback_timer(SYNC);
            if due || used && sync {
                if sync {
                    self.force_inode_log().await;
                    synced = self.env().now();
                } else {
                    self.log_inodes().await;
                }
                self.write_logged_inodes(sync).await;
                continue;
            }
            self.sleep_at(&self.inode_log_worker, used.then(|| synced + self.writeback_timer(SYNC) - self.env().now()))
                .await;
        }
    }

    /// Writes a checkpoint, and with it the end of the one before.
    pub(super) async fn log_inodes(&self) {
        self.end_checkpoint();
        let bytes = self.mm.state.borrow_mut().owner.begin_inode_checkpoint();
        if bytes == 0 {
            return;
        }
        let pages = bytes.div_ceil(self.spec.page());
        self.spend(self.spec.costs.copy_page * pages).await;
        let written = self.env().disk().write(self.env().now(), Stream::Files, pages);
        self.env().sleep_until(written).await;
    }

    /// Writes all that is to be logged, and its end.
    pub(crate) async fn force_inode_log(&self) {
        self.log_inodes().await;
        self.end_checkpoint();
    }

    fn end_checkpoint(&self) {
        let vectors = self.mm.state.borrow_mut().owner.end_inode_checkpoint();
        self.free_objects(vectors);
    }

    async fn write_logged_inodes(&self, all: bool) {
        let clusters = self.mm.state.borrow_mut().owner.write_inodes(all);
        if clusters > 0 {
            self.spend(self.spec.costs.io_page * clusters).await;
            let pages = clusters * u64::from(CLUSTER_BYTES).div_ceil(self.spec.page());
            self.env().disk().write(self.env().now(), Stream::Files, pages);
        }
    }
}
