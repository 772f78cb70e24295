//! The log: checkpoints, and the metadata that has to be written before the log can be used again.

use super::SYNC;
use crate::sim::Sim;
use crate::state::slab::Object;
use crate::state::xfs::{AIL_BYTES, BufferId, CIL_BYTES, Given, LogVector, Xfs};
use lab::Stream;
use mm::{Env, Nanos};
use pagealloc::NodeId;

/// How often the log's worker looks whether there is something to do.
const LOOK: Nanos = 10_000_000;
/// An inode's log vector: core and attributes.
const INODE_BYTES: u64 = 400;
/// How often inodes that nobody needs are looked for while there are some: a sixth of `xfssyncd_centisecs`.
const RECLAIM: Nanos = SYNC / 6;
/// Objects that it frees before others may go on.
const RECLAIM_BATCH: usize = 64;

/// What a checkpoint holds.
struct Checkpoint {
    bytes: u64,
    /// Where the log ends with it.
    end: u64,
    vectors: Vec<LogVector>,
    objects: Vec<Object>,
}

impl Sim {
    /// Wakes the log's worker, and the writer of metadata if it has had nothing to do yet.
    pub(super) fn wake_log(&self) {
        self.wake_at(&self.log_worker);
        self.wake_at(&self.metadata_writer);
    }

    fn xfs_is_idle(&self) -> bool {
        self.mm.state.borrow().owner.xfs.as_ref().is_none_or(|xfs| xfs.directories.is_empty())
    }

    /// The log's worker: writes a checkpoint when there is enough for one, or when somebody wants everything on disk. It sleeps
    /// until there is a log that needs it.
    pub async fn log_forever(&self) {
        let mut synced = self.env().now();
        loop {
            self.sleep_at(&self.log_worker, (!self.xfs_is_idle()).then_some(LOOK)).await;
            let sync = self.env().now() - synced >= self.writeback_timer(SYNC);
            if sync {
                synced = self.env().now();
            }
            let (checkpoint, force) = self.log_state(|xfs| {
                let force = std::mem::take(&mut xfs.push_all) || sync;
                (xfs.cil_bytes > CIL_BYTES || force && !xfs.cil.is_empty(), force)
            });
            if checkpoint {
                self.write_checkpoint().await;
            }
            self.log_state(|xfs| xfs.push_metadata |= force);
        }
    }

    /// The writer of metadata (xfsaild), and of what reclaim has written. A checkpoint that waits doesn't stop it.
    pub async fn write_metadata_forever(&self) {
        loop {
            self.metadata_writer.set(self.xfs_is_idle().then(|| self.env().current.get()));
            self.env().park((!self.xfs_is_idle()).then_some(LOOK)).await;
            let flushed = self.log_state(|xfs| std::mem::take(&mut xfs.flushed)).div_ceil(self.spec.page());
            if flushed > 0 {
                self.env().disk().write(self.env().now(), Stream::Files, flushed);
            }
            let all = self.log_state(|xfs| std::mem::take(&mut xfs.push_metadata));
            self.write_metadata(all).await;
        }
    }

    /// The worker that frees clean inodes that no name holds, whether memory is short or not (`xfs_reclaim_worker`).
    pub async fn reclaim_inodes_forever(&self) {
        loop {
            self.env().wait(mm::Queue::Timer, Some(self.writeback_timer(RECLAIM))).await;
            for node in (0..self.spec.nodes.max(1)).map(NodeId) {
                let mut clean = self.log_state(|xfs| xfs.reclaim_clean(node)).into_iter().peekable();
                while clean.peek().is_some() {
                    let batch: Vec<Object> = clean.by_ref().take(RECLAIM_BATCH).collect();
                    self.spend(self.spec.costs.speeds.slab * batch.len() as u64).await;
                    self.free_objects(batch);
                }
            }
        }
    }

    fn log_state<R: Default>(&self, then: impl FnOnce(&mut Xfs) -> R) -> R {
        self.mm.state.borrow_mut().owner.xfs.as_deref_mut().map(then).unwrap_or_default()
    }

    /// Waits until no transaction is amid its commit, and keeps further ones from beginning theirs.
    async fn lock_out_commits(&self) {
        self.log_state(|xfs| xfs.push_waits = true);
        while self.log_state(|xfs| xfs.committing) > 0 && !self.is_over() {
            self.sleep_at(&self.log_worker, Some(LOOK)).await;
        }
    }

    fn let_in_commits(&self) {
        let waiters = self.log_state(|xfs| {
            xfs.push_waits = false;
            std::mem::take(&mut xfs.commit_waiters)
        });
        waiters.into_iter().for_each(|task| self.env().unpark(task));
    }

