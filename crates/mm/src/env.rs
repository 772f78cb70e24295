//! What the machinery needs from its surroundings: time, waiting, CPU time, I/O.

use crate::bits::bitflags_like;
use crate::lru_kind::LruKind;
use crate::turn::Turn;
use core::future::Future;
use pagealloc::{CpuId, NodeId, Pfn};

/// Nanoseconds since boot of the (virtual or real) machine.
pub type Nanos = u64;

/// What may be waited on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Queue {
    /// kswapd of a node sleeps here.
    Kswapd(NodeId),
    /// kcompactd of a node sleeps here.
    Kcompactd(NodeId),
    /// Direct reclaimers throttled until kswapd makes progress (8.14), and fragmentation stalls (7.9).
    Pfmemalloc(NodeId),
    /// Reclaim throttled on writeback (10.14).
    Writeback(NodeId),
    /// Reclaim throttled on isolated pages.
    Isolated(NodeId),
    /// Reclaim throttled without progress.
    NoProgress(NodeId),
    /// Reclaim throttled on congestion.
    Congested(NodeId),
    /// `congestion_wait`: for a device's request queue to have room, of kernels that have such queues. Who waits for that is woken by
    /// each write that ends while there is room.
    Congestion,
    /// Nobody wakes this one: plain `schedule_timeout`.
    Timer,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Somebody woke the queue; this much of the timeout was left.
    Early {
        /// Nanoseconds left of the timeout, 0 if there was none.
        left: Nanos,
    },
    /// The timeout passed.
    TimedOut,
}

/// CPU work done; the environment knows what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Pages looked at by reclaim, and pages of these that were freed.
    Shrink {
        /// Pages taken from an LRU list.
        scanned: u32,
        /// Pages freed.
        reclaimed: u32,
        /// Folios that these were.
        folios: u32,
        /// What they hold. Anonymous pages are found by way of page tables, unmapped, given a place on the swap device and written.
        kind: LruKind,
    },
    /// Pages moved from active to inactive, or to another generation.
    Deactivate(u32),
    /// Page table entries looked at for uses.
    WalkPageTables(u32),
    /// Slab objects scanned.
    ShrinkSlab(u32),
    /// Pages looked at by the migrate scanner.
    ScanMigrate(u32),
    /// Pages looked at by the free scanner.
    ScanFree(u32),
    /// Pages taken out of page tables, before they are moved.
    Unmap(u32),
    /// Pages copied to a new frame.
    Migrate(u32),
    /// Requests that failed inside reclaim, after all attempts that such a request has.
    FailedRequests(u32),
    /// `cond_resched`: a point at which others may run.
    Resched,
}

bitflags_like! {
    /// Properties of the task that a request runs in.
    TaskFlags: u16 {
        /// `PF_MEMALLOC`: it is freeing memory itself.
        MEMALLOC = 1,
        /// Kernel thread.
        KTHREAD = 2,
        /// kswapd.
        KSWAPD = 4,
        /// Chosen by the OOM killer.
        OOM_VICTIM = 8,
        /// Realtime or deadline scheduling.
        REALTIME = 16,
        /// A fatal signal is pending.
        DYING = 32,
        /// Softirq or interrupt context.
        INTERRUPT = 64,
        /// Dumping core: never OOM-killed for its own request.
        DUMPCORE = 128,
        /// khugepaged.
        KHUGEPAGED = 256,
    }
}

/// The task that a request runs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskContext {
    /// Process number, for events and wakes.
    pub pid: u32,
    /// CPU.
    pub cpu: CpuId,
    /// Properties.
    pub flags: TaskFlags,
}

impl TaskContext {
    /// An ordinary task.
    pub const fn user(pid: u32, cpu: CpuId) -> TaskContext {
        TaskContext { pid, cpu, flags: TaskFlags::NONE }
    }
}

/// The surroundings.
pub trait Env {
    /// Time.
    fn now(&self) -> Nanos;
    /// Ticks a second: 100 to 1000 in kernels. At least 50, or waits of a fiftieth of a second are none.
    fn hz(&self) -> u64 {
        250
    }
    /// CPU time passes for work done by this task. May let others run.
    fn work(&self, task: &TaskContext, work: Work) -> impl Future<Output = ()>;
    /// Sleeps until the queue is woken or the timeout (nanoseconds) passes.
    fn wait(&self, queue: Queue, timeout: Option<Nanos>) -> impl Future<Output = Woken>;
    /// Wakes all who wait on a queue.
    fn wake(&self, queue: Queue);
    /// Whether anybody waits on a queue.
    fn has_waiters(&self, queue: Queue) -> bool;
    /// Starts writing a page of that many base pages: anonymous memory to swap, page cache to its file. The environment calls
    /// `State::end_writeback` when it is done.
    fn start_write(&self, pfn: Pfn, kind: LruKind, pages: u64);
    /// Waits while the device that pages of this kind are written to has its request queue full: whoever submits writes
    /// sleeps then.
    fn write_room(&self, kind: LruKind) -> impl Future<Output = ()> {
        let _ = kind;
        core::future::ready(())
    }
    /// CPU that the kernel thread that asks runs on at this moment; `usual` where nobody knows better.
    fn kthread_cpu(&self, usual: CpuId) -> CpuId {
        usual
    }
    /// CPU whose page lists a task of this CPU uses while it compacts for itself: the same, unless others use that meanwhile, which they
    /// would not if it were the task's. Then lists beside it, which `PageAllocator::leave_cpu_beside` hands over.
    fn compacting_cpu(&self, cpu: CpuId) -> CpuId {
        cpu
    }
    /// Whether a task that only tries to take the LRU or zone lock would find it taken at this moment.
    fn lock_contended(&self, task: &TaskContext) -> bool {
        let _ = task;
        false
    }
    /// How often the current task had to leave its CPU to another one so far.
    fn preemptions(&self) -> u64 {
        0
    }
    /// Whether a device has so many writes queued that its queue says so (`nr_wb_congested`; request queues up to 4.x).
    fn congested(&self) -> bool {
        false
    }
    /// Wakes the flusher threads: reclaim met nothing but dirty pages that nobody is writing (10.12), or, up to 4.10, scans for nothing.
    /// They are to write so many pages, or all that are dirty.
    fn wake_flushers(&self, pages: u64) {
        let _ = pages;
    }
    /// A request of this task takes another turn of the slow path. For those who watch for loops that go on for ever.
    fn slow_path_turn(&self, task: &TaskContext, turn: &Turn) {
        let _ = (task, turn);
    }
    /// The request of this task that took the slow path has ended.
    fn slow_path_ended(&self, task: &TaskContext) {
        let _ = task;
    }
}
