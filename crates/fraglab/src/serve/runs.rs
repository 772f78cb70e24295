//! The run directories below a directory.

use report::flight::{Flight, PREFIX};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// How far below the directory run directories are looked for.
const DEPTH: usize = 3;

/// A run directory, as the list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Path below the directory.
    pub name: String,
    /// Scenario or recording.
    pub subject: String,
    /// Policies, or machines.
    pub columns: Vec<String>,
    /// Seed.
    pub seed: Option<u64>,
    /// Command line that made it.
    pub command: String,
    /// Whether it can be shown: it has a view.
    pub has_view: bool,
    /// When it was made, seconds since 1970.
    pub made: u64,
}

/// All run directories, the latest first. What can't be read is left out: others' directories are none of our business.
pub fn list(dir: &Path) -> Vec<Listed> {
    let mut found = Vec::new();
    walk(dir, dir, DEPTH, &mut found);
    found.sort_by(|a, b| b.made.cmp(&a.made).then_with(|| a.name.cmp(&b.name)));
    found
}

/// All runs below the directory that go on at this moment, the latest first.
pub fn in_flight(dir: &Path) -> Vec<Flight> {
    let mut found = Vec::new();
    walk_flights(dir, DEPTH, &mut found);
    found.sort_by(|a, b| b.started.cmp(&a.started).then_with(|| a.target.cmp(&b.target)));
    found
}

fn walk_flights(dir: &Path, depth: usize, found: &mut Vec<Flight>) {
    for (entry, name) in directories(dir) {
        if name.starts_with(PREFIX) {
            found.extend(Flight::read(&entry));
        } else if depth > 0 && !name.starts_with('.') {
            walk_flights(&entry, depth - 1, found);
        }
    }
}

/// Directories in a directory, with their names. Links are not followed.
fn directories(dir: &Path) -> impl Iterator<Item = (PathBuf, String)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
}

/// The directory of a run of the list. Only names of the list are opened, whatever a request asks for.
pub fn place(dir: &Path, name: &str) -> Option<PathBuf> {
    list(dir).into_iter().find(|run| run.name == name && run.has_view).map(|run| dir.join(run.name))
}

fn walk(root: &Path, dir: &Path, depth: usize, found: &mut Vec<Listed>) {
    if let Some(run) = listed(root, dir) {
        return found.push(run);
    }
    if depth == 0 {
        return;
    }
    for (entry, name) in directories(dir) {
        if !name.starts_with('.') {
            walk(root, &entry, depth - 1, found);
        }
    }
}

fn listed(root: &Path, dir: &Path) -> Option<Listed> {
    let path = dir.join("manifest.json");
    let text = fs::read_to_string(&path).ok()?;
    if !report::manifest::is_run(&text) {
        return None;
    }
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    let made = fs::metadata(&path).and_then(|meta| meta.modified()).ok();
    let made = made.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let texts = |value: &serde_json::Value| {
        let words = value.as_array().into_iter().flatten().filter_map(|word| word.as_str());
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let columns = manifest["runs"].as_array().into_iter().flatten().filter_map(|run| run["policy"].as_str());
    let name = dir.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    Some(Listed {
        name: if name.is_empty() { ".".to_owned() } else { name },
        subject: manifest["recording"].as_str().unwrap_or_default().to_owned(),
        columns: columns.map(str::to_owned).collect(),
        seed: manifest["seed"].as_u64(),
        command: texts(&manifest["command_line"]).join(" "),
        has_view: dir.join(report::view::VIEW_FILE).is_file(),
        made: made.map_or(0, |since| since.as_secs()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_of_the_list_are_opened() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let make = |name: &str, manifest: &str, view: bool| {
            let run = dir.path().join(name);
            fs::create_dir_all(&run).expect("made");
            fs::write(run.join("manifest.json"), manifest).expect("written");
            if view {
                fs::write(run.join("view.json"), "{}").expect("written");
            }
        };
        let manifest = r#"{"schema":"fraglab.run","recording":"demo","seed":3,"runs":[{"policy":"recorded"}]}"#;
        make("a/b", manifest, true);
        make("old", manifest, false);
        make("other", r#"{"schema":"theirs"}"#, true);
        make(".hidden", manifest, true);
        let runs = list(dir.path());
        let mut names: Vec<_> = runs.iter().map(|run| (run.name.as_str(), run.has_view, run.seed)).collect();
        names.sort();
        assert_eq!(names, [("a/b", true, Some(3)), ("old", false, Some(3))]);
        assert_eq!(place(dir.path(), "a/b"), Some(dir.path().join("a/b")));
        for name in ["old", "other", "../a/b", "/etc", "a/../a/b", ""] {
            assert_eq!(place(dir.path(), name), None, "{name}");
        }
    }
}
