//! The page log: what a recorded machine asked for, cleansed of what its own reclaim and compaction did.
//!
//! A trace tells which pages were handed out and given back. A replay under another policy needs the *demand* behind
//! it: requests (order, gfp, migratetype, task, CPU, time), and frees that the owners wanted. Frees by reclaim are not
//! demand: they become the time at which a page was cold ([`Object::leave`]). Frees of migrated pages are not either:
//! the object lives on in another frame. A page that reclaim took and that came back is one object used again
//! ([`Object::link`]). A transparent huge page fault is one demand, whether the kernel served it with one huge page or
//! with base pages ([`Unit`]). What could not be attributed is counted in [`Attribution`].

mod beside;
mod build;
mod bulk;
mod cached;
mod clocks;
mod cpu_nodes;
mod cpus_seen;
mod epoch;
mod exits;
mod fault_time;
mod files;
mod follow;
mod forks;
mod given;
mod infer;
mod kthreads;
mod late;
mod metadata;
mod migration;
mod moves;
mod notes;
mod noticed;
mod once;
mod parts;
mod returns;
mod shrink_cost;
mod slab;
mod speed;
mod start;
mod task;
mod thp;
mod truth;
mod turns;
mod whole;

pub use cached::StartCached;
pub(crate) use epoch::since_epoch;
pub(crate) use late::ends as task_ends;
pub(crate) use moves::PageArray;
pub use notes::tick_cut_short;
pub use start::{InUse, StartFrame, StartState, StartUse};
pub(crate) use truth::zones as zones_of;
pub use truth::{ProcTexts, between};
pub use whole::{MachineSeen, Normalised, kernel_alone, machine_seen, normalise};

use lab::{KthreadCpus, Speeds};
use once::Reach;
use pagealloc::{Gfp, Order};

/// Index of an object.
pub type ObjectId = u32;

/// What an operation does. THP faults are attempted at PMD order first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum OpKind {
    /// The object is asked for.
    Alloc,
    /// Its owner gives it back.
    Free,
    /// A base page of a huge page, which its owner had unmapped before, is given back by whoever splits the page. The task is the owner, who
    /// may be about something else by now.
    FreePart,
    /// It is given back some time after its owner let go of it, by an interrupt: mostly after an RCU grace period.
    LateFree,
    /// A request that the kernel refused, not part of a THP fault: tried, and given back at once if it succeeds.
    Attempt,
    /// A THP fault; the object is the unit's.
    ThpFault,
}

/// One operation: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Nanoseconds on the trace clock.
    pub ts: u64,
    /// The object.
    pub object: ObjectId,
    /// Index of the task in [`PageLog::tasks`].
    pub task: u16,
    /// CPU that it ran on.
    pub cpu: u8,
    /// What it does.
    pub kind: OpKind,
}

/// What a page is used for, as far as the trace tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    /// Kernel memory that stays where it is.
    Kernel,
    /// Reclaimable slab.
    Slab,
    /// Anonymous memory.
    Anon,
    /// Page cache.
    File,
    /// Page cache of a block device that its filesystem's journal holds: it stays where it is.
    Metadata,
}

/// The object was evicted by the kernel's reclaim and [`Object::link`] names what it was before.
pub const AGAIN: u8 = 1;
/// The object is page cache in a place from which the kernel's reclaim had evicted a folio of another size: [`Object::link`]
/// names that.
pub const RESIZED: u8 = 32;
/// The object is one of the base pages of the THP unit that [`Object::link`] names.
pub const MEMBER: u8 = 2;
/// The object stands for the whole THP unit that [`Object::link`] names.
pub const UNIT: u8 = 4;

/// Asked for by a task inside the recorded kernel's reclaim (`PF_MEMALLOC`).
pub const MEMALLOC: u8 = 8;
/// Asked for by the recorded kernel's reclaim itself: no demand, and neither is its free.
pub const INTERNAL: u8 = 16;

/// Page cache that nothing shows to have been used after it came.
pub const ONCE: u8 = 64;
/// The object was asked for together with others (`alloc_pages_bulk`). [`Object::link`] of the first one says how many they are, of the
/// others it is 0; they are consecutive.
pub const BULK: u8 = 128;

/// Swap of a recorded machine that does not tell: 1 GiB.
pub(crate) const SWAP_PAGES: u64 = 262_144;

/// [`Object::leave`] of a page that reclaim never took.
pub const NEVER: u32 = u32::MAX;

/// Granularity of [`Object::leave`]: 2^16 ns, 65.5 microseconds.
pub const LEAVE_SHIFT: u32 = 16;

/// What is known of one object, over its whole life: 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// When the kernel's reclaim took it, in units of 2^16 ns of the log's time, or [`NEVER`].
    pub leave: u32,
    /// See [`AGAIN`], [`RESIZED`], [`MEMBER`], [`UNIT`].
    pub link: u32,
    /// Index into [`PageLog::gfps`].
    pub gfp: u8,
    /// Order asked for.
    pub order: Order,
    /// Use.
    pub class: Class,
    /// Flags.
    pub flags: u8,
}

/// A THP fault: 2^pmd_order base pages that may be one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// First of its base page objects; they are consecutive.
    pub members: ObjectId,
    /// The object that stands for the whole.
    pub object: ObjectId,
    /// Whether the fault may reclaim and compact (`GFP_TRANSHUGE`) or takes what is there.
    pub direct: bool,
    /// Whether the kernel found a huge page.
    pub served: bool,
    /// When the task was done touching it; base pages that stand in for the kernel's huge page are touched until then.
    pub until: u64,
}

