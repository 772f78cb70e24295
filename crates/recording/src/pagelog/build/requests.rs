//! What a request asks for, and which object its page is from then on.

use super::{Builder, Phase};
use crate::Record;
use crate::event::PageAlloc;
use crate::pagelog::cached::FirstUse;
use crate::pagelog::infer::may_be_cached;
use crate::pagelog::start::{NOBODY, Snapshot};
use crate::pagelog::thp::{OpenUnit, is_base_page, is_first_attempt};
use crate::pagelog::*;
use lab::outcome::FailedAttempt;
use pagealloc::Migratetype;

/// So many gfp masks have a place of their own.
pub(in crate::pagelog) const MOST_MASKS: usize = 1 << u8::BITS;

impl Builder<'_> {
    pub(super) fn page_alloc(&mut self, record: &Record, task: usize, event: &PageAlloc) {
        self.settle_swapin(task);
        self.beside.page_events.0 += 1;
        if self.phase == Phase::Before {
            return;
        }
        let gfp = Gfp(event.gfp_flags as u32);
        self.forks.asks(record.ts_ns, self.tasks.get(task).index, gfp);
        self.attribution.allocs += 1;
        if event.pfn.is_none() && self.phase == Phase::Running {
            self.beside.failures.push(FailedAttempt { ts: record.ts_ns, order: event.order as Order, gfp });
        }
        if event.order as u8 == pagealloc::Geometry::PAGES_4K.pmd_order && gfp.contains(Gfp::MOVABLE) {
            return self.thp_attempt(record, task, gfp, event.pfn);
        }
        let internal = event.order == 0 && mm::swap::is_table_request(gfp) && self.tasks.get(task).reclaiming();
        let Some(pfn) = event.pfn else {
            if internal {
                self.attribution.swap_table_requests += 1;
                self.table_failed(record, task);
                return;
            }
            self.attribution.attempts_refused += 1;
            let object = self.new_object(gfp, event.order as Order, task);
            return self.push(record, task, OpKind::Attempt, object);
        };
        let object = match self.member_of_unit(task, gfp, event.order) {
            Some(member) => member,
            None => self.new_object(gfp, event.order as Order, task),
        };
        self.occupy(record, pfn, event.order as Order, object);
        if internal {
            self.attribution.swap_table_requests += 1;
            self.objects[object as usize].flags |= INTERNAL;
            return;
        }
        self.push(record, task, OpKind::Alloc, object);
        let class = self.objects[object as usize].class;
        let copied_to = gfp.contains(Gfp::THISNODE);
        if class == Class::Anon && !gfp.contains(Gfp::ZERO) && !copied_to && gfp.contains(Gfp::HIGHUSER_MOVABLE) {
            self.tasks.get(task).maybe_swapin = Some(object);
        }
    }

    fn thp_attempt(&mut self, record: &Record, task: usize, gfp: Gfp, pfn: Option<u64>) {
        let open = self.tasks.get(task).unit;
        let retry = open.filter(|open| open.retry_expected && !is_first_attempt(gfp));
        let unit = match retry {
            Some(open) => open.unit,
            None => self.open_unit(record, task, gfp),
        };
        let Unit { members, object, direct, .. } = self.units[unit as usize];
        self.units[unit as usize].served = pfn.is_some();
        self.tasks.get(task).unit = Some(OpenUnit {
            unit,
            members,
            used: 0,
            refused: pfn.is_none(),
            retry_expected: pfn.is_none() && direct && retry.is_none(),
        });
        if let Some(pfn) = pfn {
            self.occupy(record, pfn, 9, object);
        }
    }

    /// A new THP fault with room for its base pages.
    fn open_unit(&mut self, record: &Record, task: usize, gfp: Gfp) -> u32 {
        let unit = self.units.len() as u32;
        let direct = gfp.contains(Gfp::DIRECT_RECLAIM);
        let object = self.new_object(gfp.without(Gfp::THISNODE | Gfp::NORETRY), 9, task);
        let whole = &mut self.objects[object as usize];
        (whole.flags, whole.link) = (UNIT, unit);
        let members = self.objects.len() as ObjectId;
        let gfp = self.gfp_index(Gfp::HIGHUSER_MOVABLE | Gfp::ZERO | Gfp::COMP);
        let member = Object { leave: NEVER, link: unit, gfp, order: 0, class: Class::Anon, flags: MEMBER };
        self.objects.extend(std::iter::repeat_n(member, 512));
        self.asker.resize(self.objects.len(), task as u16);
        self.close_unit(task, record.ts_ns);
        self.units.push(Unit { members, object, direct, served: false, until: record.ts_ns });
        self.attribution.thp_faults += 1;
        self.push(record, task, OpKind::ThpFault, object);
        unit
    }

    /// The task goes on to something else: its last THP fault is fully touched.
    fn close_unit(&mut self, task: usize, ts: u64) {
        if let Some(open) = self.tasks.get(task).unit.take() {
            self.units[open.unit as usize].until = ts;
        }
    }

    fn member_of_unit(&mut self, task: usize, gfp: Gfp, order: u32) -> Option<ObjectId> {
        let open = self.tasks.get(task).unit.as_mut()?;
        if !open.refused || order != 0 || !is_base_page(gfp) || open.used == 512 {
            return None;
        }
        open.used += 1;
        Some(open.members + open.used - 1)
    }

    fn new_object(&mut self, gfp: Gfp, order: Order, task: usize) -> ObjectId {
        let class = match gfp.migratetype() {
            Migratetype::Movable => Class::Anon,
            Migratetype::Reclaimable => Class::Slab,
            _ => Class::Kernel,
        };
        let gfp = self.gfp_index(gfp);
        let flags = if self.tasks.get(task).reclaiming() { MEMALLOC } else { 0 };
        self.objects.push(Object { leave: NEVER, link: 0, gfp, order, class, flags });
        self.asker.push(self.tasks.get(task).index);
        self.objects.len() as ObjectId - 1
    }

    pub(super) fn gfp_index(&mut self, gfp: Gfp) -> u8 {
        let list = &mut self.gfp_list;
        *self.gfps.entry(gfp.0).or_insert_with(|| {
            // A machine uses a few dozen masks; the 256th and later ones share the last place.
            if list.len() < MOST_MASKS {
                list.push(gfp);
            }
            (list.len() - 1) as u8
        })
    }

    fn occupy(&mut self, record: &Record, pfn: u64, order: Order, object: ObjectId) {
        let frames = pfn as usize..pfn as usize + (1 << order);
        self.moves.allocated(pfn);
        self.parts.handed_out(frames.clone());
        self.cpu_nodes.gave(record.cpu, pfn);
        let Some(owners) = self.owner.get_mut(frames.clone()) else { return };
        if owners.iter().any(|owner| *owner != NOBODY)
            && !was_cached(self.snapshot, &self.seen, &mut self.start_owner, &frames)
        {
            self.attribution.frees_unseen += 1;
        }
        owners.fill(object);
        self.seen[frames].fill(record.ts_ns);
        if order > 0 {
            self.remaining.insert(object, 1 << order);
        }
        if self.phase == Phase::Running {
            self.first_use.entry(pfn as u32).or_insert(FirstUse { ts: record.ts_ns, order, cpu: record.cpu });
        }
    }
}

/// Whether frames that are handed out, and seemed in use at the start, were on a per-CPU list then: nothing happened to
/// them since. They count as free at the start from now on.
fn was_cached(
    snapshot: &Snapshot<'_>,
    seen: &[u64],
    start_owner: &mut [ObjectId],
    frames: &std::ops::Range<usize>,
) -> bool {
    let untouched = |pfn: usize| seen[pfn] == 0 && may_be_cached(snapshot.flags[pfn]);
    let cached = snapshot.inferred && frames.clone().all(untouched);
    if let Some(owners) = start_owner.get_mut(frames.clone()).filter(|_| cached) {
        owners.fill(NOBODY);
    }
    cached
}