    async fn write_checkpoint(&self) {
        self.lock_out_commits().await;
        let taken = self.log_state(|xfs| Some(xfs.take_checkpoint()));
        self.let_in_commits();
        let Some(Checkpoint { bytes, end, vectors, objects }) = taken else {
            return;
        };
        let pages = bytes.div_ceil(self.spec.page());
        self.spend(self.spec.costs.copy_page * pages).await;
        let written = self.env().disk().write(self.env().now(), Stream::Files, pages);
        self.env().sleep_until(written).await;
        self.log_state(|xfs| xfs.committed = end);
        self.free_vectors(vectors);
        self.free_objects(objects);
    }

    /// Writes what the log has needed for longest, until enough of it is free; or all of it.
    async fn write_metadata(&self, all: bool) {
        let end = self.log_state(|xfs| xfs.sequence);
        let mut from = (0, 0);
        while let Some((key, id)) = self.log_state(|xfs| xfs.next_to_write(from, all, end)) {
            from = (key.0, key.1 + 1);
            let bytes = self.log_state(|xfs| xfs.buffers[id as usize].bytes);
            self.spend(self.spec.costs.io_page).await;
            let pages = u64::from(bytes).div_ceil(self.spec.page());
            let device = self.env().disk();
            let written = device.write(self.env().now(), Stream::Files, pages);
            if device.backlog(self.env().now(), Stream::Files) > LOOK {
                self.env().sleep_until(written).await;
            }
            let given = self.log_state(|xfs| xfs.end_write(id, key));
            self.free_vectors(given.vector);
            given.pages.into_iter().for_each(|id| self.free_folio(id));
            self.free_objects(given.objects);
        }
    }
}

impl Xfs {
    /// What the next checkpoint would take in the log.
    pub(super) fn count_cil(&mut self) {
        let vectors = self.cil.iter().filter_map(|&id| self.buffers[id as usize].vector.as_ref());
        // Few items, each counted at its present size; all are looked at now and then only.
        if self.inode_vectors.len().is_multiple_of(64) {
            let vectors: u64 = vectors.map(|vector| u64::from(vector.bytes)).sum();
            self.cil_bytes = vectors + self.inode_vectors.len() as u64 * INODE_BYTES;
        }
    }

    fn take_checkpoint(&mut self) -> Checkpoint {
        let offset = self.head;
        let objects = std::mem::take(&mut self.inode_vectors);
        let bytes = objects.len() as u64 * INODE_BYTES;
        let mut checkpoint = Checkpoint { bytes, end: 0, vectors: Vec::new(), objects };
        for id in std::mem::take(&mut self.cil) {
            let key = (offset, self.next());
            let buffer = &mut self.buffers[id as usize];
            buffer.in_cil = false;
            if let Some(vector) = buffer.vector.take() {
                checkpoint.bytes += u64::from(vector.bytes);
                checkpoint.vectors.push(vector);
            }
            // What was logged before is in this checkpoint as well.
            if let Some(before) = buffer.in_ail.replace(key) {
                self.ail.remove(&before);
            }
            self.ail.insert(key, id);
        }
        self.head += checkpoint.bytes;
        self.cil_bytes = 0;
        checkpoint.end = self.head;
        checkpoint
    }

    /// The next item from a place on; items that were changed again since are pinned until the next checkpoint.
    fn next_to_write(&mut self, from: (u64, u64), all: bool, end: u64) -> Option<((u64, u64), BufferId)> {
        if !all && self.log_used() <= AIL_BYTES {
            return None;
        }
        let rest = self.ail.range(from..).take_while(|((_, sequence), _)| *sequence <= end);
        let logged = rest.take_while(|((offset, _), _)| *offset < self.committed);
        let mut free = logged.filter(|(_, id)| !self.buffers[**id as usize].in_cil);
        free.next().map(|(&key, &id)| (key, id))
    }

    /// The buffer is on disk: unless it was changed meanwhile, it is clean, and its log item goes.
    fn end_write(&mut self, id: BufferId, key: (u64, u64)) -> Given {
        let mut given = Given::default();
        let buffer = &mut self.buffers[id as usize];
        if buffer.in_ail != Some(key) || buffer.in_cil || buffer.users > 0 {
            return given;
        }
        buffer.in_ail = None;
        buffer.dirty = None;
        given.vector = buffer.vector.take();
        self.ail.remove(&key);
        if self.buffers[id as usize].doomed {
            self.dispose(id, &mut given);
        }
        given
    }
}
