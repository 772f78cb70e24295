//! Which parts of a huge page went by themselves?
//!
//! A process may unmap a piece of a huge page (`MADV_DONTNEED`, `munmap`). The kernel keeps the page whole until memory gets short; then it
//! splits it and gives back what nobody maps. These frees are not reclaim's though they come inside it: the owner had let go. Two rules of the
//! trace tell them apart, both found in `trace-cmd report` of recordings:
//!
//! - Reclaim gives back base pages in batches, and each of them is told of again (`mm_page_free_batched`). A split gives them back one by one.
//!   (`thpscale` on 6.18: of 12,793 parts that came in batches all had been in `mm_vmscan_write_folio`, of 93,184 others none.)
//! - If reclaim finds such a page before the kernel has split it, the unmapped parts come in its batches, but `mm_vmscan_lru_shrink_inactive`
//!   does not count them as reclaimed. (There: 11,264 of 44 huge pages, the 256 each that had been unmapped. Of parts that reclaim swapped out in
//!   `m512-d1-s1` and `m512lru-d1-s21`, 666 and 33, it counts all.)
//!
//! A huge page that was split for another reason and then went as a whole is one free, as if it had not been split.

use super::start::NOBODY;
use super::{Object, ObjectId, Op, OpKind, Unit, leave_time};
use foldhash::HashMap;
use std::collections::BTreeMap;

/// Base pages of a huge page.
const PAGES: usize = 512;
/// What goes at one time: a task that gives back 512 pages may lose its CPU to others for some slices of 4 ms meanwhile.
const AT_ONCE_NS: u64 = 100_000_000;

/// Who gave a part back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// A task that unmapped it.
    Owner,
    /// Whoever split the page, for whatever reason: its owner had unmapped it before.
    Unmapped,
    /// Reclaim, which had swapped it out.
    Reclaim,
}

/// A part that was given back.
#[derive(Clone, Copy)]
struct Part {
    op: Op,
    by: By,
}

/// Unit, and which of the parts that it lost.
type PartId = (u32, usize);

/// Huge pages that lost parts.
#[derive(Default)]
pub(super) struct Parts {
    /// By unit: which of its base pages have a frame of their own, or had.
    known: BTreeMap<u32, [bool; PAGES]>,
    /// By unit, in order of time.
    freed: BTreeMap<u32, Vec<Part>>,
    /// Frames given back inside reclaim of which no batch has told.
    alone: HashMap<u64, PartId>,
    /// Orders of the larger pages among what reclaim gave back.
    orders: HashMap<u64, u32>,
    /// Whether the trace tells of batches.
    batches: bool,
}

/// What a task's reclaim gave back since it last told what it had reclaimed.
#[derive(Default)]
pub(super) struct Batch {
    pages: u64,
    /// Parts of huge pages among that.
    parts: Vec<PartId>,
}

/// What the parts come to.
#[derive(Default)]
pub(super) struct Settled {
    /// Frees, those of each unit in order of time.
    pub ops: Vec<Op>,
    /// Parts that reclaim had swapped out, and all others.
    pub reclaimed: u64,
    pub released: u64,
}

impl Parts {
    /// The frames of a huge page, one of which is `pfn`, hold base pages from now on. Of a page that had been split unseen some may be
    /// elsewhere: those take the places that are left as they are met.
    pub fn fall_apart(&mut self, number: u32, unit: Unit, pfn: usize, owner: &mut [ObjectId]) {
        let known = self.known.entry(number).or_insert([false; PAGES]);
        let first = pfn & !(PAGES - 1);
        let end = owner.len().min(first + PAGES);
        let Some(frames) = owner.get_mut(first..end) else { return };
        for (index, owner) in frames.iter_mut().enumerate() {
            if *owner == unit.object && !std::mem::replace(&mut known[index], true) {
                *owner = unit.members + index as ObjectId;
            }
        }
        for owner in frames.iter_mut().filter(|owner| **owner == unit.object) {
            *owner = known.iter().position(|known| !known).map_or(NOBODY, |index| {
                known[index] = true;
                unit.members + index as ObjectId
            });
        }
    }

