//! Random operations on every preset. Settings, all environment variables:
//!
//! | name | meaning | default |
//! |---|---|---|
//! | `FRAGLAB_PROPERTY_OPS` | operations per preset, shared between the worlds | 20000 |
//! | `FRAGLAB_PROPERTY_SEED` | seed of the first world; each next world adds one | 1 |
//! | `FRAGLAB_PROPERTY_CHECK` | `check()` and all lists are compared every so many operations | 1 |
//! | `FRAGLAB_PROPERTY_PRESET` | this preset only | all |

mod driver;
mod reference;

use driver::{Driver, Tally, worlds};
use pagealloc::policy::{PRESETS, preset};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The presets to run.
fn presets() -> impl Iterator<Item = &'static str> {
    let only = std::env::var("FRAGLAB_PROPERTY_PRESET").ok();
    PRESETS.iter().map(|entry| entry.name).filter(move |name| only.as_ref().is_none_or(|only| only == name))
}

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
    for name in presets() {
        let tallies = exercise(name, false);
        let sum = |field: fn(&Tally) -> u64| tallies.iter().map(field).sum::<u64>();
        assert!(sum(|tally| tally.fallbacks) > 0, "{}: no fallback was met", name);
        assert!(sum(|tally| tally.refused) > 0, "{}: memory never ran out", name);
        assert!(sum(|tally| tally.isolated) > 0, "{}: nothing was isolated", name);
    }
}

/// The model knows everything that this floor does but the stall of the 4.20 series (7.9): a request that stalls sleeps,
/// which is the business of the floor above. Lock-step runs without `ALLOC_FRAGMENT_STALL`, the structural run with it.
#[test]
fn presets_agree_with_the_reference_model() {
    for name in presets() {
        exercise(name, true);
    }
}
