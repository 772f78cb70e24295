//! What it means to generations that a page which eviction has taken turns out to be in use (docs/mglru.md, 2 and 5).

use super::generations::{FAULTED, generational, max_seq, run_at, seq, shrink};
use super::world::*;
use crate::owner::Tag;
use crate::pages::PageFlags;
use pagealloc::Counter;

#[test]
fn a_page_found_in_use_is_kept_once_and_activated_then() {
    let mut policy = generational("linux-6.18");
    policy.set_sysctl("lru_gen/enabled", 1).unwrap();
    let mm = machine(policy);
    mm.fill(200, 0, FAULTED, 0);
    mm.state.borrow_mut().owner.hot = (0..200).map(Tag).collect();
    for _ in 0..30 {
        shrink(&mm, &mut run_at(0));
    }
    assert_eq!(mm.count(Counter::PswpOut), 0);
    assert!(mm.count(Counter::PgscanAnon) >= 400, "looked at twice at least");
    assert!(mm.count(Counter::Pgactivate) >= 200, "the second time");
    let state = mm.state.borrow();
    let kept = state.generations(NODE).lists.iter().flatten().flatten().map(|list| list.len()).sum::<u32>();
    assert_eq!(kept, 200);
}

#[test]
fn the_fault_is_the_first_use_since_7_2() {
    for (era, activated) in [("linux-6.18", 0), ("linux-7.2", 64)] {
        let mut policy = generational(era);
        policy.set_sysctl("lru_gen/enabled", 1).unwrap();
        let mm = machine(policy);
        mm.fill(64, 0, FAULTED, 0);
        mm.state.borrow_mut().owner.hot = (0..64).map(Tag).collect();
        while mm.count(Counter::PgscanAnon) == 0 {
            shrink(&mm, &mut run_at(0));
        }
        assert_eq!((mm.count(Counter::PgscanAnon), mm.count(Counter::Pgactivate)), (64, activated), "{era}");
    }
}

#[test]
fn since_7_2_a_second_look_is_one_more_use() {
    // Of 7.2 the fault was the first use.
    for (era, looks) in [("linux-6.18", [(false, false), (true, true)]), ("linux-7.2", [(true, false), (true, true)])] {
        let mm = machine(generational(era));
        let rules = mm.state.borrow().lru_gen.expect("generations");
        let page = mm.fill(1, 0, FAULTED, 0)[0];
        let mut state = mm.state.borrow_mut();
        let seen =
            looks.map(|_| (state.second_look(page, rules), state.pages.flags(page).contains(PageFlags::WORKINGSET)));
        assert_eq!(seen, looks, "{era}: activated, and in the workingset");
    }
}

#[test]
fn since_7_3_the_first_use_promotes_programs() {
    for (era, at_once) in [("linux-7.2", false), ("linux-7.3", true)] {
        let mm = machine(generational(era));
        let rules = mm.state.borrow().lru_gen.expect("generations");
        let program = mm.fill(1, 0, PageFlags::EXEC, 0)[0];
        mm.state.borrow_mut().promote(program, rules);
        assert_eq!(seq(&mm, program) == max_seq(&mm), at_once, "{era}");
        mm.check();
    }
}

#[test]
fn neighbours_of_a_page_in_use_are_looked_at_with_it() {
    for (era, kswapd) in [("linux-6.12", true), ("linux-6.18", true), ("linux-6.12", false), ("linux-6.18", false)] {
        let mut policy = generational(era);
        policy.set_sysctl("lru_gen/enabled", 1).unwrap();
        let mm = machine(policy);
        let pages = mm.fill(200, 0, FAULTED, 0);
        let idle = pages[199];
        {
            let owner = &mut mm.state.borrow_mut().owner;
            (owner.hot, owner.near) = ((0..199).map(Tag).collect(), pages.clone());
        }
        for _ in 0..10 {
            if mm.count(Counter::PgscanAnon) == 0 {
                let mut sc = run_at(0);
                (sc.kswapd, sc.nr_to_reclaim) = (kswapd, 1);
                shrink(&mm, &mut sc);
            }
        }
        let taken = mm.count(Counter::PgscanAnon);
        assert!((64..=128).contains(&taken), "{era}: {taken} in a batch or two, the rest on their lists");
        let young = pages[..199].iter().filter(|&&page| seq(&mm, page) > seq(&mm, idle)).count();
        assert!(young >= 199 - 128, "{era}, kswapd {kswapd}: {young} are younger without having been taken");
        assert_eq!(mm.count(Counter::Pgactivate) > 0, !kswapd, "{era}: kswapd promotes without counting");
    }
}
