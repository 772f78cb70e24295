//! The experiments of the defrag_mode series at a small scale: the same events in every build, and the effects that the series is about.

mod small;

use lab::outcome::EventClass;
use pagealloc::policy::{BulkRequests, preset};
use pagealloc::{Migratetype, Policy};
use simulator::{MachineSpec, Simulated, Simulation};
use std::fmt::Write;
use std::num::NonZero;
use workload::Scenario;

const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests-defrag-series.txt");

fn run(name: &str, policy: &str, limit_ms: u64) -> (Scenario, Simulated) {
    run_policy(name, &preset(policy).unwrap(), limit_ms)
}

/// A scenario at a sixteenth of its size, or the small builds.
fn run_policy(name: &str, policy: &Policy, limit_ms: u64) -> (Scenario, Simulated) {
    let scenario = small::scenario(name, "1/16");
    let machine = MachineSpec { time_limit: Some(limit_ms * 1_000_000), ..MachineSpec::of(&scenario) };
    let simulated = Simulation::run_checked(&*scenario.workload(), &machine, policy, 1).unwrap();
    (scenario, simulated)
}

const POLICIES: [&str; 4] =
    ["linux-6.15", "linux-6.15+defrag-patch1-fixed", "linux-6.15+defrag-oomfix", "linux-6.18+defrag2"];

#[test]
fn digests_are_those_on_file() {
    let mut found = String::new();
    for policy in POLICIES {
        for (name, limit_ms) in [(small::BUILDS, 2_000), ("oom-loop", 1_000)] {
            writeln!(found, "{name} {policy}: {:#018x}", run(name, policy, limit_ms).1.digest).unwrap();
        }
    }
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(DIGESTS, &found).unwrap();
    }
    let kept = std::fs::read_to_string(DIGESTS).unwrap_or_default();
    assert_eq!(found, kept, "if the change is wanted: FRAGLAB_BLESS=1");
}

/// Polluting and stealing events.
fn foreign(simulated: &Simulated) -> [usize; 2] {
    let of = |class| simulated.outcome.extfrag.iter().filter(|event| event.class() == class).count();
    [EventClass::Pollute, EventClass::Steal].map(of)
}

#[test]
fn defrag_mode_neither_pollutes_nor_steals_but_for_bulk_requests() {
    let [pollute, steal] = foreign(&run(small::BUILDS, "linux-6.15", 3_000).1);
    assert!(pollute > 20 && steal > 20, "{pollute} and {steal}");
    for name in &POLICIES[1..] {
        let (_, simulated) = run(small::BUILDS, name, 3_000);
        // Thread stacks: the only ones that are asked for in bulk, and so not under the ban.
        let mut mixing = simulated.outcome.extfrag.iter().map(|at| at.event).filter(|event| event.fragmenting());
        assert!(mixing.all(|event| event.alloc_migratetype == Migratetype::Unmovable), "{name}");
        let one_by_one = Policy { bulk_requests: BulkRequests::OneByOne, ..preset(name).unwrap() };
        let [pollute, steal] = foreign(&run_policy(small::BUILDS, &one_by_one, 3_000).1);
        // With the first patch nobody frees whole blocks ahead of requests: on so small a machine one gives in rather than fail.
        let most = if *name == "linux-6.15+defrag-patch1-fixed" { 2 } else { 0 };
        assert!(pollute == 0 && steal <= most, "{name}: {pollute} and {steal}");
    }
}

/// Guests of 6.18 run about as many compilers with the mode as without it. While each fork asked for a new stack, page by page, the simulated
/// computer ran a thirtieth.
#[test]
fn builds_in_little_memory_go_on_under_defrag_mode() {
    let mut scenario = Scenario::shipped("kbuild-mix").unwrap();
    (scenario.machine.memory_mib, scenario.machine.swap_mib) = (NonZero::new(160).unwrap(), 64);
    let machine = MachineSpec { time_limit: Some(60_000_000_000), ..MachineSpec::of(&scenario) };
    let compilers = |name: &str| {
        let policy = preset(name).unwrap();
        let of_seed = |seed| {
            let simulated = Simulation::run(&*scenario.workload(), &machine, &policy, seed).unwrap();
            simulated.report.by_role().iter().find(|role| role.role == "cc").map_or(0, |role| role.tasks)
        };
        (1..=3).map(of_seed).sum::<u64>()
    };
    let [vanilla, defrag] = ["linux-6.18", "linux-6.18+defrag"].map(compilers);
    assert!(defrag > vanilla / 3, "{vanilla} and {defrag} compilers");
}

#[test]
fn every_kill_recovers() {
    for policy in POLICIES {
        let (scenario, simulated) = run("oom-loop", policy, 600_000);
        let measures = scenario.workload().measures(&simulated.report, 2 << 20);
        let of = |name: &str| measures.iter().find(|measure| measure.name == name).and_then(|measure| measure.mean());
        for name in ["kills", "killed-once", "recoveries"] {
            assert_eq!(of(name), Some(100.0), "{policy}: {name}");
        }
        assert_eq!(of("hangs"), Some(0.0), "{policy}");
    }
}
