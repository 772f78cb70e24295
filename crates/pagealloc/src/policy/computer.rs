//! Rules of what lies around memory management: the scheduler, stacks and page tables, filesystems and what is read ahead. The simulated
//! computer asks for them; a recording has all of it in its demand.

/// What kernels do outside of memory management that decides what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputerRules {
    /// How tasks share a CPU.
    pub scheduler: Scheduler,
    /// Automatic NUMA balancing (14.2 to 14.7).
    pub numa_balancing: NumaBalancing,
    /// How the stack of a task is allocated.
    pub stacks: KernelStacks,
    /// Page tables that an unmap frees have a list of their own, and do not lie on those of pages (x86: 6.15+, "x86/mm: make
    /// MMU_GATHER_RCU_TABLE_FREE unconditional").
    pub page_tables_apart: bool,
    /// Which filesystems keep files in memory in folios of several pages.
    pub large_folios: LargeFolios,
    /// What XFS keeps in memory.
    pub xfs: XfsRules,
    /// A shrinker of objects that lie on nodes sees those of the node that reclaim works on (3.12+), else all there are.
    pub shrinkers_know_nodes: bool,
    /// The shrinker of inodes also sees those that have page cache, and drops its clean pages with them (up to 5.15). Own
    /// knowledge.
    pub inodes_with_cache: bool,
    /// What is read along with a page that is missed.
    pub swap_readahead: SwapReadahead,
    /// How far files are read ahead at most where the disk says that it rotates, KiB (`read_ahead_kb`): 128, as on any other; since 6.17
    /// twice the largest request ("block: improve read ahead size for rotational devices"; 9b8b84879d4a raises that to 4 MiB). Measured on
    /// guests of 6.18 and 7.3, whose virtio disks say so; those of 6.1 have 128.
    pub rotating_readahead_kib: u32,
    /// A fault on a program reads from its page on to the window's or the mapping's end, and nothing ahead of that
    /// (6.17+). Before, it reads around the page, as a fault on any mapped file does.
    pub programs_read_forward: bool,
}

/// How the tasks of a CPU share it. Own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Completely fair scheduler: who has had least (up to 6.5).
    Cfs,
    /// Earliest eligible virtual deadline first (6.6+).
    Eevdf,
}

/// Automatic NUMA balancing: when address spaces are scanned, and which pages a hint fault migrates (14.2 to 14.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaBalancing {
    /// 3.x: a scan each 100 to 5000 ms once a task has run on a second node; a node takes 128 MB in 100 ms (14.7).
    RateLimited,
    /// 3.13+: each 1000 to 60000 ms, slower while faults are local; a page moves on the second fault from a node (14.2 to 14.5).
    TwoStage,
}

/// How the stack of a task is allocated on x86-64. Own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelStacks {
    /// One block of this order: 1 up to 3.14 (8 KiB), 2 up to 4.8 (16 KiB).
    Block(crate::Order),
    /// Four single pages that `vmalloc` maps (4.9+).
    Mapped,
    /// The same memory in the largest blocks that can be had without reclaim, then single pages (6.19, by a later
    /// patch's message; read in 7.3.4).
    MappedInBlocks,
}

/// Filesystems with folios of several pages in the page cache. Guests of 6.1 and 6.12 ask for single pages only to write to files of ext4,
/// those of 6.18 and 7.3 for up to 16 at once; versions are own knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeFolios {
    /// None (up to 5.17).
    None,
    /// XFS (5.18+).
    Xfs,
    /// Ext4, too (6.16+).
    XfsAndExt4,
}

/// What XFS keeps in memory for its metadata. Sizes are those of /proc/slabinfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfsRules {
    /// Bytes of an inode (`xfs_inode`): 960 as of 2016, 1024 on guests of 6.1, 6.12 and 6.18.
    pub inode_bytes: u16,
    /// Bytes of an inode's log item (`xfs_ili`): 168 as of 2016, 200 on guests of 6.1 and 6.12, 208 on one of 6.18.
    pub log_item_bytes: u16,
    /// Which of its caches count as reclaimable beside that of inodes.
    pub reclaimable: XfsReclaimable,
    /// Memory of a buffer of several pages.
    pub buffers: XfsBuffers,
    /// Each CPU counts what is to be logged for itself, up to its share of a checkpoint (`xlog_cil_insert_items`, 6.0: read in 6.18.15).
    pub log_counts_by_cpu: bool,
    /// A write that covers a whole folio leaves it without state of its parts (`iomap_folio_state`) until it is written back, so that it
    /// can be split while it is dirty (6.6+, own knowledge; traced in 6.18.15). Before, every folio of several blocks has such state.
    pub whole_writes_stateless: bool,
}

/// Caches of XFS with `SLAB_RECLAIM_ACCOUNT`, whose slabs lie in reclaimable pageblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XfsReclaimable {
    /// Inodes only.
    Inodes,
    /// Their log items ("xfs: correctly acount for reclaimable slabs", 5.8) and descriptions of buffers ("xfs: Improve metadata buffer
    /// reclaim accountability", of the same months; versions are own knowledge).
    AllThatIsCached,
}

/// Memory of a buffer of several pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XfsBuffers {
    /// Single pages.
    Pages,
    /// One folio, if there is one without reclaim, else single pages (`xfs_buf_alloc_backing_mem`, 6.15: read in 6.18.15).
    Folio,
}

/// How far swap is read ahead (own knowledge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapReadahead {
    /// The aligned eight slots around each miss, whether the last ones were of use or not (up to 3.13).
    Always,
    /// More slots the more pages read ahead were used since the last miss (3.14+).
    ByHits,
    /// The same where a swap device rotates; else so many pages around the address of the miss, or to the side to which
    /// misses go on, by each mapping's own hits (4.14+, read in 6.1.192).
    ByMapping,
}
