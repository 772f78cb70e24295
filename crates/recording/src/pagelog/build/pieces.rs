//! Frees of parts of huge pages: who is it that gives them back?

use super::Builder;
use crate::Record;
use crate::event::PageFree;
use crate::pagelog::parts::By;
use crate::pagelog::start::NOBODY;
use crate::pagelog::*;

impl Builder<'_> {
    /// A huge page of which a part is freed was split: its base pages are objects from now on.
    pub(super) fn fall_apart(&mut self, record: &Record, task: usize, event: &PageFree) {
        let first = event.pfn as usize;
        let Some(&object) = self.owner.get(first).filter(|object| **object != NOBODY) else { return };
        let of = self.objects[object as usize];
        if of.flags & UNIT == 0 || of.class != Class::Anon || event.order >= u32::from(of.order) {
            return;
        }
        self.parts.fall_apart(of.link, self.units[of.link as usize], first, &mut self.owner);
        // Whoever frees the first of several base pages goes on with that.
        for pfn in first + 1..first + (1 << event.order) {
            if let Some(&part) = self.owner.get(pfn).filter(|part| **part != NOBODY) {
                self.part_freed(record, task, part, pfn as u64);
            }
        }
    }

    /// Whether the object is a base page of what the recorded kernel had handed out as a huge page.
    pub(super) fn is_part(&self, object: ObjectId) -> bool {
        let of = self.objects[object as usize];
        of.flags & MEMBER != 0 && self.units[of.link as usize].served
    }

    /// Reclaim splits huge pages, and so does compaction, where it moves one that is partly unmapped. An interrupt unmaps nothing itself.
    pub(super) fn part_freed(&mut self, record: &Record, task: usize, object: ObjectId, pfn: u64) {
        let state = self.tasks.get(task);
        let by = match record.in_interrupt || state.reclaiming() || state.compacting {
            true => By::Unmapped,
            false => By::Owner,
        };
        let owner = if by == By::Unmapped { self.asker[object as usize] } else { state.index };
        let op = Op { ts: record.ts_ns, object, task: owner, cpu: record.cpu as u8, kind: OpKind::Free };
        self.parts.freed(self.objects[object as usize].link, pfn, op, by);
    }

    /// A frame was freed in a batch.
    pub(super) fn batched(&mut self, task: usize, pfn: u64) {
        let state = self.tasks.get(task);
        let reclaiming = state.reclaiming();
        self.parts.batched(pfn, Some(&mut state.batch).filter(|_| reclaiming));
    }

    /// A task has reclaimed so many pages: the parts of huge pages among them may be read from swap again.
    pub(super) fn reclaimed(&mut self, task: usize, pages: u64) {
        for part in self.parts.reclaimed(&mut self.tasks.get(task).batch, pages) {
            let asker = usize::from(self.asker[part as usize]);
            self.tasks.get(asker).swapped.push_back(part);
        }
    }

    /// The operations that the parts come to.
    pub(super) fn settle_parts(&mut self) {
        let parts = std::mem::take(&mut self.parts).settle(&self.units, &mut self.objects);
        let window = self.window.0..=self.window.1;
        let in_window = parts.ops.into_iter().filter(|op| window.contains(&op.ts));
        self.attribution.frees_by_owner += parts.released;
        self.attribution.frees_by_reclaim += parts.reclaimed;
        let before = self.ops.len();
        self.ops.extend(in_window);
        let objects = &self.objects;
        let of_parts = self.ops[before..].iter().filter(|op| objects[op.object as usize].flags & MEMBER != 0);
        self.attribution.frees_of_parts = of_parts.count() as u64;
        self.ops.sort_by_key(|op| op.ts);
    }
}
