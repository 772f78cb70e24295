//! Random operations on every preset. Settings, all environment variables:
//!
//! | name | meaning | default |
//! |---|---|---|
//! | `FRAGLAB_PROPERTY_OPS` | operations per preset, shared between the worlds | 20000, unoptimised 4000 |
//! | `FRAGLAB_PROPERTY_SEED` | seed of the first world; each next world adds one | 1 |
//! | `FRAGLAB_PROPERTY_CHECK` | `check()` and all lists are compared every so many operations | 1 |
//! | `FRAGLAB_PROPERTY_PRESET` | this preset only | all |

mod driver;
mod reference;

use driver::{Driver, Tally, worlds};
use pagealloc::policy::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The presets to run.
fn presets() -> impl Iterator<Item = &'static str> {
    let only = std::env::var("FRAGLAB_PROPERTY_PRESET").ok();
    PRESETS.iter().map(|entry| entry.name).filter(move |name| only.as_ref().is_none_or(|only| only == name))
}

/// Keeps the suite within seconds, optimised or not.
const DEFAULT_OPS: u64 = if cfg!(debug_assertions) { 4_000 } else { 20_000 };

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
        Err(_) => default,
    }
}

/// Runs a preset in all worlds, sharing the operations between them.
fn exercise(name: &str, lock_step: bool) -> Vec<Tally> {
    let worlds = worlds();
    let ops = setting("FRAGLAB_PROPERTY_OPS", DEFAULT_OPS) / worlds.len() as u64;
    let first = setting("FRAGLAB_PROPERTY_SEED", 1);
    let check_every = setting("FRAGLAB_PROPERTY_CHECK", 1);
    let policy = || preset(name).expect("one of the presets");
    let mut tallies = Vec::new();
    for (world, seed) in worlds.iter().zip(first..) {
        let mut done = 0;
        let run = || Driver::new(world, policy(), lock_step.then(policy), seed, check_every).run(ops, &mut done);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(tally) => tallies.push(tally),
            Err(panic) => {
                eprintln!("{name}, {:?}, seed {seed}, operation {done}", world.name);
                resume_unwind(panic);
            }
        }
    }
    println!("{name}: {tallies:?}");
    tallies
}

#[test]
fn structure_holds_for_every_preset() {
    let mut of_cma = 0;
    for name in presets() {
        let tallies = exercise(name, false);
        let sum = |field: fn(&Tally) -> u64| tallies.iter().map(field).sum::<u64>();
        assert!(sum(|tally| tally.fallbacks) > 0, "{}: no fallback was met", name);
        assert!(sum(|tally| tally.refused) > 0, "{}: memory never ran out", name);
        assert!(sum(|tally| tally.isolated) > 0, "{}: nothing was isolated", name);
        of_cma += sum(|tally| tally.of_cma);
        let batched = preset(name).expect("one of the presets").bulk_requests == BulkRequests::Batched;
        assert_eq!(sum(|tally| tally.in_bulk) > 0, batched, "{}: pages in bulk", name);
    }
    // Few of a preset's operations are in such blocks.
    assert!(of_cma > 0, "no page of CMA");
}

/// The model knows everything that this floor does but the stall of the 4.20 series (7.9), as a request that stalls sleeps, which
/// is the business of the floor above, the expiry of remote lists (5.11), and what `driver/beyond.rs` does. Lock-step runs
/// without these, the structural run with them.
#[test]
fn presets_agree_with_the_reference_model() {
    for name in presets() {
        exercise(name, true);
    }
}

/// Whether lock-step notices, within some ten thousand operations, that the model follows another rule.
fn notices(name: &str, change: Change) -> bool {
    let policy = preset(name).expect("one of the presets");
    let mut other = policy.clone();
    change(&mut other);
    assert_ne!(policy, other, "{name}: nothing was changed");
    worlds().iter().zip(1..).any(|(world, seed)| {
        let run = || Driver::new(world, policy.clone(), Some(other.clone()), seed, 16).run(60_000, &mut 0);
        catch_unwind(AssertUnwindSafe(run)).is_err()
    })
}

/// What the model does differently.
type Change = fn(&mut Policy);

