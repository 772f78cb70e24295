//! `fraglab paper` and `fraglab question`, with a made-up document over a scenario that any machine has to spare.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../linux/tests/tiny.toml");
const STUDY: &str = include_str!("study.toml");
/// Digest of all events and operations of seeds 1 and 2 in both variants: the same in every build profile, and with any number of
/// workers. `FRAGLAB_BLESS=1` writes it anew.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/study.txt");

/// The document in a directory of its own.
fn study(text: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("study.toml");
    fs::write(&path, text.replace("TINY", TINY)).expect("written");
    let path = path.to_str().expect("text").to_owned();
    (directory, path)
}

fn fraglab(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fraglab").expect("it is built").args(arguments).assert()
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(fraglab(arguments).success().get_output().stdout.clone()).expect("text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

#[test]
fn results_do_not_depend_on_the_workers() {
    let (_kept, path) = study(STUDY);
    let alone = json(&["paper", &path, "--seeds", "2", "--workers", "1"]);
    let together = json(&["paper", &path, "--seeds", "2", "--workers", "2"]);
    assert_eq!(alone, together);
    let paper = &alone["papers"][0];
    let digest = format!("{}\n", paper["digest"].as_str().expect("text"));
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        fs::write(GOLDEN, &digest).expect("written");
    }
    assert_eq!(digest, fs::read_to_string(GOLDEN).unwrap_or_default(), "if the model was meant to change: make bless");
    assert_ne!(json(&["paper", &path, "--seeds", "2..3"])["papers"][0]["digest"], paper["digest"]);
}

/// It was exit code 4, a bug of fraglab, after every run had been tried.
#[test]
fn a_machine_that_is_too_small_is_told_before_any_run() {
    let (_kept, path) = study(STUDY);
    let said = fraglab(&["paper", &path, "--seeds", "1", "--scale", "1/64"]).code(2).get_output().stderr.clone();
    let said = String::from_utf8(said).expect("text");
    assert!(said.contains("is too small: give it at least 64 MiB"), "{said}");
    assert!(!said.contains("lost"), "{said}");
}

#[test]
fn rows_and_bars_are_computed_from_the_runs() {
    let (directory, path) = study(STUDY);
    let docs = directory.path().join("docs");
    let table = stdout(&["paper", &path, "--seeds", "2", "-o", docs.to_str().expect("text")]);
    for line in [
        "made-up: A document that nobody wrote",
        "OPEN All compilers do their work in both: ",
        "PASS There are pages: ",
        "MISS There are no pages: ",
        "1 of 2 published figures agree",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    assert!(table.contains("Counts: fragmentation events, 4.20: published ratio 0.0010, ours"), "{table}");
    assert!(table.contains("Cause: nobody measured it"), "{table}");
    let page = fs::read_to_string(docs.join("papers/made-up.md")).expect("written");
    assert!(page.contains("fraglab paper made-up --seeds 2\n") && page.contains("![Pages](faults.svg)"), "{page}");
    assert!(fs::read_to_string(docs.join("papers/faults.svg")).expect("written").starts_with("<svg"));
    let rows = json(&["paper", &path, "--seeds", "2"])["papers"][0]["rows"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(3), "{rows}");
    assert_eq!(
        (&rows[0]["agrees"], &rows[1]["agrees"], &rows[2]["agrees"]),
        (&true.into(), &false.into(), &Value::Null)
    );
    for key in ["row", "published", "ours", "low", "high"] {
        assert!(!rows[0][key].is_null(), "{key}: {rows}");
    }
}

/// A worker that dies takes nobody else's results with it, and is named.
#[test]
fn a_lost_run_is_named_and_the_others_are_kept() {
    let (directory, path) = study(STUDY);
    let cache = directory.path().join("cache");
    let arguments = ["paper", &path, "--seeds", "1", "--cache", cache.to_str().expect("text")];
    let whole = stdout(&arguments);
    let kept: Vec<_> = fs::read_dir(&cache).expect("made").map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(kept.len(), 2);
    assert_eq!(stdout(&arguments), whole, "from the cache");
    // A machine whose frames take more memory than the processes may have: every run of it dies.
    let large = directory.path().join("large.toml");
    let text = fs::read_to_string(Path::new(TINY)).expect("it is there");
    fs::write(&large, text.replace("memory_mib = 192", "memory_mib = 262144")).expect("written");
    let one_large = STUDY.replace("TINY:4.20", &format!("{}:4.20", large.display()));
    let (_kept, path) = study(&one_large);
    let limited = "ulimit -v 1000000 && exec \"$0\" paper \"$1\" --seeds 1";
    let output = Command::new("sh").args(["-c", limited, env!("CARGO_BIN_EXE_fraglab"), &path]).assert().code(4);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("large.toml:4.20 seed 1: ") && said.contains("1 of 2 runs were lost"), "{said}");
    let table = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(table.contains("pages") && table.contains("Run lost: "), "{table}");
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let (_kept, unknown) = study(&STUDY.replace("TINY:4.20", "TINY:4.2"));
    let (_kept_too, uneven) = study(&STUDY.replace("published = [1000, 1]", "published = [1000]"));
    let (_kept_as_well, garbled) = study(&STUDY.replace("\"pgalloc\"", "\"pgalloc +\""));
    let cases: [(&[&str], i32, &str); 5] = [
        (&["paper", "gorman2081"], 2, "unknown paper `gorman2081`"),
        (&["question", "Q77"], 2, "unknown question `Q77`"),
        (&["paper", &unknown], 2, "did you mean `4.20`?"),
        (&["paper", &uneven], 3, "row `fragmentation events`: published values of 1 columns, and the table has 2"),
        (&["paper", &garbled], 3, "is no expression"),
    ];
    for (arguments, code, said) in cases {
        let output = fraglab(arguments).code(code);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

/// One line with the place, not a picture of it.
#[test]
fn a_file_that_is_no_study_is_refused_in_a_sentence() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("q.toml");
    std::fs::write(&file, "name = \"q\"\ntitle\n").expect("written");
    let run = assert_cmd::Command::cargo_bin("fraglab").expect("built by cargo").arg("question").arg(&file).assert();
    let stderr = String::from_utf8(run.code(3).get_output().stderr.clone()).expect("UTF-8");
    assert!(stderr.contains("q.toml: line 2: ") && stderr.lines().count() == 1, "{stderr}");
}

/// Process ids of the children of all threads of a process.
fn children(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    threads.flat_map(|thread| of_thread(thread).split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether it still holds memory and a processor: not gone, and nobody's zombie.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

fn within_ten_seconds(holds: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// A worker went on after `kill` of its study, with all of its memory. Here it is stopped, so that it can't end by itself.
#[test]
fn workers_end_with_their_study() {
    let signal =
        |name: &str, pid: &str| std::process::Command::new("kill").args([name, pid]).status().expect("it is there");
    let (_kept, path) = study(STUDY);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fraglab"));
    command.args(["paper", &path, "--seeds", "40", "--workers", "1"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut paper = command.spawn().expect("started");
    let stopped = std::cell::RefCell::new(None);
    let stops_one = || {
        let Some(worker) = children(paper.id()).into_iter().next() else { return false };
        // Before it is a program of its own, it has not told the kernel what shall become of it.
        let words = fs::read_to_string(format!("/proc/{worker}/cmdline")).unwrap_or_default();
        if !words.contains("\0worker\0") {
            return false;
        }
        let done = signal("-STOP", &worker).success() && lives(&worker);
        *stopped.borrow_mut() = done.then_some(worker);
        done
    };
    assert!(within_ten_seconds(stops_one), "no worker was seen");
    let worker = stopped.into_inner().expect("one is stopped");
    signal("-TERM", &paper.id().to_string());
    paper.wait().expect("it was started");
    let ended = within_ten_seconds(|| !lives(&worker));
    if !ended {
        signal("-KILL", &worker);
    }
    assert!(ended, "the worker {worker} outlives its study");
}
