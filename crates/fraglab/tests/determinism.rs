//! The same recording, policy and seed give the same events: on every run, optimised or not, under every policy.
//!
//! The digests that this is checked against stand in `golden/digests.txt`. A change of the model changes them: `make bless`
//! writes them anew, and their difference belongs into the same commit.

use assert_cmd::Command;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is replayed beside the presets.
const ALSO: [&str; 2] = ["recorded", "recorded,vm.defrag_mode=1"];

fn json(args: &[String]) -> Value {
    let assert = Command::cargo_bin("fraglab").expect("built by cargo").args(args).args(["--format", "json"]).assert();
    serde_json::from_slice(&assert.success().get_output().stdout).expect("JSON")
}

fn in_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Replays the shipped recording under every policy, in a process of its own: one line `POLICY DIGEST` each.
fn digests() -> String {
    let presets = pagealloc::policy::PRESETS.iter().map(|preset| preset.name);
    let recording = in_crate("../../recordings/demo").display().to_string();
    let mut args = ["replay", &recording, "--seed", "1"].map(str::to_owned).to_vec();
    args.extend(presets.chain(ALSO).flat_map(|policy| ["--policy".to_owned(), policy.to_owned()]));
    let mut lines = String::new();
    // The first column is the recorded kernel.
    for column in json(&args)["columns"].as_array().expect("columns").iter().skip(1) {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let _ = writeln!(lines, "{} {}", text(&column["name"]), text(&column["replay"]["event_digest"]));
    }
    lines
}

/// Two processes, so that neither addresses nor anything else of one process can be in the digests. The golden ones are
/// a second run, too: unoptimised, where replays are slow, one more must do.
#[test]
fn digests_are_golden() {
    let golden = in_crate("tests/golden/digests.txt");
    let first = digests();
    if !cfg!(debug_assertions) {
        assert_eq!(first, digests(), "two runs of the same replays differ");
    }
    assert_eq!(first.lines().count(), pagealloc::policy::PRESETS.len() + ALSO.len());
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().expect("has one")).expect("created");
        std::fs::write(&golden, &first).expect("written");
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    let changed: Vec<&str> = first.lines().filter(|line| !expected.lines().any(|golden| golden == *line)).collect();
    assert!(first == expected, "digests changed; if the model was meant to change: make bless\n{}", changed.join("\n"));
}

/// The seed decides what a trace leaves open, so it must reach the engine.
#[test]
fn another_seed_is_another_run() {
    let recording = in_crate("../../recordings/demo").display().to_string();
    let digest = |seed: &str| {
        let args = ["replay", &recording, "--seed", seed].map(str::to_owned);
        json(&args)["columns"][1]["replay"]["event_digest"].clone()
    };
    assert_ne!(digest("1"), digest("2"));
}
