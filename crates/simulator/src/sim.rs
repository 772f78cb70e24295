//! What all parts of the simulated kernel share: the machine, and how they get and give back memory.

use crate::errno::NOMEM;
use crate::files::dirty_pace::DirtyPace;
use crate::spec::MachineSpec;
use crate::state::address_space::Pid;
use crate::state::computer::Computer;
use crate::state::folio::{Folio, FolioId, KernelUse, Use};
use crate::state::khugepaged_scan::Scan;
use crate::state::page_size::PageSize;
use crate::state::slab::{Cache, Object, Objects};
use lab::outcome::SlowRequest;
use lab::{VirtualEnv, Watch};
use mm::{Env, Mm, Nanos, Tag, TaskContext, World};
use pagealloc::{Counter, Gfp, NR_ORDERS, Order, Pfn};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use workload::{Errno, Root, Spawn, TaskReport};

/// The types of a simulation.
pub(crate) struct SimWorld;

impl World for SimWorld {
    type Env = VirtualEnv;
    type Owner = Computer;
    type Observer = Watch;
}

/// A process to be started.
pub(crate) struct Birth {
    pub pid: Pid,
    pub spawn: Spawn,
    pub quota: Option<u64>,
}

/// Requests by how they were served.
#[derive(Default)]
pub(crate) struct Requests {
    pub fast: [u64; NR_ORDERS],
    pub failed: [u64; NR_ORDERS],
    pub slow: Vec<SlowRequest>,
    /// Requests without `__GFP_FS` that may reclaim, served: those that the filesystem makes for itself.
    pub nofs: [u64; NR_ORDERS],
}

/// The run.
pub(crate) struct Sim {
    pub mm: Mm<SimWorld>,
    pub spec: MachineSpec,
    pub births: RefCell<VecDeque<Birth>>,
    pub requests: RefCell<Requests>,
    pub reports: RefCell<Vec<TaskReport>>,
    /// What each process runs.
    pub roles: RefCell<BTreeMap<Pid, u16>>,
    pub next_pid: Cell<Pid>,
    pub next_handle: Cell<u32>,
    /// Processes that have not ended.
    pub alive: Cell<u32>,
    /// Roots that still owe operations.
    pub roots_left: Cell<usize>,
    /// Who follows the run has ended it.
    pub stopped: Cell<bool>,
    /// Programs that sleep of their own will.
    pub nappers: RefCell<Vec<lab::TaskId>>,
    /// Dirty pages in the order in which they became so.
    pub dirtied: RefCell<VecDeque<(Nanos, FolioId)>>,
    /// The first ones of them are of files that have been dirty for too long: so many.
    pub expired: Cell<usize>,
    /// The flusher's task while it sleeps.
    pub flusher: Cell<Option<lab::TaskId>>,
    pub wrote: Cell<u32>,
    /// How fast writers may dirty pages, where the disk's speed is known from what it does only.
    pub pace: DirtyPace,
    /// The task of XFS's log while it sleeps.
    pub log_worker: Cell<Option<lab::TaskId>>,
    /// The writer of XFS's metadata, before the first file.
    pub metadata_writer: Cell<Option<lab::TaskId>>,
    /// The worker of the log of files' inodes while it sleeps.
    pub inode_log_worker: Cell<Option<lab::TaskId>>,
    /// Files of XFS whose pages the disk is writing, by when it will have, and the worker for what follows while it has nothing to do.
    pub being_written: RefCell<VecDeque<(Nanos, u32)>>,
    pub end_worker: Cell<Option<lab::TaskId>>,
    /// What khugepaged looks through.
    pub khugepaged: RefCell<Scan>,
    /// What NUMA balancing has moved to each node in the current window of time.
    pub migrations: RefCell<Vec<(Nanos, u64)>>,
    /// Who waits at each meeting of tasks.
    pub meetings: RefCell<BTreeMap<u16, Meeting>>,
    /// CPU time that programs have used outside the kernel.
    pub user: Cell<Nanos>,
}

/// A meeting of tasks: how many have come, and those that wait for the others.
#[derive(Default)]
pub(crate) struct Meeting {
    pub come: u32,
    pub waiting: Vec<lab::TaskId>,
}

