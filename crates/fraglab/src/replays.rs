//! Replays of one recording: policies x seeds, several at a time. The recording is read once, and a replay's result depends on
//! its policy and seed alone: not on how many work, nor on who ends first.

use crate::backend::{self, Loaded, Run};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
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

/// Replays under every policy with every seed.
pub struct Replays {
    /// Seeds that every policy was replayed with, in the order in which they were asked for; at least one.
    pub seeds: Vec<u64>,
    /// By policy, as they were asked for, then by seed, as in `seeds`.
    pub by_policy: Vec<Vec<Done>>,
    /// [`Failure::Interrupted`] if these are not all seeds that were asked for.
    pub whole: Result<(), Failure>,
}

/// Replays under every policy with every seed. `told` hears of a policy, by its place, what share of its replays is done.
///
/// # Errors
/// Those of [`backend::replay`], of the first that fails, and [`Failure::Interrupted`] if not one seed is complete.
pub fn replay_all(
    loaded: &Loaded,
    wanted: &[Wanted],
    seeds: &[u64],
    how: &EngineArgs,
    interrupt: &Interrupt,
    told: &(dyn Fn(usize, f64) + Sync),
) -> Result<Replays, Failure> {
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
    // One seed after the other, each under all policies: what a signal leaves is seeds that can be compared.
    let pieces: Vec<(usize, usize)> =
        (0..seeds.len()).flat_map(|at| (0..wanted.len()).map(move |of| (of, at))).collect();
    let results = workers::each(workers::or_one_a_cpu(how.workers), &pieces, |_, &(of, at)| {
        if interrupt.flow().is_break() {
            return Ok(None);
        }
        let Wanted { policy, sampling, .. } = &wanted[of];
        let run = Run { seed: seeds[at], check: how.check, sampling: *sampling };
        advance(of, at, 0.0);
        let mut hears = |share| {
            advance(of, at, share);
            interrupt.flow()
        };
        let Some(replayed) = backend::replay(loaded, policy, run, &mut hears)? else { return Ok(None) };
        advance(of, at, 1.0);
        let facts = facts(policy, seeds[at], &replayed);
        Ok(Some((replayed, facts)))
    });
    drop(progress);
    let (complete, by_policy) = complete(seeds, wanted.len(), results)?;
    let whole = interrupt.whole(complete.len(), seeds.len());
    if complete.is_empty() {
        return Err(whole.expect_err("only a signal keeps a replay from being complete"));
    }
    if whole.is_err() {
        say!("interrupted: reporting the seeds that are complete; another signal ends at once, without a result");
    }
    wanted.iter().zip(&by_policy).for_each(|(wanted, replays)| say_speed(&wanted.name, replays));
    Ok(Replays { seeds: complete, by_policy, whole })
}

/// Of replays that come seed by seed: the seeds that have one under every policy, and theirs by policy.
fn complete(
    seeds: &[u64],
    policies: usize,
    replays: Vec<Result<Option<Done>, Failure>>,
) -> Result<(Vec<u64>, Vec<Vec<Done>>), Failure> {
    let (mut complete, mut by_policy) = (Vec::new(), vec![Vec::new(); policies]);
    let mut replays = replays.into_iter();
    for seed in seeds {
        let of_seed: Vec<Option<Done>> = replays.by_ref().take(policies).collect::<Result<_, _>>()?;
        if let Some(of_seed) = of_seed.into_iter().collect::<Option<Vec<Done>>>() {
            complete.push(*seed);
            by_policy.iter_mut().zip(of_seed).for_each(|(of_policy, done)| of_policy.push(done));
        }
    }
    Ok((complete, by_policy))
}

/// What came out of some policies with the same seeds, by seed.
pub struct OverSeeds<const N: usize> {
    /// By policy.
    pub outcomes: [Vec<Outcome>; N],
    /// As [`Replays::whole`].
    pub whole: Result<(), Failure>,
}

/// Policies, each with its name, with every one of the seeds, and only what came out.
///
/// # Errors
/// As [`replay_all`].
pub fn over_seeds<const N: usize>(
    loaded: &Loaded,
    policies: [(&str, &Policy); N],
    seeds: impl Iterator<Item = u64>,
    how: &EngineArgs,
    interrupt: &Interrupt,
) -> Result<OverSeeds<N>, Failure> {
    let wanted =
        policies.map(|(name, policy)| Wanted { name: name.to_owned(), policy: policy.clone(), sampling: None });
    let replays = replay_all(loaded, &wanted, &seeds.collect::<Vec<_>>(), how, interrupt, &|_, _| {})?;
    let mut by_policy = replays.by_policy.into_iter();
    let outcomes = std::array::from_fn(|_| {
        let of_policy = by_policy.next().into_iter().flatten();
        of_policy.map(|(replayed, _)| replayed.outcome).collect()
    });
    Ok(OverSeeds { outcomes, whole: replays.whole })
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
