//! Pages that nobody was seen to ask for: `alloc_pages_bulk` takes single pages from a CPU's list without an event. vmalloc uses it, and
//! with it every new task's stack.
//!
//! The lists tell. They are handed out from the head, freed pages come to the head, refills behind an empty list: when a page is handed
//! out, or a list refilled, what lay before it was taken. That is followed for unmovable pages; no others are asked for in this way. Nothing
//! can be told from a trace without the events of refills and drains.

use crate::event::{PageAlloc, PageAllocExtfrag, PageAllocZoneLocked, PagePcpuDrain};
use crate::proc::pageblocks::PageBlock;
use crate::proc::zoneinfo::ZoneInfo;
use pagealloc::{Geometry, Migratetype};
use std::collections::VecDeque;

const UNMOVABLE: i32 = Migratetype::Unmovable as i32;
const PAGEBLOCK_ORDER: u32 = Geometry::PAGES_4K.pageblock_order as u32;

/// When, where and by whom something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub ts: u64,
    pub cpu: u16,
    /// Index of the task.
    pub task: u16,
}

/// A page that was taken in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub pfn: u64,
    /// When it turned out.
    pub by: Seen,
    /// Its free, and whether an interrupt made it.
    pub freed: Option<(Seen, bool)>,
}

/// Where a page is, as far as it is on the way into or out of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Neither.
    #[default]
    Elsewhere,
    /// On the list with this number.
    Listed(u32),
    /// Taken, as the entry with this number says.
    Taken(u32),
}

/// The lists of unmovable single pages.
#[derive(Default)]
pub(super) struct BulkPages {
    /// Ends of the zones.
    zones: Vec<u64>,
    /// Migratetypes of the pageblocks.
    types: Vec<i32>,
    /// By CPU and zone, from the head.
    lists: Vec<VecDeque<u64>>,
    /// By CPU: the list that the event before this one refilled.
    refilled: Vec<Option<usize>>,
    /// By page; those beyond the last pageblock are not followed.
    places: Vec<Place>,
    taken: Vec<Option<Taken>>,
    /// Whether the trace has both kinds of events that move pages between these lists and the buddy lists.
    sees_refills: bool,
    sees_drains: bool,
}

impl BulkPages {
    /// Lists of which nothing is known yet.
    pub fn new(zones: &ZoneInfo, blocks: &[PageBlock]) -> BulkPages {
        let mut zones: Vec<u64> = zones.zones.iter().filter_map(|zone| Some(zone.start_pfn? + zone.spanned)).collect();
        zones.sort_unstable();
        BulkPages {
            zones,
            types: blocks.iter().map(|block| i32::from(block.migratetype())).collect(),
            lists: Vec::new(),
            refilled: Vec::new(),
            places: vec![Place::Elsewhere; blocks.len() << PAGEBLOCK_ORDER],
            taken: Vec::new(),
            sees_refills: false,
            sees_drains: false,
        }
    }

    /// Number of a CPU's list for the zone that the page is in.
    fn list(&mut self, cpu: u16, pfn: u64) -> usize {
        let zone = self.zones.partition_point(|end| *end <= pfn);
        let list = usize::from(cpu) * (self.zones.len() + 1) + zone;
        if self.lists.len() <= list {
            self.lists.resize_with(list + 1, VecDeque::new);
        }
        list
    }

    fn place(&self, pfn: u64) -> Place {
        self.places.get(pfn as usize).copied().unwrap_or_default()
    }

    /// The page is at another place now; where it was. Beyond the last pageblock it stays elsewhere.
    fn put(&mut self, pfn: u64, place: Place) -> Place {
        self.places.get_mut(pfn as usize).map_or(Place::Elsewhere, |was| std::mem::replace(was, place))
    }

    /// Something else happens on a CPU: a refill is over.
    pub fn other(&mut self, cpu: u16) {
        if let Some(refilled) = self.refilled.get_mut(usize::from(cpu)) {
            *refilled = None;
        }
    }

    /// A page comes from the buddy lists.
    pub fn refill(&mut self, by: Seen, event: &PageAllocZoneLocked) {
        self.sees_refills = true;
        let Some(pfn) = event.pfn.filter(|_| event.order == 0) else { return };
        if event.migratetype == UNMOVABLE && event.percpu_refill != Some(0) {
            self.append(by, pfn);
        } else {
            self.turned_up(pfn);
        }
    }

