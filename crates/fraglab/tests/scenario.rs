//! `fraglab run` and `fraglab ops`, with a scenario that any machine has to spare.

use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../linux/tests/tiny.toml");
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/demo");

fn fraglab(arguments: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fraglab").expect("it is built").args(arguments).assert()
}

fn stdout(arguments: &[&str]) -> String {
    let output = fraglab(arguments).success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[arguments, &["--format", "json"]].concat())).expect("JSON")
}

#[test]
fn sim_and_host_do_the_same_work() {
    let report = json(&["run", TINY, "--on", "sim", "--on", "host"]);
    let owed = &report["workload_digest_owed"];
    assert!(owed.is_string());
    for machine in 0..2 {
        let machine = &report["machines"][machine];
        assert_eq!(&machine["workload_digest"], owed, "{}", machine["name"]);
        assert_eq!(machine["workload"]["workload.complete"], 1);
        assert_eq!(machine["workload"]["workload.cc.failed"], 0);
        assert!(machine["rows"]["pgalloc"].as_u64().is_some_and(|pages| pages > 1000), "{}", machine["name"]);
    }
    assert!(report["machines"][0]["rows"]["extfrag_total"].is_u64());
    assert!(report["machines"][1]["rows"]["extfrag_total"].is_null(), "nobody traced the host: absent is not zero");
    assert_eq!(json(&["ops", TINY])["workload_digest"], *owed);
}

#[test]
fn sim_stands_in_for_a_recorded_machine() {
    let here = ["run", TINY, "--on", "sim", "--memory", "512"];
    let of_demo = ["--machine-of", DEMO];
    let (alone, like) = (json(&here), json(&[&here[..], &of_demo].concat()));
    assert_eq!(alone["workload_digest_owed"], like["workload_digest_owed"]);
    let rows = |report: &Value, row: &str| report["machines"][0]["rows"][row].as_u64().expect("a row");
    assert_ne!(rows(&alone, "free_pages"), rows(&like, "free_pages"), "it began with other pages in use");
    assert_eq!(json(&[&here[..], &of_demo].concat())["machines"][0]["about"], like["machines"][0]["about"]);

    let refused = fraglab(&[&["run", TINY, "--on", "sim", "--memory", "256"], &of_demo[..]].concat()).code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("that machine has 512 MiB, this one 256; give --memory 512"), "{said}");
    let refused = fraglab(&[&here[..], &["--machine-of", "/nowhere"]].concat()).code(3);
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains("/nowhere"));
}

#[test]
fn a_saved_stream_runs_in_place_of_the_scenarios_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let stream = directory.path().join("tiny.ops");
    let stream = stream.to_str().expect("text");
    let generated = json(&["ops", TINY, "--save", stream]);
    let saved = json(&["run", TINY, "--on", "sim", "--ops", stream]);
    assert_eq!(saved["machines"][0]["workload_digest"], generated["workload_digest"]);
    let text = fs::read_to_string(stream).expect("saved");
    fs::write(stream, text.replacen("\nwait\n", "\nwaits\n", 1)).expect("written");
    let refused = fraglab(&["run", TINY, "--on", "sim", "--ops", stream]).code(3);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("unknown operation `waits`; did you mean `wait`?"), "{said}");
}

#[test]
fn a_run_directory_has_everything() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("run");
    let path = target.to_str().expect("text");
    let table = stdout(&["run", TINY, "--on", "sim", "--set", "vm.swappiness=10", "-o", path]);
    assert!(table.contains("sim: complete") && table.contains("vm.swappiness=10"), "{table}");
    assert_eq!(fs::read_to_string(target.join("table.txt")).expect("written"), table);
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(target.join(name)).expect("written")).expect("JSON")
    };
    assert_eq!(read("manifest.json")["scenario"], "tiny");
    assert!(read("workload.json")["sim"]["tasks"].as_array().is_some_and(|tasks| tasks.len() > 20));
    assert_eq!(fs::read_to_string(target.join("scenario.toml")).expect("written"), tiny());
    assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 1, "nothing is left beside it");
}

