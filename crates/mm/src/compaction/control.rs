//! What one run of compaction knows: its orders, its scanners' positions, the pages in its hands.

use super::{CompactMode, CompactPriority};
use crate::env::{Nanos, TaskContext, TaskFlags};
use crate::state::{State, World};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pagealloc::policy::CompactCapture;
use pagealloc::{
    AllocFlags, BlockId, Geometry, Gfp, Migratetype, NR_ORDERS, NodeId, Order, Pfn, Request, ZoneId, ZoneType,
};

/// A page taken off its list to be moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// Head of the page.
    pub pfn: Pfn,
    /// It was on an LRU list; otherwise its owner moves it (`movable_ops`).
    pub lru: bool,
}

/// Free blocks held as migration targets, by order (11.11).
#[derive(Default, Debug)]
pub(crate) struct Targets {
    lists: [VecDeque<Pfn>; NR_ORDERS],
    /// Base pages on all lists.
    pub pages: u32,
}

impl Targets {
    /// Adds a block behind the others of its order.
    pub fn push(&mut self, pfn: Pfn, order: Order) {
        self.lists[order as usize].push_back(pfn);
        self.pages += 1 << order;
    }

    /// Adds what a split left over: used before the others of its order.
    pub fn push_first(&mut self, pfn: Pfn, order: Order) {
        self.lists[order as usize].push_front(pfn);
        self.pages += 1 << order;
    }

    /// Takes the first block of the smallest order that is at least `order`.
    pub fn pop_fitting(&mut self, order: Order) -> Option<(Pfn, Order)> {
        let found = (order as usize..NR_ORDERS).find(|&found| !self.lists[found].is_empty())?;
        let pfn = self.lists[found].pop_front()?;
        self.pages -= 1 << found;
        Some((pfn, found as Order))
    }
}

/// What direct compaction is asked for, in whatever zone (11.3).
#[derive(Clone, Copy)]
pub(super) struct DirectCompaction<'a> {
    pub request: &'a Request,
    /// Flags of the attempts that it is for.
    pub flags: AllocFlags,
    pub priority: CompactPriority,
    /// Order that it works for, which may exceed the request's (13.9).
    pub order: Order,
    pub task: &'a TaskContext,
}

/// Input and progress of one run over one zone (11.2, 11.4).
#[derive(Debug)]
pub(crate) struct CompactControl {
    // ---- what is wanted
    pub zone: ZoneId,
    pub node: NodeId,
    /// First frame of the zone, and one past its last.
    pub start: Pfn,
    pub end: Pfn,
    /// Order wanted; `None` compacts as far as possible (the kernel's -1).
    pub order: Option<Order>,
    /// Order that capture takes: the request's, which the run's may exceed (13.9). `None`: nothing is captured.
    pub capture_order: Option<Order>,
    pub migratetype: Migratetype,
    pub gfp: Gfp,
    pub mode: CompactMode,
    pub alloc_flags: AllocFlags,
    pub highest: ZoneType,
    pub direct: bool,
    pub whole_zone: bool,
    pub ignore_skip: bool,
    pub ignore_block_suitable: bool,
    pub proactive: bool,
    pub task: TaskContext,
    // ---- where it stands
    pub migrate_pfn: Pfn,
    pub free_pfn: Pfn,
    /// Isolate the rest of this block without stopping at 32 pages (11.12b).
    pub finish_pageblock: bool,
    /// Go on in the same block without asking whether the run is finished (11.12).
    pub rescan: bool,
    /// 4.20's way to finish a block before stealing it (11.14.6).
    pub finishing_block: bool,
    /// Lowest frame that migration may have freed since the last drain.
    pub last_migrated: Option<Pfn>,
    /// Both cached migrate positions were equal and nothing has been isolated yet (11.12b.ii).
    pub update_cached: bool,
    /// It moves the one cached position of the migrate scanner no more, or that of the free scanner (3.x).
    pub migrate_frozen: bool,
    pub free_frozen: bool,
    /// An asynchronous run has found the LRU or zone lock taken: it ends where its block does, unless it has reached its goal there
    /// (11.12b.vii).
    pub contended: bool,
    pub fast_search_fail: u32,
    /// Order that the next search for targets starts from.
    pub search_order: Order,
    /// Lowest block that fast search found.
    pub fast_start: FastStart,
    /// kswapd of the node runs: ends proactive runs (11.14.2).
    pub kswapd_running: bool,
    /// When the step began.
    pub now: Nanos,
    // ---- in its hands
    pub sources: Vec<Source>,
    /// Pages of compound sources that were split for want of a target, in the order in which they are moved.
    pub split: Vec<Source>,
    /// Base pages in both.
    pub nr_sources: u32,
    /// Frames whose pages have moved and that are freed once the batch has been unmapped.
    pub vacated: Vec<Pfn>,
    pub targets: Targets,
    pub captured: Option<Pfn>,
    // ---- counted
    pub migrate_scanned: u64,
    pub free_scanned: u64,
}

