//! The command line from outside: what scripts and people can rely on.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn fraglab(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fraglab").expect("built by cargo").env_remove("NO_COLOR").args(args).assert()
}

fn stdout(args: &[&str]) -> String {
    let output = fraglab(args).success().get_output().stdout.clone();
    String::from_utf8(output).expect("UTF-8")
}

#[test]
fn usage_errors_exit_with_2() {
    fraglab(&[]).code(2);
    fraglab(&["reply"]).code(2).stderr(contains("replay"));
    fraglab(&["replay"]).code(2).stderr(contains("RECORDING"));
    fraglab(&["replay", "demo", "--set", "vm.swappiness=201"]).code(2).stderr(contains("0 to 200"));
    fraglab(&["replay", "demo", "--set", "vm.swappiness"]).code(2).stderr(contains("vm.NAME=VALUE"));
}

#[test]
fn did_you_mean() {
    fraglab(&["replay", "demo", "--policy", "linux-6.188"]).code(2).stderr(contains("did you mean `linux-6.18`?"));
    fraglab(&["replay", "demo", "--set", "vm.watermark_boost_facter=0"])
        .code(2)
        .stderr(contains("did you mean `vm.watermark_boost_factor`?"));
    fraglab(&["policies", "linux-4.20+stal"]).code(2).stderr(contains("did you mean `linux-4.20+stall`?"));
    fraglab(&["paper", "weiner"]).code(2).stderr(contains("(did you mean `weiner2013`?); there are"));
    fraglab(&["policies", "linux-6.13"])
        .code(2)
        .stderr(contains("neighbours by version are `linux-6.12.114` and `linux-6.14`"));
    fraglab(&["policies", "linux-8"]).code(2).stderr(contains("the newest kernel that is modelled is `linux-7.3`"));
}

/// Not "unexpected argument '-1'", and not a range that holds the value that it refuses.
#[test]
fn what_is_wrong_with_a_number_is_said() {
    fraglab(&["map", "demo", "--at", "-1"]).code(2).stderr(contains("a number of seconds from 0 on"));
    for arguments in [
        &["replay", "demo", "--seed", "-1"][..],
        &["cut", "demo", "-o", "x", "--tick", "-1"],
        &["ops", "x", "--beyond", "-1"],
    ] {
        fraglab(arguments).code(2).stderr(contains("a whole number from 0 on is needed"));
    }
    for arguments in [
        &["report", "x", "-o", "-"][..],
        &["replay", "x", "-o", "-"],
        &["ops", "x", "--save", "-"],
        &["vm", "run", "--kernel", "x", "-o", "-", "--", "x"],
    ] {
        fraglab(arguments).code(2).stderr(contains("./- is one of that name"));
    }
    // More than a duration holds: it was a panic.
    fraglab(&["watch", "--once", "--interval", "1e30"]).code(2).stderr(contains("from 0 to 3600"));
    fraglab(&["replay", "demo", "--seeds", "-3"]).code(2).stderr(contains("`-3` is neither a number of seeds"));
    fraglab(&["replay", "demo", "--set", "vm.percpu_pagelist_high_fraction=7"])
        .code(2)
        .stderr(contains("fraglab takes 0 to 1000000, but not 1 to 7"));
}

/// What one machine refuses was told when all before it had run, and two kernels of one name ended the second run.
#[test]
fn what_a_run_cannot_do_is_told_before_anything_runs() {
    let scenario = "tests/scenarios/short.toml";
    let refused = |words: &[&str], why: &str| {
        let output =
            fraglab(&[&["run", scenario][..], words].concat()).code(2).stderr(contains(why)).get_output().clone();
        assert!(!String::from_utf8_lossy(&output.stderr).contains("virtual seconds"), "{words:?}");
    };
    refused(&["--on", "sim", "--on", "host", "--set", "vm.swappiness=10"], "--set is for sim and vm");
    refused(&["--on", "host", "--on", "sim", "--memory", "1"], "too small");
    refused(
        &["--on", "vm:a/bzImage", "--on", "vm:b/bzImage"],
        "vm:bzImage is given twice: columns are named after it; a link",
    );
    for (option, value, machine) in [
        ("--policy", "linux-6.18", "host"),
        ("--machine-of", "x", "host"),
        ("--cpus", "4", "host"),
        ("--nodes", "2", "host"),
        ("--record", "full", "sim"),
        ("--scratch", "/tmp", "sim"),
    ] {
        refused(&["--on", machine, option, value], &format!("{option} is for --on "));
    }
}