    /// A part is given back.
    pub fn freed(&mut self, unit: u32, pfn: u64, op: Op, by: By) {
        let parts = self.freed.entry(unit).or_default();
        parts.push(Part { op, by });
        if by == By::Unmapped {
            self.alone.insert(pfn, (unit, parts.len() - 1));
        }
    }

    /// Reclaim gives back a page of this order.
    pub fn reclaims(&mut self, pfn: u64, order: u32) {
        if order > 0 {
            self.orders.insert(pfn, order);
        } else {
            self.orders.remove(&pfn);
        }
    }

    /// The trace tells that a frame was freed in a batch. `batch`: the task's, if it reclaims.
    pub fn batched(&mut self, pfn: u64, batch: Option<&mut Batch>) {
        self.batches = true;
        let Some(batch) = batch else { return };
        batch.pages += 1 << self.orders.remove(&pfn).unwrap_or(0);
        if let Some(id) = self.alone.remove(&pfn)
            && let Some(part) = self.part(id)
        {
            part.by = By::Reclaim;
            batch.parts.push(id);
        }
    }

    /// A task tells how many pages it has reclaimed. What it gave back beyond that had been unmapped: which parts, the trace does not say, but
    /// such pages are given back almost as a whole. The other parts: they are on swap.
    pub fn reclaimed(&mut self, batch: &mut Batch, pages: u64) -> Vec<ObjectId> {
        let Batch { pages: freed, mut parts } = std::mem::take(batch);
        let mut of_unit = BTreeMap::new();
        parts.iter().for_each(|(unit, _)| *of_unit.entry(*unit).or_insert(0_usize) += 1);
        parts.sort_by_key(|(unit, _)| std::cmp::Reverse((of_unit[unit], *unit)));
        let unmapped = freed.saturating_sub(pages).min(parts.len() as u64) as usize;
        let mut swapped = Vec::new();
        for (which, id) in parts.into_iter().enumerate() {
            let Some(part) = self.part(id) else { continue };
            if which < unmapped {
                part.by = By::Unmapped;
            } else {
                swapped.push(part.op.object);
            }
        }
        swapped
    }

    fn part(&mut self, (unit, index): PartId) -> Option<&mut Part> {
        self.freed.get_mut(&unit)?.get_mut(index)
    }

    /// Frames were handed out again: no batch will tell of what was in them any more.
    pub fn handed_out(&mut self, frames: std::ops::Range<usize>) {
        if !self.alone.is_empty() {
            for pfn in frames {
                self.alone.remove(&(pfn as u64));
            }
        }
    }

    /// Decides what the parts were. What reclaim took is noted with the objects.
    pub fn settle(self, units: &[Unit], objects: &mut [Object]) -> Settled {
        let mut settled = Settled::default();
        for (unit, mut parts) in self.freed {
            if !self.batches {
                // Nothing tells what reclaim freed for itself from what it freed for others.
                parts.iter_mut().filter(|part| part.by == By::Unmapped).for_each(|part| part.by = By::Reclaim);
            }
            settled.add(units[unit as usize], &parts, objects);
        }
        settled
    }
}

impl Settled {
    fn add(&mut self, unit: Unit, parts: &[Part], objects: &mut [Object]) {
        let reclaimed = parts.iter().filter(|part| part.by == By::Reclaim).count() as u64;
        self.reclaimed += reclaimed;
        self.released += parts.len() as u64 - reclaimed;
        if let Some(free) = as_a_whole(parts) {
            self.ops.push(Op { object: unit.object, ..free });
            return;
        }
        let swapped_out = reclaimed == PAGES as u64;
        for Part { op, by } in parts {
            let kind = match by {
                By::Owner => OpKind::Free,
                By::Unmapped => OpKind::FreePart,
                By::Reclaim => {
                    objects[op.object as usize].leave = leave_time(op.ts);
                    if swapped_out {
                        objects[unit.object as usize].leave = leave_time(op.ts);
                    }
                    continue;
                }
            };
            self.ops.push(Op { kind, ..*op });
        }
    }
}