/// The comparison is not vacuous: each rule of this floor makes a difference that it sees. `min_free_kbytes_limit` and `pcp.batch` are left
/// out: these worlds are too small for them (vectors.rs has their figures).
#[test]
fn a_wrong_rule_is_noticed() {
    let changes: &[(&str, &str, Change)] = &[
        ("boot_release", "linux-5.0", |p| p.boot_release = BootRelease::Tail),
        ("tail_placement", "linux-6.18", |p| p.tail_placement = false),
        ("reserve", "linux-6.18", |p| p.reserve = Reserve::HighAtomic),
        ("reserve_held_back", "linux-6.14", |p| p.reserve_held_back = ReserveHeldBack::ReservedBlocks),
        ("fallback, mode kept", "linux-6.18", |p| p.fallback = Fallback::ClaimThenSteal { batch_mode: false }),
        ("fallback, steal", "linux-6.18", |p| p.fallback = Fallback::FreeAndAlikeStrict),
        ("fallback, alike", "linux-4.20", |p| p.fallback = Fallback::HalfMoved),
        ("fallback, Unmovable", "linux-4.8", |p| p.fallback = Fallback::HalfMoved3x),
        ("list_types", "linux-6.1", |p| p.list_types = ListTypes::Strict),
        ("splits_large_frees", "linux-6.18", |p| p.splits_large_frees = false),
        ("merge_types", "linux-6.1", |p| p.merge_types = MergeTypes::AllButIsolate),
        ("merge_retype", "linux-6.18", |p| p.merge_retype = MergeRetype::WholeRange),
        ("extfrag_ownership", "linux-3.12", |p| p.extfrag_ownership = ExtfragOwnership::RequestIsFallback),
        ("nofragment", "linux-6.18", |p| p.nofragment = NoFragment::Never),
        ("bulk_requests", "linux-6.18", |p| p.bulk_requests = BulkRequests::OneByOne),
        ("boost", "linux-6.18", |p| p.boost = Boost::Never),
        ("boost, cap", "linux-5.0", |p| p.boost = Boost::EveryFallbackBoostedCap),
        ("fair_zones", "linux-3.12", |p| p.fair_zones = FairZones::Off),
        ("fair_zones, local", "linux-4.6", |p| p.fair_zones = FairZones::AllNodes),
        ("skip_kswapd_nodes", "linux-6.18", |p| p.skip_kswapd_nodes = false),
        ("watermark_test", "linux-3.12", |p| p.watermark_test = WatermarkTest::OneSuitableBlock),
        ("watermark_reserve", "linux-6.1", |p| p.watermark_reserve = WatermarkReserve::MinReserve),
        ("watermark_gap", "linux-6.18", |p| p.watermark_gap = WatermarkGap::QuarterOfMin),
        ("lowmem_zones", "linux-6.18", |p| p.lowmem_zones = LowmemZones::AllButHighMem),
        ("migratetype_numbers", "linux-4.20", |p| p.migratetype_numbers = MigratetypeNumbers::ReclaimableFirst),
        ("pcp.orders", "linux-6.18", |p| p.pcp.orders = PcpOrders::CostlyAndThp),
        ("pcp.falls_through", "linux-6.1", |p| p.pcp.falls_through = false),
        ("pcp.high", "linux-6.1", |p| p.pcp.high = PcpHigh::AutoTuned),
        ("pcp.empties", "linux-6.1", |p| p.pcp.empties = PcpEmpties::Never),
        ("pcp.empties, run", "linux-6.18", |p| p.pcp.empties = PcpEmpties::AfterBatch),
        ("target_mark", "linux-4.8", |p| p.compaction.target_mark = TargetMark::Min),
        ("pcp.steps", "linux-6.18", |p| p.pcp.steps = PcpSteps::All),
        ("highatomic_use", "linux-6.19", |p| p.highatomic_use = HighAtomicUse::SlowPathBeyondLists),
        ("highatomic_last_resort", "linux-6.18", |p| p.highatomic_last_resort = HighAtomicLastResort::Nobody),
        ("defrag_mode", "linux-6.18+defrag", |p| p.sysctl.defrag_mode = 0),
        ("watermark_boost_factor", "linux-6.18", |p| p.sysctl.watermark_boost_factor = 10000),
    ];
    let unseen: Vec<_> = changes.iter().filter(|(_, name, change)| !notices(name, *change)).collect();
    assert!(unseen.is_empty(), "make no difference: {:?}", unseen.iter().map(|(rule, ..)| rule).collect::<Vec<_>>());
}
