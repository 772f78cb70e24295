//! What separates the phases of an experiment: meetings of tasks, and caches that are dropped.

use crate::sim::Sim;
use crate::state::computer::Computer;
use mm::{Env, Nanos, State};
use pagealloc::policy::JournalRelease;
use pagealloc::{FrameState, Pfn};
use workload::Errno;

/// How often who waits at a meeting looks whether the run is over.
const LOOK: Nanos = 100_000_000;

impl Sim {
    /// Waits until so many tasks have come, or the run is over.
    pub async fn meet(&self, number: u16, tasks: u32) {
        let waiting = {
            let mut meetings = self.meetings.borrow_mut();
            let meeting = meetings.entry(number).or_default();
            meeting.come += 1;
            if meeting.come >= tasks { std::mem::take(&mut meeting.waiting) } else { Vec::new() }
        };
        waiting.into_iter().for_each(|task| self.env().unpark(task));
        let complete = || self.meetings.borrow().get(&number).is_some_and(|meeting| meeting.come >= tasks);
        while !complete() && !self.is_over() {
            let task = self.env().current.get();
            if let Some(meeting) = self.meetings.borrow_mut().get_mut(&number) {
                meeting.waiting.retain(|&waits| waits != task);
                meeting.waiting.push(task);
            }
            self.env().park(Some(LOOK)).await;
        }
    }

    /// Drops clean page cache, then what the slab shrinkers can free.
    pub async fn drop_caches(&self) -> Result<(), Errno> {
        let files: Vec<u32> = self.mm.state.borrow().owner.files.iter().map(|(file, _)| file).collect();
        let mut pages = 0;
        let release = self.mm.state.borrow().owner.journal_release;
        if release != JournalRelease::Shrinker {
            self.release_metadata();
        }
        for file in files {
            pages += self.drop_with(|owner, now, droppable, freed| owner.drop_pages(file, now, droppable, freed));
        }
        // A dentry that was used goes at the second look.
        for _ in 0..2 {
            pages += self.drop_with(|owner, now, droppable, freed| owner.drop_slab(now, droppable, freed));
        }
        if release == JournalRelease::Shrinker {
            self.release_metadata();
        }
        self.spend(self.spec.costs.page * pages).await;
        Ok(())
    }

    /// Drops something of the owner's, and frees its frames: how many.
    fn drop_with(&self, drop: impl FnOnce(&mut Computer, Nanos, &dyn Fn(Pfn) -> bool, &mut Vec<Pfn>)) -> u64 {
        let mut freed = Vec::new();
        {
            let State { owner, pages, alloc, .. } = &mut *self.mm.state.borrow_mut();
            let droppable = |pfn: Pfn| alloc.frames.state(pfn) == FrameState::LRU && pages.is_droppable(pfn);
            drop(owner, self.mm.env.now(), &droppable, &mut freed);
        }
        let pages = freed.len() as u64;
        self.free_frames(freed);
        self.settle();
        pages
    }
}
