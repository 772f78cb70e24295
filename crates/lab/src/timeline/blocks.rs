//! The byte of a pageblock: its type, and how full it is of what (docs/view-format.md).

use super::{Shape, Span};
use pagealloc::{BlockId, FrameState, Frames, Migratetype, Observer, PageAllocator, Pfn, ZoneId};

/// Pages of a pageblock by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFill {
    /// Free, per-CPU lists included.
    pub free: u32,
    /// In use, and can be moved.
    pub movable: u32,
    /// In use, and can't be moved.
    pub pinned: u32,
}

/// The byte: bits 0-1 type, then three shares in thirds: free, movable, pinned.
pub fn block_byte(migratetype: Migratetype, fill: BlockFill, pages: u32) -> u8 {
    let kind = (migratetype as u8).min(3);
    let share = |part: u32| (3 * part).div_ceil(pages).min(3) as u8;
    kind | share(fill.free) << 2 | share(fill.movable) << 4 | share(fill.pinned) << 6
}

/// The bytes of all pageblocks from frame 0, into `bytes`.
pub fn block_bytes<O: Observer>(alloc: &PageAllocator<O>, bytes: &mut Vec<u8>) {
    let pages = alloc.geometry.pageblock_pages();
    let blocks = alloc.frames.len().div_ceil(pages);
    bytes.clear();
    bytes.extend((0..blocks).map(|block| {
        let start = block * pages;
        let fill = fill(alloc, Pfn(start), pages.min(alloc.frames.len() - start));
        block_byte(alloc.block_type(BlockId(block)), fill, pages)
    }));
}

/// Page size, pageblocks and zones of a model's machine.
pub(super) fn shape<O: Observer>(alloc: &PageAllocator<O>) -> Shape {
    let span = |zone: u8| {
        let info = alloc.zone_info(ZoneId(zone));
        let first = alloc.geometry.block_of(info.start).0;
        let last = alloc.geometry.block_of(Pfn(info.end.0 - 1)).0;
        let name = info.kind.name().to_owned();
        Span { node: info.node.0, name, first_block: first, blocks: last + 1 - first }
    };
    Shape {
        page_size: 1 << alloc.geometry.page_shift,
        pageblock_order: alloc.geometry.pageblock_order,
        zones: (0..alloc.nr_zones() as u8).map(span).collect(),
    }
}

fn fill<O: Observer>(alloc: &PageAllocator<O>, start: Pfn, pages: u32) -> BlockFill {
    let frames = &alloc.frames;
    let free = frames.count(start, pages, FrameState::is_free);
    let absent = frames.count(start, pages, |state| state == FrameState::ABSENT);
    let movable = frames.count(start, pages, |state| state.is_movable() || state == FrameState::ISOLATED);
    let free = (free + listed(frames, start, pages)).min(pages);
    BlockFill { free, movable, pinned: pages - (free + absent + movable).min(pages) }
}

/// Pages of a block on per-CPU lists, or held by compaction as targets: their tails look like those of pages in use.
fn listed(frames: &Frames, start: Pfn, pages: u32) -> u32 {
    let end = start.0 + pages;
    (start.0..end).step_by(PART as usize).map(|part| listed_in_part(frames, Pfn(part), PART.min(end - part))).sum()
}

/// Short enough that most parts have no such page, or no tail: counts tell these sooner than a look at each frame.
const PART: u32 = 64;

fn listed_in_part(frames: &Frames, start: Pfn, pages: u32) -> u32 {
    let is_listed = |state: FrameState| state.is_pcp() || state == FrameState::TARGET;
    let heads = frames.count(start, pages, is_listed);
    if heads == 0 || frames.count(start, pages, |state| state == FrameState::TAIL) == 0 {
        return heads;
    }
    let listed = (start.0..start.0 + pages).map(Pfn).filter(|&pfn| is_listed(frames.state(pfn)));
    listed.map(|pfn| 1 << frames.order(pfn)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::{CpuId, Gfp, Machine, Request, policy};

    #[test]
    fn shares_are_thirds_rounded_up() {
        let byte = |free, movable, pinned| block_byte(Migratetype::Movable, BlockFill { free, movable, pinned }, 512);
        assert_eq!(byte(0, 0, 0), 1);
        assert_eq!(byte(512, 0, 0), 1 | 3 << 2);
        assert_eq!(byte(1, 170, 341), 1 | 1 << 2 | 1 << 4 | 2 << 6);
        assert_eq!(byte(0, 171, 342), 1 | 2 << 4 | 3 << 6);
        assert_eq!(block_byte(Migratetype::Isolate, BlockFill::default(), 512), 3);
    }

    #[test]
    fn a_machine_is_free_until_pages_are_handed_out() {
        let machine = Machine::uniform(pagealloc::Geometry::PAGES_4K, 1, 1 << 16, false);
        let mut alloc =
            PageAllocator::new(&machine, policy::preset("linux-6.18").expect("known"), ()).expect("a machine");
        let mut bytes = Vec::new();
        block_bytes(&alloc, &mut bytes);
        assert_eq!(bytes.len(), 128);
        assert!(bytes.iter().all(|byte| byte & 0xfc == 3 << 2), "{bytes:?}");
        let page = alloc.alloc_fast(&Request::new(9, Gfp::KERNEL, CpuId(0))).expect("there is memory");
        block_bytes(&alloc, &mut bytes);
        assert_eq!(bytes[page.index() >> 9] & 0xfc, 3 << 6, "all of it is kernel memory");
        alloc.set_on_lru(page, true);
        block_bytes(&alloc, &mut bytes);
        assert_eq!(bytes[page.index() >> 9] & 0xfc, 3 << 4);
        let single = alloc.alloc_fast(&Request::new(0, Gfp::KERNEL, CpuId(0))).expect("there is memory");
        block_bytes(&alloc, &mut bytes);
        // What a refill put on the per-CPU list is free as well.
        assert_eq!(bytes[single.index() >> 9] & 0xfc, 3 << 2 | 1 << 6);
    }
}
