//! Dirty page cache and its writeback. A trace shows which pages were asked for to be written to (`__GFP_WRITE`): they
//! are dirty from then on, until a flusher writes them, oldest first, because more than `dirty_background_ratio` of
//! the memory that could be dirty is, or because they are older than `dirty_expire_centisecs`.

use super::place::ReplayWorld;
use crate::pagelog::ObjectId;
use mm::{Env, Mm, Nanos, PageFlags};
use std::collections::VecDeque;

/// `dirty_expire_centisecs`: 30 seconds.
const EXPIRE_NS: Nanos = 30_000_000_000;
/// How many newly dirtied pages pass between two looks at the thresholds (`ratelimit_pages` of a small machine).
const LOOK_INTERVAL: u32 = 32;

/// Dirty pages by age.
#[derive(Default)]
pub(super) struct Flusher {
    dirtied: VecDeque<(Nanos, ObjectId)>,
    since_look: u32,
}

impl Flusher {
    /// A page was handed out to be written to.
    pub fn dirtied(&mut self, mm: &Mm<ReplayWorld>, object: ObjectId) {
        self.dirtied.push_back((mm.env.now(), object));
        self.since_look += 1;
        if self.since_look >= LOOK_INTERVAL {
            self.since_look = 0;
            self.write_back(mm, false);
        }
    }

    /// Reclaim asked for it: everything that is dirty is written (10.12).
    pub fn write_all(&mut self, mm: &Mm<ReplayWorld>) {
        self.write_back(mm, true);
    }

    fn write_back(&mut self, mm: &Mm<ReplayWorld>, all: bool) {
        let mut state = mm.state.borrow_mut();
        let (background, _) = state.dirty_thresholds();
        while let Some(&(since, object)) = self.dirtied.front() {
            let (dirty, _) = state.nr_dirty_and_writeback();
            if !all && dirty <= background && mm.env.now() - since < EXPIRE_NS {
                break;
            }
            self.dirtied.pop_front();
            let Some(pfn) = state.owner.frame(object) else { continue };
            let flags = state.pages.flags(pfn);
            if flags.contains(PageFlags::DIRTY) && !flags.contains(PageFlags::WRITEBACK) {
                state.set_writeback(pfn);
                mm.env.start_write(pfn, false, 1);
            }
        }
        state.refresh_dirty_limits();
    }
}
