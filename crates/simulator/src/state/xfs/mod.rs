//! What does XFS keep in memory? Buffers, directories, log items, inodes.

mod directory;
mod items;
mod shrink;

pub(crate) use directory::{Change, Directory};
pub(crate) use items::{InodeCheckpoint, InodeItem, InodeLog, Logged};
pub(crate) use shrink::Given;

use crate::state::folio::FolioId;
use crate::state::node_lines::{NodeLines, NodeTicket};
use crate::state::slab::Object;
use foldhash::HashMap;
use pagealloc::NodeId;
use pagealloc::policy::XfsRules;
use std::collections::BTreeMap;
use workload::Scale;

/// Number of a buffer.
pub(crate) type BufferId = u32;

/// What a buffer holds, by the first of its files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Holds {
    Inodes(u32),
    Names(u32),
}

/// Unit of logging in a buffer (`XFS_BLF_CHUNK`).
pub(crate) const CHUNK: u32 = 128;
/// The description of a logged 64 KiB block in its log vector: `kmem_alloc` is asked for 65624 bytes for a whole one.
pub(crate) const FORMAT_BYTES: u32 = 88;
/// Bytes of an inode on disk (mkfs default since 2014), inodes of a cluster buffer of 16 KiB, and clusters of a chunk of 64.
pub(crate) const INODES_A_CLUSTER: u32 = 32;
pub(crate) const CLUSTER_BYTES: u32 = 16 << 10;
pub(crate) const CLUSTERS_A_CHUNK: usize = 2;
/// Size of the log. The posted `FSUse%` grows by 1.5 points with 1.6 million files of 576 bytes each, so the filesystem has some
/// 60 GB, of which mkfs makes 1/2048 the log.
pub(crate) const LOG_BYTES: u64 = 32 << 20;
/// A checkpoint is written once this much is to be logged (`XLOG_CIL_SPACE_LIMIT`, an eighth of the log).
pub(crate) const CIL_BYTES: u64 = LOG_BYTES / 8;
/// Metadata is written back while more of the log than this is taken.
pub(crate) const AIL_BYTES: u64 = LOG_BYTES * 3 / 4;

/// Memory of a log vector.
#[derive(Debug)]
pub(crate) enum LogMemory {
    Object(Object),
    Pages(FolioId),
}

/// A log vector.
#[derive(Debug)]
pub(crate) struct LogVector {
    pub bytes: u32,
    pub memory: LogMemory,
}

/// A buffer.
#[derive(Default, Debug)]
pub(crate) struct Buffer {
    pub bytes: u32,
    /// Its pages; none if it is not in memory.
    pub pages: Vec<FolioId>,
    /// `xfs_buf` and its log item.
    pub objects: Vec<Object>,
    /// Logged since it was last written: from, to.
    pub dirty: Option<(u32, u32)>,
    pub vector: Option<LogVector>,
    pub in_cil: bool,
    /// Place in the list of what the log still needs.
    pub in_ail: Option<(u64, u64)>,
    /// Node of its memory, place on the node's LRU list, and rounds that it stays there.
    pub node: NodeId,
    pub place: Option<NodeTicket>,
    pub rounds: u8,
    /// Off the list: reclaim wanted it while it was busy.
    pub doomed: bool,
    /// Transactions that use it.
    pub users: u32,
    /// Nobody will ask for it again by its number.
    pub abandoned: bool,
    /// How often the number has been given out.
    pub generation: u32,
}

/// A file in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inode {
    pub objects: [Object; 2],
    pub cluster: BufferId,
    pub generation: u32,
}

