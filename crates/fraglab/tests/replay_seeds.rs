//! `fraglab replay` with several seeds: what each of them gives, together and apart.

mod common;

use assert_cmd::Command;
use common::demo;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;

const CHANGED: &str = "recorded,vm.defrag_mode=1";

fn fraglab(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fraglab").expect("built by cargo").args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    let assert = fraglab(args).success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--format", "json"]].concat())).expect("JSON")
}

/// Without what a clock says.
fn timeless(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.remove("replay_seconds");
            object.values_mut().for_each(|inner| *inner = timeless(inner.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| *inner = timeless(inner.take())),
        _ => {}
    }
    value
}

#[test]
fn the_seeds_are_those_of_single_replays_however_many_work() {
    let Some(demo) = demo() else { return };
    let replay = ["replay", demo.to_str().expect("UTF-8"), "--set", "vm.defrag_mode=1"];
    let with = |args: &[&str]| timeless(json(&[&replay[..], args].concat()));
    let all = with(&["--seeds", "2..4", "--workers", "2"]);
    assert_eq!(all, with(&["--seeds", "2..4", "--workers", "1"]));
    assert_eq!((&all["seeds"], &all["base"]), (&serde_json::json!([2, 3, 4]), &Value::from("recorded")));
    let names: Vec<_> =
        all["columns"].as_array().expect("columns").iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["kernel", "recorded", CHANGED]);
    for (at, seed) in ["2", "3", "4"].into_iter().enumerate() {
        let alone = with(&["--seed", seed]);
        assert_eq!(alone["schema"], "fraglab.replay");
        assert_eq!(all["columns"][0], alone["columns"][0]);
        for column in [1, 2] {
            let (together, alone) = (&all["columns"][column], &alone["columns"][column]);
            assert_eq!(together["runs"][at], *alone, "seed {seed}");
            for (row, value) in alone["rows"].as_object().expect("rows") {
                assert_eq!(together["over_seeds"][row]["values"][at], *value, "seed {seed}, {row}");
            }
        }
    }
    let digest = |column: usize, at: usize| &all["columns"][column]["runs"][at]["replay"]["event_digest"];
    assert!(digest(1, 0).is_string() && digest(1, 0) != digest(1, 1) && digest(1, 0) != digest(2, 0));
    let total = &all["columns"][1]["over_seeds"]["extfrag_total"];
    let mut values: Vec<u64> = total["values"].as_array().expect("values").iter().filter_map(Value::as_u64).collect();
    values.sort_unstable();
    assert_eq!(total["median"], values[1]);
    assert_eq!((&total["low"], &total["high"]), (&Value::from(values[0]), &Value::from(values[2])));
    assert_eq!(all["columns"][1]["rows"]["extfrag_total"], total["median"]);
    let page_events = |column: &Value| column["replay"]["page_events"].as_u64().expect("a number");
    let runs = all["columns"][1]["runs"].as_array().expect("runs");
    assert_eq!(page_events(&all["columns"][1]), runs.iter().map(page_events).sum::<u64>());
}

#[test]
fn a_bare_replay_shows_several_seeds_and_one_seed_shows_none() {
    let Some(demo) = demo() else { return };
    let replay = ["replay", demo.to_str().expect("UTF-8"), "--set", "vm.defrag_mode=1"];
    let with = |args: &[&str]| stdout(&[&replay[..], args].concat());
    let bare = with(&[]);
    assert!(bare.contains("\nSeeds      1 to 8: median [lowest..highest]"), "{bare}");
    assert!(bare.is_ascii() && bare.lines().all(|line| line.len() <= 100), "{bare}");
    let line = |table: &str| table.lines().find(|line| line.starts_with("extfrag_total ")).map(str::to_owned);
    let total = line(&bare).expect("the row is printed");
    assert!(total.contains("..") && total.ends_with(" *"), "nothing is left under defrag_mode: {total}");
    let one = with(&["--seed", "1"]);
    assert!(one.contains("against the kernel, seed 1\n") && !one.contains('*') && !one.contains(".."), "{one}");
    assert_eq!(one, with(&["--seeds", "1"]));
    assert_eq!(with(&["--seed", "7"]), with(&["--seeds", "7..7"]));
    let csv = with(&["--seeds", "2", "--format", "csv"]);
    assert!(
        csv.starts_with("row,kernel,recorded,recorded low,recorded high,recorded seed 1,recorded seed 2,"),
        "{csv}"
    );
    let fields = csv.lines().next().map(|head| head.matches(',').count() - CHANGED.matches(',').count() * 6);
    assert_eq!(csv.lines().nth(1).map(|row| row.matches(',').count()), fields, "{csv}");
}

