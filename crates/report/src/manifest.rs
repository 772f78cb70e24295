//! `manifest.json`: what a run directory is the result of, and how to get it again.

use crate::json::{self, SCHEMA_VERSION};
use crate::{Calibration, Column, Facts, Report, SeedsReport};
use lab::Digest;
use lab::outcome::Outcome;
use serde_json::{Value, json};

/// Value of the manifest's `schema` key: tells a run directory from any other.
pub const SCHEMA: &str = "fraglab.run";

/// The same of a directory that holds a run directory for each of several seeds.
pub const SCHEMA_OF_SEEDS: &str = "fraglab.runs";

/// What the caller knows about the run beyond its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The command line as it was called; of the program, its name.
    pub command_line: Vec<String>,
    /// Version of fraglab.
    pub version: String,
    /// Most memory that the process had resident, bytes; `None` where the system doesn't tell.
    pub peak_rss_bytes: Option<u64>,
}

impl Provenance {
    /// Provenance of this process.
    pub fn of_this_process(version: &str) -> Provenance {
        Provenance {
            command_line: command_line(words_of_this_process()),
            version: version.to_owned(),
            peak_rss_bytes: std::fs::read_to_string("/proc/self/status").ok().and_then(|text| peak_rss(&text)),
        }
    }
}

/// The command line of this process; bytes of a path that are not UTF-8 are replaced.
pub(crate) fn words_of_this_process() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// The command line, with the program's name in place of the path that it was called by: that path is this machine's alone.
pub(crate) fn command_line(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = std::path::Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}

/// `VmHWM` of /proc/PID/status, in bytes.
fn peak_rss(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The manifest. `policy`, `event_digest`, `page_events` and `replay_seconds` speak of all replays together: names
/// joined by a space, digests folded in column order, sums; `runs` holds each replay's own.
pub fn manifest(report: &Report, provenance: &Provenance) -> Value {
    let mut manifest = together(SCHEMA, &[report], report.calibration.as_ref(), provenance);
    let of_column = |column: &Column| column.facts.as_ref().map(|facts| run(&column.name, facts));
    manifest["runs"] = report.columns.iter().filter_map(of_column).collect();
    manifest["seed"] = report.columns.iter().find_map(|column| column.facts.as_ref()).map(|facts| facts.seed).into();
    manifest
}

/// The manifest of a directory that holds a run directory a seed. `runs` are their names in it; what speaks of all replays together
/// speaks of those of all seeds, the first seed's first.
pub(crate) fn of_seeds(report: &SeedsReport, runs: &[String], provenance: &Provenance) -> Value {
    let seeds: Vec<&Report> = report.seeds.iter().collect();
    let mut manifest = together(SCHEMA_OF_SEEDS, &seeds, report.calibration.as_ref(), provenance);
    manifest["runs"] = runs.into();
    manifest["seeds"] = report.numbers().into();
    manifest["seeds_asked"] = report.asked.into();
    manifest
}

/// What a manifest says of all replays in it.
fn together(schema: &str, seeds: &[&Report], calibration: Option<&Calibration>, provenance: &Provenance) -> Value {
    let facts = seeds.iter().flat_map(|report| report.columns.iter().filter_map(|column| column.facts.as_ref()));
    let totals = totals(facts);
    let columns = seeds.first().into_iter().flat_map(|report| &report.columns);
    let kernel = columns.clone().find(|column| column.facts.is_none());
    let policies: Vec<&str> = columns.filter(|c| c.facts.is_some()).map(|column| column.name.as_str()).collect();
    json!({
        "schema": schema,
        "schema_version": SCHEMA_VERSION,
        "version": provenance.version,
        "command_line": provenance.command_line,
        "recording": seeds.first().map(|report| &report.recording),
        "recording_digest": kernel.map(|kernel| format!("{:016x}", identity(kernel.outcome))),
        "policy": policies.join(" "),
        "event_digest": totals["event_digest"],
        "page_events": totals["page_events"],
        "replay_seconds": totals["replay_seconds"],
        "calibration": calibration.map(Calibration::to_json),
        "peak_rss_bytes": provenance.peak_rss_bytes,
    })
}

/// Digest of what a recorded kernel did: recordings of one name are told apart by it.
fn identity(kernel: &Outcome) -> u64 {
    let mut digest = Digest::default();
    for at in &kernel.extfrag {
        [at.ts, at.event.pfn.0.into(), at.event.alloc_order.into()].into_iter().for_each(|word| digest.fold(word));
    }
    for (name, &value) in &kernel.counters {
        name.bytes().for_each(|byte| digest.fold(byte.into()));
        digest.fold(value);
    }
    digest.value()
}

/// What several replays come to.
pub(crate) fn totals<'a>(facts: impl Iterator<Item = &'a Facts> + Clone) -> Value {
    json!({
        "event_digest": format!("{:016x}", fold_digests(facts.clone().map(|facts| facts.digest))),
        "page_events": facts.clone().map(|facts| facts.page_events).sum::<u64>(),
        "replay_seconds": facts.map(|facts| facts.replay_seconds).sum::<f64>(),
    })
}