/// The last free of a huge page all of which is gone and of which nothing had been unmapped before the rest: its owner let go of all that
/// reclaim had left at one time.
fn as_a_whole(parts: &[Part]) -> Option<Op> {
    let mut owners = parts.iter().filter(|part| part.by == By::Owner).map(|part| part.op);
    let first = owners.clone().next()?;
    let last = owners.clone().next_back()?;
    let whole = parts.len() == PAGES && parts.iter().all(|part| part.by != By::Unmapped);
    let at_once = last.ts - first.ts <= AT_ONCE_NS && owners.all(|op| op.task == first.task);
    (whole && at_once).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::super::{Class, MEMBER, NEVER, UNIT};
    use super::*;

    /// The unit's own object is 0, its members are those behind it.
    const HUGE: Unit = Unit { members: 1, object: 0, direct: false, served: true, until: 0 };
    const MS: u64 = 1_000_000;

    fn objects() -> Vec<Object> {
        let page = |order, flags| Object { leave: NEVER, link: 0, gfp: 0, order, class: Class::Anon, flags };
        let mut objects = vec![page(0, MEMBER); 1 + PAGES];
        objects[0] = page(9, UNIT);
        objects
    }

    /// Parts of the unit, freed one a microsecond from `ms` on; their frames have the numbers of their objects.
    fn free(parts: &mut Parts, ms: u64, task: u16, members: std::ops::Range<ObjectId>, by: By) {
        for object in members {
            let op = Op { ts: ms * MS + 1000 * u64::from(object), object, task, cpu: 0, kind: OpKind::Free };
            parts.freed(0, u64::from(object), op, by);
        }
    }

    fn settle(mut parts: Parts) -> (Vec<Op>, Vec<Object>) {
        parts.batched(u64::MAX, None);
        let mut objects = objects();
        let settled = parts.settle(&[HUGE], &mut objects);
        (settled.ops, objects)
    }

    #[test]
    fn frames_take_their_places_and_strays_those_that_are_left() {
        let mut owner = vec![NOBODY; 3 * PAGES];
        owner[PAGES..2 * PAGES].fill(0);
        owner[PAGES + 7] = NOBODY;
        owner[7] = 0;
        let mut parts = Parts::default();
        parts.fall_apart(0, HUGE, PAGES + 9, &mut owner);
        assert_eq!(
            (owner[7], owner[PAGES], owner[PAGES + 7], owner[2 * PAGES - 1]),
            (0, HUGE.members, NOBODY, HUGE.members + 511)
        );
        // Another one is where it has moved to: its own place is the only one left, then none is.
        owner[PAGES + 7] = 0;
        parts.fall_apart(0, HUGE, PAGES + 7, &mut owner);
        parts.fall_apart(0, HUGE, 7, &mut owner);
        assert_eq!((owner[PAGES + 7], owner[7]), (HUGE.members + 7, NOBODY));
    }

    #[test]
    fn what_goes_at_once_is_one_free() {
        let mut parts = Parts::default();
        free(&mut parts, 5, 1, 1..300, By::Owner);
        free(&mut parts, 40, 1, 300..513, By::Owner);
        let (ops, _) = settle(parts);
        assert_eq!(ops.iter().map(|op| (op.object, op.kind)).collect::<Vec<_>>(), [(0, OpKind::Free)]);
        assert_eq!(ops[0].ts, 40 * MS + 512_000, "when the last of it went");
    }

    #[test]
    fn what_goes_in_two_goes_is_freed_in_parts() {
        for (ms, task) in [(500, 1), (6, 2)] {
            let mut parts = Parts::default();
            free(&mut parts, 5, 1, 1..257, By::Owner);
            free(&mut parts, ms, task, 257..513, By::Owner);
            assert_eq!(settle(parts).0.len(), 512);
        }
    }

    #[test]
    fn what_a_split_gives_back_had_been_unmapped() {
        let mut parts = Parts::default();
        free(&mut parts, 5, 1, 1..257, By::Unmapped);
        free(&mut parts, 40, 1, 257..513, By::Owner);
        let (ops, objects) = settle(parts);
        assert!(ops[..256].iter().all(|op| op.kind == OpKind::FreePart));
        assert!(ops.len() == 512 && ops[256..].iter().all(|op| op.kind == OpKind::Free));
        assert!(objects.iter().all(|object| object.leave == NEVER));
    }

    #[test]
    fn what_reclaim_takes_in_batches_is_on_swap() {
        let mut parts = Parts::default();
        let mut batch = Batch::default();
        free(&mut parts, 70, 1, 1..513, By::Unmapped);
        (1..513).for_each(|pfn| parts.batched(pfn, Some(&mut batch)));
        assert_eq!(parts.reclaimed(&mut batch, 512), (1..513).collect::<Vec<_>>());
        let (ops, objects) = settle(parts);
        let last = leave_time(70 * MS + 512_000);
        assert!(ops.is_empty() && objects[1..].iter().all(|object| object.leave <= last));
        assert_eq!((objects[0].leave, objects[512].leave), (last, last), "the whole left with the last of it");
    }

    #[test]
    fn what_reclaim_left_is_one_free_of_the_whole() {
        let mut parts = Parts::default();
        let mut batch = Batch::default();
        free(&mut parts, 70, 1, 1..31, By::Unmapped);
        (1..31).for_each(|pfn| parts.batched(pfn, Some(&mut batch)));
        free(&mut parts, 900, 1, 31..513, By::Owner);
        assert_eq!(settle(parts).0.len(), 1);
    }

    #[test]
    fn what_reclaim_frees_and_does_not_count_had_been_unmapped() {
        let mut parts = Parts::default();
        let mut batch = Batch::default();
        // Another unit of which three parts are swapped out, and a large folio of the page cache.
        free(&mut parts, 5, 1, 1..257, By::Unmapped);
        let op = Op { ts: 5 * MS, object: 1000, task: 1, cpu: 0, kind: OpKind::Free };
        (2000..2003).for_each(|pfn| parts.freed(1, pfn, op, By::Unmapped));
        parts.reclaims(3000, 4);
        (2000..2003).chain(1..257).chain([3000]).for_each(|pfn| parts.batched(pfn, Some(&mut batch)));
        assert_eq!(batch.pages, 256 + 3 + 16);
        assert_eq!(parts.reclaimed(&mut batch, 3 + 16), [1000; 3]);
        parts.freed.remove(&1);
        assert!(settle(parts).0.iter().all(|op| op.kind == OpKind::FreePart));
    }

    #[test]
    fn a_frame_that_was_handed_out_is_another_page() {
        let mut parts = Parts::default();
        free(&mut parts, 5, 1, 1..9, By::Unmapped);
        parts.handed_out(0..5);
        let mut batch = Batch::default();
        (1..9).for_each(|pfn| parts.batched(pfn, Some(&mut batch)));
        assert_eq!(parts.reclaimed(&mut batch, 8), [5, 6, 7, 8]);
    }

    #[test]
    fn without_batches_what_reclaim_frees_is_its_own() {
        let mut parts = Parts::default();
        free(&mut parts, 70, 1, 1..257, By::Unmapped);
        let mut objects = objects();
        assert!(parts.settle(&[HUGE], &mut objects).ops.is_empty());
        assert_eq!((objects[256].leave, objects[257].leave), (leave_time(70 * MS + 256_000), NEVER));
    }
}