/// A guest's recording lies in the run directory that it came with.
#[test]
fn a_run_directory_that_holds_what_is_read_is_not_replaced() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("run");
    let recording = run.join("vm-6.18/recording");
    std::fs::create_dir_all(&recording).expect("made");
    std::fs::write(run.join("manifest.json"), r#"{"schema":"fraglab.run"}"#).expect("written");
    fraglab(&["replay", recording.to_str().expect("UTF-8"), "-o", run.to_str().expect("UTF-8")])
        .code(2)
        .stderr(contains("which would be replaced: name another directory with -o"));
    assert!(recording.exists());
}

/// All that was replayed was lost with the directory.
#[cfg(target_os = "linux")]
#[test]
fn a_table_is_printed_though_its_directory_cannot_be_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // No file may grow, as on a full disk; standard output is a pipe.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" replay \"$1\" --seed 1 -o \"$2\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_fraglab"), "../../recordings/demo"]);
    let output = shell.arg(dir.path().join("run")).env("FRAGLAB_UNPACKED", "off").output().expect("sh is there");
    let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: writing ") && table.contains("Fragmentation events"), "{said}{table}");
    assert_eq!(std::fs::read_dir(dir.path()).expect("it is there").count(), 0, "nothing is left");
}

/// A page of what a host did was everybody's to read.
#[test]
fn the_umask_says_who_may_read_a_result() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (umask, mode) in [("077", 0o600), ("022", 0o644)] {
        let file = dir.path().join(umask);
        let script = format!("umask {umask}; exec \"$0\" ops tests/scenarios/short.toml --save \"$1\"");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_fraglab")]).arg(&file).stdout(std::process::Stdio::null());
        assert!(shell.status().expect("sh is there").success());
        assert_eq!(std::fs::metadata(&file).expect("saved").permissions().mode() & 0o777, mode, "umask {umask}");
    }
}

/// They were taken, and left out.
#[test]
fn options_that_would_change_nothing_are_refused() {
    fraglab(&["watch", "--width", "80"]).code(2).stderr(contains("--once"));
    fraglab(&["watch", "run", "--proc", "/proc"]).code(2).stderr(contains("cannot be used with"));
    let grid = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(grid.path().join("grid.json"), "{}").expect("written");
    for option in ["--pair", "--spread"] {
        let arguments = ["validate", grid.path().to_str().expect("UTF-8"), option, "other"];
        fraglab(&arguments).code(2).stderr(contains("--pair and --spread are for one recording"));
    }
    let run = grid.path().to_str().expect("UTF-8");
    std::fs::remove_file(grid.path().join("grid.json")).expect("removed");
    fraglab(&["validate", run, "--spread", run]).code(2).stderr(contains("this recording is compared already"));
}

#[test]
fn recorded_is_no_preset() {
    fraglab(&["policies", "recorded"])
        .code(2)
        .stderr(contains("fraglab inspect RECORDING").and(contains("did you mean").not()));
}

/// A full disk below stderr loses what would have been said there; it aborted the process.
#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_takes_nothing_is_no_reason_to_die() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return eprintln!("SKIPPED: there is no /dev/full");
    };
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fraglab"));
    let status = command.args(["inspect", "no-such-recording"]).stderr(full).status().expect("runs");
    assert_eq!(status.code(), Some(3));
}

#[test]
fn a_kernel_without_the_sysctl_is_a_usage_error_before_anything_is_read() {
    fraglab(&["replay", "no-such-recording", "--policy", "linux-4.20", "--set", "vm.defrag_mode=1"])
        .code(2)
        .stderr(contains("linux-4.20 has no vm.defrag_mode: it is in 6.15+"));
}

#[test]
fn missing_recordings_exit_with_3_and_say_what_to_do() {
    for args in [
        &["replay", "no-such-recording"][..],
        &["validate", "no-such-recording"],
        &["inspect", "no-such-recording"],
        &["cut", "no-such-recording", "--tick", "3", "-o", "no-such-target"],
    ] {
        fraglab(args)
            .code(3)
            .stdout(predicate::str::is_empty())
            .stderr(contains("no-such-recording").and(contains("panicked").not()));
    }
}

#[test]
fn cut_never_overwrites() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let target = dir.path().to_str().expect("UTF-8");
    fraglab(&["cut", "no-such-recording", "--tick", "3", "-o", target]).code(2).stderr(contains("exists"));
}

