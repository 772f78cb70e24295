//! A start snapshot without `pagestate` or `pageblocks`, as a kernel leaves it that does not let `/proc/kcore` be read:
//! what page frames and pageblocks probably were.
//!
//! Free blocks are certain: `/proc/kpageflags` marks every page of them (since Linux 4.7), and free buddies of one order
//! are always merged, so a run of free pages can be parted into blocks in one way only. A page on a per-CPU list shows no
//! flag and looks like a kernel page; the page log sees that it was free when the trace hands it out first. The
//! types of pageblocks are inferred from what is in them and what the trace allocates there, and only their number per
//! type is known; docs/recording.md says how often that is wrong.

use super::start::RESERVED_BIT;
use crate::event::{Event, Record};
use crate::proc::kpage::{PageFlag, PageFlags};
use crate::proc::pageblocks::PageBlock;
use crate::proc::pagestate::{Frame, PageState};
use crate::proc::pagetypeinfo::PageTypeInfo;
use crate::proc::zoneinfo::ZoneInfo;
use pagealloc::{Geometry, Migratetype};

/// What every frame is, by its flags.
pub(super) fn frames(flags: &[PageFlags], zones: &ZoneInfo) -> Vec<Frame> {
    let mut frames: Vec<Frame> = flags.iter().map(|flags| Frame { state: state(*flags), order: 0 }).collect();
    let mut ends: Vec<usize> =
        zones.zones.iter().filter_map(|zone| Some((zone.start_pfn? + zone.spanned) as usize)).collect();
    ends.push(frames.len());
    let max_order = usize::from(Geometry::PAGES_4K.max_order);
    let mut pfn = 0;
    while pfn < frames.len() {
        match frames[pfn].state {
            PageState::FreeHead => {
                let end = ends.iter().copied().filter(|end| *end > pfn).min().unwrap_or(frames.len());
                let run = frames[pfn..end].iter().take_while(|frame| frame.state == PageState::FreeHead);
                let run = run.take(1 << max_order).count();
                let order = (run.ilog2() as usize).min(pfn.trailing_zeros() as usize);
                frames[pfn + 1..pfn + (1 << order)].fill(Frame { state: PageState::Unreferenced, order: 0 });
                frames[pfn].order = order as u8;
                pfn += 1 << order;
            }
            PageState::Tail => pfn += 1,
            _ => {
                let tails = frames[pfn + 1..].iter().take_while(|frame| frame.state == PageState::Tail).count();
                frames[pfn].order = (tails + 1).ilog2() as u8;
                pfn += tails + 1;
            }
        }
    }
    frames
}

fn state(flags: PageFlags) -> PageState {
    // What boot kept is not the allocator's.
    if flags.0 & RESERVED_BIT != 0 {
        return PageState::Unreadable;
    }
    let states = [
        (PageFlag::Nopage, PageState::Unreadable),
        (PageFlag::Buddy, PageState::FreeHead),
        (PageFlag::CompoundTail, PageState::Tail),
        (PageFlag::Slab, PageState::Slab),
        (PageFlag::Pgtable, PageState::PageTable),
        (PageFlag::Offline, PageState::OtherTyped),
        (PageFlag::Anon, PageState::Anonymous),
        (PageFlag::Lru, PageState::PageCache),
    ];
    states.iter().find(|(flag, _)| flags.has(*flag)).map_or(PageState::OtherInUse, |(_, state)| *state)
}

/// Whether a frame may be on a per-CPU list, for all that its flags say.
pub(super) fn may_be_cached(flags: PageFlags) -> bool {
    flags.0 == 0
}

/// What the trace allocated in a pageblock, by the migratetype of the requests; until the block changed its type.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    by_type: [u64; 3],
    over: bool,
}

