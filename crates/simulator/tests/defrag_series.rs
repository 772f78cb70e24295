//! The experiments of the defrag_mode series at a small scale: the same events in every build, and the effects that the series is about.

use lab::outcome::EventClass;
use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulated, Simulation};
use std::fmt::Write;
use workload::Scenario;

const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests-defrag-series.txt");

/// A scenario at a sixteenth of its size.
fn run(name: &str, policy: &str, limit_ms: u64) -> (Scenario, Simulated) {
    let mut scenario = Scenario::shipped(name).unwrap();
    scenario.scale("1/16".parse().unwrap());
    let machine = MachineSpec { time_limit: Some(limit_ms * 1_000_000), ..MachineSpec::of(&scenario) };
    let policy = preset(policy).unwrap();
    let simulated = Simulation::run_checked(&*scenario.workload(), &machine, &policy, 1).unwrap();
    (scenario, simulated)
}

const POLICIES: [&str; 4] =
    ["linux-6.15", "linux-6.15+defrag-patch1-fixed", "linux-6.15+defrag-oomfix", "linux-6.18+defrag2"];

#[test]
fn digests_are_those_on_file() {
    let mut found = String::new();
    for policy in POLICIES {
        for (name, limit_ms) in [("kbuild-thp", 2_000), ("oom-loop", 1_000)] {
            writeln!(found, "{name} {policy}: {:#018x}", run(name, policy, limit_ms).1.digest).unwrap();
        }
    }
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(DIGESTS, &found).unwrap();
    }
    let kept = std::fs::read_to_string(DIGESTS).unwrap_or_default();
    assert_eq!(found, kept, "if the change is wanted: FRAGLAB_BLESS=1");
}

#[test]
fn defrag_mode_neither_pollutes_nor_steals() {
    for policy in POLICIES {
        let (_, simulated) = run("kbuild-thp", policy, 3_000);
        let foreign = |class| simulated.outcome.extfrag.iter().filter(|event| event.class() == class).count();
        let [pollute, steal] = [EventClass::Pollute, EventClass::Steal].map(foreign);
        match policy {
            "linux-6.15" => assert!(pollute > 20 && steal > 20, "{pollute} and {steal}"),
            // Nobody frees whole blocks ahead of requests yet: on so small a machine one gives in rather than fail.
            "linux-6.15+defrag-patch1-fixed" => assert!(pollute == 0 && steal <= 2, "{pollute} and {steal}"),
            _ => assert_eq!((pollute, steal), (0, 0), "{policy}"),
        }
    }
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
