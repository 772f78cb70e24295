//! What runs were made on: recordings that share a name, and scenarios on machines that differ.

use super::run::{Replay, Run};
use super::variant::Variant;

/// What a variant of a scenario may change of the machine and its settings: that variants differ in it is what they are for.
const OF_VARIANTS: [&str; 2] = ["nodes", "transparent_hugepage/"];

/// What a run on this host tells in place of the machine that others have.
const HOST: &str = "host";
/// What virtual machines alone tell: that a simulated computer does not is no difference.
const RECORD: &str = "record";

/// Something in which a run is unlike another.
pub(super) struct Difference<'a> {
    pub(super) name: &'a str,
    first: &'a str,
    pub(super) other: &'a str,
}

/// What stands where a run has nothing of that name.
const NOTHING: &str = "-";

/// All in which two runs differ; nothing if one of them does not tell.
pub(super) fn differences<'a>(first: &'a Replay, other: &'a Replay) -> Vec<Difference<'a>> {
    let (Some(a), Some(b)) = (&first.setup, &other.setup) else { return Vec::new() };
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let pair = names.map(|name| Difference {
        name,
        first: a.get(name).map_or(NOTHING, String::as_str),
        other: b.get(name).map_or(NOTHING, String::as_str),
    });
    pair.filter(|pair| pair.first != pair.other).collect()
}

/// The replay that speaks for a variant: one that tells what it was made on, if there is one.
pub(super) fn told(variant: &Variant) -> Option<&Replay> {
    let mut replays = variant.runs.iter().filter_map(|run| run.replay.as_ref());
    replays.clone().find(|replay| replay.setup.is_some()).or_else(|| replays.next())
}

/// Whether two runs were made on the same, as far as both tell.
pub(super) fn same(a: &Run, b: &Run) -> bool {
    match (&a.replay, &b.replay) {
        (Some(a), Some(b)) => differences(a, b).is_empty(),
        _ => true,
    }
}

/// Whether two runs are of different recordings. Another version may read a recording otherwise, so that its digest says nothing.
pub(super) fn other_recording(a: &Run, b: &Run) -> bool {
    let digests = a.recording_digest.as_ref().zip(b.recording_digest.as_ref()).filter(|_| a.version == b.version);
    a.recording != b.recording || digests.is_some_and(|(a, b)| a != b)
}

/// Variants that are unlike the first beyond what variants are for, and runs of which it is not known.
pub(super) fn caveats(variants: &[Variant]) -> Vec<String> {
    let told: Vec<(&str, &Replay)> = variants.iter().filter_map(|it| Some((it.name.as_str(), told(it)?))).collect();
    let unlike = |other: &(&str, &Replay)| unlike(told[0], *other);
    variants.iter().filter_map(mixed).chain(told.iter().skip(1).filter_map(unlike)).collect()
}

fn unlike((first_name, first): (&str, &Replay), (name, other): (&str, &Replay)) -> Option<String> {
    let tells = |replay: &Replay, name: &str| replay.setup.as_ref().is_some_and(|setup| setup.contains_key(name));
    let elsewhere = tells(first, HOST) != tells(other, HOST);
    let is_meant = |it: &Difference| {
        let of_one_alone = it.first == NOTHING || it.other == NOTHING;
        (first.variant != other.variant && OF_VARIANTS.iter().any(|prefix| it.name.starts_with(prefix)))
            || (of_one_alone && (elsewhere || it.name == RECORD))
    };
    let differences = differences(first, other).into_iter().filter(|it| !is_meant(it));
    let said: Vec<String> = differences.map(|it| format!("{} ({}, {})", it.name, it.first, it.other)).collect();
    let said = (!said.is_empty()).then(|| said.join(", "))?;
    Some(format!("{first_name} and {name} differ in more than their policy: {said}"))
}

/// One variant of runs that are not known to be alike, or that are not.
fn mixed(variant: &Variant) -> Option<String> {
    let replays: Vec<&Replay> = variant.runs.iter().filter_map(|run| run.replay.as_ref()).collect();
    let told = replays.iter().filter(|replay| replay.setup.is_some()).count();
    if (1..replays.len()).contains(&told) {
        return Some(format!(
            "some runs of {} are of an earlier fraglab and do not tell their machine: it may be another one",
            variant.name
        ));
    }
    let first = replays.first()?;
    let names: Vec<&str> = replays
        .iter()
        .map(|other| differences(first, other))
        .find(|it| !it.is_empty())?
        .iter()
        .map(|it| it.name)
        .collect();
    Some(format!("the runs of {} differ in more than their seed: {}", variant.name, names.join(", ")))
}
