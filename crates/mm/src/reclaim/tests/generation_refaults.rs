//! What coming back means to generations (docs/mglru.md, 7).

use super::generations::{FAULTED, generational, linux_6_18, run_at, seq, shrink};
use super::world::{CPU, machine};
use crate::lru::MAX_NR_GENS;
use crate::pages::PageFlags;
use crate::reclaim::Shadow;
use pagealloc::{Counter, NodeId};

#[test]
fn refaults_count_while_their_generation_is_recent() {
    let mm = linux_6_18();
    mm.fill(64, 0, PageFlags::NONE, 0);
    mm.fill(64, 0, PageFlags::NONE, 100);
    let mut sc = run_at(0);
    sc.nr_to_reclaim = 64;
    shrink(&mm, &mut sc);
    let shadow = mm.state.borrow().owner.evicted[0].2;
    let back = mm.fill(1, 0, PageFlags::NONE, 0)[0];
    mm.state.borrow_mut().refault(back, shadow, CPU);
    assert_eq!(mm.count(Counter::WorkingsetRefaultFile), 1);
    assert_eq!(mm.count(Counter::WorkingsetActivateFile), 0, "not through a page fault");
    let faulted = mm.fill(1, 0, FAULTED, 1)[0];
    mm.state.borrow_mut().refault(faulted, shadow, CPU);
    assert_eq!(mm.count(Counter::WorkingsetActivateAnon), 1);
    let old = Shadow { age: shadow.age.wrapping_sub(MAX_NR_GENS), ..shadow };
    let other = mm.fill(1, 0, FAULTED, 2)[0];
    mm.state.borrow_mut().refault(other, old, CPU);
    assert_eq!(mm.count(Counter::WorkingsetRefaultAnon), 2);
    assert_eq!(mm.count(Counter::WorkingsetActivateAnon), 1, "evicted too long ago");
    let elsewhere = Shadow { node: NodeId(1), ..shadow };
    let moved = mm.fill(1, 0, FAULTED, 3)[0];
    mm.state.borrow_mut().refault(moved, elsewhere, CPU);
    assert_eq!(mm.count(Counter::WorkingsetRefaultAnon), 2, "it left another node");
    mm.check();
}

#[test]
fn since_7_2_what_a_fault_reads_back_from_swap_enters_as_used_once() {
    for (era, told, recent, old) in [("linux-6.18", false, 2, 2), ("linux-7.2", false, 1, 1), ("linux-7.2", true, 3, 1)]
    {
        let mm = machine(generational(era));
        let shadow = |age| Shadow { age, workingset: told, uses: 2, ..Default::default() };
        let back = [0, 100].map(|age| {
            let page = mm.fill(1, 0, FAULTED, age as u32)[0];
            mm.state.borrow_mut().refault(page, shadow(age), CPU);
            page
        });
        assert_eq!(back.map(|page| seq(&mm, page)), [recent, old], "{era}, {told}");
        let flags = mm.state.borrow().pages.flags(back[0]);
        assert!(!flags.contains(PageFlags::SWAPCACHE) && flags.contains(PageFlags::WORKINGSET) == told, "{era}");
        mm.check();
    }
}

#[test]
fn a_refault_of_the_workingset_enters_younger() {
    let mm = linux_6_18();
    let shadow = |workingset| Shadow { age: 0, workingset, uses: 2, ..Default::default() };
    let plain = mm.fill(1, 0, PageFlags::NONE, 0)[0];
    mm.state.borrow_mut().refault(plain, shadow(false), CPU);
    let kept = mm.fill(1, 0, PageFlags::NONE, 1)[0];
    mm.state.borrow_mut().refault(kept, shadow(true), CPU);
    let anon = mm.fill(1, 0, FAULTED, 2)[0];
    mm.state.borrow_mut().refault(anon, shadow(true), CPU);
    assert_eq!([plain, kept, anon].map(|pfn| seq(&mm, pfn)), [0, 1, 3]);
    assert_eq!(mm.state.borrow().pages.bits(plain).refs(), 2, "it inherits its uses");
    assert_eq!((mm.count(Counter::WorkingsetRestoreFile), mm.count(Counter::WorkingsetRestoreAnon)), (1, 1));
    mm.check();
}
