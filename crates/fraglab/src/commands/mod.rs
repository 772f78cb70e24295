//! One module a command that every build has: arguments in, calls to the backend, text out.

pub mod compare;
pub mod cut;
pub mod export;
pub mod inspect;
pub mod map;
pub mod policies;
pub mod replay;
pub mod report;
pub mod validate;

use crate::backend::{self, Loaded, Run};
use crate::cli::ValidateArgs;
use crate::column_spec::ColumnSpec;
use crate::failure::Failure;
use crate::progress::Progress;
use ::report::Facts;
use anstream::eprintln;
use lab::outcome::Outcome;
use pagealloc::Policy;
use pagealloc::policy::SYSCTLS;
use recording::replay::Replayed;
use std::ops::RangeInclusive;
use std::path::Path;

/// Loads a recording.
pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
    let progress = Progress::new(&format!("reading {}", path.display()));
    let loaded = backend::load(path)?;
    drop(progress);
    Ok(loaded)
}

/// Replays a loaded recording as one column.
/// `told` hears how far it is, 0 to 1.
pub(crate) fn replay_column(
    loaded: &Loaded,
    column: &ColumnSpec,
    run: Run,
    told: &dyn Fn(f64),
) -> Result<(Replayed, Facts), Failure> {
    let policy = column.resolve(|| loaded.recorded().cloned())?;
    replay_policy(loaded, &policy, &column.to_string(), run, told)
}

fn replay_policy(
    loaded: &Loaded,
    policy: &Policy,
    name: &str,
    run: Run,
    told: &dyn Fn(f64),
) -> Result<(Replayed, Facts), Failure> {
    let progress = Progress::new(&format!("replaying {} under {name}", loaded.name));
    let replayed = backend::replay(loaded, policy, run, &mut |share| {
        progress.set(share);
        told(share);
    })?;
    drop(progress);
    say_speed(name, &replayed);
    let facts = Facts {
        preset: policy.name.to_owned(),
        sysctls: SYSCTLS.iter().map(|info| (info.name.to_owned(), info.get(&policy.sysctl))).collect(),
        seed: run.seed,
        page_events: replayed.page_events,
        replay_seconds: replayed.replay_seconds,
        digest: replayed.digest,
        variant: None,
        unattributed: replayed.unattributed.clone(),
    };
    Ok((replayed, facts))
}

/// The same replay with every one of the seeds.
pub fn over_seeds(
    loaded: &Loaded,
    policy: &Policy,
    name: &str,
    seeds: RangeInclusive<u64>,
    args: &ValidateArgs,
) -> Result<Vec<Outcome>, Failure> {
    let replay = |seed: u64| {
        let run = Run { seed, check: args.engine.check, sampling: None };
        Ok(replay_policy(loaded, policy, name, run, &|_| {})?.0.outcome)
    };
    seeds.map(replay).collect()
}

/// How fast a replay was. On stderr, because the table shall not differ from run to run.
fn say_speed(name: &str, replayed: &Replayed) {
    let (events, seconds) = (replayed.page_events, replayed.replay_seconds);
    let rate = events as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE);
    eprintln!("{name}: {events} page events in {seconds:.2} s, {rate:.1} million a second");
}
