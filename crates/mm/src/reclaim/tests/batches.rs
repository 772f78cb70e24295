//! What holds for a batch as a whole.

use super::world::*;
use crate::pages::PageFlags;
use crate::reclaim::ScanControl;
use alloc::vec::Vec;
use pagealloc::policy::preset;
use pagealloc::{Gfp, Pfn, ZoneType};

/// Places by age of the pages of a batch, in the order in which they are freed: of all order 0 but for one.
fn freed(name: &str, large: usize, order: u8) -> [usize; 8] {
    let mm = machine(preset(name).unwrap());
    let size = |place| if place == large { order } else { 0 };
    let pages: [Pfn; 8] = core::array::from_fn(|place| mm.fill(1, size(place), PageFlags::NONE, place as u32)[0]);
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.kswapd, sc.priority, sc.nr_to_reclaim) = (true, 0, u64::MAX);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    mm.check();
    let state = mm.state.borrow();
    let places: Vec<usize> =
        state.alloc.observer.1.iter().map(|&(pfn, _)| pages.iter().position(|&page| page == pfn).unwrap()).collect();
    places.try_into().expect("each is freed once")
}

#[test]
fn up_to_6_8_large_folios_are_freed_at_once_and_the_others_from_the_last_on() {
    for name in ["linux-3.11", "linux-4.20", "linux-6.6"] {
        assert_eq!(freed(name, 8, 0), [7, 6, 5, 4, 3, 2, 1, 0], "{name}");
    }
    assert_eq!(freed("linux-6.6", 5, 2), [5, 7, 6, 4, 3, 2, 1, 0]);
}

#[test]
fn since_6_9_frames_are_freed_in_turn_behind_those_that_no_list_of_a_cpu_holds() {
    for name in ["linux-6.12", "linux-6.18", "linux-7.3"] {
        assert_eq!(freed(name, 5, 3), [0, 1, 2, 3, 4, 5, 6, 7], "{name}");
        assert_eq!(freed(name, 5, 5), [5, 0, 1, 2, 3, 4, 6, 7], "{name}");
    }
}

#[test]
fn since_6_9_31_frames_are_freed_at_a_time() {
    let mm = machine(preset("linux-6.18").unwrap());
    let mut pages = mm.fill(31, 0, PageFlags::NONE, 0);
    let large = mm.fill(1, 5, PageFlags::NONE, 31);
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.kswapd, sc.priority, sc.nr_to_reclaim) = (true, 0, u64::MAX);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
    pages.extend(large);
    let freed: Vec<Pfn> = mm.state.borrow().alloc.observer.1.iter().map(|&(pfn, _)| pfn).collect();
    assert_eq!(freed, pages);
}
