//! A signal ends a simulation early, and what was done until then is kept.

use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn an_interrupted_simulation_is_cut_short_and_kept() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let dir = place.path().join("run");
    // Minutes of it, and another one that is not begun.
    let words = ["run", "kbuild-thp", "--variant", "vanilla", "--variant", "oomfix", "--on", "sim", "-o"];
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("fraglab"))
        .args(words)
        .arg(&dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success() && child.try_wait().expect("it can be asked").is_none(), "it still ran");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("the run was interrupted"), "{said}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("sim,vanilla: cut short") && !table.contains("sim,oomfix"), "{table}");
    assert!(dir.join("manifest.json").exists(), "the run directory is there");
    let left = std::fs::read_dir(place.path()).expect("it is there").count();
    assert_eq!(left, 1, "nothing but the run directory is left");
}