/// The types of all pageblocks: as many of each as the kernel counted, given to those where they fit best.
///
/// # Errors
/// Those of the trace.
pub(super) fn blocks<E>(
    frames: &[Frame],
    zones: &ZoneInfo,
    counted: &PageTypeInfo,
    records: impl Iterator<Item = Result<Record, E>>,
) -> Result<Vec<PageBlock>, E> {
    let order = Geometry::PAGES_4K.pageblock_order;
    let number = frames.len().div_ceil(1 << order);
    let mut tallies = vec![Tally::default(); number];
    for record in records {
        tally(&record?.event, usize::from(order), &mut tallies);
    }
    let mut blocks = vec![PageBlock(Migratetype::Movable as u8); number];
    for zone in &zones.zones {
        let Some(start) = zone.start_pfn else { continue };
        let first = (start >> order) as usize;
        let end = ((start + zone.spanned) as usize).div_ceil(1 << order).min(number);
        let row = counted.blocks.iter().find(|row| row.node == zone.node && row.zone == zone.name);
        let Some(row) = row.filter(|_| first < end) else { continue };
        let count = |wanted: Migratetype| {
            let names = counted.migratetypes.iter().zip(&row.by_type);
            names.filter(|(name, _)| ***name == *wanted.name()).map(|(_, count)| *count as usize).sum()
        };
        let mut open: Vec<usize> = (first..end).collect();
        give(&mut open, count(Migratetype::Reclaimable), Migratetype::Reclaimable, &mut blocks, |block| {
            (tallies[block].by_type[Migratetype::Reclaimable as usize], 0)
        });
        give(&mut open, count(Migratetype::Unmovable), Migratetype::Unmovable, &mut blocks, |block| {
            let [unmovable, movable, _] = tallies[block].by_type;
            (kernel_pages(frames, block, order.into()), unmovable.saturating_sub(movable))
        });
    }
    Ok(blocks)
}

fn tally(event: &Event, order: usize, tallies: &mut [Tally]) {
    match event {
        Event::PageAlloc(alloc) => {
            let Some(pfn) = alloc.pfn.filter(|_| (alloc.order as usize) < order) else { return };
            let tally = tallies.get_mut(pfn as usize >> order).filter(|tally| !tally.over);
            if let Some(count) = tally.and_then(|tally| tally.by_type.get_mut(alloc.migratetype as usize)) {
                *count += 1;
            }
        }
        Event::PageAllocExtfrag(event) if event.change_ownership == Some(1) => {
            if let Some(tally) = tallies.get_mut(event.pfn as usize >> order) {
                tally.over = true;
            }
        }
        _ => {}
    }
}

/// Pages of the kernel's own in a block.
fn kernel_pages(frames: &[Frame], block: usize, order: usize) -> u64 {
    let end = ((block + 1) << order).min(frames.len());
    let is_kernel = |frame: &&Frame| {
        matches!(frame.state, PageState::Slab | PageState::PageTable | PageState::OtherTyped | PageState::OtherInUse)
    };
    frames[block << order..end].iter().filter(is_kernel).count() as u64
}

/// Gives a type to the blocks where it fits best.
fn give(
    open: &mut Vec<usize>,
    count: usize,
    migratetype: Migratetype,
    blocks: &mut [PageBlock],
    fit: impl Fn(usize) -> (u64, u64),
) {
    open.sort_by_cached_key(|block| (std::cmp::Reverse(fit(*block)), *block));
    for block in open.drain(..count.min(open.len())) {
        blocks[block] = PageBlock(migratetype as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::zoneinfo::Zone;

    const FREE: PageFlags = PageFlags(1 << PageFlag::Buddy as u64);
    const TAIL: PageFlags = PageFlags(1 << PageFlag::CompoundTail as u64);
    const USED: PageFlags = PageFlags(0);

    /// First frames of blocks with their orders, in memory whose zones end at these frames.
    fn blocks(flags: &[PageFlags], ends: &[u64]) -> Vec<(usize, u8)> {
        let zone = |&end: &u64| Zone { start_pfn: Some(0), spanned: end, ..Zone::default() };
        let zones = ZoneInfo { zones: ends.iter().map(zone).collect(), ..ZoneInfo::default() };
        let inside = |state: PageState| [PageState::Unreferenced, PageState::Tail].contains(&state);
        let frames = frames(flags, &zones).into_iter().enumerate();
        frames.filter(|(_, frame)| !inside(frame.state)).map(|(pfn, frame)| (pfn, frame.order)).collect()
    }

    #[test]
    fn a_run_of_free_pages_is_of_aligned_blocks_as_large_as_can_be() {
        let flags = [&[USED; 2][..], &[FREE; 7]].concat();
        assert_eq!(blocks(&flags, &[9]), [(0, 0), (1, 0), (2, 1), (4, 2), (8, 0)]);
        assert_eq!(blocks(&[FREE; 8], &[8]), [(0, 3)]);
        assert_eq!(blocks(&[FREE; 8], &[4, 8]), [(0, 2), (4, 2)], "no block lies in two zones");
        assert_eq!(blocks(&[FREE; 3000], &[3000])[..2], [(0, 10), (1024, 10)], "nor is one above the largest order");
    }

    #[test]
    fn a_page_is_as_large_as_its_tails_say() {
        let flags = [&[USED][..], &[TAIL; 3], &[USED; 2], &[TAIL], &[FREE]].concat();
        assert_eq!(blocks(&flags, &[8]), [(0, 2), (4, 0), (5, 1), (7, 0)]);
    }
}
