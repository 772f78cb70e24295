//! The livelock detector finds the endless retry of the first defrag_mode patches by itself, and nothing else.

mod small;

use mm::slowpath::Retry;
use pagealloc::Policy;
use pagealloc::policy::{DefragRetry, PRESETS, preset};
use simulator::{MachineSpec, Simulated, Simulation};

/// A scenario at an eighth of its size, or the small builds, up to a time.
fn run(name: &str, policy: &Policy, seconds: u64) -> Simulated {
    let scenario = small::scenario(name, "1/8");
    let machine = MachineSpec { time_limit: Some(seconds * 1_000_000_000), ..MachineSpec::of(&scenario) };
    Simulation::run_checked(&*scenario.workload(), &machine, policy, 1).unwrap()
}

fn policies() -> impl Iterator<Item = Policy> {
    PRESETS.iter().map(|entry| preset(entry.name).unwrap())
}

/// The slip: the retry is neither checked nor does it lift the ban.
fn has_the_slip(policy: &Policy) -> bool {
    policy.sysctl.defrag_mode > 0 && policy.defrag.is_some_and(|rules| rules.retry == DefragRetry::AsPosted)
}

#[test]
fn the_retry_as_posted_is_found_and_named() {
    let policy = preset("linux-6.15+defrag-as-posted").unwrap();
    let simulated = run("oom-loop", &policy, 60);
    let hang = simulated.hang.expect("it hangs");
    assert_eq!((hang.role.as_str(), hang.livelock.turn.retry), ("eater", Retry::DefragMode));
    assert!(hang.to_string().contains("alloc_flags=WMARK_MIN|NOFRAGMENT"), "{hang}");
    assert_eq!(simulated.report.hang, Some(hang.to_string()));
    assert_eq!(simulated.outcome.counters["oom_kill"], 0, "the first round never ends");
    assert_eq!(simulated.digest, run("oom-loop", &policy, 60).digest);
}

#[test]
fn out_of_memory_hangs_where_the_slip_is_and_nowhere_else() {
    let mut slips = 0;
    for policy in policies() {
        let simulated = run("oom-loop", &policy, 12);
        assert_eq!(simulated.hang.is_some(), has_the_slip(&policy), "{}: {:?}", policy.name, simulated.report.hang);
        slips += u32::from(has_the_slip(&policy));
        if !has_the_slip(&policy) {
            assert!(simulated.outcome.counters["oom_kill"] > 5, "{} kills", policy.name);
        }
    }
    assert_eq!(slips, 3, "the first patch and the two that built on it");
}

#[test]
fn builds_never_hang() {
    for policy in policies() {
        for (name, seconds) in [(small::BUILDS, 1), ("kbuild-short", 2)] {
            let simulated = run(name, &policy, seconds);
            assert_eq!(simulated.report.hang, None, "{} on {name}", policy.name);
        }
    }
}
