//! Reading a trace into a page log.

mod frees;
mod identity;
mod pieces;
mod requests;
mod silent;
mod steps;
mod work;

pub(super) use requests::MOST_MASKS;

use super::beside::Beside;
use super::bulk::BulkPages;
use super::cached::FirstUse;
use super::cpu_nodes::CpuNodes;
use super::exits;
use super::files::{FileKey, Files};
use super::forks::{self, Forks};
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
use super::start::Snapshot;
use super::task::Tasks;
use super::*;
use crate::Record;
use crate::error::Error;
use crate::event::Event;
use crate::marker::{Edge, Mark};
use foldhash::HashMap;
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
    cpu_nodes: CpuNodes,
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
            cpu_nodes: CpuNodes::new(snapshot.zones),
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
            Event::PageFree(event) => event.pieces().for_each(|piece| self.page_free(record, task, &piece)),
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
            Event::PageMoved(event) => self.page_moved(record, task, event),
            Event::Marker(marker) => self.marker(record.ts_ns, marker.mark()),
            Event::Lost(lost) => self.attribution.lost = self.attribution.lost.saturating_add(lost.count.unwrap_or(1)),
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
        let start =
            self.snapshot.state(&self.start_owner, &self.objects, &self.first_use, thp, self.cpu_nodes.of(self.cpus));
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
            swap_pages: SWAP_PAGES,
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