/// It was one variant of two runs: nothing in a manifest told the machines apart.
#[test]
fn compare_tells_machines_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let runs: [(&str, &[&str]); 3] = [
        ("small", &["--seed", "1"]),
        ("large", &["--seed", "2", "--memory", "256"]),
        ("like", &["--seed", "3", "--memory", "512", "--machine-of", DEMO]),
    ];
    for (name, arguments) in runs {
        fraglab(&[&["run", TINY, "--on", "sim", "-o", &path(name)], arguments].concat()).success();
    }
    let compared = json(&["compare", &path("small"), &path("large"), &path("like")]);
    let names = compared["variants"].as_array().expect("a list").iter().map(|it| it["name"].as_str().expect("text"));
    let names: Vec<&str> = names.collect();
    assert_eq!(names[..2], ["sim", "sim,memory_mib=256"]);
    assert!(names[2].starts_with("sim,memory_mib=512,machine_of=demo ("), "{names:?}");
    // Rows of the workload are rows.
    let asked = "workload.elapsed,workload.cc.operations";
    let compared = json(&["compare", &path("small"), &path("large"), "--rows", asked]);
    let better: Vec<_> = compared["rows"].as_array().expect("a list").iter().map(|row| row["better"].clone()).collect();
    assert_eq!(better, [Value::from("lower"), Value::Null]);
    let values = &compared["rows"][0]["variants"];
    assert!((0..2).all(|at| values[at]["mean"].as_f64().is_some_and(|nanos| nanos > 1e6)), "{values}");
}

#[test]
fn variants_are_columns_with_their_own_settings() {
    let report = json(&["run", TINY, "--on", "sim", "--variant", "all", "--set", "vm.swappiness=20"]);
    let machines = report["machines"].as_array().expect("a list");
    let names: Vec<&str> = machines.iter().filter_map(|machine| machine["name"].as_str()).collect();
    assert_eq!(names, ["sim,as-it-is", "sim,4.20", "sim,generations"]);
    let about = |at: usize| machines[at]["about"].as_str().expect("text").to_owned();
    assert!(about(0).starts_with("linux-6.18,vm.swappiness=20, event"), "{}", about(0));
    assert!(about(1).starts_with("linux-4.20,vm.swappiness=20, event"), "{}", about(1));
    assert!(about(2).starts_with("linux-6.18,lru_gen/enabled=7,vm.swappiness=20, event"), "{}", about(2));
    assert_eq!(report["workload_digest_owed"], json(&["ops", TINY, "--variant", "4.20"])["workload_digest"]);
    let other = json(&["run", TINY, "--on", "sim", "--variant", "4.20", "--policy", "linux-5.0"]);
    let about = other["machines"][0]["about"].as_str().expect("text");
    assert!(about.starts_with("linux-5.0,vm.swappiness=10, event"), "the command line's policy wins: {about}");
}

#[test]
fn a_scale_keeps_the_shares() {
    let table = stdout(&["run", TINY, "--on", "sim", "--scale", "3/2"]);
    assert!(table.contains("scale 3/2; full size: memory 192 MiB"), "{table}");
    assert!(table.contains("memory 288 MiB, CPUs 2, nodes 1, swap 96 MiB"), "{table}");
    assert_ne!(json(&["ops", TINY, "--scale", "3/2"])["workload_digest"], json(&["ops", TINY])["workload_digest"]);
}

#[test]
fn scenarios_are_listed_with_their_variants() {
    let all = json(&["scenarios"]);
    let names: Vec<&str> =
        all["scenarios"].as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, workload::Scenario::names().collect::<Vec<_>>());
    let kept = |name: &str| stdout(&["scenarios", name]).contains("the machine keeps its size");
    assert!(kept("kbuild-thp") && !kept("kbuild-mix"));
    assert_eq!(json(&["scenarios", "kbuild-thp"])["scenarios"][0]["machine"]["fixed_size"], true);
    let table = stdout(&["scenarios", TINY]);
    assert!(table.contains("--variant 4.20") && table.contains("memory 192 MiB"), "{table}");
    assert!(table.contains("--variant as-it-is               linux-6.18\n"), "{table}");
}

fn tiny() -> String {
    fs::read_to_string(Path::new(TINY)).expect("it is there")
}

#[test]
fn what_is_wrong_is_told() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["run", TINY, "--on", "sim", "--variant", "4.2"], 2, "did you mean `4.20`?"),
        (&["run", "kbuild-mix", "--on", "sim", "--variant", "all"], 2, "has no variants"),
        (&["run", TINY, "--on", "sim", "--scale", "0"], 2, "is no scale"),
        (&["run", "kbuild-mx", "--on", "sim"], 2, "did you mean `kbuild-mix`?"),
        (&["run", "no/such/file.toml", "--on", "sim"], 3, "no/such/file.toml"),
        (&["run", TINY, "--on", "simm"], 2, "there are sim, vm:VERSION"),
        (&["run", TINY, "--on", "host", "--set", "vm.swappiness=1"], 2, "leaves this machine's settings alone"),
        (&["run", TINY, "--on", "sim", "--policy", "recorded"], 2, "name a preset"),
    ];
    for (arguments, code, said) in cases {
        let output = fraglab(arguments).code(code);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
