//! `fraglab compare` from outside: the shipped recording replayed, and what goes wrong.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use std::path::Path;

fn fraglab(dir: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fraglab").expect("built by cargo").current_dir(dir).args(args).assert()
}

fn stdout(dir: &Path, args: &[&str]) -> String {
    let output = fraglab(dir, args).success().get_output().stdout.clone();
    String::from_utf8(output).expect("UTF-8")
}

/// Two seeds of the demo under two policies each, one run directory a seed, named as a stranger might.
fn demo_runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo").canonicalize().expect("shipped");
    let demo = demo.to_str().expect("UTF-8");
    let changed = "recorded,vm.defrag_mode=1";
    for seed in ["1", "2"] {
        let run = format!("vm.defrag_mode=0,1-seed{seed}");
        let policies = ["--policy", "recorded", "--policy", changed];
        fraglab(dir.path(), &[&["replay", demo, "--seed", seed, "-o", &run][..], &policies].concat()).success();
    }
    dir
}

#[test]
fn the_demo_in_every_format() {
    let dir = demo_runs();
    let runs = ["compare", "vm.defrag_mode=0,1-seed1", "vm.defrag_mode=0,1-seed2"];
    let with = |args: &[&str]| stdout(dir.path(), &[&runs[..], args].concat());

    let table = with(&[]);
    assert!(table.contains("Baseline   recorded: 2 runs, seeds 1 to 2"), "{table}");
    assert!(table.contains("Variant    recorded,vm.defrag_mode=1: 2 runs, seeds 1 to 2"), "{table}");
    assert!(table.contains("\nAmean  extfrag_total ") && table.contains("\nKswapd efficiency "), "{table}");
    assert!(table.is_ascii() && table.lines().all(|line| line.len() <= 100), "{table}");
    assert_eq!(table, with(&[]), "the same runs give the same table");

    let json: serde_json::Value = serde_json::from_str(&with(&["--format", "json", "--rows", "all"])).expect("JSON");
    assert_eq!(json["schema"], "fraglab.compare");
    assert!(json["rows"].as_array().expect("an array").len() > 100);

    let csv = with(&["--format", "csv", "--rows", "extfrag_total", "--kernel", "--base", "kernel"]);
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.lines().nth(1).expect("the baseline").starts_with("extfrag_total,lower,"), "{csv}");

    let go = with(&["--format", "benchstat", "--rows", "extfrag_total"]);
    assert_eq!(go.matches("\nBenchmarkReplay/row=extfrag_total 1 ").count(), 4, "{go}");

    let medians = with(&["--stat", "benchstat", "--base", "recorded,vm.defrag_mode=1"]);
    assert!(medians.contains("4 runs a variant are enough"), "{medians}");
    let trend = with(&["--trend", "pgfree", "--every", "2"]);
    assert!(trend.contains("a point being what 2 s add"), "{trend}");
    usage(dir.path());
}

/// Mistakes that can only be told once runs have been read.
fn usage(dir: &Path) {
    std::fs::rename(dir.join("vm.defrag_mode=0,1-seed1"), dir.join("both")).expect("renamed");
    fraglab(dir, &["compare", "old=both"]).code(2).stderr(contains("holds several policies"));
    fraglab(dir, &["compare", "both", "both"]).success().stderr(contains("counted once"));
    fraglab(dir, &["compare", "both", "--rows", "extfrag_totl"]).code(2).stderr(contains("`extfrag_total`?"));
    let other = dir.join("vm.defrag_mode=0,1-seed2").join("manifest.json");
    let manifest =
        std::fs::read_to_string(&other).expect("written").replace("\"recording\": \"demo\"", "\"recording\": \"x\"");
    std::fs::write(other, manifest).expect("written");
    fraglab(dir, &["compare", "both", "vm.defrag_mode=0,1-seed2"]).code(2).stderr(contains("--across"));
    fraglab(dir, &["compare", "both", "--base", "kernel"]).code(2).stderr(contains("there are: recorded"));
}

#[test]
fn what_cannot_be_compared() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let refused = |args: &[&str], code: i32, words: &str| {
        let panicked = contains("panicked").not().and(contains("invariant").not());
        fraglab(dir.path(), args).code(code).stdout("").stderr(contains(words).and(panicked));
    };
    refused(&["compare"], 2, "RUN");
    refused(&["compare", "nowhere"], 3, "nowhere: No such file");
    refused(&["compare", "."], 3, "is not a fraglab run directory");
    refused(&["compare", "old=nowhere"], 3, "nowhere: No such file");
    refused(&["compare", "old="], 2, "NAME=DIR,DIR");
    refused(&["compare", "=nowhere"], 2, "no name before the `=`");
    refused(&["compare", "nowhere", "--every", "5"], 2, "--trend");
    refused(&["compare", "nowhere", "--trend", "pgfree", "--every", "0.9"], 2, "from 1 on");
    refused(&["compare", "nowhere", "--trend", "pgfree", "--format", "csv"], 2, "ask for json, or the table");
    refused(&["compare", "nowhere", "--trend", "pgfree", "--format", "benchstat"], 2, "ask for json, or the table");
    refused(&["compare", "nowhere", "--stat", "mmtest"], 2, "mmtests");
}
