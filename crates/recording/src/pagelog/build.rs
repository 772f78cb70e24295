//! Reading a trace into a page log.

mod frees;
mod pieces;
mod silent;
mod steps;
mod work;

use super::beside::Beside;
use super::bulk::BulkPages;
use super::cached::FirstUse;
use super::exits;
use super::files::{FileKey, Files};
use super::forks::{self, Forks};
use super::infer::may_be_cached;
use super::kthreads::Kthreads;
use super::late;
use super::metadata::Metadata;
use super::migration::Migrations;
use super::moves::{Moves, PageArray};
use super::noticed::Noticed;
use super::once;
use super::parts::Parts;
use super::returns::{ALL_KEPT, Returns};
use super::slab;
use super::speed::{Measured, Running};
use super::start::{NOBODY, Snapshot};
use super::task::Tasks;
use super::thp::{OpenUnit, is_base_page, is_first_attempt};
use super::*;
use crate::Record;
use crate::error::Error;
use crate::event::{Event, PageAlloc};
use crate::marker::{Edge, Mark};
use foldhash::HashMap;
use lab::outcome::FailedAttempt;
use pagealloc::Migratetype;
use std::collections::BTreeMap;

/// Where the reader stands relative to the start snapshot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before it: only what tasks are doing is followed.
    Before,
    /// It is being taken: changes are applied to it.
    During,
    /// The log runs.
    Running,
}

/// So many gfp masks have a place of their own.
pub(super) const MOST_MASKS: usize = 1 << u8::BITS;

/// The idle thread's number: what interrupts do for nobody is its.
const INTERRUPTS: i32 = 0;

struct Builder<'a> {
    snapshot: &'a Snapshot<'a>,
    /// Objects of the snapshot: those below this number.
    from_before: ObjectId,
    phase: Phase,
    tasks: Tasks,
    files: Files,
    metadata: Metadata,
    migrations: Migrations,
    moves: Moves,
    measured: Measured,
    turns: Running,
    kthreads: Kthreads,
    returns: Returns,
    noticed: Noticed,
    owner: Vec<ObjectId>,
    /// Time of the last event on each frame.
    seen: Vec<u64>,
    /// Owner map at the start of the log.
    start_owner: Vec<ObjectId>,
    first_use: BTreeMap<u32, FirstUse>,
    /// Pages of each object not freed yet, for those of order > 0; and the task that asked for anonymous ones.
    remaining: HashMap<ObjectId, u32>,
    asker: Vec<u16>,
    gfps: HashMap<u32, u8>,
    cpus: u16,
    ops: Vec<Op>,
    objects: Vec<Object>,
    units: Vec<Unit>,
    gfp_list: Vec<Gfp>,
    window: (u64, u64),
    attribution: Attribution,
    beside: Beside,
    bulk: BulkPages,
    parts: Parts,
    forks: Forks,
}

/// Reads a whole trace. `array`: where the kernel had its pages, if the trace shows moves; `thp`: transparent huge pages
/// were on.
///
/// # Errors
/// Those of the trace.
pub fn build(
    snapshot: &Snapshot<'_>,
    records: impl Iterator<Item = Result<Record, Error>>,
    array: Option<PageArray>,
    thp: bool,
) -> Result<(PageLog, Beside), Error> {
    let mut builder = Builder::new(snapshot, array);
    for record in records {
        builder.record(&record?);
    }
    Ok(builder.finish(thp))
}

