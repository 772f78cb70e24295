//! Follows the page trace.

use super::frames::{Frames, Use};
use super::moments::Ticks;
use super::slices::Slicer;
use crate::event::{Event, PageAlloc, PageAllocExtfrag, PageFree};
use crate::marker::{Edge, Mark};
use crate::pagelog::{PageArray, PageLog};
use crate::{Record, Recording};
use foldhash::HashMap;
use lab::outcome::Outcome;
use lab::timeline::{Sampler, Timeline};
use pagealloc::{Gfp, Migratetype, Order};
use std::collections::VecDeque;

/// Reads records and lets the sampler look in between.
pub(super) struct Follower<'a> {
    recording: &'a Recording,
    window: (u64, u64),
    frames: Frames,
    array: Option<PageArray>,
    /// What compaction of a task took as targets and has not filled: block, pages.
    targets: HashMap<i32, VecDeque<(usize, u16)>>,
    ticks: Ticks<'a>,
    slicer: Slicer<'a>,
    sampler: Sampler,
    /// When the map is due.
    next: u64,
    bytes: Vec<u8>,
}

impl<'a> Follower<'a> {
    pub fn new(recording: &'a Recording, log: &'a PageLog, kernel: &'a Outcome, sampler: Sampler) -> Follower<'a> {
        Follower {
            recording,
            window: log.window,
            frames: Frames::new(&log.start),
            array: PageArray::of(recording),
            targets: HashMap::default(),
            ticks: Ticks::new(recording, log, kernel),
            slicer: Slicer::new(log),
            next: log.window.0,
            sampler,
            bytes: Vec::new(),
        }
    }

    pub fn record(&mut self, record: &Record) {
        if let Event::Marker(marker) = &record.event {
            self.mark(record.ts_ns, marker.mark());
        }
        if record.ts_ns < self.window.0 {
            return;
        }
        while self.next < record.ts_ns {
            self.look(self.next);
        }
        match &record.event {
            Event::PageAlloc(alloc) => self.alloc(alloc),
            Event::PageFree(free) => free.pieces().for_each(|piece| self.free(record.pid, &piece)),
            Event::FilemapAdd(add) if self.frames.of(add.pfn) == Use::Pinned => {
                self.frames.set(add.pfn.into(), self.frames.order(add.pfn), Use::Movable);
            }
            Event::PageMoved(moved) => self.moved(moved.old, moved.new),
            Event::PageAllocExtfrag(event) => self.fell_back(event),
            Event::CompactionBegin(_) => {
                self.targets.insert(record.pid, VecDeque::new());
            }
            Event::CompactionEnd(_) => {
                self.targets.remove(&record.pid);
            }
            Event::CompactionIsolateFreepages(scan) => self.took(record.pid, scan.start_pfn, scan.nr_taken),
            Event::CompactionFastIsolateFreepages(scan) => self.took(record.pid, scan.start_pfn, scan.nr_taken),
            _ => {}
        }
        self.slicer.record(record);
    }

    fn mark(&mut self, ts: u64, mark: Option<Mark<'_>>) {
        match mark {
            Some(Mark::Tick(number, Edge::End)) => {
                if let Some(tick) = self.ticks.tick(number) {
                    for (block, of) in tick.pageblocks.iter().enumerate() {
                        self.frames.set_type(block, Migratetype::from_index(of.migratetype()));
                    }
                    if ts >= self.window.0 {
                        self.ticks.sample(ts, tick, &mut self.sampler);
                    }
                }
            }
            Some(Mark::Snap(tag, Edge::End)) if ts > self.window.0 => {
                if let Some(snapshot) = self.recording.snapshots.get(tag) {
                    self.frames.take(&snapshot.pagestate);
                }
            }
            _ => {}
        }
    }

    fn look(&mut self, at: u64) {
        self.frames.bytes(&mut self.bytes);
        self.next = self.sampler.map(at, &self.bytes);
    }

    fn alloc(&mut self, alloc: &PageAlloc) {
        let Some(pfn) = alloc.pfn else { return };
        let movable = Gfp(alloc.gfp_flags as u32).migratetype() == Migratetype::Movable;
        let to = if movable { Use::Movable } else { Use::Pinned };
        self.frames.set(pfn.into(), alloc.order as Order, to);
    }

    fn free(&mut self, pid: i32, free: &PageFree) {
        let order = free.order as Order;
        let was = self.frames.of(free.pfn);
        self.frames.set(free.pfn.into(), order, Use::Free);
        let Some(targets) = self.targets.get_mut(&pid) else {
            if was == Use::Free {
                self.frames.left_unseen(free.pfn, order);
            }
            return;
        };
        if was == Use::Free {
            // A target that was not needed after all, or a page that moves a second time.
            let block = (free.pfn >> 9) as usize;
            let held = targets.iter_mut().find(|(of, left)| *of == block && *left > 0);
            match held {
                Some((_, left)) => *left = left.saturating_sub(1 << order),
                None => self.frames.left_unseen(free.pfn, order),
            }
        } else if was == Use::Movable && self.array.is_none() {
            self.placed(pid, 1 << order);
        }
    }

    /// Compaction freed pages that it had moved: into its targets, the first ones first.
    fn placed(&mut self, pid: i32, mut pages: u16) {
        let Some(targets) = self.targets.get_mut(&pid) else { return };
        while let Some((block, left)) = targets.front_mut() {
            let here = pages.min(*left);
            self.frames.arrived(*block, here);
            (*left, pages) = (*left - here, pages - here);
            if *left > 0 {
                return;
            }
            targets.pop_front();
        }
    }

    fn took(&mut self, pid: i32, start: u64, pages: u64) {
        if let Some(targets) = self.targets.get_mut(&pid).filter(|_| pages > 0) {
            targets.push_back(((start >> 9) as usize, u16::try_from(pages).unwrap_or(u16::MAX)));
        }
    }

    /// The recording shows where a page went.
    fn moved(&mut self, old: u64, new: u64) {
        let Some(array) = self.array else { return };
        let (old, new) = (array.pfn(old), array.pfn(new));
        let (order, was) = (self.frames.order(old), self.frames.of(old));
        if matches!(was, Use::Movable | Use::Pinned) {
            self.frames.set(new.into(), order, was);
        }
    }

    fn fell_back(&mut self, event: &PageAllocExtfrag) {
        for block in event.claimed_blocks() {
            self.frames.set_type(block, Migratetype::from_index(event.alloc_migratetype as u8));
        }
    }

    pub fn finish(mut self) -> Timeline {
        let end = self.window.1;
        while self.next < end {
            self.look(self.next);
        }
        self.look(end);
        let mut timeline = self.sampler.seen(end);
        timeline.slices = self.slicer.finish(end);
        timeline
    }
}
