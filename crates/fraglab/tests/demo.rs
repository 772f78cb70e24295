//! The shipped recording, from the command line to the run directory.

mod common;

use assert_cmd::Command;
use common::demo;
use serde_json::Value;
use std::path::Path;

fn json(args: &[&str], recording: &Path) -> Value {
    let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
    let assert = command.arg(args[0]).arg(recording).args(&args[1..]).args(["--format", "json"]).assert().success();
    serde_json::from_slice(&assert.get_output().stdout).expect("JSON")
}

#[test]
fn one_command_answers_the_question() {
    let Some(demo) = demo() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("run");
    let report =
        json(&["replay", "--set", "vm.defrag_mode=1", "--seed", "1", "-o", run.to_str().expect("UTF-8")], &demo);
    let names: Vec<_> = report["columns"].as_array().expect("columns").iter().map(|c| c["name"].clone()).collect();
    assert_eq!(names, ["kernel", "recorded", "recorded,vm.defrag_mode=1"]);
    let manifest = std::fs::read_to_string(run.join("manifest.json")).expect("written");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["runs"].as_array().map(Vec::len), Some(2));
    assert!(manifest["page_events"].as_u64() > Some(0));
    assert_eq!(manifest["calibration"], report["calibration"]);
    assert_eq!(manifest["calibration"]["measured"], true);
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let Some(demo) = demo() else { return };
    let digest = || json(&["replay", "--seed", "1"], &demo)["columns"][1]["replay"]["event_digest"].clone();
    let first = digest();
    assert!(first.is_string());
    assert_eq!(first, digest());
}

#[test]
fn validation_has_the_promised_rows() {
    let Some(demo) = demo() else { return };
    let validation = json(&["validate"], &demo);
    let rows = validation["rows"].as_array().expect("rows");
    for name in ["extfrag_total", "extfrag.movable_from_unmovable", "pageblocks.movable", "thp_fault_alloc"] {
        let row = rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("no row {name}"));
        assert!(row["kernel"].is_u64() && row["model"].is_u64(), "{row}");
        let share = |key: &str| row[key].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share));
        assert!(share("rank") && (share("luck") || row["bar"].is_null()), "{row}");
    }
    // Eight seeds: as many rows may be lucky as have a bar.
    let summary = &validation["summary"];
    let expected = summary["expected"].as_f64().expect("from four seeds on");
    assert!(expected > 0.0 && expected <= summary["rows"].as_f64().expect("a number"), "{summary}");
}

#[test]
fn the_mirror_error_stands_above_the_answer() {
    let Some(demo) = demo() else { return };
    let table = |args: &[&str]| {
        let assert =
            Command::cargo_bin("fraglab").expect("built by cargo").arg("replay").arg(&demo).args(args).assert();
        String::from_utf8(assert.success().get_output().stdout.clone()).expect("UTF-8")
    };
    let whole = table(&["--seed", "1"]);
    let (block, answer) = (whole.find("\nMirror error:"), whole.find("\nextfrag_total"));
    assert!(block.is_some() && block < answer, "{whole}");
    let skipped = table(&["--no-mirror", "--seed", "1"]);
    assert!(skipped.contains("not known, NOT CALIBRATED") && !skipped.contains(" !\n"), "{skipped}");
    // The mirror is the replay under the recorded settings, whatever was asked for.
    let seeds = ["replay", "--seeds", "3"];
    let [alone, beside] = [&[][..], &["--policy", "linux-4.20"]].map(|args| json(&[&seeds[..], args].concat(), &demo));
    assert_eq!(alone["calibration"], beside["calibration"]);
    assert_eq!(beside["columns"].as_array().map(Vec::len), Some(2));
    let rows = alone["calibration"]["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["row"] == "extfrag_total").expect("always there");
    assert_eq!(row["model"], alone["columns"][1]["rows"]["extfrag_total"]);
    // And it is what `validate` says, of the same seeds.
    let validation = json(&["validate", "--seeds", "3"], &demo);
    assert_eq!(validation["seeds"].as_u64(), alone["seeds"].as_array().map(|seeds| seeds.len() as u64));
    for row in validation["rows"].as_array().expect("rows") {
        let same = rows.iter().find(|mirrored| mirrored["row"] == row["row"]).unwrap_or_else(|| panic!("no {row}"));
        for key in ["kernel", "model", "low", "high", "error"] {
            assert_eq!(same[key], row[key], "{}", row["row"]);
        }
    }
}

/// docs/cli.md says where unpacked files are kept, and how to have none kept.
#[test]
fn the_cache_of_unpacked_files_can_be_switched_off() {
    let Some(demo) = demo() else { return };
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let cache = temporary.path().join("fraglab-cache");
    let inspect = |unpacked: &str| {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        command.env("TMPDIR", temporary.path()).env("FRAGLAB_UNPACKED", unpacked).arg("inspect").arg(&demo);
        command.assert().success().get_output().stdout.clone()
    };
    let without = inspect("off");
    assert!(!cache.exists());
    std::fs::write(&cache, "").expect("written");
    assert_eq!(inspect("on"), without);
    assert!(cache.is_file() && cache.metadata().expect("it is there").len() == 0, "what is no directory is left alone");
    std::fs::remove_file(&cache).expect("removed");
    assert_eq!(inspect("on"), without);
    let kept = || std::fs::read_dir(&cache).expect("made").count();
    let files = kept();
    assert!(files > 0);
    assert_eq!((inspect("on"), kept()), (without, files));
}