/// `fast_start_pfn`: the basis of a linear scan once fast search fails, used once (11.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FastStart {
    /// Nothing found yet.
    Unset,
    /// Lowest frame found.
    At(Pfn),
    /// Used up.
    Spent,
}

impl CompactControl {
    /// Order as tracepoints print it: -1 is all bits set.
    pub fn trace_order(&self) -> Order {
        self.order.unwrap_or(Order::MAX)
    }

    /// Whether the run must leave at once.
    pub fn fatal_signal(&self) -> bool {
        self.task.flags.contains(TaskFlags::DYING)
    }

    /// Async direct compaction: only the request counts, not the zone's long-term shape (11.6).
    pub fn hasty(&self) -> bool {
        self.direct && self.mode == CompactMode::Async
    }

    /// Whether the free scanner came down to the migrate scanner's block (11.14.1).
    pub fn scanners_met(&self, geometry: &Geometry) -> bool {
        geometry.block_of(self.free_pfn) <= geometry.block_of(self.migrate_pfn)
    }

    /// Start of a pageblock, within the zone.
    pub fn block_start(&self, geometry: &Geometry, block: BlockId) -> Pfn {
        geometry.block_start(block).max(self.start)
    }

    /// One past the end of the pageblock that holds the frame, within the zone.
    pub fn block_end(&self, geometry: &Geometry, pfn: Pfn) -> Pfn {
        pageblock_end(geometry, pfn).min(self.end)
    }
}

/// One past the end of the pageblock that holds the frame.
pub(crate) fn pageblock_end(geometry: &Geometry, pfn: Pfn) -> Pfn {
    pfn.align_down(geometry.pageblock_order).add(geometry.pageblock_pages())
}

/// Start of the pageblock that holds the frame.
pub(crate) fn pageblock_start(geometry: &Geometry, pfn: Pfn) -> Pfn {
    pfn.align_down(geometry.pageblock_order)
}

impl<W: World> State<W> {
    fn control(&self, zone: ZoneId, task: &TaskContext) -> CompactControl {
        let info = self.alloc.zone_info(zone);
        CompactControl {
            zone,
            node: info.node,
            start: info.start,
            end: info.end,
            order: None,
            capture_order: None,
            migratetype: Gfp::KERNEL.migratetype(),
            gfp: Gfp::KERNEL,
            mode: CompactMode::Sync,
            alloc_flags: AllocFlags::WMARK_MIN,
            highest: info.kind,
            direct: false,
            whole_zone: false,
            ignore_skip: false,
            ignore_block_suitable: false,
            proactive: false,
            task: *task,
            migrate_pfn: info.start,
            free_pfn: info.start,
            finish_pageblock: false,
            rescan: false,
            finishing_block: false,
            last_migrated: None,
            update_cached: false,
            migrate_frozen: false,
            free_frozen: false,
            contended: false,
            fast_search_fail: 0,
            search_order: 0,
            fast_start: FastStart::Unset,
            kswapd_running: false,
            now: 0,
            sources: Vec::new(),
            split: Vec::new(),
            nr_sources: 0,
            vacated: Vec::new(),
            targets: Targets::default(),
            captured: None,
            migrate_scanned: 0,
            free_scanned: 0,
        }
    }

    /// Direct compaction's row of 11.2.
    pub(super) fn direct_control(&self, asked: &DirectCompaction<'_>, zone: ZoneId) -> CompactControl {
        let &DirectCompaction { request, flags, priority, order, task } = asked;
        let full = priority == CompactPriority::SyncFull;
        let mode = if priority == CompactPriority::Async { CompactMode::Async } else { CompactMode::SyncLight };
        // Kernel threads have what they free taken by whoever comes, as khugepaged does (`task_capc`).
        let captures =
            self.alloc.policy.compaction.capture != CompactCapture::Never && !task.flags.contains(TaskFlags::KTHREAD);
        CompactControl {
            order: Some(order),
            capture_order: captures.then_some(request.order),
            migratetype: request.migratetype,
            gfp: request.gfp,
            mode,
            alloc_flags: flags,
            highest: request.gfp.highest_zone(),
            direct: true,
            whole_zone: full,
            ignore_skip: full,
            ignore_block_suitable: full,
            search_order: order,
            ..self.control(zone, task)
        }
    }

    /// kcompactd's row; also the compaction that kswapd did itself up to 4.5, which was async (9.13).
    pub(crate) fn daemon_control(
        &self,
        zone: ZoneId,
        order: Order,
        highest: ZoneType,
        flags: AllocFlags,
        mode: CompactMode,
        task: &TaskContext,
    ) -> CompactControl {
        CompactControl {
            order: Some(order),
            search_order: order,
            highest,
            alloc_flags: flags,
            mode,
            ..self.control(zone, task)
        }
    }

    /// The rows of proactive compaction and of `compact_memory`.
    pub(crate) fn whole_zone_control(&self, zone: ZoneId, proactive: bool, task: &TaskContext) -> CompactControl {
        CompactControl {
            mode: if proactive { CompactMode::SyncLight } else { CompactMode::Sync },
            whole_zone: true,
            ignore_skip: true,
            proactive,
            ..self.control(zone, task)
        }
    }
}
