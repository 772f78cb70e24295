//! What each task is doing: inside reclaim, inside compaction, inside a THP fault.

use super::ObjectId;
use super::parts::Batch;
use super::speed::Step;
use super::thp::OpenUnit;
use foldhash::HashMap;
use pagealloc::Order;
use std::collections::VecDeque;
use std::ops::Range;

/// State of a task while the trace is read.
#[derive(Default)]
pub(super) struct Task {
    /// Index in the log.
    pub index: u16,
    /// Between `mm_vmscan_direct_reclaim_begin` and `_end`.
    pub direct_reclaim: bool,
    /// Between `mm_compaction_begin` and `_end`.
    pub compacting: bool,
    /// It is a kswapd.
    pub kswapd: bool,
    /// It is kcompactd.
    pub kcompactd: bool,
    /// That compaction is asynchronous.
    pub async_compaction: bool,
    /// Frames without a known owner that it freed since the last list of pages was migrated: frame, order, when last seen.
    pub unsettled: Vec<(u64, Order, u64)>,
    /// Where that compaction isolated pages since it migrated the last list.
    pub isolated: Vec<Range<u64>>,
    /// Pages there that a journal may hold.
    pub isolated_metadata: u64,
    /// What it freed last of what it had asked for itself.
    pub last_freed: ObjectId,
    /// The run of compaction that it is in, by number.
    pub run: u32,
    /// A THP fault whose base pages may still come.
    pub unit: Option<OpenUnit>,
    /// An anonymous allocation without zeroing: a swap-in, unless a page cache entry follows.
    pub maybe_swapin: Option<ObjectId>,
    /// Its anonymous pages that reclaim took, oldest first.
    pub swapped: VecDeque<ObjectId>,
    /// What its reclaim gave back since it last told what it had reclaimed.
    pub batch: Batch,
    /// What the trace told last of it while it reclaims or compacts, for [`super::speed`].
    pub last_seen: Option<Step>,
    /// What it has worked in its turn, nanoseconds, while it compacts or reclaims for itself.
    pub worked: u64,
    /// What it has worked since its last step that told what it did.
    pub worked_since_step: u64,
    /// Folios that it took out of the page cache since then.
    pub folios_since_step: u64,
    /// Objects that a shrinker is to look at, while it is inside one.
    pub slab_objects: Option<u64>,
    /// Time of its last request for a swap table that failed in the same step.
    pub last_failure: Option<Step>,
}

impl Task {
    /// Whether its compaction isolated pages where this frame is: what is freed there has moved.
    pub fn isolated(&self, pfn: u64) -> bool {
        self.compacting && self.isolated.iter().any(|range| range.contains(&pfn))
    }

    /// Whether what it frees is freed by reclaim.
    pub fn reclaiming(&self) -> bool {
        self.kswapd || self.direct_reclaim
    }
}

/// All tasks, by process number.
#[derive(Default)]
pub(super) struct Tasks {
    index: HashMap<i32, usize>,
    list: Vec<Task>,
    /// Process numbers by index.
    pub pids: Vec<i32>,
}

/// So many tasks have an index of their own.
pub(super) const MOST_TASKS: usize = 1 << u16::BITS;

impl Tasks {
    /// Index of the task with this number. Beyond 65,535 tasks all share the last index.
    pub fn index_of(&mut self, pid: i32) -> usize {
        let (list, pids) = (&mut self.list, &mut self.pids);
        *self.index.entry(pid).or_insert_with(|| {
            if list.len() >= MOST_TASKS {
                return list.len() - 1;
            }
            list.push(Task { index: list.len() as u16, ..Task::default() });
            pids.push(pid);
            list.len() - 1
        })
    }

    /// How many tasks there are; more than [`MOST_TASKS`] share an index.
    pub fn seen(&self) -> usize {
        self.index.len()
    }

    /// A task by index.
    pub fn get(&mut self, index: usize) -> &mut Task {
        &mut self.list[index]
    }
}
