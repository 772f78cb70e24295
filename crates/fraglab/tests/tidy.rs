//! House rules that a machine can check, over all tracked files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MAX_FILE_LINES: usize = 600;
const MAX_FUNCTION_LINES: usize = 90;

/// Machine paths, in pieces so that this file does not trip over itself.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tm", "p/"), concat!("/ho", "me/")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Tracked text files with their content; outside a git checkout, nothing.
fn tracked(wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let Ok(listing) = Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).output() else {
        return Vec::new();
    };
    String::from_utf8_lossy(&listing.stdout)
        .split('\0')
        .filter(|name| wanted(name))
        .filter_map(|name| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?)))
        .collect()
}

fn is_rust(name: &str) -> bool {
    name.ends_with(".rs")
}

/// The page's own sources; what it is built into is not for reading.
fn is_page_source(name: &str) -> bool {
    name.starts_with("web/") && [".ts", ".mjs", ".css", ".sh"].iter().any(|ending| name.ends_with(ending))
}

fn assert_none(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

#[test]
fn files_are_readable_in_one_sitting() {
    let lengths = tracked(|name| is_rust(name) || is_page_source(name))
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()));
    let findings = lengths.filter(|(_, lines)| *lines > MAX_FILE_LINES).map(|(name, lines)| format!("{name}: {lines}"));
    assert_none("a file answers one question in at most 600 lines", findings.collect());
}

/// Whether a line begins a function, whoever may call it and however.
fn opens_function(code: &str) -> bool {
    let shown = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or("", |(_, rest)| rest),
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let mut words = shown.split(' ').skip_while(|word| ["const", "async", "unsafe", "extern", "\"C\""].contains(word));
    words.next() == Some("fn")
}

/// Functions longer than the limit, found by indentation: rustfmt closes a function at the column where it opened.
fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if !opens_function(code) || code.ends_with(';') || code.ends_with('}') {
            continue;
        }
        let indent = line.len() - code.len();
        let closing = format!("{}}}", " ".repeat(indent));
        let length = lines[start..].iter().position(|line| *line == closing).map_or(0, |at| at + 1);
        if length > MAX_FUNCTION_LINES {
            found.push((start + 1, length));
        }
    }
    found
}

#[test]
fn functions_do_one_thing() {
    let findings = tracked(is_rust).into_iter().flat_map(|(name, text)| {
        long_functions(&text).into_iter().map(move |(line, length)| format!("{name}:{line}: {length} lines"))
    });
    assert_none("a function has at most 90 lines", findings.collect());
}

#[test]
fn the_rule_on_functions_bites() {
    let long = format!("    fn long() {{\n{}    }}\n", "        let _ = 0;\n".repeat(MAX_FUNCTION_LINES));
    assert_eq!(long_functions(&long), [(1, MAX_FUNCTION_LINES + 2)]);
    for opening in ["pub fn f(", "pub(super) async fn f(", "pub(in crate::a) const fn f(", "unsafe extern \"C\" fn f("]
    {
        assert!(opens_function(opening), "{opening}");
    }
    assert!(!opens_function("const LONG: [u8; 200] = [") && !opens_function("public fn"));
    assert!(long_functions("fn short() {\n}\n").is_empty());
}

fn lines_with<'a>(files: &'a [(String, String)], matches: impl Fn(&str) -> bool + 'a) -> Vec<String> {
    let found =
        files.iter().flat_map(|(name, text)| text.lines().enumerate().map(move |(n, line)| (name, n + 1, line)));
    found.filter(|(_, _, line)| matches(line)).map(|(name, n, line)| format!("{name}:{n}: {}", line.trim())).collect()
}

#[test]
fn open_work_has_an_issue() {
    let mark = concat!("TO", "DO");
    let files = tracked(|name| is_rust(name) || is_page_source(name) || name.ends_with(".md"));
    let findings = lines_with(&files, |line| line.contains(mark) && !line.contains(&format!("{mark}(#")));
    assert_none("an open end names its issue, as in (#12)", findings);
}

#[test]
fn no_paths_of_one_machine() {
    let files = tracked(|name| {
        let text = [".rs", ".md", ".toml", ".cff", ".txt", ".csv"].iter().any(|ending| name.ends_with(ending));
        // What a recording of a real machine holds is that machine's business.
        !name.starts_with("recordings/")
            && !name.contains("fixtures/")
            && (text || is_page_source(name) || name == "Makefile" || name == ".ci/run")
    });
    let findings = lines_with(&files, |line| MACHINE_PATHS.iter().any(|path| line.contains(path)));
    assert_none("nothing depends on where it was written", findings);
}

/// Targets of relative links in a Markdown file.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|target| {
        !target.contains("://") && !target.starts_with('#') && !target.contains([' ', '`']) && !target.is_empty()
    })
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for (name, text) in tracked(|name| name.ends_with(".md")) {
        let dir = root().join(&name).parent().expect("a file has a directory").to_owned();
        for target in links(&text) {
            let path = target.split('#').next().unwrap_or_default();
            if !dir.join(path).exists() {
                findings.push(format!("{name}: {target}"));
            }
        }
    }
    assert_none("a link in a document leads to a file", findings);
}

#[test]
fn every_row_is_documented() {
    let documented = fs::read_to_string(root().join("docs/rows.md")).expect("docs/rows.md is there");
    let mut outcome = lab::outcome::Outcome { zones: vec![Default::default()], ..Default::default() };
    outcome.fast_requests[0] = 1;
    let rows = report::Rows::of(&outcome);
    let missing = rows.iter().filter(|row| !documented.contains(&format!("`{}`", row.name)));
    assert_none("docs/rows.md documents every row", missing.map(|row| row.name.clone()).collect());
}