/// All of it.
pub(crate) struct Xfs {
    /// Decides the names, and so where their hashes go: programs such as fs_mark draw them.
    pub seed: u64,
    /// Transactions that hold the lock of what is to be logged (`xc_ctx_lock`), shared.
    pub committing: u32,
    /// The log's worker wants that lock for itself: no further transaction gets it.
    pub push_waits: bool,
    /// Tasks that wait for the worker to have had it.
    pub commit_waiters: Vec<lab::TaskId>,
    pub block: u32,
    pub page: u32,
    pub buffers: Vec<Buffer>,
    pub vacant: Vec<BufferId>,
    /// Buffers by node, longest unused first.
    pub lru: NodeLines<BufferId>,
    pub directories: BTreeMap<u32, Directory>,
    /// Buffers of files that are known by name.
    pub of_files: HashMap<Holds, BufferId>,
    /// Names with the inodes that they hold, by the node of their memory, oldest first; and inodes that no name holds.
    pub names: NodeLines<(Object, Inode)>,
    pub reclaimable: NodeLines<Inode>,
    /// The log of inodes of files that are known by name.
    pub inodes: InodeLog,
    /// What the next checkpoint holds, with the inodes' log vectors.
    pub cil: Vec<BufferId>,
    pub cil_bytes: u64,
    pub inode_vectors: Vec<Object>,
    /// What the log still needs, by the offset of the checkpoint that holds it.
    pub ail: BTreeMap<(u64, u64), BufferId>,
    /// Bytes ever written to the log, or being written; and those that are on disk.
    pub head: u64,
    pub committed: u64,
    pub sequence: u64,
    /// Reclaim met inodes that have to be written first.
    pub push_all: bool,
    /// Reclaim looked for inodes, and wants metadata written.
    pub push_metadata: bool,
    /// Bytes that reclaim has written, to be taken from the device's time.
    pub flushed: u64,
    /// "possible memory allocation deadlock"
    pub messages: u64,
}

impl Xfs {
    pub fn new(block: u32, page: u32, nodes: usize, seed: u64, scale: Scale, rules: XfsRules) -> Xfs {
        Xfs {
            seed,
            committing: 0,
            push_waits: false,
            commit_waiters: Vec::new(),
            block,
            page,
            buffers: Vec::new(),
            vacant: Vec::new(),
            lru: NodeLines::new(nodes),
            directories: BTreeMap::new(),
            of_files: HashMap::default(),
            inodes: InodeLog::new(scale, rules.log_counts_by_cpu),
            names: NodeLines::new(nodes),
            reclaimable: NodeLines::new(nodes),
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

    pub fn next(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// A number for a buffer that has yet to get memory.
    pub fn new_buffer(&mut self, bytes: u32) -> BufferId {
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.buffers.push(Buffer::default());
            self.buffers.len() as u32 - 1
        });
        let generation = self.buffers[id as usize].generation + 1;
        self.buffers[id as usize] = Buffer { bytes, generation, ..Buffer::default() };
        id
    }

    pub fn buffer(&mut self, id: BufferId) -> &mut Buffer {
        &mut self.buffers[id as usize]
    }

    /// The buffer is used: it goes to the young end of its list, for so many rounds.
    pub fn touch(&mut self, id: BufferId, rounds: u8) {
        let buffer = &mut self.buffers[id as usize];
        if let Some(place) = buffer.place.take() {
            self.lru.remove(place);
        }
        (buffer.place, buffer.rounds, buffer.doomed) = (Some(self.lru.push(buffer.node, id)), rounds, false);
    }

    /// Bytes of the log that are taken.
    pub fn log_used(&self) -> u64 {
        let tail = self.ail.first_key_value().map_or(self.head, |(&(offset, _), _)| offset);
        self.head - tail + self.cil_bytes
    }

    /// Whether the inode's last change is in no checkpoint yet.
    pub fn is_pinned(&self, inode: &Inode) -> bool {
        let cluster = &self.buffers[inode.cluster as usize];
        cluster.generation == inode.generation && cluster.in_cil
    }
}

impl Buffer {
    /// Bytes of its log vector.
    pub fn vector_bytes(&self) -> u32 {
        let Some((from, to)) = self.dirty else { return 0 };
        let run = to.next_multiple_of(CHUNK) - from / CHUNK * CHUNK;
        // The head of the block (what is free, how many entries) and the end of its free space are logged as well.
        (run + 2 * CHUNK).min(self.bytes) + FORMAT_BYTES
    }

    pub fn log(&mut self, from: u32, to: u32) {
        self.dirty = Some(self.dirty.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
    }

    pub fn is_busy(&self) -> bool {
        self.users > 0 || self.dirty.is_some() || self.in_cil || self.in_ail.is_some()
    }
}
