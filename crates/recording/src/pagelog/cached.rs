//! Free pages on per-CPU lists at the start: which frames are, on whose list, of which order, and in which order they lie there.
//!
//! No file of /proc shows the lists. `/proc/zoneinfo` has how many pages of a zone each CPU holds, and the trace which CPU
//! handed a page out first: the one that held it, unless it was drained in between. Its order then was that of its list.

use pagealloc::{CpuId, Geometry, Order, PAGE_ALLOC_COSTLY_ORDER, Pfn};
use std::collections::BTreeMap;

/// A free page on a per-CPU list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartCached {
    /// Head frame.
    pub pfn: Pfn,
    /// Order.
    pub order: Order,
    /// Whose list.
    pub cpu: CpuId,
}

/// How a frame was handed out for the first time since the start.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstUse {
    pub ts: u64,
    pub order: Order,
    pub cpu: u16,
}

/// Pages that a CPU may still hold of a zone.
type Room = i64;

/// Parts a zone's cached frames (ascending) into the pages of its CPUs, those that were handed out first at the front.
/// `counts`: pages that each CPU held; 0 for all where it is not known.
pub(super) fn on_lists(
    frames: &[Pfn],
    first_use: &BTreeMap<u32, FirstUse>,
    geometry: Geometry,
    counts: &[u64],
) -> Vec<StartCached> {
    let mut pages = pages(frames, first_use, geometry);
    pages.sort_by_key(|(pfn, _, used)| (used.map_or(u64::MAX, |used| used.ts), *pfn));
    let mut room = room(counts, frames.len());
    let place = |(pfn, order, used): (Pfn, Order, Option<FirstUse>)| {
        let cpu = whose(&room, used);
        room[cpu] -= 1 << order;
        StartCached { pfn, order, cpu: CpuId(cpu as u16) }
    };
    pages.into_iter().map(place).collect()
}

/// Tails of blocks allocated without `__GFP_COMP`: they have neither type nor reference, as if they were on a per-CPU list.
/// But nobody was ever handed them (`never_handed`, ascending), and they fill up a block that begins with a page in use.
pub(super) fn tails_in_use(never_handed: impl Iterator<Item = Pfn>, in_use: impl Fn(Pfn) -> bool) -> Vec<Pfn> {
    let frames: Vec<Pfn> = never_handed.collect();
    let runs = frames.chunk_by(|one, next| one.0 + 1 == next.0);
    let tails = runs.flat_map(|run| {
        let head = run[0].0.checked_sub(1).map(Pfn).filter(|head| in_use(*head));
        let most = head.map_or(0, |head| head.0.trailing_zeros().min((run.len() as u32 + 1).ilog2()));
        &run[..(1 << most) - 1]
    });
    tails.copied().collect()
}

/// An equal share for all where the counts are not known.
fn room(counts: &[u64], frames: usize) -> Vec<Room> {
    let known = counts.iter().any(|count| *count > 0);
    let share = frames.div_ceil(counts.len().max(1)) as Room;
    counts.iter().map(|count| if known { *count as Room } else { share }).collect()
}

/// The CPU that handed the page out, if it held so many; else the first that did.
fn whose(room: &[Room], used: Option<FirstUse>) -> usize {
    let user = used.map(|used| usize::from(used.cpu)).filter(|cpu| *cpu < room.len());
    let holder = room.iter().position(|left| *left > 0);
    match (user, holder) {
        (Some(user), Some(_)) if room[user] > 0 => user,
        (_, Some(holder)) => holder,
        (user, None) => user.unwrap_or(0),
    }
}

/// Cached frames as pages: a page of higher order is one that was handed out whole.
fn pages(
    frames: &[Pfn],
    first_use: &BTreeMap<u32, FirstUse>,
    geometry: Geometry,
) -> Vec<(Pfn, Order, Option<FirstUse>)> {
    let mut pages = Vec::new();
    let mut rest = frames;
    while let Some(&pfn) = rest.first() {
        let used = first_use.get(&pfn.0).copied();
        let order = used.map_or(0, |used| used.order);
        let len = 1 << order;
        let listed = order <= PAGE_ALLOC_COSTLY_ORDER || order == geometry.pmd_order;
        // Frames ascend, so that the last is as far off as there are pages only if none is missing.
        let whole = listed && rest.get(len - 1).is_some_and(|last| last.index() == pfn.index() + len - 1);
        let order = if whole { order } else { 0 };
        pages.push((pfn, order, used));
        rest = &rest[1 << order..];
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted(frames: &[u32], uses: &[(u32, FirstUse)], counts: &[u64]) -> Vec<(u32, Order, u16)> {
        let frames: Vec<Pfn> = frames.iter().map(|pfn| Pfn(*pfn)).collect();
        let pages = on_lists(&frames, &uses.iter().copied().collect(), Geometry::PAGES_4K, counts);
        pages.into_iter().map(|page| (page.pfn.0, page.order, page.cpu.0)).collect()
    }

    fn used(ts: u64, order: Order, cpu: u16) -> FirstUse {
        FirstUse { ts, order, cpu }
    }

    #[test]
    fn a_page_was_on_the_list_of_the_cpu_that_handed_it_out() {
        let uses = [(3, used(20, 0, 1)), (1, used(10, 0, 1)), (2, used(30, 0, 0))];
        assert_eq!(parted(&[1, 2, 3, 9], &uses, &[2, 2]), [(1, 0, 1), (3, 0, 1), (2, 0, 0), (9, 0, 0)]);
        // CPU 1 held one page only: the other came to it by way of the buddy lists.
        assert_eq!(parted(&[1, 2, 3, 9], &uses, &[3, 1]), [(1, 0, 1), (3, 0, 0), (2, 0, 0), (9, 0, 0)]);
    }

    #[test]
    fn what_is_not_known_is_shared() {
        assert_eq!(parted(&[1, 2, 3], &[], &[0, 0]), [(1, 0, 0), (2, 0, 0), (3, 0, 1)]);
        assert_eq!(parted(&[1], &[(1, used(1, 0, 7))], &[0, 0]), [(1, 0, 0)]);
        assert_eq!(parted(&[1, 2], &[], &[1, 0]), [(1, 0, 0), (2, 0, 0)]);
    }

    #[test]
    fn tails_fill_up_a_block_whose_head_is_in_use() {
        let tails = |frames: &[u32], used: &[u32]| -> Vec<u32> {
            let never = frames.iter().map(|pfn| Pfn(*pfn));
            tails_in_use(never, |pfn| used.contains(&pfn.0)).iter().map(|pfn| pfn.0).collect()
        };
        assert_eq!(tails(&[17, 18, 19, 21], &[16, 20]), [17, 18, 19, 21]);
        assert_eq!(tails(&[17, 18, 19, 20], &[16]), [17, 18, 19], "the fifth is of another block");
        assert_eq!(tails(&[17, 18], &[16]), [17], "a block of four would have three tails");
        assert!(tails(&[0, 1, 5, 18, 19, 20], &[17]).is_empty(), "no head, or one that is not aligned");
    }

    #[test]
    fn pages_of_higher_order_lie_on_lists_of_their_own() {
        let uses = [(4, used(1, 2, 1)), (8, used(2, 1, 0)), (16, used(3, 5, 0))];
        let frames: Vec<u32> = (4..9).chain(16..18).collect();
        // Of the order-1 page at 8 only half was on a list; lists hold no order 5.
        assert_eq!(parted(&frames, &uses, &[3, 4]), [(4, 2, 1), (8, 0, 0), (16, 0, 0), (17, 0, 0)]);
    }
}
