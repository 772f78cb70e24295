//! XFS's metadata in memory: buffers, directories, log items, inodes. What is known of it as of 2016, format version 5.
//!
//! A directory grows by data blocks, filled from the front, and by leaf blocks that hold hashes in order. What a transaction
//! changes in a block is logged as a run of 128-byte chunks that begins at the first change since the block was last written
//! and ends at the last one; the copy of it that the log keeps in memory (log vector) is one piece of memory, taken by
//! `kmem_alloc`, for which 64 KiB blocks need orders up to 5. Blocks themselves are arrays of single pages.

mod create;
mod directory;
mod files;
mod inodes;
mod log;
mod shrink;
#[cfg(test)]
mod tests;

pub(crate) use inodes::{InodeItem, Logged};

use crate::folio::FolioId;
use crate::line::{Line, Ticket};
use crate::slab::Object;
use directory::Directory;
use foldhash::HashMap;
use inodes::InodeLog;
use mm::Nanos;
use std::collections::{BTreeMap, VecDeque};
use workload::Scale;

/// Number of a buffer.
pub(crate) type BufferId = u32;

/// Unit of logging in a buffer (`XFS_BLF_CHUNK`).
const CHUNK: u32 = 128;
/// The description of a logged 64 KiB block in its log vector: `kmem_alloc` is asked for 65624 bytes for a whole one.
const FORMAT_BYTES: u32 = 88;
/// Bytes of an inode on disk (mkfs default since 2014), inodes of a cluster buffer of 16 KiB, and clusters of a chunk of 64.
const INODES_A_CLUSTER: u32 = 32;
const CLUSTER_BYTES: u32 = 16 << 10;
const CLUSTERS_A_CHUNK: usize = 2;
/// Size of the log. The posted `FSUse%` grows by 1.5 points with 1.6 million files of 576 bytes each, so the filesystem has some
/// 60 GB, of which mkfs makes 1/2048 the log.
const LOG_BYTES: u64 = 32 << 20;
/// A checkpoint is written once this much is to be logged (`XLOG_CIL_SPACE_LIMIT`, an eighth of the log).
const CIL_BYTES: u64 = LOG_BYTES / 8;
/// Metadata is written back while more of the log than this is taken.
const AIL_BYTES: u64 = LOG_BYTES * 3 / 4;

/// Memory of a log vector.
#[derive(Debug)]
enum LogMemory {
    Object(Object),
    Pages(FolioId),
}

/// A log vector.
#[derive(Debug)]
struct LogVector {
    bytes: u32,
    memory: LogMemory,
}

/// A buffer.
#[derive(Default, Debug)]
struct Buffer {
    bytes: u32,
    /// Its pages; none if it is not in memory.
    pages: Vec<FolioId>,
    /// `xfs_buf` and its log item.
    objects: Vec<Object>,
    /// Logged since it was last written: from, to.
    dirty: Option<(u32, u32)>,
    vector: Option<LogVector>,
    in_cil: bool,
    /// Place in the list of what the log still needs.
    in_ail: Option<(u64, u64)>,
    /// Node of its memory, place on the node's LRU list, and rounds that it stays there.
    node: usize,
    place: Option<Ticket>,
    rounds: u8,
    /// Off the list: reclaim wanted it while it was busy.
    doomed: bool,
    /// Transactions that use it.
    users: u32,
    /// Nobody will ask for it again by its number.
    abandoned: bool,
    /// How often the number has been given out.
    generation: u32,
}

/// A file in memory.
#[derive(Debug)]
struct Inode {
    objects: [Object; 2],
    cluster: BufferId,
    generation: u32,
}

/// Names and inodes of a node's memory, oldest first.
#[derive(Default)]
struct NodeFiles {
    dentries: VecDeque<(Object, Inode)>,
    /// Inodes that no dentry holds.
    reclaimable: VecDeque<Inode>,
}

