//! Creating a file: what its transaction takes, changes and logs.

use super::{ATTEMPTS_A_MESSAGE, RETRY};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::folio::{FolioId, KernelUse};
use crate::state::slab::{Cache, Object};
use crate::state::xfs::{
    BufferId, CHUNK, CIL_BYTES, CLUSTER_BYTES, CLUSTERS_A_CHUNK, Change, Directory, INODES_A_CLUSTER, Inode, LOG_BYTES,
    LogMemory, LogVector, Xfs,
};
use mm::Env;
use pagealloc::policy::XfsBuffers;
use pagealloc::{Gfp, NodeId, Order};
use workload::Errno;

/// A buffer's page, one of an array.
const BUFFER_PAGE: Gfp = Gfp(Gfp::NOFS.0 | Gfp::NOWARN.0);
/// A buffer's folio, and the pages of an array in its place: what can be had without reclaim.
const BUFFER_FOLIO: Gfp = Gfp(BUFFER_PAGE.0 | Gfp::NORETRY.0).without(Gfp::DIRECT_RECLAIM);
/// `kmem_zalloc(KM_SLEEP | KM_NOFS)` beyond what slab caches hold: mode 0x2408240 of the log messages, and `__GFP_COMP`.
const LOG_VECTOR: Gfp = Gfp(Gfp::NOFS.0 | Gfp::NOWARN.0 | Gfp::ZERO.0 | Gfp::COMP.0);
/// Rounds that buffers stay on the LRU list: directory blocks (`XFS_DIR_BTREE_REF`), clusters (`XFS_INO_REF`).
const DIRECTORY_ROUNDS: u8 = 2;
const CLUSTER_ROUNDS: u8 = 2;

impl Sim {
    pub(super) fn xfs<R>(&self, then: impl FnOnce(&mut Xfs) -> R) -> Result<R, Errno> {
        let mut state = self.mm.state.borrow_mut();
        state.owner.xfs.as_deref_mut().map(then).ok_or(crate::errno::NOENT)
    }

