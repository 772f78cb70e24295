//! A signal ends simulations and replays early, and what was done until then is kept.

mod common;

use common::demo;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Seeds that nobody waits for.
const SEEDS: usize = 2000;

fn start(words: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("fraglab"));
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn send(signal: &str, child: &mut Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success() && child.try_wait().expect("it can be asked").is_none(), "it still ran");
}

/// Waits until a run that writes into a directory says that it has done this share of its first column.
fn wait_for(place: &Path, percent: f64, child: &mut Child) {
    let begun = Instant::now();
    loop {
        let flights = fs::read_dir(place).expect("it is there").flatten().map(|entry| entry.path().join("flight.json"));
        let told = flights.filter_map(|flight| serde_json::from_str::<Value>(&fs::read_to_string(flight).ok()?).ok());
        if told.filter_map(|flight| flight["columns"][0]["done"].as_f64()).any(|done| done >= percent) {
            return;
        }
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        assert!(begun.elapsed() < Duration::from_secs(300), "not one seed in five minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_interrupted_simulation_is_cut_short_and_kept() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let dir = place.path().join("run");
    // Minutes of it, and another one that is not begun.
    let words = ["run", "kbuild-thp", "--variant", "vanilla", "--variant", "oomfix", "--on", "sim", "-o"];
    let mut child = start(&[&words[..], &[dir.to_str().expect("UTF-8")]].concat());
    std::thread::sleep(Duration::from_secs(1));
    send("-INT", &mut child);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && said(&output).contains("the run was interrupted"), "{}", said(&output));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("sim,vanilla: cut short") && !table.contains("sim,oomfix"), "{table}");
    assert!(dir.join("manifest.json").exists(), "the run directory is there");
    let left = fs::read_dir(place.path()).expect("it is there").count();
    assert_eq!(left, 1, "nothing but the run directory is left");
}

/// All of them were lost.
#[test]
fn an_interrupted_replay_keeps_the_seeds_that_are_complete() {
    let Some(demo) = demo() else { return };
    let place = tempfile::tempdir().expect("a temporary directory");
    let (dir, seeds) = (place.path().join("runs"), SEEDS.to_string());
    let words = ["replay", demo.to_str().expect("UTF-8"), "--set", "vm.defrag_mode=1", "--seeds", &seeds];
    let last = ["--format", "json", "-o", dir.to_str().expect("UTF-8")];
    let mut child = start(&[&words[..], &last].concat());
    wait_for(place.path(), 100.0 * 3.0 / SEEDS as f64, &mut child);
    send("-INT", &mut child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.signal(), Some(SIGINT), "{}", said(&output));
    let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let complete = printed["seeds"].as_array().expect("seeds").len();
    assert!((1..SEEDS).contains(&complete) && printed["seeds_asked"] == SEEDS, "{complete}");
    for column in [1, 2] {
        let values = &printed["columns"][column]["over_seeds"]["extfrag_total"]["values"];
        assert_eq!(values.as_array().map(Vec::len), Some(complete));
    }
    let sentence = format!("error: interrupted: {complete} of {SEEDS} seeds are complete");
    assert!(said(&output).lines().last().is_some_and(|line| line.starts_with(&sentence)), "{}", said(&output));
    let manifest = fs::read_to_string(dir.join("manifest.json")).expect("the run directory is there");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!((&manifest["seeds"], &manifest["seeds_asked"]), (&printed["seeds"], &json!(SEEDS)));
    let runs = manifest["runs"].as_array().expect("runs").iter().filter_map(Value::as_str);
    assert_eq!(runs.filter(|run| dir.join(run).join("manifest.json").exists()).count(), complete);
    let table = fs::read_to_string(dir.join("table.txt")).expect("written");
    assert!(table.contains(&format!("INTERRUPTED: {complete} of the {SEEDS} seeds")), "{table}");
    let left = fs::read_dir(place.path()).expect("it is there").count();
    assert_eq!(left, 1, "nothing but the run directory is left");
}

#[test]
fn a_second_signal_ends_a_replay_at_once() {
    let Some(demo) = demo() else { return };
    let place = tempfile::tempdir().expect("a temporary directory");
    let (dir, seeds) = (place.path().join("runs"), SEEDS.to_string());
    let words = ["replay", demo.to_str().expect("UTF-8"), "--seeds", &seeds, "-o", dir.to_str().expect("UTF-8")];
    let mut child = start(&words);
    wait_for(place.path(), 100.0 * 3.0 / SEEDS as f64, &mut child);
    send("-INT", &mut child);
    send("-TERM", &mut child);
    let output = child.wait_with_output().expect("it ends");
    // Of two that come before the process has had a CPU, the system has the last one handled first.
    assert!(output.status.signal().is_some_and(|signal| [SIGINT, SIGTERM].contains(&signal)), "{}", said(&output));
    assert!(output.stdout.is_empty() && !dir.exists(), "nothing looks like a result: {}", said(&output));
}

/// Nothing says from outside how far it is, so it gets more time until a seed is complete.
#[test]
fn an_interrupted_validation_tells_of_the_seeds_that_are_complete() {
    let Some(demo) = demo() else { return };
    let seeds = SEEDS.to_string();
    let words = ["validate", demo.to_str().expect("UTF-8"), "--seeds", &seeds];
    let interrupted_after = |seconds: u64| {
        let mut child = start(&words);
        std::thread::sleep(Duration::from_secs(seconds));
        send("-TERM", &mut child);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.signal(), Some(SIGTERM), "{}", said(&output));
        Some(output).filter(|output| !output.stdout.is_empty())
    };
    let output = [2, 8, 32, 128].into_iter().find_map(interrupted_after).expect("a seed is complete in two minutes");
    let table = String::from_utf8_lossy(&output.stdout);
    let head = "Seeds      INTERRUPTED: ";
    let line = table.lines().find_map(|line| line.strip_prefix(head)).unwrap_or_else(|| panic!("{table}"));
    let complete = line.strip_suffix(&format!(" of the {SEEDS} that were asked for")).expect("how many of how many");
    let sentence = format!("error: interrupted: {complete} of {SEEDS} seeds are complete");
    assert!(said(&output).lines().last().is_some_and(|line| line.starts_with(&sentence)), "{}", said(&output));
    assert!(table.contains(&format!("median over {complete} seeds")), "{table}");
}
