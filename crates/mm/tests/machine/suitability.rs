//! Is there room for compaction, and something to gain? (11.10)

use crate::support::*;
use mm::PageFlags;
use mm::compaction::{CompactPriority, CompactResult};
use pagealloc::{AllocFlags, Counter, Gfp, ZoneType};

/// Memory full of page cache, but for so many single pages.
pub(crate) fn with_free(mib: u32, free: u64) -> TestMachine {
    let machine = TestMachine::new(policy("linux-6.18", |_| ()), mib);
    let pages = fill(&machine, PageFlags::NONE, 1);
    let single = pages.iter().filter(|page| page.0 % 2 == 1).take(free as usize);
    single.for_each(|page| free_page(&machine, *page));
    machine.mm.state.borrow_mut().alloc.drain_all_pages(None);
    assert_eq!(machine.free(), free);
    machine
}

fn is_suitable(machine: &TestMachine, order: u8) -> bool {
    let min = machine.mark(AllocFlags::WMARK_MIN);
    machine.mm.state.borrow_mut().compaction_suitable(ZONE, order, min, ZoneType::Normal)
}

#[test]
fn an_index_at_the_threshold_tells_of_a_lack_of_memory() {
    let machine = with_free(64, 4096);
    // 1000 - (1000 + 4096 * 1000 / 512) / 4096 (11.15).
    assert_eq!(machine.mm.state.borrow().alloc.fragmentation_index(ZONE, 9), 998);
    let with_threshold = |threshold: u32| {
        machine.mm.state.borrow_mut().alloc.policy.sysctl.extfrag_threshold = threshold;
        is_suitable(&machine, 9)
    };
    assert_eq!([997, 998, 999].map(with_threshold), [true, false, false]);
}

/// Twice the order's pages above the caller's mark, min here; for costly orders above that plus what low is above min.
#[test]
fn costly_orders_need_more_room() {
    let machine = with_free(64, 0);
    let (min, low) = (machine.mark(AllocFlags::WMARK_MIN), machine.mark(AllocFlags::WMARK_LOW));
    for (order, room) in [(3, min + 16), (4, low + 32)] {
        let suitable = [room, room + 1].map(|free| is_suitable(&with_free(64, free), order));
        assert_eq!(suitable, [false, true], "order {order}");
    }
}

/// A request may count on its order's part of what is reclaimable: a ninth of 16 MiB is less than the 1024 pages that a huge page asks for.
#[test]
fn reclaim_for_compaction_is_worth_its_orders_part_of_memory() {
    let worth = |mib: u32, order: u8| {
        let machine = with_free(mib, 0);
        let mut state = machine.mm.state.borrow_mut();
        state.compaction_zonelist_suitable(&request(order, Gfp::TRANSHUGE), AllocFlags::NONE)
    };
    assert_eq!([worth(16, 9), worth(64, 9), worth(16, 4)], [false, true, true]);
}

#[test]
fn mlocked_pages_move_where_the_sysctl_allows_it() {
    for allowed in [0, 1] {
        let policy = policy("linux-6.18", |policy| policy.sysctl.compact_unevictable_allowed = allowed);
        let mut machine = TestMachine::new(policy, 64);
        let mlocked = PageFlags::ANON.with(PageFlags::UNEVICTABLE);
        populate(&machine, 0, |page| (page.0 % 2 == 0).then_some(mlocked));
        let (result, _) = compact(&mut machine, 9, Gfp::TRANSHUGE, CompactPriority::SyncLight);
        assert_eq!(result == CompactResult::Success, allowed == 1);
        assert_eq!(machine.counter(Counter::PgmigrateSuccess) > 0, allowed == 1);
    }
}