    /// Creates empty files in a directory.
    pub async fn create_files(&self, pid: Pid, directory: u32, first: u32, count: u32) -> Result<(), Errno> {
        for name in first..first.saturating_add(count) {
            self.create_in(pid, directory, name).await?;
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    async fn create_in(&self, pid: Pid, directory: u32, name: u32) -> Result<(), Errno> {
        self.wait_for_log().await?;
        self.spend(self.spec.costs.syscall + self.spec.costs.file_create).await;
        let hash = self.xfs(|xfs| mix(mix(xfs.seed) ^ (u64::from(directory) << 32 | u64::from(name))))?;
        let dentry = self.object(Cache::Dentry, pid).await?;
        let objects = [self.nofs_object(Cache::XfsInode, pid).await, self.nofs_object(Cache::XfsInodeItem, pid).await];
        self.xfs(|xfs| {
            let block = xfs.block;
            xfs.directories.entry(directory).or_insert_with(|| Directory::new(block));
        })?;
        let cluster = self.take_inode(pid, directory).await?;
        let changed = self.add_name(pid, directory, hash).await?;
        self.commit(pid, &changed, cluster).await?;
        let node = self.node_of_cpu();
        self.xfs(|xfs| {
            let generation = xfs.buffer(cluster).generation;
            let inode = Inode { objects, cluster, generation };
            xfs.names.push(node, (dentry, inode));
        })?;
        self.settle();
        Ok(())
    }

    /// The transaction commits. Memory for what it logs is taken under the lock of the log's items, as up to 4.7: while somebody waits
    /// for memory there, nothing is logged, and once the log has to be written, nobody else commits either.
    async fn commit(&self, pid: Pid, changed: &[BufferId], cluster: BufferId) -> Result<(), Errno> {
        self.lock_items().await?;
        for &buffer in changed {
            self.format(pid, buffer).await?;
        }
        let vector = self.nofs_object(Cache::Kmalloc512, pid).await;
        self.insert_items(changed, cluster, vector)?;
        let waited_for = self.xfs(|xfs| {
            xfs.committing -= 1;
            xfs.committing == 0 && xfs.push_waits
        })?;
        if waited_for {
            self.wake_log();
        }
        Ok(())
    }

    async fn lock_items(&self) -> Result<(), Errno> {
        while self.xfs(|xfs| xfs.push_waits)? && !self.is_over() {
            let task = self.env().current.get();
            self.xfs(|xfs| xfs.commit_waiters.push(task))?;
            self.env().park(None).await;
        }
        self.xfs(|xfs| xfs.committing += 1)
    }

    fn node_of_cpu(&self) -> NodeId {
        self.mm.state.borrow().alloc.node_of_cpu(self.env().cpu())
    }

    /// A transaction reserves its part of the log: it waits while there is none.
    async fn wait_for_log(&self) -> Result<(), Errno> {
        while self.xfs(|xfs| xfs.log_used() > LOG_BYTES * 15 / 16)? && !self.is_over() {
            self.xfs(|xfs| xfs.push_all = true)?;
            self.env().wait(mm::Queue::Timer, Some(1_000_000)).await;
        }
        Ok(())
    }

    /// An object that the caller can't do without: it tries until it has it.
    pub(super) async fn nofs_object(&self, cache: Cache, pid: Pid) -> Object {
        let mut attempts = 0;
        loop {
            if let Ok(object) = self.object(cache, pid).await {
                return object;
            }
            self.note_failed_attempt(&mut attempts).await;
        }
    }

    async fn nofs_pages(&self, order: Order, gfp: Gfp, pid: Pid, what: KernelUse) -> FolioId {
        let mut attempts = 0;
        loop {
            if let Some(id) = self.kernel_page(order, gfp, pid, what).await {
                return id;
            }
            self.note_failed_attempt(&mut attempts).await;
        }
    }

    async fn note_failed_attempt(&self, attempts: &mut u64) {
        *attempts += 1;
        if attempts.is_multiple_of(ATTEMPTS_A_MESSAGE) {
            // Without XFS nobody comes here.
            let _ = self.xfs(|xfs| xfs.messages += 1);
        }
        self.env().wait(mm::Queue::Timer, Some(RETRY)).await;
    }

    /// The cluster of a new inode, which is changed and in memory.
    async fn take_inode(&self, pid: Pid, directory: u32) -> Result<BufferId, Errno> {
        let (current, left) = self.xfs(|xfs| {
            let Some(of) = xfs.directories.get_mut(&directory) else { return (None, 0) };
            if of.inodes_left == 0 {
                let full = of.clusters.pop();
                full.into_iter().for_each(|id| xfs.buffers[id as usize].abandoned = true);
                of.inodes_left = INODES_A_CLUSTER;
            }
            (of.clusters.last().copied(), of.inodes_left)
        })?;
        let cluster = match current {
            Some(id) => id,
            None => self.make_chunk(pid, directory).await?,
        };
        self.xfs(|xfs| {
            if let Some(of) = xfs.directories.get_mut(&directory) {
                of.inodes_left = left - 1;
            }
        })?;
        // The inode item is flushed through the cluster's buffer, which has to be in memory then.
        self.get_buffer(pid, cluster, true, CLUSTER_ROUNDS).await?;
        self.xfs(|xfs| {
            xfs.buffer(cluster).users -= 1;
            xfs.buffer(cluster).log(0, CLUSTER_BYTES);
        })?;
        Ok(cluster)
    }

    /// Makes 64 inodes at once, in two clusters: the one to begin with.
    async fn make_chunk(&self, pid: Pid, directory: u32) -> Result<BufferId, Errno> {
        let mut made = Vec::with_capacity(CLUSTERS_A_CHUNK);
        for _ in 0..CLUSTERS_A_CHUNK {
            made.push(self.xfs(|xfs| xfs.new_buffer(CLUSTER_BYTES))?);
        }
        for &id in &made {
            self.get_buffer(pid, id, false, CLUSTER_ROUNDS).await?;
            self.xfs(|xfs| {
                xfs.buffer(id).log(0, CLUSTER_BYTES);
                xfs.buffer(id).users -= 1;
            })?;
        }
        let last = made.last().copied().unwrap_or_default();
        self.xfs(|xfs| {
            if let Some(of) = xfs.directories.get_mut(&directory) {
                of.clusters = made;
            }
        })?;
        Ok(last)
    }

    /// Puts a name into a directory: the buffers that were changed, in use until they are logged.
    async fn add_name(&self, pid: Pid, directory: u32, hash: u64) -> Result<Vec<BufferId>, Errno> {
        let block = self.xfs(|xfs| xfs.block)?;
        let of = |xfs: &Xfs| xfs.directories.get(&directory).map(|of| (of.needs_data(), of.leaf_to_split(hash)));
        let (needs_data, split) = self.xfs(|xfs| of(xfs))?.unwrap_or((false, None));
        let mut held = Vec::with_capacity(4);
        if let Some(at) = split {
            let id = self.xfs(|xfs| xfs.new_buffer(block))?;
            self.get_buffer(pid, id, false, DIRECTORY_ROUNDS).await?;
            held.push(id);
            let old = self
                .xfs(|xfs| xfs.directories.get(&directory).and_then(|of| of.leaves.get(at).map(|leaf| leaf.buffer)))?;
            if let Some(old) = old {
                self.get_buffer(pid, old, true, DIRECTORY_ROUNDS).await?;
                held.push(old);
            }
            self.change(directory, |of| of.split(at, id))?;
        }
        if needs_data {
            let id = self.xfs(|xfs| xfs.new_buffer(block))?;
            self.get_buffer(pid, id, false, DIRECTORY_ROUNDS).await?;
            held.push(id);
            self.xfs(|xfs| {
                let full = xfs.directories.get_mut(&directory).and_then(|of| of.start_data(id));
                full.into_iter().for_each(|full| xfs.buffers[full as usize].abandoned = true);
                xfs.buffer(id).log(0, CHUNK);
            })?;
        }
        let (data, leaf) =
            self.xfs(|xfs| xfs.directories.get(&directory).map_or((None, None), |of| (of.data, of.leaf_buffer(hash))))?;
        for id in data.into_iter().chain(leaf) {
            if !held.contains(&id) {
                self.get_buffer(pid, id, true, DIRECTORY_ROUNDS).await?;
                held.push(id);
            }
        }
        self.change(directory, |of| of.add(hash))?;
        Ok(held)
    }

    fn change(&self, directory: u32, how: impl FnOnce(&mut Directory) -> Vec<Change>) -> Result<(), Errno> {
        self.xfs(|xfs| {
            let changes = xfs.directories.get_mut(&directory).map(how).unwrap_or_default();
            for Change { buffer, from, to } in changes {
                xfs.buffer(buffer).log(from, to);
            }
        })
    }

    /// Makes sure that a buffer is in memory, reads it if it is not new, and holds it.
    pub(super) async fn get_buffer(&self, pid: Pid, id: BufferId, on_disk: bool, rounds: u8) -> Result<(), Errno> {
        let (missing, bytes, page) = self.xfs(|xfs| {
            xfs.buffer(id).users += 1;
            (xfs.buffer(id).pages.is_empty(), xfs.buffer(id).bytes, xfs.page)
        })?;
        if missing {
            let objects =
                vec![self.nofs_object(Cache::XfsBuf, pid).await, self.nofs_object(Cache::XfsBufItem, pid).await];
            let count = bytes.div_ceil(page);
            let pages = self.buffer_memory(pid, count).await;
            self.spend(self.spec.costs.clear_page * u64::from(bytes) / self.spec.page()).await;
            if on_disk {
                self.note_read(count);
                let ready = self.env().disk().read(self.env().now(), u64::from(id) << 32, count.into());
                self.env().sleep_until(ready).await;
            }
            let node = self.node_of_folio(pages[0]);
            // Somebody else may have been faster.
            let spare = self.xfs(|xfs| {
                let buffer = xfs.buffer(id);
                if !buffer.pages.is_empty() {
                    return Some((pages, objects));
                }
                (buffer.pages, buffer.objects, buffer.node) = (pages, objects, node);
                None
            })?;
            if let Some((pages, objects)) = spare {
                pages.into_iter().for_each(|id| self.free_folio(id));
                self.free_objects(objects);
            }
        }
        self.xfs(|xfs| xfs.touch(id, rounds))
    }

    /// Memory of a buffer of so many pages.
    async fn buffer_memory(&self, pid: Pid, count: u32) -> Vec<FolioId> {
        let as_folio = count > 1 && self.mm.state.borrow().alloc.policy.computer.xfs.buffers == XfsBuffers::Folio;
        if as_folio && count.is_power_of_two() {
            let order = count.trailing_zeros() as Order;
            if let Some(folio) = self.kernel_page(order, BUFFER_FOLIO | Gfp::COMP, pid, KernelUse::Buffer).await {
                return vec![folio];
            }
        }
        let gfp = if as_folio { BUFFER_FOLIO } else { BUFFER_PAGE };
        let mut pages = Vec::new();
        for _ in 0..count {
            pages.push(self.nofs_pages(0, gfp, pid, KernelUse::Buffer).await);
        }
        pages
    }

    fn node_of_folio(&self, id: FolioId) -> NodeId {
        let state = self.mm.state.borrow();
        let pfn = state.owner.folios.frame(id);
        pfn.map_or(NodeId(0), |pfn| state.alloc.zone_info(state.alloc.zone_of(pfn)).node)
    }

    /// Copies what is logged of a buffer to its log vector, after taking a larger one if it no longer fits. That is the scheme up to
    /// 4.7, which the posted messages show: mode 0x2408240 says `kmem_zalloc`; since 4.8 vectors are not cleared.
    async fn format(&self, pid: Pid, id: BufferId) -> Result<(), Errno> {
        let (bytes, fits) = self.xfs(|xfs| {
            let buffer = xfs.buffer(id);
            let bytes = buffer.vector_bytes();
            (bytes, buffer.vector.as_ref().is_some_and(|vector| vector.bytes >= bytes))
        })?;
        if !fits {
            let memory = self.kmem_alloc(pid, bytes).await;
            let old = self.xfs(|xfs| xfs.buffer(id).vector.replace(LogVector { bytes, memory }))?;
            self.free_vectors(old);
        }
        self.spend(self.spec.costs.copy_page * u64::from(bytes) / self.spec.page()).await;
        Ok(())
    }

    async fn kmem_alloc(&self, pid: Pid, bytes: u32) -> LogMemory {
        if let Some(cache) = Cache::smallest_for(&Cache::KMALLOC, bytes) {
            return LogMemory::Object(self.nofs_object(cache, pid).await);
        }
        let page = u32::try_from(self.spec.page()).unwrap_or(4096);
        let order = bytes.div_ceil(page).next_power_of_two().trailing_zeros() as Order;
        LogMemory::Pages(self.nofs_pages(order, LOG_VECTOR, pid, KernelUse::LogVector).await)
    }

    /// The transaction commits: its items are part of the next checkpoint.
    fn insert_items(&self, changed: &[BufferId], cluster: BufferId, vector: Object) -> Result<(), Errno> {
        self.xfs(|xfs| {
            xfs.inode_vectors.push(vector);
            for &id in changed.iter().chain([&cluster]) {
                let buffer = &mut xfs.buffers[id as usize];
                if id != cluster {
                    buffer.users -= 1;
                }
                if !std::mem::replace(&mut buffer.in_cil, true) {
                    xfs.cil.push(id);
                }
            }
            xfs.count_cil();
        })?;
        // The first file of all wakes the worker, too.
        if self.xfs(|xfs| xfs.cil_bytes > CIL_BYTES || xfs.head == 0)? {
            self.wake_log();
        }
        Ok(())
    }

    /// Gives back log vectors.
    pub(super) fn free_vectors(&self, vectors: impl IntoIterator<Item = LogVector>) {
        for LogVector { memory, .. } in vectors {
            match memory {
                LogMemory::Object(object) => self.free_objects([object]),
                LogMemory::Pages(id) => self.free_folio(id),
            }
        }
    }
}

/// Spreads a name's number over all hashes (the finaliser of SplitMix64).
fn mix(name: u64) -> u64 {
    let mut word = name.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