/// The trace was there already when its companion turned out to be damaged, and what was left passed for a recording.
#[test]
fn what_cannot_be_cut_whole_leaves_nothing() {
    let tiny = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/fixtures/tiny");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (recording, target) = (dir.path().join("tiny"), dir.path().join("cuts/part"));
    std::fs::create_dir(&recording).expect("made");
    for file in std::fs::read_dir(tiny).expect("shipped").flatten() {
        std::fs::copy(file.path(), recording.join(file.file_name())).expect("copied");
    }
    let cut =
        || fraglab(&["cut", recording.to_str().expect("UTF-8"), "--tick", "0", "-o", target.to_str().expect("UTF-8")]);
    let packed = std::fs::read(recording.join("rare.dat.xz")).expect("shipped");
    std::fs::write(recording.join("rare.dat.xz"), &packed[..packed.len() / 2]).expect("written");
    cut().code(3).stdout("").stderr(contains("rare.dat.xz"));
    assert_eq!(std::fs::read_dir(dir.path().join("cuts")).expect("made").count(), 0);
    std::fs::write(recording.join("rare.dat.xz"), &packed).expect("written");
    cut().success();
    fraglab(&["inspect", target.to_str().expect("UTF-8")]).success();
    assert_eq!(std::fs::read_dir(dir.path().join("cuts")).expect("made").count(), 1);
}

/// Compares with `tests/snapshots/NAME`; `FRAGLAB_BLESS=1` writes it anew.
fn assert_snapshot(name: &str, actual: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("has one")).expect("created");
        std::fs::write(&path, actual).expect("written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} changed; if that is meant: FRAGLAB_BLESS=1 cargo test -p fraglab");
}

#[test]
fn policies_are_listed() {
    assert_snapshot("policies.txt", &stdout(&["policies"]));
    assert_snapshot("policies.csv", &stdout(&["policies", "--format", "csv"]));
    assert_snapshot("linux-6.18.txt", &stdout(&["policies", "linux-6.18"]));
    assert_eq!(
        stdout(&["policies", "linux-6.12.29", "linux-6.12.65"]),
        "name                     linux-6.12.29  linux-6.12.65\n\
         merge_retype             FirstBlock     WholeRange\n\
         reserve_for_nonblocking  true           false\n\
         pcp.steps                Never          Decay\n"
    );
}

#[test]
fn policies_with_changes_can_be_shown() {
    let changed = stdout(&["policies", "linux-6.18", "linux-6.18,vm.swappiness=10"]);
    assert_eq!(changed.lines().count(), 1, "{changed}");
    assert!(changed.starts_with("sysctl.swappiness ") && changed.ends_with(" 10\n"), "{changed}");
    assert_eq!(stdout(&["policies", "linux-6.18", "linux-6.18"]), "no field differs\n");
    fraglab(&["policies", "linux-4.20,vm.defrag_mode=1"]).code(2).stderr(contains("linux-4.20 has no vm.defrag_mode"));
}

#[test]
fn every_policy_can_be_shown_in_every_format() {
    let list: serde_json::Value = serde_json::from_str(&stdout(&["policies", "--format", "json"])).expect("JSON");
    let policies = list["policies"].as_array().expect("an array");
    assert!(policies.len() > 20, "{}", policies.len());
    for policy in policies {
        let name = policy["name"].as_str().expect("a name");
        let shown: serde_json::Value =
            serde_json::from_str(&stdout(&["policies", name, "--format", "json"])).expect("JSON");
        assert_eq!(shown["policy"]["name"], name);
        assert!(shown["policy"]["sysctl"]["swappiness"].is_u64(), "{name}");
    }
}

#[test]
fn colour_is_for_terminals_only() {
    let run = |name: &str, value: &str| {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        command.env_remove("NO_COLOR").env(name, value).args(["policies", "nonsense"]);
        command.assert().code(2).get_output().stderr.clone()
    };
    assert!(!run("NO_COLOR", "1").contains(&0x1b));
    assert!(!run("TERM", "xterm").contains(&0x1b), "stderr is not a terminal here");
    assert!(run("CLICOLOR_FORCE", "1").contains(&0x1b));
}

#[test]
fn completions_for_all_shells() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        fraglab(&["completions", shell]).success().stdout(contains("fraglab").and(contains("replay")));
    }
}

