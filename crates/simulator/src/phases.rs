//! What separates the phases of an experiment: meetings of tasks, and caches that are dropped.

use crate::file::Slot;
use crate::folio::FolioId;
use crate::sim::{Sim, SimWorld};
use mm::{Env, Nanos, PageFlags, State};
use pagealloc::Pfn;
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
        let files: Vec<u32> = self.mm.state.borrow().owner.files.keys().copied().collect();
        let mut pages = 0;
        for file in files {
            let frames = drop_clean(&mut self.mm.state.borrow_mut(), file, self.mm.env.now());
            pages += frames.len() as u64;
            self.free_frames(frames);
            self.settle();
        }
        let objects = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            let objects = owner.dentries.unused();
            // A dentry that was used goes at the second look.
            owner.drop_slab();
            owner.drop_slab();
            objects
        };
        self.settle();
        self.spend(self.spec.costs.page * pages + self.spec.costs.object * objects).await;
        Ok(())
    }
}

/// Takes a file's clean pages out of the cache, with what evictions have left: frames that are free now.
fn drop_clean(state: &mut State<SimWorld>, file: u32, now: Nanos) -> Vec<Pfn> {
    let Some(of) = state.owner.files.get(&file) else { return Vec::new() };
    let heads =
        of.slots.iter().filter_map(|(&index, slot)| if let Slot::Page(id) = slot { Some((index, *id)) } else { None });
    let clean = |&(_, id): &(u32, FolioId)| {
        let folio = state.owner.folios.get(id);
        let busy = PageFlags::DIRTY.with(PageFlags::WRITEBACK);
        state.owner.folios.frame(id).is_some_and(|pfn| !state.pages.flags(pfn).intersects(busy)) && folio.ready <= now
    };
    let clean: Vec<(u32, FolioId)> = heads.filter(clean).collect();
    let mut frames = Vec::with_capacity(clean.len());
    for (index, id) in clean {
        let pages = state.owner.folios.get(id).pages();
        state.owner.uncache(file, index, pages, None);
        frames.extend(state.owner.forget(id));
    }
    let Some(of) = state.owner.files.get(&file) else { return frames };
    let bare: Vec<u32> = of.nodes.keys().copied().filter(|&node| !of.node_has_pages(node)).collect();
    bare.into_iter().for_each(|node| state.owner.drop_node(file, node));
    frames
}
