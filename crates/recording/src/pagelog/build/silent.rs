//! Pages that were taken without an event, and what becomes of them in the log.

use super::Builder;
use crate::Record;
use crate::event::{Event, PageFree};
use crate::pagelog::bulk::{Seen, Taken};
use crate::pagelog::cached::FirstUse;
use crate::pagelog::*;
use pagealloc::Gfp;

/// What kernel stacks are asked for with: above all, they are what is taken in this way.
const STACKS: Gfp = Gfp(Gfp::KERNEL.0 | Gfp::HIGHMEM.0 | Gfp::ZERO.0);

impl Builder<'_> {
    fn seen(&mut self, record: &Record, task: usize) -> Seen {
        Seen { ts: record.ts_ns, cpu: record.cpu, task: self.tasks.get(task).index }
    }

    /// What an event says of the lists that pages are taken from; frees come by [`Self::freed_to_list`].
    pub(super) fn follow_lists(&mut self, record: &Record, task: usize) {
        let by = self.seen(record, task);
        match &record.event {
            Event::PageAllocZoneLocked(event) => return self.bulk.refill(by, event),
            Event::PageAllocExtfrag(event) => return self.bulk.fell_back(by, event),
            Event::PagePcpuDrain(event) => self.bulk.drained(event),
            Event::PageAlloc(event) => self.bulk.handed_out(by, event),
            _ => {}
        }
        self.bulk.other(record.cpu);
    }

    /// A page is given back; whether it had been taken without an event.
    pub(super) fn freed_to_list(&mut self, record: &Record, task: usize, event: &PageFree) -> bool {
        let by = self.seen(record, task);
        self.bulk.freed(by, record.in_interrupt, event.pfn, event.order)
    }

    /// Requests for the pages that were taken without an event, and their frees.
    pub(super) fn add_bulk_pages(&mut self, end: u64) {
        let bulk = std::mem::take(&mut self.bulk);
        let taken: Vec<Taken> = bulk.taken().filter(|taken| (self.window.0 + 1..=end).contains(&taken.by.ts)).collect();
        self.attribution.bulk_pages = taken.len() as u64;
        for together in taken.chunk_by(|one, next| one.by == next.by) {
            for (index, taken) in together.iter().enumerate() {
                self.add_bulk_page(taken, if index == 0 { together.len() as u32 } else { 0 }, end);
            }
        }
        self.ops.sort_by_key(|op| op.ts);
    }

    fn add_bulk_page(&mut self, taken: &Taken, link: u32, end: u64) {
        let Seen { ts, cpu, task } = taken.by;
        let object = self.objects.len() as ObjectId;
        let gfp = self.gfp_index(STACKS);
        self.objects.push(Object { leave: NEVER, link, gfp, order: 0, class: Class::Kernel, flags: BULK });
        self.asker.push(task);
        // They were taken before the event that tells of it.
        self.ops.push(Op { ts: ts - 1, object, task, cpu: cpu as u8, kind: OpKind::Alloc });
        if let Some((Seen { ts, cpu, task }, late)) = taken.freed.filter(|(by, _)| by.ts <= end) {
            let kind = if late { OpKind::LateFree } else { OpKind::Free };
            self.ops.push(Op { ts, object, task, cpu: cpu as u8, kind });
        }
        let used = FirstUse { ts, order: 0, cpu };
        let first = self.first_use.entry(taken.pfn as u32).or_insert(used);
        if ts < first.ts {
            *first = used;
        }
        if let Some(seen) = self.seen.get_mut(taken.pfn as usize) {
            *seen = ts.max(*seen);
        }
    }
}