/// All of it.
pub(crate) struct Xfs {
    /// Decides the names, and so where their hashes go: programs such as fs_mark draw them.
    seed: u64,
    /// Transactions that hold the lock of what is to be logged (`xc_ctx_lock`), shared.
    committing: u32,
    /// The log's worker wants that lock for itself: no further transaction gets it.
    push_waits: bool,
    /// Tasks that wait for the worker to have had it.
    commit_waiters: Vec<lab::TaskId>,
    block: u32,
    page: u32,
    buffers: Vec<Buffer>,
    vacant: Vec<BufferId>,
    /// Buffers by node, longest unused first.
    lru: Vec<Line<BufferId>>,
    directories: BTreeMap<u32, Directory>,
    /// Buffers of files that are known by name.
    of_files: HashMap<files::Holds, BufferId>,
    files: Vec<NodeFiles>,
    /// The log of inodes of files that are known by name.
    inodes: InodeLog,
    /// What the next checkpoint holds, with the inodes' log vectors.
    cil: Vec<BufferId>,
    cil_bytes: u64,
    inode_vectors: Vec<Object>,
    /// What the log still needs, by the offset of the checkpoint that holds it.
    ail: BTreeMap<(u64, u64), BufferId>,
    /// Bytes ever written to the log, or being written; and those that are on disk.
    head: u64,
    committed: u64,
    sequence: u64,
    /// Reclaim met inodes that have to be written first.
    push_all: bool,
    /// Reclaim looked for inodes, and wants metadata written.
    push_metadata: bool,
    /// Bytes that reclaim has written, to be taken from the device's time.
    flushed: u64,
    /// "possible memory allocation deadlock"
    messages: u64,
}

impl Xfs {
    pub fn new(block: u32, page: u32, nodes: usize, seed: u64, scale: Scale) -> Xfs {
        Xfs {
            seed,
            committing: 0,
            push_waits: false,
            commit_waiters: Vec::new(),
            block,
            page,
            buffers: Vec::new(),
            vacant: Vec::new(),
            lru: vec![Line::default(); nodes],
            directories: BTreeMap::new(),
            of_files: HashMap::default(),
            inodes: InodeLog::new(scale),
            files: (0..nodes).map(|_| NodeFiles::default()).collect(),
            cil: Vec::new(),
            cil_bytes: 0,
            inode_vectors: Vec::new(),
            ail: BTreeMap::new(),
            head: 0,
            committed: 0,
            sequence: 0,
            push_all: false,
            push_metadata: false,
            flushed: 0,
            messages: 0,
        }
    }

    /// Messages about a possible deadlock so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A number for a buffer that has yet to get memory.
    fn new_buffer(&mut self, bytes: u32) -> BufferId {
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer::default());
            self.buffers.len() as u32 - 1
        });
        let generation = self.buffers[id as usize].generation + 1;
        self.buffers[id as usize] = Buffer { bytes, generation, ..Buffer::default() };
        id
    }

    fn buffer(&mut self, id: BufferId) -> &mut Buffer {
        &mut self.buffers[id as usize]
    }

    /// The buffer is used: it goes to the young end of its list, for so many rounds.
    fn touch(&mut self, id: BufferId, rounds: u8) {
        let buffer = &mut self.buffers[id as usize];
        let lru = &mut self.lru[buffer.node];
        if let Some(place) = buffer.place.take() {
            lru.remove(place);
        }
        (buffer.place, buffer.rounds, buffer.doomed) = (Some(lru.push(id)), rounds, false);
    }

    /// Bytes of the log that are taken.
    fn log_used(&self) -> u64 {
        let tail = self.ail.first_key_value().map_or(self.head, |(&(offset, _), _)| offset);
        self.head - tail + self.cil_bytes
    }

    /// Whether the inode's last change is in no checkpoint yet.
    fn is_pinned(&self, inode: &Inode) -> bool {
        let cluster = &self.buffers[inode.cluster as usize];
        cluster.generation == inode.generation && cluster.in_cil
    }
}

impl Buffer {
    /// Bytes of its log vector.
    fn vector_bytes(&self) -> u32 {
        let Some((from, to)) = self.dirty else { return 0 };
        let run = to.next_multiple_of(CHUNK) - from / CHUNK * CHUNK;
        // The head of the block (what is free, how many entries) and the end of its free space are logged as well.
        (run + 2 * CHUNK).min(self.bytes) + FORMAT_BYTES
    }

    fn log(&mut self, from: u32, to: u32) {
        self.dirty = Some(self.dirty.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
    }

    fn is_busy(&self) -> bool {
        self.users > 0 || self.dirty.is_some() || self.in_cil || self.in_ail.is_some()
    }
}

/// `congestion_wait(BLK_RW_ASYNC, HZ/50)` between two attempts at memory, and attempts between two messages.
const RETRY: Nanos = 20_000_000;
const ATTEMPTS_A_MESSAGE: u64 = 100;