#[test]
fn man_pages() {
    assert!(stdout(&["man"]).contains(".TH fraglab 1"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let target = dir.path().join("man");
    fraglab(&["man", "-o", target.to_str().expect("UTF-8")]).success().stdout("");
    for page in ["fraglab.1", "fraglab-replay.1", "fraglab-validate.1", "fraglab-policies.1"] {
        assert!(target.join(page).is_file(), "{page}");
    }
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_fraglab"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn record_refuses_what_it_cannot_do_before_it_touches_anything() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let target = dir.path().join("recording");
    let target = target.to_str().expect("UTF-8");
    fraglab(&["record"]).code(2).stderr(contains("--output"));
    fraglab(&["record", "-o", target, "--events", "all"]).code(2).stderr(contains("minimal, standard or full"));
    fraglab(&["record", "-o", target, "--max-size", "lots"]).code(2).stderr(contains("500M"));
    fraglab(&["record", "-o", target, "--duration", "5d"]).code(2).stderr(contains("5m"));
    let none = dir.path().to_str().expect("UTF-8");
    fraglab(&["record", "-o", target, "--tracefs", none]).code(6).stderr(contains("holds no tracefs; mount it"));
    fraglab(&["record", "--dry-run", "--tracefs", none]).code(6).stderr(contains("holds no tracefs"));
    assert!(!dir.path().join("recording").exists());
    fraglab(&["record", "-o", target, "--tracefs", none, "--", "no-such-program", "x"])
        .code(2)
        .stderr(contains("no-such-program: the command does not start"));
    fraglab(&["record", "--salvage", target]).code(3).stderr(contains(target));
}

/// It was told to mount what is mounted.
#[test]
fn record_tells_who_is_not_root_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("set");
    let tracing = dir.path().join("tracing");
    std::fs::create_dir_all(tracing.join("instances")).expect("a directory");
    std::fs::set_permissions(&tracing, std::fs::Permissions::from_mode(0o000)).expect("set");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fraglab"));
    command.args(["record", "--dry-run", "--tracefs"]).arg(&tracing).current_dir("/");
    if std::fs::read_dir(&tracing).is_ok() {
        // This is root, whom no mode keeps out.
        command.uid(NOBODY);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return eprintln!("SKIPPED: nobody may not run this build: {error}"),
    };
    std::fs::set_permissions(&tracing, std::fs::Permissions::from_mode(0o755)).expect("set");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("recording needs root: run it with sudo") && !said.contains("mount"), "{said}");
}

#[test]
fn record_takes_only_an_empty_directory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // What looks like a tracefs, but of nothing.
    for name in ["tracing/instances", "tracing/events", "taken"] {
        std::fs::create_dir_all(dir.path().join(name)).expect("a directory");
    }
    std::fs::write(dir.path().join("taken/notes"), "").expect("a file");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let args = ["record", "-o", &path("taken"), "--tracefs", &path("tracing")];
    fraglab(&args).code(2).stderr(contains("not empty; give a new one with -o"));
    // No kernel fills the instance, so it goes again, and no directory is left.
    let args = ["record", "-o", &path("new"), "--tracefs", &path("tracing"), "--no-probes"];
    fraglab(&args).code(6).stderr(contains("tracing_on"));
    assert!(!dir.path().join("new").exists());
    // What can't be written is told as everywhere: it was "not possible on this host".
    let args = ["record", "-o", &path("taken/notes/new"), "--tracefs", &path("tracing"), "--no-probes"];
    fraglab(&args).code(1).stderr(contains("taken/notes/new"));
    assert_eq!(std::fs::read_dir(dir.path().join("tracing/instances")).expect("it is there").count(), 0);
}

#[test]
fn options_that_would_do_nothing_are_refused_or_said() {
    let demo = "../../recordings/demo";
    fraglab(&["validate", demo, "--set", "vm.swappiness=10"])
        .code(2)
        .stderr(contains("--pair OTHER predicts a recording"));
    for option in [["--kernels", "6.1"], ["--repeats", "9"], ["--record", "full"], ["--time-limit", "3"]] {
        fraglab(&["validate", demo, option[0], option[1]]).code(2).stderr(contains("--scenario"));
    }
    // Each cell had both values.
    let twice = ["--kernels", "6.1", "-o", "no-such-grid", "--set", "vm.swappiness=1", "--set", "swappiness=2"];
    fraglab(&[&["validate", "--scenario", "kbuild-short"][..], &twice].concat())
        .code(2)
        .stderr(contains("--set swappiness is given twice: give all of its values in one"));
    assert!(!std::path::Path::new("no-such-grid").exists());
    fraglab(&["validate", demo, "--pair", demo, "--bars", "mirror-2"])
        .code(2)
        .stderr(contains("--bars is for a mirror"));
    fraglab(&["validate", demo, "--seed", "5", "--seeds", "2..3"]).code(2).stderr(contains("give one of them"));
    fraglab(&["replay", demo, "--set", "transparent_hugepage/defrag=always"])
        .code(2)
        .stderr(contains("a replay can't change these"));
    fraglab(&[
        "replay",
        demo,
        "--seed",
        "1",
        "--no-mirror",
        "--set",
        "vm.vfs_cache_pressure=50",
        "--set",
        "lru_gen/enabled=0x7",
    ])
    .code(0)
    .stderr(contains("vm.vfs_cache_pressure in a replay: slab is shrunk by what the recording tells of it"));
}
