//! A simulation gives the same events in every build: digests are kept in a file, and both profiles compare with it.

use lab::outcome::{EventClass, Sample};
use lab::timeline::Sampling;
use pagealloc::policy::preset;
use simulator::{Costs, MachineSpec, Simulation};
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::ControlFlow;
use workload::Scenario;

const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");

#[test]
fn digests_are_those_on_file() {
    let workload = Scenario::shipped("kbuild-mix").unwrap().workload();
    let mut found = String::new();
    for (name, mode) in [("linux-6.18", 0), ("linux-6.18", 1), ("linux-4.20", 0)] {
        for costs in [Costs::TCG, Costs::BARE_METAL] {
            let mut policy = preset(name).unwrap();
            if mode > 0 {
                policy.sysctl.set("defrag_mode", mode).unwrap();
            }
            let time_limit = Some(if costs == Costs::TCG { 2_000_000_000 } else { 30_000_000 });
            let machine = MachineSpec { costs, time_limit, ..MachineSpec::guest(256 << 20) };
            let simulated = Simulation::run_checked(&*workload, &machine, &policy, 1).unwrap();
            writeln!(found, "{name} defrag_mode={mode} {}: {:#018x}", costs.name, simulated.digest).unwrap();
        }
    }
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(DIGESTS, &found).unwrap();
    }
    let kept = std::fs::read_to_string(DIGESTS).unwrap_or_default();
    assert_eq!(found, kept, "if the change is wanted: FRAGLAB_BLESS=1");
}

#[test]
fn another_seed_is_another_run() {
    let workload = Scenario::shipped("kbuild-mix").unwrap().workload();
    let machine = MachineSpec { time_limit: Some(6_000_000_000), ..MachineSpec::guest(256 << 20) };
    let policy = preset("linux-6.18").unwrap();
    let digest = |seed| Simulation::run(&*workload, &machine, &policy, seed).unwrap().digest;
    assert_ne!(digest(1), digest(2), "seeds decide who holds a page when compaction comes by");
}

#[test]
fn too_small_a_machine_is_an_error() {
    let workload = Scenario::shipped("kbuild-mix").unwrap().workload();
    let error =
        Simulation::run(&*workload, &MachineSpec::guest(8 << 20), &preset("linux-6.18").unwrap(), 1).unwrap_err();
    assert!(error.to_string().contains("64 MiB"), "{error}");
}

#[test]
fn being_followed_changes_nothing_and_tells_what_happened() {
    let workload = Scenario::shipped("kbuild-mix").unwrap().workload();
    let machine = MachineSpec { time_limit: Some(6_000_000_000), ..MachineSpec::guest(256 << 20) };
    let policy = preset("linux-6.18").unwrap();
    let alone = Simulation::run(&*workload, &machine, &policy, 2).unwrap();
    let told = RefCell::new(Vec::new());
    let tell = |sample: &Sample| {
        told.borrow_mut().push(sample.clone());
        ControlFlow::Continue(())
    };
    let sampling = Some(Sampling::default());
    let followed = Simulation::followed(&*workload, &machine, &policy, 2, sampling, &tell).unwrap();
    assert_eq!(told.take(), followed.outcome.series, "each sample is told");
    assert_eq!(alone.digest, followed.digest);
    assert!(alone.timeline.is_none());
    let timeline = followed.timeline.unwrap();
    let end = timeline.window.1;
    assert_eq!(timeline.tracks.times().last(), Some(&end), "the last moment is there");
    assert_eq!(timeline.map.times().last(), Some(end));
    assert_eq!(timeline.map.blocks(), 128);
    // What the rates sum up to is what the counters say at the end.
    for name in ["pgscan_kswapd", "compact_migrate_scanned", "extfrag.pollute"] {
        let (_, buckets) = timeline.tracks.iter().find(|(key, _)| key.name == name).unwrap();
        let starts = std::iter::once(&timeline.window.0).chain(timeline.tracks.times());
        let lengths = starts.zip(timeline.tracks.times()).map(|(start, end)| (end - start) as f64 / 1e9);
        let sum: f64 = buckets.iter().zip(lengths).map(|(bucket, seconds)| f64::from(bucket.value) * seconds).sum();
        let pollutes = || followed.outcome.extfrag.iter().filter(|e| e.class() == EventClass::Pollute).count() as u64;
        let counted = followed.outcome.counters.get(name).copied().unwrap_or_else(pollutes) as f64;
        assert!(counted > 0.0 && (sum - counted).abs() < 1.0 + counted / 1e4, "{name}: {sum} of {counted}");
    }
    let last = followed.outcome.zones.last().unwrap();
    let zone = Some(format!("{}/{}", last.node, last.name));
    let free = timeline.tracks.iter().find(|(key, _)| key.name == "free.order0.movable" && key.zone == zone).unwrap().1;
    assert_eq!(free.last().unwrap().value, last.free[1][0] as f32);
    assert!(timeline.slices.iter().any(|slice| slice.track == "kswapd node 0" && slice.end > slice.start));
}

#[test]
fn who_follows_a_run_may_end_it() {
    let workload = Scenario::shipped("kbuild-mix").unwrap().workload();
    let (machine, policy) = (MachineSpec::guest(256 << 20), preset("linux-6.18").unwrap());
    let until_2_s = |sample: &Sample| match sample.ts {
        ..2_000_000_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let ended = Simulation::followed(&*workload, &machine, &policy, 2, None, &until_2_s).unwrap();
    assert!(ended.virtual_seconds < 60.0, "{} s", ended.virtual_seconds);
    assert_eq!(ended.report.digest(), None, "it is not whole");
    assert!(ended.outcome.counters["pgfault"] > 0, "what was done until then is there");
    let window = ended.outcome.series.first().zip(ended.outcome.series.last()).unwrap();
    assert_eq!((window.0.ts, window.1.ts as f64 / 1e9), (0, ended.virtual_seconds), "the window is the run's");
}
