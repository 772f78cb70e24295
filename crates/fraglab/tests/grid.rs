//! `fraglab validate` over a directory with a plan: the report of many recordings, none of them made here.

mod common;

use assert_cmd::Command;
use common::demo;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("created");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("known").is_dir() {
            true => copy(&entry.path(), &target),
            false => fs::copy(entry.path(), &target).map(drop).expect("copied"),
        }
    }
}

fn plan(cells: &[(&str, u64, &str)]) -> String {
    let cell = |&(setting, seed, recording): &(&str, u64, &str)| json!({ "kernel": "6.18", "setting": setting, "seed": seed, "recording": recording });
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    json!({ "schema": "fraglab.grid-plan", "scenario": "made-up", "scenario_text": null, "cells": cells }).to_string()
}

fn validate(directory: &Path, format: &str) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
    command.arg("validate").arg(directory).args(["--replays", "2", "--format", format]).assert()
}

#[test]
fn a_grid_counts_replays_and_a_recording_seeds() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let refused = |counted: &str, instead: &str| {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        let assert = command.arg("validate").arg(dir.path()).args([counted, "2"]).assert().code(2);
        let stderr = String::from_utf8(assert.get_output().stderr.clone()).expect("UTF-8");
        assert!(stderr.contains(instead), "{stderr}");
    };
    refused("--replays", "--seeds N");
    fs::write(dir.path().join("grid.json"), plan(&[])).expect("written");
    refused("--seeds", "--replays N");
}

#[test]
fn mirror_and_prediction_of_every_cell() {
    let Some(demo) = demo() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy(&demo, &dir.path().join("a"));
    copy(&demo, &dir.path().join("b"));
    // One recording stands for two settings and two seeds: the kernel then has no spread and moves nothing.
    let cells = [("vm.x=0", 1, "a"), ("vm.x=0", 2, "b"), ("vm.x=1", 1, "b"), ("vm.x=1", 2, "absent")];
    fs::write(dir.path().join("grid.json"), plan(&cells)).expect("written");
    let assert = validate(dir.path(), "json").success();
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
    let mirror = &report["mirror"];
    assert_eq!((&mirror[0]["setting"], &mirror[0]["cells"]), (&json!("vm.x=0"), &json!(2)));
    assert_eq!((&mirror[1]["setting"], &mirror[1]["cells"]), (&json!("vm.x=1"), &json!(1)));
    let total =
        |of: &Value| of["rows"].as_array().expect("rows").iter().find(|row| row["row"] == "extfrag_total").cloned();
    let (zero, one) = (total(&mirror[0]).expect("always there"), total(&mirror[1]).expect("always there"));
    assert_eq!(zero["kernel"]["median"], one["kernel"]["median"]);
    assert_eq!(zero["judged"], 2);
    // Only seed 1 has both settings.
    let predictions = report["prediction"].as_array().expect("an array");
    assert_eq!(predictions.len(), 2);
    assert_eq!((&predictions[0]["to"], &predictions[0]["cells"]), (&json!("vm.x=1"), &json!(1)));
    assert_eq!(predictions[0]["judged"], 0, "the same recording on both sides: nothing moved");
    assert_eq!(report["stream"], json!([]));
    let failed =
        report["cells"].as_array().expect("cells").iter().find(|cell| cell["seed"] == 2 && cell["setting"] == "vm.x=1");
    let problem = failed.expect("planned")["problems"][0].as_str().expect("text");
    assert!(problem.contains("absent"), "{problem}");
    let table = String::from_utf8(validate(dir.path(), "table").success().get_output().stdout.clone()).expect("UTF-8");
    assert!(table.contains("Mirror: 6.18 vm.x=0") && table.contains("What could not be compared"), "{table}");
}

#[test]
fn a_damaged_plan_is_bad_input() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let code = |text: &str| {
        fs::write(dir.path().join("grid.json"), text).expect("written");
        validate(dir.path(), "table").get_output().status.code()
    };
    assert_eq!(code("{"), Some(3));
    assert_eq!(code(&plan(&[("vm.x=0", 1, "absent")])), Some(3), "nothing can be read");
    assert_eq!(code(&plan(&[])), Some(3));
}

/// Whatever can be known to be wrong is said before the first kernel boots, and before anything is written.
#[test]
fn usage_errors_come_before_the_first_boot() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let grid = dir.path().join("grid");
    let stderr = |args: &[&str]| {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        let assert = command.args(["validate", "--scenario", "kbuild-mix"]).args(args).assert().code(2);
        String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
    };
    let target = grid.to_str().expect("UTF-8");
    let said = stderr(&["--kernels", "6.18", "--set", "vm.swappiness=60,201", "-o", target]);
    assert!(said.contains("vm.swappiness=201 is refused"), "{said}");
    let said = stderr(&["--kernels", "6.18", "--set", "vm.defrag_mood=1", "-o", target]);
    assert!(said.contains("vm.defrag_mode") && !said.contains("booting"), "{said}");
    assert!(stderr(&["--kernels", "6.18", "--set", "vm.defrag_mode", "-o", target]).contains("NAME=VALUE,VALUE"));
    assert!(stderr(&["--kernels", "6.18", "--record", "none", "-o", target]).contains("nothing to compare"));
    let said = stderr(&["--kernels", "6.18", "--record", "minimal", "-o", target]);
    assert!(said.contains("it can't be replayed") && said.contains("standard or full"), "{said}");
    assert!(stderr(&["-o", target]).contains("--kernels"));
    assert!(stderr(&["--kernels", "6.18"]).contains("--output"));
    assert!(!grid.exists());
}
