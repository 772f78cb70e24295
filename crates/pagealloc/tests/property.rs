//! Random operations on every preset. `FRAGLAB_PROPERTY_OPS` sets their number per preset (default 20000), and
//! `FRAGLAB_PROPERTY_SEED` the first seed; `FRAGLAB_PROPERTY_CHECK` checks every so many operations only.

mod driver;
mod reference;

use driver::{Driver, Tally, worlds};
use pagealloc::policy::{PRESETS, preset};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Presets that must agree with the reference model answer by answer.
const LOCK_STEP: &[&str] = &["linux-3.12", "linux-4.20", "linux-5.0", "linux-6.1", "linux-6.18", "linux-6.18+defrag"];

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
        Err(_) => default,
    }
}

/// Runs a preset in all worlds, sharing the operations between them.
fn exercise(name: &str, lock_step: bool) -> Vec<Tally> {
    let worlds = worlds();
    let ops = setting("FRAGLAB_PROPERTY_OPS", 20_000) / worlds.len() as u64;
    let first = setting("FRAGLAB_PROPERTY_SEED", 1);
    let check_every = setting("FRAGLAB_PROPERTY_CHECK", 1);
    let mut tallies = Vec::new();
    for (world, seed) in worlds.iter().zip(first..) {
        let mut done = 0;
        let run = || Driver::new(world, preset(name).unwrap(), seed, lock_step, check_every).run(ops, &mut done);
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
    for entry in PRESETS {
        let tallies = exercise(entry.name, false);
        let sum = |field: fn(&Tally) -> u64| tallies.iter().map(field).sum::<u64>();
        assert!(sum(|tally| tally.fallbacks) > 0, "{}: no fallback was met", entry.name);
        assert!(sum(|tally| tally.refused) > 0, "{}: memory never ran out", entry.name);
        assert!(sum(|tally| tally.isolated) > 0, "{}: nothing was isolated", entry.name);
    }
}

#[test]
fn presets_agree_with_the_reference_model() {
    for name in LOCK_STEP {
        exercise(name, true);
    }
}