/// What the log could and could not tell: printed with every answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Trace records read.
    pub records: u64,
    /// Requests that were served, and frees, in the window: the trace's own page events.
    pub allocs: u64,
    /// Frees of all kinds.
    pub frees: u64,
    /// Pages in use at the start, from the snapshot.
    pub in_use_at_start: u64,
    /// Frees by the owner of the page.
    pub frees_by_owner: u64,
    /// Frees that the recorded kernel's reclaim made: left to the model's.
    pub frees_by_reclaim: u64,
    /// Frees by interrupts, of pages that somebody had let go of before.
    pub frees_late: u64,
    /// Base pages of huge pages that were freed by themselves: their owner had unmapped them and kept others.
    pub frees_of_parts: u64,
    /// Frees of pages whose content compaction had moved.
    pub frees_by_migration: u64,
    /// Moves of pages that the recording shows, by a probe of fraglab's recorder.
    pub moves_recorded: u64,
    /// Those of them to pages that had been asked for to that end, which compaction never does.
    pub moves_to_asked: u64,
    /// Frees of frames without a known allocation that were matched with a migration.
    pub identities_recovered: u64,
    /// Frees of frames that compaction had taken as targets and did not need.
    pub targets_returned: u64,
    /// Frees of frames without a known allocation that nothing explains: dropped.
    pub frees_unknown: u64,
    /// Pages that were taken from per-CPU lists without an event (`alloc_pages_bulk`).
    pub bulk_pages: u64,
    /// Requests for pages of swap tables, made by the recorded kernel's reclaim: left to the model's.
    pub swap_table_requests: u64,
    /// Pages of block devices' own page cache that were neither moved nor reclaimed: taken for held by a journal.
    pub metadata_held: u64,
    /// Requests for a frame that the log thought in use: the old object's free was not seen.
    pub frees_unseen: u64,
    /// Pages that reclaim took and that came back: file pages by inode and index, in folios of the same size.
    pub refaults_file: u64,
    /// Base pages of all folios in the window that came where page cache had been that reclaim took, of whatever size, but
    /// for those to be written to: from 4.7 on these are no refaults.
    pub refault_pages: u64,
    /// Anonymous pages that reclaim took and that came back, by order of eviction within the task: an assumption.
    pub refaults_anon_assumed: u64,
    /// Pages on swap that were freed with their task, taken to end with its last free.
    pub swapped_at_exit: u64,
    /// Frames in use at the start that look like pages on per-CPU lists: tails of blocks allocated without `__GFP_COMP`.
    pub tails_without_type: u64,
    /// Refused requests that are not THP faults.
    pub attempts_refused: u64,
    /// THP faults.
    pub thp_faults: u64,
    /// Events that the kernel lost.
    pub lost: u64,
}

/// The log.
pub struct PageLog {
    /// Operations by time.
    pub ops: Vec<Op>,
    /// Objects; those of the start snapshot come first.
    pub objects: Vec<Object>,
    /// THP faults.
    pub units: Vec<Unit>,
    /// Masks.
    pub gfps: Vec<Gfp>,
    /// Process numbers of the tasks.
    pub tasks: Vec<i32>,
    /// Memory at the start.
    pub start: StartState,
    /// How fast the machine reclaimed and migrated.
    pub speeds: Speeds,
    /// Which CPUs its kernel threads had for that.
    pub kthreads: KthreadCpus,
    /// Median time after which page cache that the recorded kernel's reclaim took was there again, nanoseconds; `None` where too
    /// little came back.
    pub file_return: Option<u64>,
    /// Each time at which the recorded kernel's reclaim noticed that there was no page cache to spare any more: from and to.
    pub noticed: Vec<(u64, u64)>,
    /// How far the recorded kernel's reclaim of page cache had come when.
    pub(crate) reach: Reach,
    /// Swap of the machine, pages: 1 GiB where the recording does not tell.
    pub swap_pages: u64,
    /// Times at which the recording sampled the machine: a replay samples at the same.
    pub samples: Vec<u64>,
    /// Of 65,536 folios of the page cache that came back to be read, those that found what eviction leaves behind (a shadow entry).
    pub shadows_kept: u64,
    /// Objects that shrinkers scanned for each 65,536 pages that were asked for (`slabs_scanned`, `pgalloc_*`).
    pub slabs_scanned: u64,
    /// By object: who asked for it, an index into [`PageLog::tasks`]; 0 for those of the start snapshot.
    pub askers: Vec<u16>,
    /// By task: who started it, an index into [`PageLog::tasks`], where that shows.
    pub parents: Vec<Option<u16>>,
    /// By task, when it asked for its first anonymous page, which is what shows of the beginning of its address space; 0 of those that nobody is
    /// seen to have started.
    pub began: Vec<u64>,
    /// How much page cache was dirty, pages (`nr_dirty`), at each tick by time; nothing where the recording has no ticks.
    pub dirty: Vec<(u64, u64)>,
    /// Pages that had been activated outside of reclaim, because they were used (`pgactivate`), at each tick by time; nothing where the recording
    /// has no ticks.
    pub activated_by_use: Vec<(u64, u64)>,
    /// First and last nanosecond of the log's time: that of the trace's clock, less whole multiples of 18.2 hours.
    pub window: (u64, u64),
    /// What could be told.
    pub attribution: Attribution,
}

/// Rounds a time up to the granularity of [`Object::leave`].
pub(crate) fn leave_time(ts: u64) -> u32 {
    ((ts >> LEAVE_SHIFT) + 1).min(u64::from(NEVER - 1)) as u32
}
