//! What a free means: the owner let go, reclaim took the page, or compaction moved it.

use super::{Builder, Phase};
use crate::Record;
use crate::event::{PageFree, PageMoved};
use crate::pagelog::migration::Freed;
use crate::pagelog::moves::Arrived;
use crate::pagelog::start::NOBODY;
use crate::pagelog::*;
use pagealloc::Order;

impl Builder<'_> {
    pub(super) fn page_free(&mut self, record: &Record, task: usize, event: &PageFree) {
        let silent = self.freed_to_list(record, task, event);
        self.beside.page_events.1 += 1;
        if self.phase == Phase::Before {
            return;
        }
        self.attribution.frees += 1;
        if self.moves.freed(event.pfn) {
            self.attribution.frees_by_migration += 1;
            return;
        }
        // Compaction may have taken the frames since they were freed last, without an event.
        self.parts.handed_out(event.pfn as usize..event.pfn as usize + (1 << event.order));
        self.fall_apart(record, task, event);
        if self.tasks.get(task).reclaiming() {
            self.parts.reclaims(event.pfn, event.order);
        }
        let Some((object, since)) = self.vacate(record.ts_ns, event) else { return };
        if silent && object == NOBODY {
            return;
        }
        if record.in_interrupt && object != NOBODY {
            return self.freed_late(record, task, object, event);
        }
        let moves_known = self.moves.known();
        let state = self.tasks.get(task);
        let compacting = state.compacting && !moves_known;
        let isolated = compacting && state.isolated(event.pfn);
        if object != NOBODY {
            let class = self.objects[object as usize].class;
            let run = state.run;
            if isolated && matches!(class, Class::Anon | Class::File) {
                self.moved(run, object, event.order as Order);
            } else if self.all_freed(object, event.order) {
                self.released(record, task, object, event.pfn);
            }
        } else if isolated {
            // Moved once more, if a list of pages is migrated after this.
            state.unsettled.push((event.pfn, event.order as Order, since));
        } else if compacting {
            // A target that was not needed, or whose page could not be moved.
            self.attribution.targets_returned += 1;
        } else if let Some(object) = self.recover(task, event.pfn, event.order as Order, since)
            && self.all_freed(object, event.order)
        {
            self.released(record, task, object, event.pfn);
        }
    }

    /// An interrupt gives the page back, whatever the interrupted task is about. Slab may be what a shrinker let go of.
    fn freed_late(&mut self, record: &Record, task: usize, object: ObjectId, event: &PageFree) {
        let Object { class, flags, .. } = self.objects[object as usize];
        if !self.all_freed(object, event.order) || flags & INTERNAL != 0 {
            return;
        }
        if self.is_part(object) || class == Class::Slab && self.tasks.get(task).reclaiming() {
            return self.released(record, task, object, event.pfn);
        }
        self.attribution.frees_late += 1;
        self.push(record, task, OpKind::LateFree, object);
    }

    fn moved(&mut self, run: u32, object: ObjectId, order: Order) {
        self.metadata.moved(object);
        self.migrations.moved(run, object, order, self.asker[object as usize]);
        self.attribution.frees_by_migration += 1;
    }

    /// A list of pages was migrated: frames without a known owner that were freed on the way had been targets before.
    pub(super) fn moved_again(&mut self, task: usize) {
        let run = self.tasks.get(task).run;
        for (pfn, order, since) in std::mem::take(&mut self.tasks.get(task).unsettled) {
            if let Some(object) = self.recover(task, pfn, order, since) {
                self.moved(run, object, order);
            }
        }
    }

    /// Empties the frames. The object in them, if one is known, and when they were last seen.
    fn vacate(&mut self, ts: u64, event: &PageFree) -> Option<(ObjectId, u64)> {
        let frames = event.pfn as usize..event.pfn as usize + (1 << event.order);
        let object = *self.owner.get(frames.start)?;
        let since = std::mem::replace(&mut self.seen[frames.start], ts);
        self.owner.get_mut(frames)?.fill(NOBODY);
        Some((object, since))
    }

    /// The object that compaction had put into frames that nobody was seen to allocate.
    fn recover(&mut self, task: usize, pfn: u64, order: Order, since: u64) -> Option<ObjectId> {
        if self.moves.known() {
            self.attribution.frees_unknown += 1;
            return None;
        }
        // Page cache pages have told their names on leaving; what is left is anonymous, or from before the trace.
        let (objects, files) = (&self.objects, &self.files);
        let nameless = |object: ObjectId| objects[object as usize].class == Class::Anon || !files.is_named(object);
        let state = self.tasks.get(task);
        let recovered = self.migrations.recover(&Freed {
            block: pfn as usize >> 9,
            since,
            order,
            by: Some(state.index).filter(|_| !state.reclaiming() && !state.compacting),
            after: state.last_freed,
            may_be: &nameless,
        });
        self.attribution.identities_recovered += u64::from(recovered.is_some());
        self.attribution.frees_unknown += u64::from(recovered.is_none());
        recovered
    }

    /// The recording shows where a page went.
    pub(super) fn page_moved(&mut self, record: &Record, task: usize, event: &PageMoved) {
        let objects = &self.objects;
        let pages = |object: ObjectId| 1 << objects[object as usize].order;
        let Some(Arrived { frames, asked_for }) = self.moves.moved(event, &mut self.owner, pages) else { return };
        self.metadata.moved(self.owner[frames.start]);
        self.seen[frames].fill(record.ts_ns);
        self.attribution.moves_recorded += 1;
        if asked_for != NOBODY {
            // Pages stay where they are in a replay, which has no use for the target then.
            self.attribution.moves_to_asked += 1;
            self.push(record, task, OpKind::Free, asked_for);
        }
    }

    /// Whether the object is gone; a large one may go in parts.
    fn all_freed(&mut self, object: ObjectId, order: u32) -> bool {
        let whole = self.objects[object as usize].order;
        if whole == 0 || u32::from(whole) == order {
            return true;
        }
        let left = self.remaining.entry(object).or_insert(1 << whole);
        *left = left.saturating_sub(1 << order);
        *left == 0
    }

    fn released(&mut self, record: &Record, task: usize, object: ObjectId, pfn: u64) {
        let Object { class, flags, .. } = self.objects[object as usize];
        if flags & INTERNAL != 0 {
            return;
        }
        if self.is_part(object) {
            return self.part_freed(record, task, object, pfn);
        }
        if self.tasks.get(task).reclaiming() && class != Class::Kernel {
            self.attribution.frees_by_reclaim += 1;
            self.objects[object as usize].leave = leave_time(record.ts_ns);
            match class {
                Class::File => self.files.evict(object, self.objects[object as usize].order),
                Class::Anon => {
                    let asker = usize::from(self.asker[object as usize]);
                    self.tasks.get(asker).swapped.push_back(object);
                }
                _ => {}
            }
        } else {
            self.attribution.frees_by_owner += 1;
            let state = self.tasks.get(task);
            if class == Class::Anon && self.asker[object as usize] == state.index {
                state.last_freed = object;
            }
            self.push(record, task, OpKind::Free, object);
        }
    }
}
