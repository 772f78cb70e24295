//! Random operations on small worlds under every combination of eras that matters here, with `check` after each.

use crate::policy::*;
use crate::world::*;
use crate::*;
use alloc::vec::Vec;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

fn eras() -> Vec<Policy> {
    let new = linux_6_18();
    let old = Policy {
        boot_release: BootRelease::Head,
        reserve: Reserve::HighAtomic,
        fallback: Fallback::FreeAndAlike,
        list_types: ListTypes::Mixed,
        splits_large_frees: false,
        nofragment: NoFragment::Never,
        boost: Boost::EveryFallback,
        watermark_reserve: WatermarkReserve::HighHarder,
        highatomic_last_resort: HighAtomicLastResort::Nobody,
        pcp: PcpRules {
            orders: PcpOrders::Zero,
            falls_through: false,
            high: PcpHigh::SixBatches,
            batch: PcpBatch::Managed1024Half,
            empties: PcpEmpties::Never,
            steps: PcpSteps::Never,
        },
        ..linux_6_18()
    };
    let oldest = Policy {
        reserve: Reserve::MigrateReserve,
        fallback: Fallback::HalfMoved3x,
        boost: Boost::Never,
        fair_zones: FairZones::AllNodes,
        watermark_test: WatermarkTest::Halving,
        watermark_reserve: WatermarkReserve::HighHarder3x,
        watermark_gap: WatermarkGap::QuarterOfMin,
        ..old.clone()
    };
    let middle_pcp = PcpRules {
        orders: PcpOrders::CostlyAndThp,
        high: PcpHigh::LowWatermark,
        empties: PcpEmpties::WhileOnlyFreed,
        ..new.pcp
    };
    alloc::vec![
        Policy { fallback: Fallback::HalfMoved, fair_zones: FairZones::LocalNode, boost: Boost::Never, ..old.clone() },
        Policy { boost: Boost::EveryFallbackBoostedCap, nofragment: NoFragment::Series, ..old.clone() },
        Policy { boot_release: BootRelease::Tail, pcp: middle_pcp, ..old.clone() },
        Policy { fallback: Fallback::FreeAndAlikeStrict, boost: Boost::EveryFallbackGuarded, ..new.clone() },
        Policy { merge_retype: MergeRetype::WholeRange, ..new.clone() },
        Policy { sysctl: Sysctl { defrag_mode: 1, ..Sysctl::default() }, ..new.clone() },
        old,
        oldest,
        new,
    ]
}

/// Returns a digest of all that was handed out.
fn run(policy: Policy, seed: u64, steps: u32, geometry: Geometry) -> u64 {
    let machine = Machine::uniform(geometry, 2, 40 * 16 - 5, false);
    let mut a = PageAllocator::new(&machine, policy, Vec::<Event>::new()).unwrap();
    a.set_watermarks(ZONE, 8, 16, 24, 32);
    a.set_pcp_limits(ZONE, 3, 12, 40);
    a.set_grouping_disabled(false);
    let (mut random, mut live, mut digest) = (Random(seed), Vec::<Pfn>::new(), 0u64);
    for _ in 0..steps {
        let cpu = CpuId(random.below(2) as u16);
        let t = Migratetype::MERGEABLE[random.below(3) as usize];
        match random.below(100) {
            0..55 => {
                let order = [0, 0, 0, 0, 1, 2, 3, 4, 5][random.below(9) as usize];
                let request = Request { cpu, ..request(order, t) };
                let slow = AllocFlags::WMARK_MIN | AllocFlags(random.below(0x1000) as u16 & 0x938);
                let page = a.alloc_fast(&request).or_else(|| a.get_page_from_freelist(&request, slow));
                if let Some(pfn) = page {
                    a.set_on_lru(pfn, t == Migratetype::Movable);
                    live.push(pfn);
                    digest = digest.wrapping_mul(31).wrapping_add(pfn.0.into());
                }
            }
            55..95 if !live.is_empty() => {
                let pfn = live.swap_remove(random.below(live.len() as u64) as usize);
                a.free(pfn, cpu);
            }
            95 => a.drain_all_pages(None),
            96 => a.pcp_decay(cpu),
            97 => drop(a.unreserve_highatomic(&request(0, t), random.below(2) == 0)),
            98 => isolate_and_return(&mut a, &mut random),
            _ => {
                a.reset_fair_batches(&request(0, t));
                a.reduce_boost(ZONE, 16);
            }
        }
        a.check().unwrap();
    }
    for pfn in live {
        a.free(pfn, CPU);
    }
    a.drain_all_pages(None);
    a.check().unwrap();
    assert_eq!(a.free_pages(ZONE), a.zone_info(ZONE).managed);
    digest
}

fn isolate_and_return(a: &mut World, random: &mut Random) {
    let t = Migratetype::MERGEABLE[random.below(3) as usize];
    let order = random.below(6) as Order;
    let Some(pfn) = a.free_list(ZONE, order, t).head() else { return };
    if a.isolate_free(pfn) == 0 {
        return;
    }
    let to = random.below(u64::from(order) + 1) as Order;
    let mut rest = Vec::new();
    a.split_target(pfn, order, to, &mut |pfn, order| rest.push((pfn, order)));
    a.check().unwrap();
    a.use_target(pfn, to);
    for (pfn, order) in rest {
        a.putback_target(pfn, order);
        a.check().unwrap();
    }
    a.free(pfn, CPU);
}

#[test]
fn invariants_hold_in_every_era() {
    for policy in eras() {
        for seed in 1..6 {
            run(policy.clone(), seed * 7919, 1500, SMALL);
        }
    }
}

#[test]
fn blocks_far_below_the_largest_order() {
    let geometry = Geometry { max_order: 6, pageblock_order: 3, pmd_order: 3, ..SMALL };
    for policy in eras() {
        run(policy, 104_729, 1500, geometry);
    }
}

#[test]
fn same_seed_same_pages() {
    for policy in eras() {
        assert_eq!(run(policy.clone(), 5, 500, SMALL), run(policy, 5, 500, SMALL));
    }
}
