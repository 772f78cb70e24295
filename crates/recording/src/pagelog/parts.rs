//! Which parts of a huge page went by themselves?
//!
//! A process may unmap a piece of a huge page (`MADV_DONTNEED`, `munmap`). The kernel keeps the page whole until memory gets short; then it
//! splits it and gives back what nobody maps. These frees are not reclaim's though they come inside it: the owner had let go. Two rules of the
//! trace tell them apart, both found in recordings:
//!
//! - Reclaim gives back base pages in batches, and each of them is told of again (`mm_page_free_batched`). A split gives them back one by one.
//!   (`thpscale` on 6.18: of 12,793 parts that came in batches all had been in `mm_vmscan_write_folio`, of 93,184 others none.)
//! - If reclaim finds such a page before the kernel has split it, the unmapped parts come in its batches, but `mm_vmscan_lru_shrink_inactive`
//!   does not count them as reclaimed. (There: 11,264 in 44 batches, 256 each. In all other batches no more was freed than counted.)
//!
//! A huge page that was split for another reason and then went as a whole is one free, as if it had not been split.

use super::start::NOBODY;
use super::{Object, ObjectId, Op, OpKind, Unit, leave_time};
use std::collections::{BTreeMap, HashMap};

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

/// Huge pages that lost parts.
#[derive(Default)]
pub(super) struct Parts {
    /// By unit: which of its base pages have a frame of their own, or had.
    known: BTreeMap<u32, [bool; PAGES]>,
    /// By unit, in order of time.
    freed: BTreeMap<u32, Vec<Part>>,
    /// Frames given back inside reclaim of which no batch has told: unit, and which of its parts.
    alone: HashMap<u64, (u32, usize)>,
    /// Orders of the larger pages among what reclaim gave back.
    orders: HashMap<u64, u32>,
    /// Whether the trace tells of batches.
    batches: bool,
}

/// What a task's reclaim gave back since it last told what it had reclaimed.
#[derive(Default)]
pub(super) struct Batch {
    pages: u64,
    /// Parts of huge pages among that: unit, and which of its parts.
    parts: Vec<(u32, usize)>,
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

    /// The trace tells that a frame was freed in a batch, by a task that reclaims.
    pub fn batched(&mut self, pfn: u64, batch: &mut Batch) {
        self.batches = true;
        batch.pages += 1 << self.orders.remove(&pfn).unwrap_or(0);
        if let Some((unit, index)) = self.alone.remove(&pfn)
            && let Some(part) = self.freed.get_mut(&unit).and_then(|parts| parts.get_mut(index))
        {
            part.by = By::Reclaim;
            batch.parts.push((unit, index));
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
        for (which, (unit, index)) in parts.into_iter().enumerate() {
            let Some(part) = self.freed.get_mut(&unit).and_then(|parts| parts.get_mut(index)) else { continue };
            if which < unmapped {
                part.by = By::Unmapped;
            } else {
                swapped.push(part.op.object);
            }
        }
        swapped
    }

    /// A frame is handed out again: no batch will tell of it any more.
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
