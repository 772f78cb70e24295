//! Compaction of memory in any state: nothing is lost, whatever the kernel.

use crate::compaction::isolated;
use crate::support::*;
use mm::PageFlags;
use mm::compaction::CompactPriority;
use pagealloc::{AllocFlags, Gfp};

/// A linear congruential generator: the same numbers everywhere.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// Memory full of pages of all kinds and small orders, a part of them free again.
fn jumble(name: &str, numbers: &mut Numbers) -> TestMachine {
    const FLAGS: [PageFlags; 6] = [
        PageFlags::PINNED,
        PageFlags::WRITEBACK,
        PageFlags::DIRTY,
        PageFlags::UNEVICTABLE,
        PageFlags::ACTIVE,
        PageFlags::SWAPCACHE,
    ];
    let machine = TestMachine::new(policy(name, |_| ()), 32);
    let mut state = machine.mm.state.borrow_mut();
    let mut others = Vec::new();
    let free_share = 2 + numbers.below(6);
    loop {
        let order = [0, 0, 0, 1, 2, 3][numbers.below(6) as usize];
        let gfp = [Gfp::HIGHUSER_MOVABLE, Gfp::HIGHUSER_MOVABLE, Gfp::HIGHUSER_MOVABLE, Gfp::KERNEL];
        let gfp = gfp[numbers.below(4) as usize];
        let Some(page) = state.alloc.get_page_from_freelist(&request(order, gfp), AllocFlags::NO_WATERMARKS) else {
            break;
        };
        if numbers.below(free_share) == 0 {
            others.push(page);
        } else if gfp.contains(Gfp::MOVABLE) {
            let mut flags = if numbers.below(2) == 0 { PageFlags::ANON } else { PageFlags::NONE };
            if numbers.below(8) == 0 {
                flags = flags.with(FLAGS[numbers.below(6) as usize]);
            }
            let tag = state.owner.adopt(page, order, 1);
            state.lru_add(page, flags, tag);
        }
    }
    for page in others {
        state.alloc.free(page, CPU);
    }
    drop(state);
    machine
}

#[test]
fn jumbled_memory_stays_consistent_in_every_kernel() {
    const MASKS: [Gfp; 4] = [Gfp::TRANSHUGE, Gfp::KERNEL, Gfp::NOFS, Gfp::HIGHUSER_MOVABLE];
    const PRIORITIES: [CompactPriority; 3] =
        [CompactPriority::Async, CompactPriority::SyncLight, CompactPriority::SyncFull];
    for (seed, preset) in pagealloc::policy::PRESETS.iter().enumerate() {
        let mut numbers = Numbers(seed as u64);
        let mut machine = jumble(preset.name, &mut numbers);
        for _ in 0..24 {
            let (order, gfp) = (1 + numbers.below(10) as u8, MASKS[numbers.below(4) as usize]);
            let (_, page) = compact(&mut machine, order, gfp, PRIORITIES[numbers.below(3) as usize]);
            if let Some(page) = page {
                machine.mm.state.borrow_mut().alloc.free(page, CPU);
            }
            if preset.name != "linux-4.6-rc1+skip" {
                assert_eq!(isolated(&machine), [0, 0], "{}", preset.name);
            }
        }
        let mm = machine.mm.clone();
        machine.complete(60_000 * MS, async move { mm.compact_node(NODE, &task(2)).await }).expect("it ends");
        leaves_nothing_behind(&machine);
    }
}
