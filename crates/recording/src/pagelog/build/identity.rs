//! Which page is it? The page cache names its pages; of those that come back from swap only their order is known.

use super::{Builder, Phase};
use crate::pagelog::files::FileKey;
use crate::pagelog::start::NOBODY;
use crate::pagelog::*;

impl Builder<'_> {
    pub(super) fn entered_page_cache(&mut self, ts: u64, task: usize, pfn: u64, key: FileKey) {
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
    pub(super) fn left_page_cache(&mut self, pfn: u64, order: u32, key: FileKey) {
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
    pub(super) fn settle_swapin(&mut self, task: usize) {
        let state = self.tasks.get(task);
        let Some(object) = state.maybe_swapin.take() else { return };
        if let Some(before) = state.swapped.pop_front().filter(|_| self.objects[object as usize].flags & !MEMALLOC == 0)
        {
            self.attribution.refaults_anon_assumed += 1;
            self.link(object, before, AGAIN);
        }
    }
}