#[test]
fn a_run_directory_a_seed() {
    let Some(demo) = demo() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let demo = demo.to_str().expect("UTF-8");
    for _ in 0..2 {
        stdout(&["replay", demo, "--set", "vm.defrag_mode=1", "--seeds", "2", "-o", &path("runs")]);
    }
    stdout(&["replay", demo, "--set", "vm.defrag_mode=1", "--seed", "2", "-o", &path("alone")]);
    for name in ["counters.json", "extfrag.csv", "series.csv", "table.txt", "requests.csv", "slices.csv"] {
        let read = |place: &str| std::fs::read_to_string(Path::new(&path(place)).join(name)).expect(name);
        assert!(read("runs/seed-2") == read("alone"), "{name} is not that of the seed alone");
    }
    let manifest = |run: &str| -> Value {
        let text = std::fs::read_to_string(path(run) + "/manifest.json").expect("written");
        serde_json::from_str(&text).expect("JSON")
    };
    let together = manifest("runs");
    assert_eq!(
        (&together["schema"], &together["runs"]),
        (&"fraglab.runs".into(), &serde_json::json!(["seed-1", "seed-2"]))
    );
    let page_events = |run: &str| manifest(run)["page_events"].as_u64().expect("a number");
    assert_eq!(page_events("runs"), page_events("runs/seed-1") + page_events("runs/seed-2"));
    assert_eq!(together["policy"], manifest("alone")["policy"]);
    // The directory stands for its runs.
    let [apart, together] = [vec![path("runs/seed-1"), path("runs/seed-2")], vec![path("runs")]]
        .map(|runs| stdout(&["compare"].into_iter().chain(runs.iter().map(String::as_str)).collect::<Vec<_>>()));
    assert_eq!(apart, together);
    assert!(together.contains("Baseline   recorded: 2 runs, seeds 1 to 2"), "{together}");
    let page = path("page.json");
    stdout(&["report", &path("runs"), "--format", "json", "-o", &page]);
    let page: Value = serde_json::from_str(&std::fs::read_to_string(&page).expect("written")).expect("JSON");
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(5), "the kernel once, two policies with two seeds");
    // What shows one run asks which.
    let which = || contains("holds a run directory for each of 2 seeds: name one of them").and(contains("seed-1"));
    fraglab(&["map", &path("runs")]).code(2).stderr(which());
    fraglab(&["export", &path("runs"), "--to", "csv", "-o", &path("x")]).code(2).stderr(which());
    // One run may stand where several stood, and nothing else may be replaced.
    stdout(&["replay", demo, "--seed", "1", "-o", &path("runs")]);
    assert!(!Path::new(&path("runs/seed-1")).exists());
    std::fs::create_dir(path("mine")).expect("made");
    std::fs::write(path("mine/thesis.tex"), "precious").expect("written");
    fraglab(&["replay", demo, "-o", &path("mine")]).code(2).stderr(contains("is not a fraglab run directory"));
}

#[test]
fn seeds_that_are_none() {
    let refused = |args: &[&str], says: &str| {
        fraglab(&[&["replay", "no-such-recording"], args].concat()).code(2).stdout("").stderr(contains(says));
    };
    refused(&["--seeds", "0"], "at least one seed is needed");
    refused(&["--seeds", "9..3"], "9..3 holds no seed: say 3..9");
    refused(&["--seeds", "many"], "neither a number of seeds nor FIRST..LAST");
    refused(&["--seeds", "100000"], "more than 10000 seeds");
    refused(&["--seeds", "3", "--seed", "1"], "cannot be used with");
    refused(&["--workers", "0"], "--workers");
}
