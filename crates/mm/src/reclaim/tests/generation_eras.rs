//! Generations of other kernels than 6.18.

use super::generations::{generational, min_seq, run_at, shrink};
use super::world::*;
use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use pagealloc::{Counter, Gfp};

#[test]
fn in_6_1_refaults_from_longer_ago_are_not_counted() {
    let counted = |era: &str| {
        let mm = machine(generational(era));
        let oldest = min_seq(&mm)[LruKind::File];
        for (tag, age) in [(0, oldest), (1, oldest + 1)] {
            let page = mm.fill(1, 0, PageFlags::NONE, tag)[0];
            mm.state.borrow_mut().refault(page, crate::reclaim::Shadow { age, ..Default::default() }, CPU);
        }
        mm.count(Counter::WorkingsetRefaultFile)
    };
    assert_eq!(["linux-6.1", "linux-6.6"].map(counted), [1, 2]);
}

#[test]
fn from_6_3_to_6_13_runs_without_io_scan_page_cache_first() {
    let scanned = |era: &str| {
        let mut policy = generational(era);
        policy.set_sysctl("swappiness", 200).unwrap();
        let mm = machine(policy);
        mm.fill(300, 0, PageFlags::NONE, 0);
        // In the swap cache and clean: they can go without I/O.
        mm.fill(300, 0, PageFlags::ANON.with(PageFlags::SWAPCACHE), 1000);
        let mut sc = run_at(3);
        (sc.gfp, sc.nr_to_reclaim) = (Gfp::NOIO, 32);
        shrink(&mm, &mut sc);
        (mm.count(Counter::PgscanAnon) > 0, mm.count(Counter::PgscanFile) > 0)
    };
    let anon_first = (true, false);
    assert_eq!(
        ["linux-6.1", "linux-6.6", "linux-6.14", "linux-7.3"].map(scanned),
        [anon_first, (false, true), anon_first, anon_first]
    );
}
