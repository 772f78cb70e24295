//! Replays of one recording: policies x seeds, several at a time. The recording is read once, and a replay's result depends on
//! its policy and seed alone: not on how many work, nor on who ends first.

use crate::backend::{self, Loaded, Run};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::replay_args::EngineArgs;
use crate::workers;
use lab::outcome::Outcome;
use lab::timeline::Sampling;
use pagealloc::Policy;
use pagealloc::policy::SYSCTLS;
use recording::replay::Replayed;
use report::Facts;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A policy that a recording is to be replayed under.
pub struct Wanted {
    /// What its column is called.
    pub name: String,
    /// The policy.
    pub policy: Policy,
    /// Follow it over time.
    pub sampling: Option<Sampling>,
}

/// A replay, and what is known of how it came about.
pub type Done = (Replayed, Facts);

/// Replays under every policy with every seed: by policy, then by seed, as both were given. `told` hears of a policy, by its
/// place, what share of its replays is done.
///
/// # Errors
/// Those of [`backend::replay`], of the first that fails.
pub fn replay_all(
    loaded: &Loaded,
    wanted: &[Wanted],
    seeds: &[u64],
    how: &EngineArgs,
    told: &(dyn Fn(usize, f64) + Sync),
) -> Result<Vec<Vec<Done>>, Failure> {
    let progress = Progress::new(&title(loaded, wanted, seeds));
    let shares = Mutex::new(vec![vec![0.0; seeds.len()]; wanted.len()]);
    let advance = |of: usize, seed: usize, share: f64| {
        let mut shares = shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares[of][seed] = share;
        let done: Vec<f64> = shares.iter().map(|seeds| mean(seeds)).collect();
        progress.set(mean(&done));
        drop(shares);
        told(of, done[of]);
    };
    let pieces: Vec<(usize, usize)> =
        (0..wanted.len()).flat_map(|of| (0..seeds.len()).map(move |at| (of, at))).collect();
    let results = workers::each(workers::or_one_a_cpu(how.workers), &pieces, |_, &(of, at)| {
        let Wanted { policy, sampling, .. } = &wanted[of];
        let run = Run { seed: seeds[at], check: how.check, sampling: *sampling };
        advance(of, at, 0.0);
        let replayed = backend::replay(loaded, policy, run, &mut |share| advance(of, at, share))?;
        advance(of, at, 1.0);
        let facts = facts(policy, seeds[at], &replayed);
        Ok((replayed, facts))
    });
    drop(progress);
    let mut results = results.into_iter();
    let by_policy: Vec<Vec<Done>> = wanted
        .iter()
        .map(|_| results.by_ref().take(seeds.len()).collect::<Result<_, Failure>>())
        .collect::<Result<_, Failure>>()?;
    wanted.iter().zip(&by_policy).for_each(|(wanted, replays)| say_speed(&wanted.name, replays));
    Ok(by_policy)
}

/// One policy with every one of the seeds, and only what came out.
///
/// # Errors
/// As [`replay_all`].
pub fn over_seeds(
    loaded: &Loaded,
    policy: &Policy,
    name: &str,
    seeds: impl Iterator<Item = u64>,
    how: &EngineArgs,
) -> Result<Vec<Outcome>, Failure> {
    let wanted = Wanted { name: name.to_owned(), policy: policy.clone(), sampling: None };
    let by_policy = replay_all(loaded, &[wanted], &seeds.collect::<Vec<_>>(), how, &|_, _| {})?;
    Ok(by_policy.into_iter().flatten().map(|(replayed, _)| replayed.outcome).collect())
}

fn title(loaded: &Loaded, wanted: &[Wanted], seeds: &[u64]) -> String {
    match (wanted, seeds) {
        ([only], [_]) => format!("replaying {} under {}", loaded.name, only.name),
        _ => format!("replaying {}, {} replays", loaded.name, wanted.len() * seeds.len()),
    }
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

fn facts(policy: &Policy, seed: u64, replayed: &Replayed) -> Facts {
    Facts {
        preset: policy.name.to_owned(),
        sysctls: SYSCTLS.iter().map(|info| (info.name.to_owned(), info.get(&policy.sysctl))).collect(),
        seed,
        page_events: replayed.page_events,
        replay_seconds: replayed.replay_seconds,
        digest: replayed.digest,
        variant: None,
        setup: BTreeMap::new(),
        unattributed: replayed.unattributed.clone(),
    }
}

/// How fast replays were. On stderr, because the table shall not differ from run to run.
fn say_speed(name: &str, replays: &[Done]) {
    let events: u64 = replays.iter().map(|(replayed, _)| replayed.page_events).sum();
    let seconds: f64 = replays.iter().map(|(replayed, _)| replayed.replay_seconds).sum();
    let rate = events as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE);
    let several = if replays.len() > 1 { format!("{} replays, ", replays.len()) } else { String::new() };
    say!("{name}: {several}{events} page events in {seconds:.2} s, {rate:.1} million a second");
}