impl<'a> Builder<'a> {
    fn new(snapshot: &'a Snapshot<'a>, array: Option<PageArray>) -> Builder<'a> {
        let mut objects = Vec::new();
        let owner = snapshot.objects(&mut objects);
        let asker = vec![0; objects.len()];
        Builder {
            snapshot,
            from_before: objects.len() as ObjectId,
            phase: Phase::Before,
            tasks: Tasks::default(),
            files: Files::default(),
            metadata: Metadata::default(),
            migrations: Migrations::default(),
            moves: Moves::new(array),
            measured: Measured::default(),
            turns: Running::default(),
            kthreads: Kthreads::default(),
            returns: Returns::default(),
            noticed: Noticed::default(),
            seen: vec![0; owner.len()],
            start_owner: Vec::new(),
            owner,
            first_use: BTreeMap::new(),
            remaining: HashMap::default(),
            asker,
            gfps: HashMap::default(),
            cpus: 1,
            ops: Vec::new(),
            objects,
            units: Vec::new(),
            gfp_list: Vec::new(),
            window: (0, 0),
            attribution: Attribution::default(),
            beside: Beside::default(),
            bulk: BulkPages::new(snapshot.zones, snapshot.blocks),
            parts: Parts::default(),
            forks: Forks::default(),
        }
    }

    fn record(&mut self, record: &Record) {
        self.attribution.records += 1;
        self.cpus = self.cpus.max(record.cpu + 1);
        self.turns.runs(record.cpu, record.pid);
        let task = self.tasks.index_of(record.pid);
        self.forks.heard(record.ts_ns, task, record.pid);
        self.follow_lists(record, task);
        self.time_passed(record, task);
        match &record.event {
            Event::PageAlloc(event) => self.page_alloc(record, task, event),
            Event::PageFree(event) => self.page_free(record, task, event),
            Event::PageFreeBatched(event) => self.batched(task, event.pfn),
            Event::FilemapAdd(add) => {
                let key = FileKey { device: add.s_dev, inode: add.i_ino, index: add.index };
                self.entered_page_cache(record.ts_ns, task, add.pfn, key);
            }
            Event::FilemapDelete(delete) => {
                let key = FileKey { device: delete.s_dev, inode: delete.i_ino, index: delete.index };
                self.tasks.get(task).folios_since_step += 1;
                self.left_page_cache(delete.pfn, delete.order.unwrap_or(0), key);
            }
            Event::PageAllocExtfrag(event) if self.phase == Phase::Running => {
                self.beside.fell_back(record.ts_ns, event)
            }
            Event::PageMoved(event) => self.page_moved(record.ts_ns, event),
            Event::Marker(marker) => self.marker(record.ts_ns, marker.mark()),
            Event::Lost(lost) => self.attribution.lost += lost.count.unwrap_or(1),
            other => self.daemon(record, task, other),
        }
    }

    fn marker(&mut self, ts: u64, mark: Option<Mark<'_>>) {
        self.beside.clocks.saw(ts, mark);
        match mark {
            Some(Mark::Snap("start", Edge::Begin)) => self.phase = Phase::During,
            Some(Mark::Snap("start", Edge::End)) => {
                self.phase = Phase::Running;
                self.start_owner = self.owner.clone();
                self.window = (ts, ts);
            }
            Some(Mark::Tick(number, Edge::End)) => {
                self.beside.ticks.insert(number, ts);
                self.beside.activated_by_reclaim.insert(number, self.beside.activated.0);
                self.window.1 = ts;
            }
            _ => {}
        }
    }

    // ---- requests

    fn page_alloc(&mut self, record: &Record, task: usize, event: &PageAlloc) {
        self.settle_swapin(task);
        self.beside.page_events.0 += 1;
        if self.phase == Phase::Before {
            return;
        }
        let gfp = Gfp(event.gfp_flags as u32);
        self.forks.asks(record.ts_ns, self.tasks.get(task).index, gfp);
        self.attribution.allocs += 1;
        if event.pfn.is_none() && self.phase == Phase::Running {
            self.beside.failures.push(FailedAttempt { ts: record.ts_ns, order: event.order as Order, gfp });
        }
        if event.order as u8 == pagealloc::Geometry::PAGES_4K.pmd_order && gfp.contains(Gfp::MOVABLE) {
            return self.thp_attempt(record, task, gfp, event.pfn);
        }
        let internal = event.order == 0 && mm::swap::is_table_request(gfp) && self.tasks.get(task).reclaiming();
        let Some(pfn) = event.pfn else {
            if internal {
                self.attribution.swap_table_requests += 1;
                self.table_failed(record, task);
                return;
            }
            self.attribution.attempts_refused += 1;
            let object = self.new_object(gfp, event.order as Order, task);
            return self.push(record, task, OpKind::Attempt, object);
        };
        let object = match self.member_of_unit(task, gfp, event.order) {
            Some(member) => member,
            None => self.new_object(gfp, event.order as Order, task),
        };
        self.occupy(record, pfn, event.order as Order, object);
        if internal {
            self.attribution.swap_table_requests += 1;
            self.objects[object as usize].flags |= INTERNAL;
            return;
        }
        self.push(record, task, OpKind::Alloc, object);
        let class = self.objects[object as usize].class;
        if class == Class::Anon && !gfp.contains(Gfp::ZERO) && gfp.contains(Gfp::HIGHUSER_MOVABLE) {
            self.tasks.get(task).maybe_swapin = Some(object);
        }
    }

    fn thp_attempt(&mut self, record: &Record, task: usize, gfp: Gfp, pfn: Option<u64>) {
        let open = self.tasks.get(task).unit;
        let retry = open.filter(|open| open.retry_expected && !is_first_attempt(gfp));
        let unit = match retry {
            Some(open) => open.unit,
            None => self.open_unit(record, task, gfp),
        };
        let Unit { members, object, direct, .. } = self.units[unit as usize];
        self.units[unit as usize].served = pfn.is_some();
        self.tasks.get(task).unit = Some(OpenUnit {
            unit,
            members,
            used: 0,
            refused: pfn.is_none(),
            retry_expected: pfn.is_none() && direct && retry.is_none(),
        });
        if let Some(pfn) = pfn {
            self.occupy(record, pfn, 9, object);
        }
    }

    /// A new THP fault with room for its base pages.
    fn open_unit(&mut self, record: &Record, task: usize, gfp: Gfp) -> u32 {
        let unit = self.units.len() as u32;
        let direct = gfp.contains(Gfp::DIRECT_RECLAIM);
        let object = self.new_object(gfp.without(Gfp::THISNODE | Gfp::NORETRY), 9, task);
        let whole = &mut self.objects[object as usize];
        (whole.flags, whole.link) = (UNIT, unit);
        let members = self.objects.len() as ObjectId;
        let gfp = self.gfp_index(Gfp::HIGHUSER_MOVABLE | Gfp::ZERO | Gfp::COMP);
        let member = Object { leave: NEVER, link: unit, gfp, order: 0, class: Class::Anon, flags: MEMBER };
        self.objects.extend(std::iter::repeat_n(member, 512));
        self.asker.resize(self.objects.len(), task as u16);
        self.close_unit(task, record.ts_ns);
        self.units.push(Unit { members, object, direct, served: false, until: record.ts_ns });
        self.attribution.thp_faults += 1;
        self.push(record, task, OpKind::ThpFault, object);
        unit
    }

    /// The task goes on to something else: its last THP fault is fully touched.
    fn close_unit(&mut self, task: usize, ts: u64) {
        if let Some(open) = self.tasks.get(task).unit.take() {
            self.units[open.unit as usize].until = ts;
        }
    }

    fn member_of_unit(&mut self, task: usize, gfp: Gfp, order: u32) -> Option<ObjectId> {
        let open = self.tasks.get(task).unit.as_mut()?;
        if !open.refused || order != 0 || !is_base_page(gfp) || open.used == 512 {
            return None;
        }
        open.used += 1;
        Some(open.members + open.used - 1)
    }

    fn new_object(&mut self, gfp: Gfp, order: Order, task: usize) -> ObjectId {
        let class = match gfp.migratetype() {
            Migratetype::Movable => Class::Anon,
            Migratetype::Reclaimable => Class::Slab,
            _ => Class::Kernel,
        };
        let gfp = self.gfp_index(gfp);
        let flags = if self.tasks.get(task).reclaiming() { MEMALLOC } else { 0 };
        self.objects.push(Object { leave: NEVER, link: 0, gfp, order, class, flags });
        self.asker.push(self.tasks.get(task).index);
        self.objects.len() as ObjectId - 1
    }

    fn gfp_index(&mut self, gfp: Gfp) -> u8 {
        let list = &mut self.gfp_list;
        *self.gfps.entry(gfp.0).or_insert_with(|| {
            // A machine uses a few dozen masks; the 256th and later ones share the last place.
            if list.len() < MOST_MASKS {
                list.push(gfp);
            }
            (list.len() - 1) as u8
        })
    }

    fn occupy(&mut self, record: &Record, pfn: u64, order: Order, object: ObjectId) {
        let frames = pfn as usize..pfn as usize + (1 << order);
        self.moves.allocated(pfn);
        self.parts.handed_out(frames.clone());
        let Some(owners) = self.owner.get_mut(frames.clone()) else { return };
        if owners.iter().any(|owner| *owner != NOBODY)
            && !was_cached(self.snapshot, &self.seen, &mut self.start_owner, &frames)
        {
            self.attribution.frees_unseen += 1;
        }
        owners.fill(object);
        self.seen[frames].fill(record.ts_ns);
        if order > 0 {
            self.remaining.insert(object, 1 << order);
        }
        if self.phase == Phase::Running {
            self.first_use.entry(pfn as u32).or_insert(FirstUse { ts: record.ts_ns, order, cpu: record.cpu });
        }
    }

    // ---- what pages are

    fn entered_page_cache(&mut self, ts: u64, task: usize, pfn: u64, key: FileKey) {
        let Some(&object) = self.owner.get(pfn as usize) else { return };
        if object == NOBODY {
            return;
        }
        self.objects[object as usize].class = Class::File;
        let state = self.tasks.get(task);
        if state.maybe_swapin == Some(object) {
            state.maybe_swapin = None;
        }
        self.metadata.entered(key, object);
        let order = self.objects[object as usize].order;
        let Some(before) = self.files.enter(key, order, object) else { return };
        let was = self.objects[before as usize];
        let gfp = usize::from(self.objects[object as usize].gfp);
        let written = self.gfp_list.get(gfp).is_some_and(|gfp| gfp.contains(Gfp::WRITE));
        if self.phase == Phase::Running && !written {
            self.attribution.refault_pages += 1 << order;
        }
        if was.order == order {
            self.attribution.refaults_file += 1;
            self.returns.came_back(&was, ts);
        }
        self.link(object, before, if was.order == order { AGAIN } else { RESIZED });
    }

    /// A page leaves the page cache: by truncation, or because reclaim is about to free it. Its name tells which object
    /// it is, even if compaction had moved it.
    fn left_page_cache(&mut self, pfn: u64, order: u32, key: FileKey) {
        let objects = &self.objects;
        let order_of = |object: ObjectId| objects[object as usize].order;
        let Some(object) = self.files.leave(key, order as Order, order_of) else { return };
        let frames = pfn as usize..pfn as usize + (1 << order);
        let Some(owners) = self.owner.get_mut(frames) else { return };
        if owners[0] == NOBODY {
            owners.fill(object);
            self.migrations.placed(object, order as Order);
            self.attribution.identities_recovered += 1;
        }
    }

    /// Notes what the object was before it was evicted: in which way, [`AGAIN`] or [`RESIZED`] says.
    fn link(&mut self, object: ObjectId, before: ObjectId, how: u8) {
        let again = &mut self.objects[object as usize];
        if again.flags & !MEMALLOC == 0 {
            again.flags |= how;
            again.link = before;
        }
    }

    /// The task's last unzeroed anonymous page did not enter the page cache: it was read from swap, if anything was
    /// there. Which page it was the trace does not say: the one that left first.
    fn settle_swapin(&mut self, task: usize) {
        let state = self.tasks.get(task);
        let Some(object) = state.maybe_swapin.take() else { return };
        if let Some(before) = state.swapped.pop_front().filter(|_| self.objects[object as usize].flags & !MEMALLOC == 0)
        {
            self.attribution.refaults_anon_assumed += 1;
            self.link(object, before, AGAIN);
        }
    }

    fn push(&mut self, record: &Record, task: usize, kind: OpKind, object: ObjectId) {
        if self.phase == Phase::Running {
            let task = self.tasks.get(task).index;
            self.ops.push(Op { ts: record.ts_ns, object, task, cpu: record.cpu as u8, kind });
        }
    }

    /// Gives each tail of a block without `__GFP_COMP` at the start to the kernel, for good.
    fn own_tails_without_type(&mut self) {
        let tails = self.snapshot.tails_without_type(&self.start_owner, &self.seen);
        self.attribution.tails_without_type = tails.len() as u64;
        for pfn in tails {
            self.start_owner[pfn.index()] = self.objects.len() as ObjectId;
            self.objects.push(Object { leave: NEVER, link: 0, gfp: 0, order: 0, class: Class::Kernel, flags: 0 });
            self.asker.push(0);
        }
    }

    fn finish(mut self, thp: bool) -> (PageLog, Beside) {
        let end = self.window.1;
        (self.beside.tasks, self.beside.masks) = (self.tasks.seen(), self.gfps.len());
        self.settle_parts();
        self.ops.truncate(self.ops.partition_point(|op| op.ts <= end));
        self.beside.extfrag.retain(|event| event.ts <= end);
        self.beside.failures.retain(|event| event.ts <= end);
        self.add_bulk_pages(end);
        if self.phase != Phase::Running {
            // The trace ends before the start snapshot does.
            self.start_owner = std::mem::take(&mut self.owner);
        }
        self.own_tails_without_type();
        let start = self.snapshot.state(&self.start_owner, &self.objects, &self.first_use, thp, self.cpus);
        self.attribution.metadata_held = self.metadata.classify(&mut self.objects);
        let interrupts = self.tasks.index_of(INTERRUPTS);
        let interrupts = self.tasks.get(interrupts).index;
        late::attribute(&mut self.ops, self.tasks.pids.len(), &self.asker, self.from_before, interrupts);
        self.attribution.swapped_at_exit = exits::add_frees(&mut self.ops, &self.objects, &self.asker);
        let reach = once::mark(&mut self.objects, &self.ops, self.window);
        self.attribution.in_use_at_start = start.used.len() as u64;
        let began = forks::began(&self.forks.parents, self.tasks.pids.len(), &self.ops, &self.objects);
        let log = PageLog {
            began,
            ops: self.ops,
            objects: self.objects,
            units: self.units,
            gfps: self.gfp_list,
            tasks: self.tasks.pids,
            start,
            speeds: self.measured.speeds(),
            kthreads: self.kthreads.cpus(self.cpus),
            file_return: self.returns.median(),
            noticed: self.noticed.times(),
            reach,
            shadows_kept: ALL_KEPT,
            slabs_scanned: slab::USUAL,
            askers: self.asker,
            parents: self.forks.parents,
            dirty: Vec::new(),
            activated_by_use: Vec::new(),
            samples: self.beside.ticks.values().copied().filter(|ts| *ts > self.window.0).collect(),
            window: self.window,
            attribution: self.attribution,
        };
        (log, self.beside)
    }
}

/// Whether frames that are handed out, and seemed in use at the start, were on a per-CPU list then: nothing happened to
/// them since. They count as free at the start from now on.
fn was_cached(
    snapshot: &Snapshot<'_>,
    seen: &[u64],
    start_owner: &mut [ObjectId],
    frames: &std::ops::Range<usize>,
) -> bool {
    let untouched = |pfn: usize| seen[pfn] == 0 && may_be_cached(snapshot.flags[pfn]);
    let cached = snapshot.inferred && frames.clone().all(untouched);
    if let Some(owners) = start_owner.get_mut(frames.clone()).filter(|_| cached) {
        owners.fill(NOBODY);
    }
    cached
}
