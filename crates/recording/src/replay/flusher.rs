//! Dirty page cache and its writeback. A trace shows which pages were asked for to be written to (`__GFP_WRITE`): they
//! are dirty from then on, until a flusher writes them, oldest first. When that is depends on files that are closed and
//! synced and on the disk: no more stays dirty than did in the recording at that time. Where its ticks do not tell, what is
//! beyond `dirty_background_ratio` of the memory that could be dirty is written, and what is older than
//! `dirty_expire_centisecs`.

use super::place::ReplayWorld;
use super::ticks::AtTicks;
use crate::pagelog::{ObjectId, PageLog};
use mm::{Env, LruKind, Mm, Nanos, PageFlags};
use pagealloc::Order;
use std::collections::VecDeque;

/// `dirty_expire_centisecs`: 30 seconds.
const EXPIRE_NS: Nanos = 30_000_000_000;
/// How many newly dirtied pages pass between two looks at the thresholds (`ratelimit_pages` of a small machine).
const LOOK_INTERVAL: u32 = 32;
/// Longest time between two looks at what is dirty.
const LOOK_NS: Nanos = 10_000_000;

/// Dirty pages by age.
pub(super) struct Flusher<'a> {
    dirtied: VecDeque<(Nanos, ObjectId)>,
    since_look: u32,
    next_look: Nanos,
    /// Pages that were dirty in the recording.
    recorded: AtTicks<'a>,
}

impl<'a> Flusher<'a> {
    pub fn new(log: &'a PageLog) -> Flusher<'a> {
        Flusher { dirtied: VecDeque::new(), since_look: 0, next_look: 0, recorded: AtTicks(&log.dirty) }
    }

    /// A page of this order was handed out to be written to.
    pub fn dirtied(&mut self, mm: &Mm<ReplayWorld>, object: ObjectId, order: Order) {
        self.dirtied.push_back((mm.env.now(), object));
        self.since_look += 1 << order;
        if self.since_look >= LOOK_INTERVAL {
            self.since_look = 0;
            self.write_back(mm, false);
        }
    }

    /// Writes what is due by now, whether or not anything was dirtied.
    #[inline(always)]
    pub fn keep_up(&mut self, mm: &Mm<ReplayWorld>) {
        if self.next_look <= mm.env.now() {
            self.write_back(mm, false);
        }
    }

    /// Reclaim asked for it: everything that is dirty is written (10.12), unless the recording tells how fast it was.
    pub fn write_all(&mut self, mm: &Mm<ReplayWorld>) {
        self.write_back(mm, true);
    }

    fn write_back(&mut self, mm: &Mm<ReplayWorld>, all: bool) {
        let now = mm.env.now();
        self.next_look = now + LOOK_NS;
        let recorded = self.recorded.at(now);
        let mut state = mm.state.borrow_mut();
        let (background, _) = state.dirty_thresholds();
        while let Some(&(since, object)) = self.dirtied.front() {
            let (dirty, _) = state.nr_dirty_and_writeback();
            let stays = match recorded {
                Some(level) => dirty <= level,
                None => !all && dirty <= background && now - since < EXPIRE_NS,
            };
            if stays {
                break;
            }
            self.dirtied.pop_front();
            let Some(pfn) = state.owner.frame(object) else { continue };
            let flags = state.pages.flags(pfn);
            if flags.contains(PageFlags::DIRTY) && !flags.contains(PageFlags::WRITEBACK) {
                let pages = 1 << state.alloc.frames.order(pfn);
                state.set_writeback(pfn);
                mm.env.start_write(pfn, LruKind::File, pages);
            }
        }
        state.refresh_dirty_limits();
    }
}
