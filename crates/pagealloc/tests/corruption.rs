//! `check()` is not vacuous: states that contradict the lists are found, whatever frame they hit.

use pagealloc::policy::preset;
use pagealloc::*;

/// A small machine in use: free blocks, allocated pages of two orders, pages on per-CPU lists.
fn machine_in_use() -> PageAllocator {
    let geometry = Geometry { page_shift: 12, max_order: 5, pageblock_order: 4, pmd_order: 9 };
    let machine = Machine::uniform(geometry, 1, 256, false);
    let mut allocator = PageAllocator::new(&machine, preset("linux-6.18").unwrap(), ()).unwrap();
    let mut pages = Vec::new();
    for index in 0..40 {
        let request = Request::new(index % 3, Gfp::HIGHUSER_MOVABLE, CpuId(0));
        pages.extend(allocator.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS));
    }
    for &page in pages.iter().step_by(3) {
        allocator.free(page, CpuId(0));
    }
    allocator.check().expect("sound before it is damaged");
    allocator
}

#[test]
fn every_wrong_state_is_found() {
    let mut allocator = machine_in_use();
    let states = [
        FrameState::FREE_TAIL,
        FrameState::ABSENT,
        FrameState::TAIL,
        FrameState::free_head(0, Migratetype::Movable),
        FrameState::free_head(3, Migratetype::Unmovable),
        FrameState::pcp(Migratetype::Movable),
        FrameState::pcp(Migratetype::Unmovable),
        FrameState::LRU_TAIL,
    ];
    let mut damaged = 0;
    for pfn in (0..allocator.frames.len()).map(Pfn) {
        let sound = allocator.frames.state(pfn);
        for state in states {
            if state == sound {
                continue;
            }
            allocator.frames.set_state(pfn, state);
            assert!(allocator.check().is_err(), "{pfn:?}: {sound:?} became {state:?} unseen");
            allocator.frames.set_state(pfn, sound);
            damaged += 1;
        }
    }
    allocator.check().expect("sound after all repairs");
    assert!(damaged > 1000);
}

#[test]
fn a_page_that_is_free_and_used_is_found() {
    let mut allocator = machine_in_use();
    let free = (0..allocator.frames.len()).map(Pfn).find(|&pfn| allocator.frames.state(pfn).free_order().is_some());
    allocator.frames.set_state(free.expect("some memory is free"), FrameState::USED);
    let broken = allocator.check().expect_err("it is on a free list");
    assert!(broken.contains("Pfn("), "says where: {broken}");
}

/// Both lists share the links of a page: freed, it is on the allocator's, and its holder's neighbours still lead to it.
#[test]
fn a_page_freed_on_a_list_of_its_holders_is_found_once_that_list_is_used() {
    let mut allocator = machine_in_use();
    let request = Request::new(0, Gfp::HIGHUSER_MOVABLE, CpuId(0));
    let mut held = FrameList::default();
    let pages = [(); 3].map(|()| allocator.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS).unwrap());
    pages.iter().for_each(|&page| held.push_tail(&mut allocator.frames, page));
    allocator.free(pages[1], CpuId(0));
    allocator.check().expect("the allocator's own lists are sound so far");
    held.remove(&mut allocator.frames, pages[2]);
    allocator.check().expect_err("the page that was freed leads to the holder's next one");
}
