//! `fraglab serve`: what a browser gets.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The server, which ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn of(dir: &Path) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fraglab"));
        command.arg("serve").arg(dir).args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut child = command.spawn().expect("built by cargo");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).expect("it says where it listens");
        let address = line.split(['/', ' ']).nth(2).expect("an address").to_owned();
        Server { child, address }
    }

    /// Status line and body.
    fn get(&self, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        (head.lines().next().expect("a status").to_owned(), body.to_owned())
    }
}

/// A directory with a run that has no runs in its view, and one of an older fraglab.
fn runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in ["new", "old"] {
        let run = dir.path().join(name);
        fs::create_dir(&run).expect("made");
        let manifest = r#"{"schema":"fraglab.run","schema_version":1,"version":"0","recording":"demo","command_line":[],"runs":[]}"#;
        fs::write(run.join("manifest.json"), manifest).expect("written");
        fs::write(run.join("counters.json"), "{}").expect("written");
    }
    let view = r#"{"schema":"fraglab.view","version":1,"runs":[]}"#;
    fs::write(dir.path().join("new/view.json"), view).expect("written");
    dir
}

#[test]
fn a_browser_gets_the_list_and_the_page_of_what_is_chosen() {
    let dir = runs();
    let server = Server::of(dir.path());
    let ok = |path: &str| {
        let (status, body) = server.get(path, &server.address);
        assert!(status.contains(" 200 "), "{path}: {status} {body}");
        body
    };
    assert!(ok("/").contains("<h1>Runs</h1>"));
    let list: serde_json::Value = serde_json::from_str(ok("/runs.json").trim()).expect("JSON");
    let mut names: Vec<_> =
        list.as_array().expect("runs").iter().map(|r| (r["name"].clone(), r["has_view"].clone())).collect();
    names.sort_by_key(|(name, _)| name.to_string());
    assert_eq!(names, [("new".into(), true.into()), ("old".into(), false.into())]);
    assert!(ok("/report?run=new").contains(r#"id="fraglab-view">{"#));
}

#[test]
fn nothing_but_runs_of_the_directory_is_read_and_no_foreign_name_is_answered() {
    let dir = runs();
    let server = Server::of(dir.path());
    for path in ["/report", "/report?run=old", "/report?run=../new", "/report?run=%2Fetc", "/report?run=new%2F.."] {
        let (status, body) = server.get(path, "localhost");
        assert!(status.contains(" 400 "), "{path}: {status} {body}");
    }
    assert!(server.get("/new/view.json", "localhost").0.contains(" 404 "));
    assert!(server.get("/runs.json", "evil.example:80").0.contains(" 403 "));
}

/// A scenario of some seconds, in a directory that is served.
fn long_run(dir: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fraglab"));
    command.args(["run", "kbuild-mix", "--on", "sim", "--set", "vm.defrag_mode=1", "-o"]).arg(dir.join("there"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("built by cargo")
}

/// Asks until an answer is as wanted.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..2400 {
        if let Some(answer) = ask() {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("two minutes, and no {what}")
}

#[test]
fn a_run_that_goes_on_is_shown_as_it_comes_on_until_it_is_done() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::of(dir.path());
    let get = |path: &str| -> serde_json::Value {
        serde_json::from_str(server.get(path, &server.address).1.trim()).expect("JSON")
    };
    assert_eq!(get("/flights.json"), serde_json::json!([]));
    let mut run = long_run(dir.path());
    let far = |wanted: f64| {
        let flights = get("/flights.json");
        let column = &flights[0]["columns"][0];
        (column["done"].as_f64()? > wanted).then(|| flights.clone())
    };
    let first = wait_for("news", || far(0.0));
    let (column, seconds) = (&first[0]["columns"][0], first[0]["columns"][0]["done"].as_f64().expect("a number"));
    assert_eq!((&first[0]["subject"], &column["name"]), (&"kbuild-mix".into(), &"sim".into()));
    assert_eq!((&column["state"], &column["unit"]), (&"running".into(), &"virtual seconds".into()));
    assert!(column["whole"].as_f64() > Some(seconds) && column["figures"]["extfrag_total"].is_u64(), "{column}");
    assert_eq!(get("/runs.json"), serde_json::json!([]), "it is no run before it is done");
    wait_for("further news", || far(seconds));
    assert!(run.wait().expect("it ends").success());
    assert_eq!(get("/flights.json"), serde_json::json!([]));
    assert_eq!(get("/runs.json")[0]["name"], "there");
}

#[test]
fn a_run_that_was_killed_does_not_go_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::of(dir.path());
    let flights = || server.get("/flights.json", &server.address).1.trim().to_owned();
    let mut run = long_run(dir.path());
    wait_for("news", || flights().contains("kbuild-mix").then_some(()));
    run.kill().and_then(|()| run.wait()).expect("killed");
    assert_eq!(flights(), "[]");
    assert!(fs::read_dir(dir.path()).expect("readable").count() > 0, "what it left is there, and not taken for a run");
}

#[test]
fn what_is_no_directory_is_not_served() {
    let output = Command::new(env!("CARGO_BIN_EXE_fraglab")).args(["serve", "no/such/place"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(3));
}
