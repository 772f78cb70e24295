//! The documents and the command line say the same: every option is documented, and every command line that is shown is taken. What
//! commands wrote into them is whole.

use assert_cmd::Command;
use report::study::{self, FULL_SIZE, Tally};
use std::fs;
use std::path::{Path, PathBuf};

/// README.md and docs, without what commands write: validation.md, papers, questions.
fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("listed").path());
    let pages = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let pages = pages.filter(|path| !path.ends_with("validation.md")).chain([root.join("README.md")]);
    pages.map(|path| (path.clone(), fs::read_to_string(&path).expect("text"))).collect()
}

/// The longest runs of letters and hyphens after `--`.
fn options(text: &str) -> impl Iterator<Item = &str> {
    text.split("--").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        (end > 1).then(|| rest[..end].trim_end_matches('-'))
    })
}

#[cfg(feature = "manual")]
#[test]
fn every_option_is_documented() {
    // Of clap's own; and the long form of -o, which all documents use.
    let known = ["help", "version", "output"];
    let pages = tempfile::tempdir().expect("a temporary directory");
    Command::cargo_bin("fraglab").expect("built by cargo").args(["man", "-o"]).arg(pages.path()).assert().success();
    let documents = documents();
    let documented: Vec<&str> = documents.iter().flat_map(|(_, text)| options(text)).collect();
    let mut missing = Vec::new();
    for page in fs::read_dir(pages.path()).expect("listed") {
        let path = page.expect("listed").path();
        let text = fs::read_to_string(&path).expect("text").replace("\\-", "-");
        let name = path.file_stem().expect("has one").to_string_lossy().into_owned();
        // Options are bold in the list of them.
        for option in text.lines().filter(|line| line.starts_with("\\fB-")).flat_map(options) {
            if !known.contains(&option) && !documented.contains(&option) {
                missing.push(format!("{name} --{option}"));
            }
        }
    }
    assert!(documented.len() > 100, "the documents were read");
    missing.sort();
    assert!(missing.is_empty(), "no document names: {missing:#?}");
}

/// Command lines of blocks of code that begin with `fraglab`, in one piece, without comments.
fn command_lines(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            let line = line.split(" #").next().unwrap_or_default().split(" | ").next().unwrap_or_default().trim();
            let line = line.strip_prefix("sudo ").unwrap_or(line);
            lines.extend(line.strip_prefix("fraglab ").map(str::to_owned));
        }
    }
    lines
}

/// With `--help` at the end a command line is parsed, not carried out.
#[cfg(feature = "machines")]
#[test]
fn every_command_line_shown_is_taken() {
    let mut count = 0;
    for (path, text) in documents() {
        for line in command_lines(&text) {
            let words: Vec<&str> = line.split_whitespace().take_while(|word| *word != "--").collect();
            let run = Command::cargo_bin("fraglab").expect("built by cargo").args(&words).arg("--help").assert();
            let output = run.get_output();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: fraglab {line}\n{said}", path.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count} command lines were found");
}

/// The list of papers was typed in part: it said what no page said any more.
#[test]
fn the_list_of_papers_says_what_its_pages_say() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
    let list = fs::read_to_string(papers.join("README.md")).expect("text");
    let mut listed = Vec::new();
    for row in list.lines().filter(|line| line.starts_with("| [")) {
        let file = row.split_once("](").and_then(|(_, rest)| rest.split_once(')')).expect("a link").0;
        let page = fs::read_to_string(papers.join(file)).expect("a page that is there");
        let Tally { agree, hold } = Tally::of_page(&page);
        assert!(
            row.ends_with(&format!(" | {agree} | {hold} |")),
            "`make papers`: {file} has {agree}, {hold}, not {row}"
        );
        listed.push(papers.join(file));
    }
    for directory in [papers.clone(), papers.join(FULL_SIZE)] {
        let files = fs::read_dir(directory).expect("listed").map(|entry| entry.expect("listed").path());
        for page in files.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
            assert!(listed.contains(&page) || page.ends_with("README.md"), "`make papers`: {page:?} is not listed");
        }
    }
    assert!(listed.len() > study::PAPERS.len(), "the list was read: {listed:?}");
}
