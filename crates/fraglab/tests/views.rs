//! What runs looked like over time: report, map, watch and exports of the shipped recording.

mod common;

use assert_cmd::Command;
use common::demo;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

fn fraglab(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
    command.args(args).env_remove("CLICOLOR_FORCE");
    command
}

fn stdout(args: &[&str]) -> String {
    let assert = fraglab(args).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).expect("UTF-8")
}

/// A run directory of the shipped recording, made once.
fn run_dir() -> Option<&'static str> {
    static DIR: OnceLock<Option<(tempfile::TempDir, String)>> = OnceLock::new();
    let made = DIR.get_or_init(|| {
        let demo = demo()?;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let run = dir.path().join("run").display().to_string();
        let demo = demo.display().to_string();
        stdout(&["replay", &demo, "--set", "vm.defrag_mode=1", "--no-mirror", "--seed", "1", "-o", &run]);
        Some((dir, run))
    });
    made.as_ref().map(|(_, run)| run.as_str())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_run_leaves_a_view_of_every_column() {
    let Some(run) = run_dir() else { return };
    let view: Value = serde_json::from_str(&read(&Path::new(run).join("view.json"))).expect("JSON");
    let runs = view["runs"].as_array().expect("runs");
    let kinds: Vec<_> = runs.iter().map(|run| run["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["kernel", "replay", "replay"]);
    for run in runs {
        let name = &run["name"];
        assert!(run["map"]["times"]["len"].as_u64() > Some(20), "{name} has no map");
        for wanted in ["free_pages", "pageblocks.movable", "wmark_low", "extfrag.pollute", "unusable.order9"] {
            let of_name = |series: &&Value| series["name"] == wanted;
            assert!(run["series"].as_array().expect("series").iter().any(|s| of_name(&s)), "{name} has no {wanted}");
        }
        let counted: u64 =
            run["matrix"].as_array().expect("cells").iter().map(|c| c["count"].as_u64().expect("a count")).sum();
        assert_eq!(run["events_total"].as_u64(), Some(counted), "{name}");
    }
}

#[test]
fn a_report_is_one_file_with_all_runs_and_their_comparison() {
    let Some(run) = run_dir() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (page, data) = (dir.path().join("r.html"), dir.path().join("r.json"));
    stdout(&["report", run, "-o", page.to_str().expect("UTF-8")]);
    stdout(&["report", run, "--format", "json", "-o", data.to_str().expect("UTF-8")]);
    let view: Value = serde_json::from_str(&read(&data)).expect("JSON");
    assert_eq!(view["compare"]["schema"], "fraglab.compare");
    let groups: Vec<_> = view["runs"].as_array().expect("runs").iter().map(|run| run["group"].clone()).collect();
    assert_eq!(groups, ["kernel", "recorded", "recorded,vm.defrag_mode=1"]);
    let page = read(&page);
    let embedded = page.split(r#"id="fraglab-view">"#).nth(1).and_then(|rest| rest.split("</script>").next());
    let embedded: Value = serde_json::from_str(embedded.expect("the data is there")).expect("JSON");
    assert_eq!(embedded["runs"], view["runs"]);
    assert!(page.len() < 15_000_000);
    assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 2, "no leftovers");
}

#[test]
fn a_recording_is_shown_beside_its_replay() {
    let Some(demo) = demo() else { return };
    let text = stdout(&["map", demo.to_str().expect("UTF-8"), "--width", "64"]);
    assert!(text.contains("kernel (") && text.contains("recorded ("), "{text}");
}

#[test]
fn the_map_is_plain_text_of_the_width_and_moves_in_time() {
    let Some(run) = run_dir() else { return };
    let at = |args: &[&str]| stdout(&[&["map", run, "--run", "recorded", "--width", "40"], args].concat());
    let (start, end) = (at(&["--at", "0"]), at(&[]));
    assert!(!end.contains('\u{1b}') && start != end);
    let cells = |text: &str| {
        let is_map = |line: &&str| !line.is_empty() && line.chars().all(|c| "*.umrhUMRH ".contains(c));
        text.lines().filter(is_map).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(cells(&end).len() > 1 && cells(&end).iter().all(|line| line.len() <= 40), "{end}");
    assert!(start.contains(" 0.0 s of ") && end.ends_with("(capital: full)\n"), "{end}");
    let coloured = fraglab(&["map", run, "--width", "40"]).env("CLICOLOR_FORCE", "1").assert().success();
    assert!(coloured.get_output().stdout.contains(&0x1b));
    let plain = fraglab(&["map", run]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").assert().success();
    assert!(!plain.get_output().stdout.contains(&0x1b));
}

#[test]
fn what_is_no_run_is_an_error_that_says_what_to_do() {
    let Some(run) = run_dir() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("x").display().to_string();
    let fails = |args: &[&str], code: i32, says: &str| {
        let assert = fraglab(args).assert().code(code);
        let stderr = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(stderr.contains(says), "{args:?}: {stderr}");
        assert!(!Path::new(&out).exists());
    };
    fails(&["map", run, "--run", "nobody"], 2, "there are: kernel  recorded");
    fails(&["export", run, "--to", "ftrace", "-o", &out], 2, "say --run");
    fails(&["report", dir.path().to_str().expect("UTF-8"), "-o", &out], 3, "trace");
    let broken = dir.path().join("broken");
    fs::create_dir(&broken).expect("made");
    fs::copy(Path::new(run).join("manifest.json"), broken.join("manifest.json")).expect("copied");
    let broken_text = broken.display().to_string();
    fails(&["map", &broken_text], 3, "has to be made again");
    let view = read(&Path::new(run).join("view.json"));
    for (text, says) in [
        (view.replace("\"version\":1", "\"version\":9"), "version 9"),
        (view.replacen("\"len\":", "\"len\":1", 1), "make the run again"),
        ("{}".to_owned(), "schema"),
        (view[..view.len() / 2].to_owned(), "make the run again"),
    ] {
        fs::write(broken.join("view.json"), text).expect("written");
        for command in [&["map", &broken_text][..], &["export", &broken_text, "--to", "csv", "-o", &out]] {
            fails(command, 3, says);
        }
        fails(&["report", &broken_text, "-o", &out], 3, says);
    }
}

#[test]
fn a_frame_of_the_watch_is_text() {
    let Some(run) = run_dir() else { return };
    let text = stdout(&["watch", run, "--run", "recorded", "--at", "3", "--once"]);
    for part in ["recorded (", "3.0 s of", "Free blocks by order", "0/DMA32", "Pageblocks", "extfrag"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert_ne!(text, stdout(&["watch", run, "--run", "recorded", "--once"]));
}

#[test]
fn a_host_is_watched_by_its_proc() {
    let proc = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(proc.path().join(name), text).expect("written");
    write("buddyinfo", "Node 0, zone   Normal   1000 0 0 0 0 0 0 0 0 0 0\n");
    write("vmstat", "compact_stall 7\nthp_fault_fallback 3\n");
    let dir = proc.path().to_str().expect("UTF-8");
    let watch = ["watch", "--once", "--interval", "0.05", "--proc", dir];
    let text = stdout(&watch);
    assert!(text.contains("0/Normal") && text.contains("100.0 %") && text.contains("0.998"), "{text}");
    assert!(text.contains("7 since boot") && text.contains("is for root"), "{text}");
    write("buddyinfo", "Node zero\n");
    fraglab(&watch).assert().code(3);
    fs::remove_file(proc.path().join("vmstat")).expect("removed");
    write("buddyinfo", "Node 0, zone   Normal   1 0 0 0 0 0 0 0 0 0 0\n");
    fraglab(&watch).assert().code(6);
}

#[test]
fn ftrace_text_is_read_back_with_all_its_events() {
    let Some(run) = run_dir() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("trace.txt");
    stdout(&["export", run, "--run", "recorded", "--to", "ftrace", "-o", file.to_str().expect("UTF-8")]);
    let column = |name: &str| {
        let text = read(&Path::new(run).join(name));
        text.lines().filter(|line| line.starts_with("recorded,")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (extfrag, activity) = (column("extfrag.csv"), column("activity.csv"));
    assert!(!extfrag.is_empty() && !activity.is_empty());
    let trace = recording::TextTrace::open(&file).expect("readable");
    let records: Vec<_> = trace.records().collect::<Result<_, _>>().expect("every line is understood");
    assert_eq!(records.len(), extfrag.len() + activity.len());
    assert!(records.is_sorted_by_key(|record| record.ts_ns));
    let mut at = extfrag.iter();
    for record in &records {
        match &record.event {
            recording::Event::PageAllocExtfrag(event) => {
                let fields: Vec<&str> = at.next().expect("as many").split(',').collect();
                let numbers = [event.pfn, event.alloc_order as u64, event.fallback_order as u64];
                assert_eq!(numbers.map(|n| n.to_string()), [fields[2], fields[3], fields[4]]);
                assert_eq!(event.change_ownership.map(|c| c.to_string()).as_deref(), Some(fields[9]));
            }
            recording::Event::Other(other) => panic!("{} is not known to the reader", other.name),
            _ => {}
        }
    }
    assert!(at.next().is_none());
}

#[test]
fn plain_exports_hold_every_value_and_follow_the_schema() {
    let Some(run) = run_dir() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let export = |to: &str| {
        let file = dir.path().join(to);
        stdout(&["export", run, "--to", to, "-o", file.to_str().expect("UTF-8")]);
        read(&file)
    };
    let json: Value = serde_json::from_str(&export("json")).expect("JSON");
    let values =
        json["runs"].as_array().expect("runs").iter().flat_map(|run| run["series"].as_array().expect("series"));
    let known: usize =
        values.map(|s| s["value"].as_array().expect("values").iter().filter(|v| !v.is_null()).count()).sum();
    assert_eq!(export("csv").lines().count() - 1, known);
    let schema: Value = serde_json::from_str(include_str!("../../../docs/export.schema.json")).expect("JSON");
    follows(&json, &schema, &schema, "export");
}

/// Whether a value has the types, required keys and no other keys than a schema says (the part of JSON Schema that is used).
fn follows(value: &Value, schema: &Value, root: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return follows(value, &root["$defs"][name], root, place);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => panic!("{place}: the schema names no type"),
    };
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = types.contains(&found) || found == "integer" && types.contains(&"number");
    assert!(fits, "{place} is {found}, not {types:?}");
    match value {
        Value::Array(items) => items.iter().for_each(|item| follows(item, &schema["items"], root, place)),
        Value::Object(object) => {
            for required in schema["required"].as_array().into_iter().flatten() {
                assert!(object.contains_key(required.as_str().expect("a name")), "{place} has no {required}");
            }
            for (key, inner) in object {
                match (&schema["properties"][key], &schema["additionalProperties"]) {
                    (Value::Null, Value::Object(_)) => follows(inner, &schema["additionalProperties"], root, key),
                    (Value::Null, _) => panic!("{place}: {key} is not in the schema"),
                    (of_key, _) => follows(inner, of_key, root, &format!("{place}.{key}")),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn perfettos_own_readers_count_what_the_run_has() {
    let Some(run) = run_dir() else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("trace.pftrace");
    stdout(&["export", run, "--to", "perfetto", "-o", file.to_str().expect("UTF-8")]);
    assert_eq!(fs::read(&file).expect("written")[0], 0x0a, "field 1 of a Trace: a packet");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-perfetto");
    let python = std::env::var("FRAGLAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = match std::process::Command::new(&python).arg(script).arg(run).arg(&file).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("SKIPPED: {python}: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => println!("{said}"),
        Some(77) => eprintln!("SKIPPED: {}", said.trim()),
        _ => panic!("{said}{}", String::from_utf8_lossy(&output.stderr)),
    }
}