/// Names of the run directories in one with this text in its `manifest.json`; nothing if it is a run directory itself, or none.
pub(crate) fn runs_of_seeds(text: &str) -> Option<Vec<String>> {
    let manifest: Value = serde_json::from_str(text).ok()?;
    (manifest["schema"] == SCHEMA_OF_SEEDS).then_some(())?;
    let names = manifest["runs"].as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
    // Names, not paths: nothing beside or above the directory.
    names.map(|name| name.filter(|name| !name.contains(['/', '\\']) && name != "..")).collect()
}

fn run(name: &str, facts: &Facts) -> Value {
    let mut run = json::replay(facts);
    run["policy"] = name.into();
    run
}

/// The digest itself if there is one; else an order-dependent mix of all.
fn fold_digests(mut digests: impl Iterator<Item = u64>) -> u64 {
    let first = digests.next().unwrap_or(0);
    digests.fold(first, |folded, digest| (folded.rotate_left(5) ^ digest).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Whether the text of a `manifest.json` is that of a run directory.
pub fn is_run(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|manifest| manifest["schema"] == SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn a_command_line_names_the_program_and_not_its_place() {
        let words = |words: &[&str]| command_line(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(words(&["target/release/fraglab", "replay", "a/b"]), ["fraglab", "replay", "a/b"]);
        assert_eq!(words(&["fraglab"]), ["fraglab"]);
        assert_eq!(words(&[]), [""; 0]);
    }

    #[test]
    fn peak_rss_is_in_bytes() {
        assert_eq!(peak_rss("VmPeak:\t  9 kB\nVmHWM:\t    1234 kB\n"), Some(1234 * 1024));
        assert_eq!(peak_rss("VmPeak:\t  9 kB\n"), None);
    }

    #[test]
    fn one_replay_keeps_its_own_digest_and_several_are_summed() {
        let outcome = Outcome::default();
        let column = |digest| Column {
            name: "recorded".into(),
            outcome: &outcome,
            facts: Some(Facts { digest, page_events: 5, replay_seconds: 0.5, ..Facts::default() }),
            timeline: None,
        };
        let report = |columns| Report { recording: "demo".into(), calibration: None, columns };
        let one = manifest(&report(vec![Column::kernel(&outcome), column(0xab)]), &Provenance::default());
        assert_eq!((&one["event_digest"], &one["page_events"]), (&json!("00000000000000ab"), &json!(5)));
        let two = manifest(&report(vec![column(1), column(2)]), &Provenance::default());
        assert_eq!((&two["page_events"], &two["replay_seconds"]), (&json!(10), &json!(1.0)));
        assert_ne!(fold_digests([1, 2].into_iter()), fold_digests([2, 1].into_iter()));
        assert!(one["recording_digest"].is_string() && two["recording_digest"].is_null(), "{one} {two}");
        assert!(is_run(&two.to_string()) && !is_run("{}") && !is_run("garbage"));
    }
}
