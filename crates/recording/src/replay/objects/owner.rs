//! What does the machinery learn from the owner of all pages in a replay, and what does the owner note of what it does?

use super::heat::{COLD_AHEAD, coarse};
use super::{GONE, NOWHERE, Objects, PIECES};
use crate::pagelog::{Class, UNIT};
use crate::replay::shrinkers;
use mm::reclaim::Shadow;
use mm::{Nanos, Owner, References, ShrinkControl, Tag};
use pagealloc::{NodeId, Pfn};

impl Objects {
    /// Whether the lock that leads from pages to page tables is taken. Who holds it does so for longer than a batch takes:
    /// all pages that are looked at at one time share the answer.
    fn rmap_contended(&mut self, now: Nanos) -> bool {
        if self.log.speeds.rmap_contention > 0 && self.rmap.0 != now {
            self.rmap = (now, self.chance.one_in_65536(self.log.speeds.rmap_contention));
        }
        self.rmap.1
    }
}

impl Owner for Objects {
    #[inline(always)]
    fn load_ahead(&self, tag: Tag) -> u32 {
        let slot = &self.slots[tag.0 as usize];
        slot.place ^ u32::from(slot.of.flags)
    }

    fn referenced(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> References {
        // Page cache that is read and written has no page tables to be led to.
        if self.of(tag.0).class != Class::Anon {
            return References::None;
        }
        if self.rmap_contended(now) { References::Contended } else { self.look(tag, now) }
    }

    fn uses_meanwhile(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> u8 {
        self.uses_through_files(tag.0, now)
    }

    fn walked(&mut self, tag: Tag, _pfn: Pfn, now: Nanos) -> bool {
        self.of(tag.0).class == Class::Anon && self.look(tag, now) != References::None
    }

    fn page_table(&mut self, tag: Tag) -> u32 {
        self.page_tables.table_of(tag.0)
    }

    fn address_space_since(&self, tag: Tag) -> Nanos {
        self.page_tables.since(tag.0, self.log.began[usize::from(self.log.askers[tag.0 as usize])])
    }

    fn swapped_entries(&self, table: u32) -> u32 {
        self.page_tables.swapped(table)
    }

    fn neighbours(&mut self, tag: Tag, near: &mut Vec<Pfn>) -> u32 {
        let mut swapped = 0;
        for object in self.page_tables.beside(tag.0, self.log.askers[tag.0 as usize]) {
            match self.frame(object) {
                Some(pfn) => near.push(pfn),
                None => swapped += u32::from(self.slots[object as usize].shadow.is_some()),
            }
        }
        swapped
    }

    fn reclaimed(&mut self, tag: Tag, pfn: Pfn, now: Nanos, shadow: Shadow) {
        let object = tag.0;
        let of = self.of(object);
        if of.class == Class::Anon {
            self.swapped += 1;
            self.page_tables.swapped_out(object);
        }
        if self.place(object) == PIECES && self.forget_piece(object, pfn) {
            self.piece_shadows.entry(object).or_default().push(shadow);
            return;
        }
        self.set_place(object, NOWHERE);
        self.shadows.put(&mut self.slots[object as usize].shadow, shadow);
        if !self.is_cold(object, coarse(now)) {
            self.taken_while_hot += 1;
            self.readback.push((self.reuse.next_use(object, of.class, now), object));
        }
    }

    fn migrated(&mut self, tag: Tag, from: Pfn, to: Pfn) {
        let object = tag.0;
        if self.place(object) == PIECES {
            if let Some(piece) = self.pieces_mut(object).iter_mut().find(|piece| **piece == from) {
                *piece = to;
            }
        } else if self.place(object) == from.0 {
            self.set_place(object, to.0);
        }
    }

    fn busy(&mut self, _: Tag, _: Pfn) -> bool {
        self.chance.one_in_65536(self.log.speeds.busy_pages)
    }

    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag> {
        let of = self.of(head_tag.0);
        if of.flags & UNIT == 0 {
            return Some(self.split_into_pieces(head_tag, index));
        }
        let member = self.log.units[of.link as usize].members + index;
        let head = self.place(head_tag.0);
        if index == 0 {
            self.splits += 1;
        }
        if self.place(member) == GONE {
            self.left_over.push(member);
        }
        // Each new entry has the accessed bit that the one of the whole had.
        let looked = self.slots[head_tag.0 as usize].looked;
        let slot = &mut self.slots[member as usize];
        (slot.place, slot.looked) = (head + index, looked);
        if index == 511 {
            self.set_place(head_tag.0, NOWHERE);
        }
        Some(Tag(member))
    }

    fn shrinkers(&self) -> usize {
        shrinkers::NUMBER
    }

    fn shrinker_needs_fs(&self, shrinker: usize) -> bool {
        shrinkers::needs_fs(shrinker)
    }

    fn shrinker_count(&mut self, shrinker: usize, _: NodeId) -> (u64, u32) {
        (self.shrinkers.count(shrinker), shrinkers::SEEKS)
    }

    fn shrinker_batch(&self, shrinker: usize) -> u64 {
        shrinkers::batch(shrinker)
    }

    fn shrinker_scan(&mut self, shrinker: usize, control: ShrinkControl<'_>) -> u64 {
        let cold = coarse(control.now) + COLD_AHEAD;
        let mut pages = self.shrinkers.scan(shrinker, control.nr);
        while pages > 0
            && let Some(object) = self.shrinkers.empty_page(cold)
        {
            pages = pages.saturating_sub(1 << self.of(object).order);
            control.freed.push(Pfn(self.place(object)));
            self.set_place(object, NOWHERE);
        }
        control.nr
    }

    fn free_swap_pages(&self) -> u64 {
        self.swap_total.saturating_sub(self.swapped)
    }

    fn total_swap_pages(&self) -> u64 {
        self.swap_total
    }

    fn add_to_swap(&mut self, _: Tag, _: Pfn, pages: u32) -> bool {
        (pages == 1 || self.swaps_huge_pages) && self.free_swap_pages() >= u64::from(pages)
    }

    fn oom_kill(&mut self, _: Nanos, _: &mut Vec<Pfn>) -> Option<u32> {
        // Which task the kernel would kill is not in the log: nothing is killed, and the request fails.
        None
    }
}