impl Sim {
    pub fn new(mm: Mm<SimWorld>, spec: MachineSpec, roots: &[Root]) -> Sim {
        let pace = DirtyPace::new(spec.page());
        Sim {
            mm,
            spec,
            births: RefCell::default(),
            requests: RefCell::default(),
            reports: RefCell::default(),
            roles: RefCell::default(),
            next_pid: Cell::new(1),
            next_handle: Cell::new(1),
            alive: Cell::new(0),
            roots_left: Cell::new(roots.len()),
            stopped: Cell::new(false),
            nappers: RefCell::default(),
            dirtied: RefCell::default(),
            expired: Cell::new(0),
            flusher: Cell::new(None),
            wrote: Cell::new(0),
            pace,
            log_worker: Cell::new(None),
            metadata_writer: Cell::new(None),
            inode_log_worker: Cell::new(None),
            being_written: RefCell::default(),
            end_worker: Cell::new(None),
            khugepaged: RefCell::default(),
            migrations: RefCell::default(),
            meetings: RefCell::default(),
            user: Cell::new(0),
        }
    }

    /// How long a timer of what is written takes that has `full` at full size.
    pub fn writeback_timer(&self, full: Nanos) -> Nanos {
        if self.spec.scaled_writeback { self.spec.scale.of(full) } else { full }
    }

    /// A daemon sleeps where others find it, until they wake it, or for so long at most.
    pub async fn sleep_at(&self, place: &Cell<Option<lab::TaskId>>, timeout: Option<Nanos>) {
        place.set(Some(self.env().current.get()));
        self.env().park(timeout).await;
        place.set(None);
    }

    /// Wakes the daemon that sleeps there, if it does.
    pub fn wake_at(&self, place: &Cell<Option<lab::TaskId>>) {
        place.take().into_iter().for_each(|task| self.env().unpark(task));
    }

    pub fn page_size(&self) -> PageSize {
        self.spec.page_size()
    }

    pub fn env(&self) -> &VirtualEnv {
        &self.mm.env
    }

    /// CPU time passes.
    pub async fn spend(&self, nanos: Nanos) {
        self.mm.env.run(nanos).await;
    }

    /// CPU time passes that a program uses outside the kernel.
    pub async fn spend_as_user(&self, nanos: Nanos) {
        self.user.set(self.user.get() + nanos);
        self.spend(nanos).await;
    }

    /// The task that requests are made in.
    pub fn context(&self, pid: Pid) -> TaskContext {
        TaskContext::user(pid, self.mm.env.cpu())
    }

    /// A request for pages. Without `DIRECT_RECLAIM` it ends at once.
    pub async fn pages(&self, order: Order, gfp: Gfp, pid: Pid) -> Option<Pfn> {
        if usize::from(order) >= NR_ORDERS {
            return None;
        }
        let task = self.context(pid);
        let (request, page) = {
            let mut state = self.mm.state.borrow_mut();
            let request = state.alloc.local_request(order, gfp, task.cpu);
            (request, state.alloc_fast_sync(&request, &self.mm.env))
        };
        let nofs = gfp.contains(Gfp::DIRECT_RECLAIM) && !gfp.contains(Gfp::FS);
        if page.is_some() {
            self.note_fast(order, nofs);
            self.spend(self.spec.costs.page).await;
            return page;
        }
        let ts = self.mm.env.now();
        // In a box: all that reclaim and compaction keep would otherwise be a part of every fault.
        let page = Box::pin(self.mm.alloc_slow(&request, &task)).await;
        self.requests.borrow_mut().nofs[usize::from(order)] += u64::from(nofs && page.is_some());
        self.note_slow(ts, order, gfp, page.is_some());
        self.spend(self.spec.costs.page).await;
        page
    }

    /// A request was served at once.
    fn note_fast(&self, order: Order, nofs: bool) {
        let mut requests = self.requests.borrow_mut();
        requests.fast[usize::from(order)] += 1;
        requests.nofs[usize::from(order)] += u64::from(nofs);
    }

    /// A request that took the slow path has ended.
    pub fn note_slow(&self, ts: Nanos, order: Order, gfp: Gfp, served: bool) {
        let mut requests = self.requests.borrow_mut();
        requests.failed[usize::from(order)] += u64::from(!served);
        let duration = self.mm.env.now() - ts;
        requests.slow.push(SlowRequest { ts, order, gfp, duration, served });
    }

