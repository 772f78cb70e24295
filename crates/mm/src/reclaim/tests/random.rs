//! Whatever happens to pages, in any order: gauges, lists and frames agree after every step.

use super::world::*;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::reclaim::ScanControl;
use crate::state::Mm;
use alloc::vec::Vec;
use pagealloc::policy::{LruRule, Policy, preset};
use pagealloc::{FrameState, Gfp, Pfn, ZoneType};

/// xorshift64*: a seed makes the whole run.
struct Rng(u64);
impl Rng {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(limit)) as u32
    }
}

/// Heads of pages on LRU lists.
fn listed(mm: &Mm<Toy>) -> Vec<Pfn> {
    let state = mm.state.borrow();
    (0..state.alloc.frames.len()).map(Pfn).filter(|&pfn| state.alloc.frames.state(pfn) == FrameState::LRU).collect()
}

fn add_pages(mm: &Mm<Toy>, rng: &mut Rng) {
    let flags = match rng.below(4) {
        0 => PageFlags::NONE,
        1 => PageFlags::DIRTY,
        2 => PageFlags::MAPPED.with(PageFlags::EXEC),
        _ => mm.state.borrow().fresh_anon_flags().with(PageFlags::MAPPED),
    };
    let order = if flags.contains(PageFlags::ANON) && rng.below(3) == 0 { 4 } else { 0 };
    let mut state = mm.state.borrow_mut();
    for _ in 0..rng.below(40) {
        let Some(pfn) = state.alloc.alloc_fast(&request(order)) else { return };
        state.lru_add(pfn, flags, Tag(rng.below(1000)));
    }
}

fn touch_page(mm: &Mm<Toy>, rng: &mut Rng, pfn: Pfn) {
    let mut state = mm.state.borrow_mut();
    let written = state.pages.flags(pfn).contains(PageFlags::WRITEBACK);
    match rng.below(9) {
        0 | 1 => state.mark_accessed(pfn),
        2 => state.deactivate(pfn),
        3 => state.set_dirty(pfn),
        4 if !written => state.set_writeback(pfn),
        5 => state.set_unevictable(pfn, rng.below(2) == 0),
        6 => drop(state.split_huge_page(pfn, CPU)),
        7 => {
            state.lru_del(pfn);
            state.lru_putback(pfn);
        }
        _ => state.free_page(pfn, CPU),
    }
}

fn reclaim(mm: &Mm<Toy>, rng: &mut Rng) {
    mm.state.borrow_mut().owner.hot = (0..rng.below(300)).map(Tag).collect();
    let frames = mm.state.borrow().alloc.frames.len();
    mm.state.borrow_mut().owner.near = (0..rng.below(64)).map(|_| Pfn(rng.below(frames))).collect();
    let mut sc = ScanControl::new(0, Gfp::KERNEL, ZoneType::Normal);
    (sc.kswapd, sc.priority, sc.may_writepage) = (rng.below(2) == 0, rng.below(6) as u8, rng.below(4) != 0);
    run(mm.shrink_node(NODE, &mut sc, &TASK));
}

/// Ends about half of all writes, those of pages that were freed meanwhile among them.
fn end_writes(mm: &Mm<Toy>, rng: &mut Rng) {
    let frames = mm.state.borrow().alloc.frames.len();
    for pfn in (0..frames).map(Pfn) {
        if rng.below(2) == 0 {
            mm.end_writeback(pfn);
        }
    }
}

fn wander(policy: Policy, seed: u64) {
    let (mm, mut rng) = (machine(policy), Rng(seed));
    for _ in 0..400 {
        if rng.below(16) == 0 {
            // Swap comes and goes, and with it whether anonymous pages are aged and evicted.
            mm.state.borrow_mut().owner.swap_free = u64::from(rng.below(2)) * 10_000;
        }
        match rng.below(10) {
            0..3 => add_pages(&mm, &mut rng),
            3 => reclaim(&mm, &mut rng),
            4 => end_writes(&mm, &mut rng),
            _ => {
                let pages = listed(&mm);
                if !pages.is_empty() {
                    let pfn = pages[rng.below(pages.len() as u32) as usize];
                    touch_page(&mm, &mut rng, pfn);
                }
            }
        }
        mm.check();
    }
    mm.env.writes.borrow_mut().clear();
    for pfn in listed(&mm) {
        mm.state.borrow_mut().free_page(pfn, CPU);
    }
    let frames = mm.state.borrow().alloc.frames.len();
    (0..frames).for_each(|pfn| mm.end_writeback(Pfn(pfn)));
    mm.check();
    let evicted = core::mem::take(&mut mm.state.borrow_mut().owner.evicted);
    evicted.iter().for_each(|&(_, _, shadow)| mm.state.borrow_mut().forget_swapped(shadow, CPU));
    let state = mm.state.borrow();
    assert_eq!(state.swap.nr_tables(), 0, "a table goes with the last slot of its cluster");
    assert_eq!(state.alloc.free_pages(ZONE), 1024, "nothing is lost");
    assert_eq!(state.nr_dirty_and_writeback(), (0, 0));
}

#[test]
fn lists_of_nodes() {
    (1..=8).for_each(|seed| wander(linux_6_18(), seed));
}

#[test]
fn lists_of_zones() {
    let mut policy = linux_6_18();
    policy.reclaim.lru = LruRule::PerZone;
    policy.reclaim.cost_model = false;
    policy.reclaim.anon_workingset = false;
    (1..=8).for_each(|seed| wander(policy.clone(), seed));
}

#[test]
fn generations() {
    for era in ["linux-6.1", "linux-6.14", "linux-6.18"] {
        let mut policy = preset(era).unwrap();
        policy.set_sysctl("lru_gen/enabled", 7).unwrap();
        (1..=8).for_each(|seed| wander(policy.clone(), seed));
    }
}

/// A page that came back from anywhere must fit in, too.
#[test]
fn refaults_into_generations() {
    for era in ["linux-6.1", "linux-6.18"] {
        let mut policy = preset(era).unwrap();
        policy.set_sysctl("lru_gen/enabled", 7).unwrap();
        let (mm, mut rng) = (machine(policy), Rng(5));
        for _ in 0..200 {
            add_pages(&mm, &mut rng);
            reclaim(&mm, &mut rng);
            end_writes(&mm, &mut rng);
            let evicted = core::mem::take(&mut mm.state.borrow_mut().owner.evicted);
            for (tag, _, shadow) in evicted.into_iter().take(20) {
                let page = mm.state.borrow().alloc.free_pages(ZONE) > 200;
                if page {
                    let page = mm.fill(1, 0, PageFlags::NONE, tag.0)[0];
                    mm.state.borrow_mut().refault(page, shadow, CPU);
                }
                mm.check();
            }
        }
    }
}