    /// A request is served from another type's block: with all of the block, or by a single page that no other event reports.
    pub fn fell_back(&mut self, by: Seen, event: &PageAllocExtfrag) {
        let claimed = event.claimed_blocks();
        let types = self.types.iter_mut().skip(claimed.start).take(claimed.len());
        types.for_each(|migratetype| *migratetype = event.alloc_migratetype);
        if event.alloc_order == 0 && event.alloc_migratetype == UNMOVABLE {
            self.append(by, event.pfn);
        }
    }

    fn append(&mut self, by: Seen, pfn: u64) {
        let list = self.list(by.cpu, pfn);
        if self.lists[list].back() == Some(&pfn) || pfn as usize >= self.places.len() {
            return;
        }
        let cpu = usize::from(by.cpu);
        if self.refilled.len() <= cpu {
            self.refilled.resize(cpu + 1, None);
        }
        // A list is refilled when it is empty.
        if self.refilled[cpu].replace(list) != Some(list) {
            let all = self.lists[list].len();
            self.take(by, list, all);
        }
        self.turned_up(pfn);
        self.lists[list].push_back(pfn);
        self.put(pfn, Place::Listed(list as u32));
    }

    /// A page is handed out.
    pub fn handed_out(&mut self, by: Seen, event: &PageAlloc) {
        let Some(pfn) = event.pfn else { return };
        if let Place::Listed(list) = self.place(pfn)
            && event.order == 0
            && let list = list as usize
            && list == self.list(by.cpu, pfn)
            && let Some(ahead) = place_on(&self.lists[list], pfn)
        {
            self.take(by, list, ahead);
        }
        self.turned_up(pfn);
    }

    /// The first pages of a list are gone.
    fn take(&mut self, by: Seen, list: usize, pages: usize) {
        for pfn in self.lists[list].drain(..pages) {
            self.places[pfn as usize] = Place::Taken(self.taken.len() as u32);
            self.taken.push(Some(Taken { pfn, by, freed: None }));
        }
    }

    /// A page goes from a list to the buddy lists.
    pub fn drained(&mut self, event: &PagePcpuDrain) {
        self.sees_drains = true;
        self.turned_up(event.pfn);
    }

    /// A page is given back. Whether it had been taken in silence.
    pub fn freed(&mut self, by: Seen, late: bool, pfn: u64, order: u32) -> bool {
        let silent = match self.place(pfn) {
            Place::Taken(number) => self.taken[number as usize].as_mut(),
            _ => None,
        };
        let known = silent.is_some();
        if let Some(taken) = silent {
            taken.freed = Some((by, late));
            self.put(pfn, Place::Elsewhere);
        }
        self.turned_up(pfn);
        if order == 0 && self.types.get(pfn as usize >> PAGEBLOCK_ORDER) == Some(&UNMOVABLE) {
            let list = self.list(by.cpu, pfn);
            self.lists[list].push_front(pfn);
            self.put(pfn, Place::Listed(list as u32));
        }
        known
    }

    /// The page is somewhere else: it was not taken, or is on no list any more.
    fn turned_up(&mut self, pfn: u64) {
        match self.put(pfn, Place::Elsewhere) {
            Place::Taken(number) => self.taken[number as usize] = None,
            Place::Listed(list) => {
                let list = &mut self.lists[list as usize];
                if let Some(at) = place_on(list, pfn) {
                    list.remove(at);
                }
            }
            Place::Elsewhere => {}
        }
    }

    /// All pages that were taken in silence, by time.
    pub fn taken(self) -> impl Iterator<Item = Taken> {
        let told = self.sees_refills && self.sees_drains;
        self.taken.into_iter().flatten().filter(move |_| told)
    }
}