    /// Pages for the kernel itself.
    pub async fn kernel_page(&self, order: Order, gfp: Gfp, pid: Pid, what: KernelUse) -> Option<FolioId> {
        let pfn = self.pages(order, gfp, pid).await?;
        Some(self.adopt(pfn, order, Use::Kernel(what)))
    }

    /// Registers a page that is on no LRU list.
    pub fn adopt(&self, pfn: Pfn, order: Order, what: Use) -> FolioId {
        let mut state = self.mm.state.borrow_mut();
        let id = state.owner.folios.add(Folio::new(what, pfn, order));
        state.pages.set_tag(pfn, Tag::from(id));
        id
    }

    /// An object of a slab cache.
    pub async fn object(&self, cache: Cache, pid: Pid) -> Result<Object, Errno> {
        let found = self.mm.state.borrow_mut().owner.slabs.take(cache, self.mm.env.cpu());
        if let Some(object) = found {
            return Ok(object);
        }
        let attempts = self.mm.state.borrow().owner.slabs.attempts(cache, self.spec.slab_allocator);
        for (order, gfp) in attempts {
            if let Some(pfn) = self.pages(order, gfp, pid).await {
                let slab = self.mm.state.borrow().owner.slabs.next_slab();
                let id = self.adopt(pfn, order, Use::Slab(slab));
                let mut state = self.mm.state.borrow_mut();
                let node = state.alloc.zone_info(state.alloc.zone_of(pfn)).node;
                return Ok(state.owner.slabs.grow(cache, self.mm.env.cpu(), (id, node), order));
            }
        }
        Err(NOMEM)
    }

    /// Several objects, or none.
    pub async fn objects(&self, caches: impl IntoIterator<Item = Cache>, pid: Pid) -> Result<Objects, Errno> {
        let mut objects = Objects::new();
        for cache in caches {
            match self.object(cache, pid).await {
                Ok(object) => objects.push(object),
                Err(error) => {
                    self.free_objects(objects);
                    return Err(error);
                }
            }
        }
        self.spend(self.spec.costs.object * objects.len() as u64).await;
        Ok(objects)
    }

    pub fn free_objects(&self, objects: impl IntoIterator<Item = Object>) {
        self.mm.state.borrow_mut().owner.free_objects(objects);
        self.settle();
    }

    /// Gives back what the owner could not: pages of slabs that became empty, parts of huge pages, and slots of the swap device.
    pub fn settle(&self) {
        let mut state = self.mm.state.borrow_mut();
        let owner = &state.owner;
        if owner.swapped_gone.is_empty() && owner.slabs.emptied.is_empty() && owner.left_over.is_empty() {
            return;
        }
        let cpu = self.mm.env.cpu();
        for part in std::mem::take(&mut state.owner.left_over) {
            let frame = state.owner.forget(part);
            frame.into_iter().for_each(|pfn| state.free_page(pfn, cpu));
        }
        for shadow in std::mem::take(&mut state.owner.swapped_gone) {
            state.forget_swapped(shadow, cpu);
        }
        for pfn in state.owner.empty_slab_frames() {
            state.free_page(pfn, cpu);
        }
    }

    /// Counts pages read from a device.
    pub fn note_read(&self, pages: u32) {
        self.mm.state.borrow_mut().alloc.vmstat.add(Counter::PgpgIn, u64::from(pages) * self.spec.page() / 1024);
    }

    /// A page has been written to the disk or the swap device.
    pub fn end_write(&self, pfn: Pfn) {
        {
            let mut state = self.mm.state.borrow_mut();
            let pages = 1 << state.alloc.frames.order(pfn);
            state.alloc.vmstat.add(Counter::PgpgOut, pages * self.spec.page() / 1024);
        }
        self.mm.end_writeback(pfn);
    }

    /// Gives back a folio of the kernel's own.
    pub fn free_folio(&self, id: FolioId) {
        let frame = self.mm.state.borrow_mut().owner.forget(id);
        self.free_frames(frame);
    }

    /// Gives frames back that nobody holds any more.
    pub fn free_frames(&self, frames: impl IntoIterator<Item = Pfn>) {
        let cpu = self.mm.env.cpu();
        let mut state = self.mm.state.borrow_mut();
        frames.into_iter().for_each(|pfn| state.free_page(pfn, cpu));
    }
}