/// Where on a list a page is. It is looked for from both ends: what is handed out or freed again lies near the head, what is drained near
/// the tail, and of a trace without drains the lists grow to all that was ever freed.
fn place_on(list: &VecDeque<u64>, pfn: u64) -> Option<usize> {
    let from_both = list.iter().zip(list.iter().rev()).take(list.len().div_ceil(2));
    let mut places = from_both.enumerate().filter_map(|(at, (head, tail))| match pfn {
        _ if pfn == *head => Some(at),
        _ if pfn == *tail => Some(list.len() - 1 - at),
        _ => None,
    });
    places.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks, the second one Movable; one zone.
    fn lists() -> BulkPages {
        let zones = crate::proc::zoneinfo::ZoneInfo::default();
        BulkPages::new(&zones, &[PageBlock(0), PageBlock(1)])
    }

    fn seen(ts: u64, cpu: u16) -> Seen {
        Seen { ts, cpu, task: 7 }
    }

    fn refill(lists: &mut BulkPages, ts: u64, pages: &[u64]) {
        for &pfn in pages {
            let event = PageAllocZoneLocked { pfn: Some(pfn), order: 0, migratetype: 0, percpu_refill: Some(1) };
            lists.refill(seen(ts, 0), &event);
        }
        lists.other(0);
    }

    fn hand_out(lists: &mut BulkPages, ts: u64, pfn: u64) {
        lists.handed_out(seen(ts, 0), &PageAlloc { pfn: Some(pfn), order: 0, gfp_flags: 0, migratetype: 0 });
    }

    fn taken(mut lists: BulkPages) -> Vec<(u64, u64)> {
        lists.drained(&PagePcpuDrain { pfn: 999, order: 0, migratetype: 0 });
        lists.taken().map(|taken| (taken.pfn, taken.by.ts)).collect()
    }

    #[test]
    fn what_lay_before_a_page_that_is_handed_out_was_taken() {
        let mut lists = lists();
        refill(&mut lists, 1, &[10, 11, 12, 13]);
        hand_out(&mut lists, 2, 10);
        hand_out(&mut lists, 3, 13);
        assert!(!lists.freed(seen(4, 1), false, 10, 0), "this one was seen to be handed out");
        assert!(lists.freed(seen(5, 1), true, 11, 0));
        assert!(!lists.freed(seen(6, 1), false, 11, 0), "once");
        assert_eq!(taken(lists), [(11, 3), (12, 3)]);
    }

    #[test]
    fn a_list_is_refilled_when_it_is_empty() {
        let mut lists = lists();
        refill(&mut lists, 1, &[10, 11]);
        lists.freed(seen(2, 0), false, 20, 0);
        hand_out(&mut lists, 3, 20);
        refill(&mut lists, 4, &[30, 31]);
        assert_eq!(taken(lists), [(10, 4), (11, 4)]);
    }

    #[test]
    fn freed_pages_come_first_and_those_of_other_types_to_other_lists() {
        let mut lists = lists();
        refill(&mut lists, 1, &[10]);
        [5, 600, 6].into_iter().for_each(|pfn| assert!(!lists.freed(seen(2, 0), false, pfn, 0)));
        hand_out(&mut lists, 3, 5);
        assert_eq!(taken(lists), [(6, 3)]);
    }

    #[test]
    fn pages_that_turn_up_elsewhere_were_not_taken() {
        let mut lists = lists();
        refill(&mut lists, 1, &[10, 11, 12, 13]);
        hand_out(&mut lists, 2, 13);
        hand_out(&mut lists, 3, 10); // Its task had lost the CPU before it could say so.
        lists.drained(&PagePcpuDrain { pfn: 11, order: 0, migratetype: 0 });
        assert_eq!(taken(lists), [(12, 2)]);
    }

    #[test]
    fn a_claimed_block_is_of_its_new_type() {
        let mut lists = lists();
        let claim = PageAllocExtfrag {
            pfn: 600,
            alloc_order: 0,
            fallback_order: 8,
            alloc_migratetype: 0,
            fallback_migratetype: 1,
            change_ownership: Some(1),
        };
        refill(&mut lists, 1, &[10]);
        lists.fell_back(seen(2, 0), &claim);
        lists.freed(seen(3, 0), false, 601, 0);
        hand_out(&mut lists, 4, 600);
        assert_eq!(taken(lists), [(10, 2), (601, 4)], "10 before the refill, 601 before 600");
    }

    #[test]
    fn a_page_is_found_from_either_end() {
        for pages in 0..6 {
            let list: VecDeque<u64> = (0..pages).collect();
            let places: Vec<_> = (0..=pages).map(|pfn| place_on(&list, pfn)).collect();
            let expected: Vec<_> = (0..pages as usize).map(Some).chain([None]).collect();
            assert_eq!(places, expected);
        }
    }

    /// Of a trace without drains: whoever looked through a whole list for its first page took 2 * 10^11 steps.
    #[test]
    fn lists_that_nobody_is_seen_to_drain_cost_nothing() {
        let blocks = vec![PageBlock(0); 1 << 10];
        let mut lists = BulkPages::new(&crate::proc::zoneinfo::ZoneInfo::default(), &blocks);
        let begun = std::time::Instant::now();
        for pfn in 0..400_000 {
            lists.freed(seen(pfn, 0), false, pfn, 0);
        }
        for ts in 0..400_000 {
            hand_out(&mut lists, ts, 399_999);
            lists.freed(seen(ts, 0), false, 399_999, 0);
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn without_drains_nothing_is_told() {
        let mut lists = lists();
        refill(&mut lists, 1, &[10, 11]);
        hand_out(&mut lists, 2, 11);
        assert_eq!(lists.taken().count(), 0);
    }
}
