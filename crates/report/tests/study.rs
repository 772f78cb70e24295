//! A made-up study over made-up runs: every figure of the text can be checked by hand. `FRAGLAB_BLESS=1 cargo test -p report` draws
//! the picture anew.

use report::study::{CellId, FailedRun, Results, RunFigures, Size, Study, json, page, text};
use std::path::Path;

const STUDY: &str = r#"
name = "made-up"
title = "a document"
document = "Nobody, never"
limits = ["Anything at all."]

[[answer]]
test = { kind = "differs", figure = "events", of = "s:b", base = "s:a", want = "falls" }
says = "Yes: {after} events in place of {before}."
otherwise = "No: {after} events, {before} before."
what = "Events"
[answer.values]
before = { figure = "events", of = "s:a" }
after = { figure = "events", of = "s:b" }

[[table]]
title = "Two columns"
columns = ["before", "after"]
of = ["s:a", "s:b"]

[[table.row]]
name = "events"
figure = "events"
published = [1000, 500]
significant = true

[[table.row]]
name = "time"
figure = "time"
published = [10, 5]
percent = "lower-is-better"
cause = "the model's disk has no queue"

[[table.row]]
name = "share"
figure = "100 * part / ( part + rest )"
published = [50, 40]
points = 10

[[table]]
title = "Three columns"
columns = ["a", "b", "c"]
of = ["s:a", "s:b", "s:c"]

[[table.row]]
name = "events"
figure = "events"
published = [1000, nan, 0]

[[table]]
title = "Builds"
columns = ["before", "after"]
of = ["s:a", "s:b"]

[[table.series]]
name = "pages"
measure = "measure.pages"
published = [[9, 8, 7, 6.5], [5, 5.2, 4.9, 5.1]]

[[check]]
says = "Events fall"
test = { kind = "differs", figure = "events", of = "s:b", base = "s:a", want = "falls" }

[[check]]
says = "Nobody counts"
test = { kind = "value", figure = "nothing", of = "s:b", max = 1 }
"#;

fn run(events: f64, time: f64, pages: &[f64]) -> RunFigures {
    let figures = [("events", events), ("time", time), ("part", 30.0), ("rest", 70.0)];
    RunFigures {
        event_digest: format!("{:016x}", events as u64),
        workload_digest: Some("1".to_owned()),
        figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
        series: [("measure.pages".to_owned(), pages.to_vec())].into(),
    }
}

fn results() -> Results {
    let cell = |name: &str| name.parse::<CellId>().expect("a cell");
    let falling = [90.0, 81.0, 70.0, 62.0];
    let runs = [
        (cell("s:a"), (0..5).map(|at| run(100.0 + f64::from(at), 1.0, &falling)).collect()),
        (cell("s:b"), (0..5).map(|at| run(60.0 + f64::from(at), 1.5, &falling)).collect()),
        (cell("s:c"), vec![run(0.0, 1.0, &[])]),
    ];
    Results {
        runs: runs.into(),
        failed: vec![FailedRun { cell: cell("s:c"), seed: 2, why: "signal: 9 (SIGKILL)".into() }],
        sizes: [("s".to_owned(), Size { words: "memory 8 MiB, scale 1/8".to_owned(), scale: 0.125 })].into(),
        settings: [(cell("s:a"), "policy linux-4.20".to_owned())].into(),
        seeds: "1 to 5".into(),
    }
}

#[test]
fn as_it_is_printed() {
    let study = Study::parse(STUDY).expect("a study");
    let actual = text(&study, &results());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/study.txt");
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(&path, &actual).expect("written");
    }
    assert_eq!(actual, std::fs::read_to_string(&path).unwrap_or_default(), "if that is meant: FRAGLAB_BLESS=1");
}

#[test]
fn what_agrees_and_what_does_not() {
    let study = Study::parse(STUDY).expect("a study");
    let json = json(&study, &results());
    let rows = json["rows"].as_array().expect("a list");
    let said: Vec<_> = rows.iter().map(|row| (row["kind"].as_str(), row["agrees"].as_bool())).collect();
    let expected = [
        (Some("ratio"), Some(true)),
        (Some("ratio"), Some(false)),
        (Some("value"), Some(false)),
        (Some("value"), Some(true)),
        (Some("ratio"), None),
        (Some("ratio"), Some(true)),
        (Some("slope"), Some(true)),
        (Some("slope"), Some(false)),
    ];
    assert_eq!(said, expected, "{json:#}");
    assert_eq!(rows[1]["cause"], "the model's disk has no queue");
    let checks = &json["checks"];
    assert_eq!((&checks[0]["holds"], &checks[1]["measured"]), (&true.into(), &"not measured".into()));
    assert!(checks[1]["holds"].is_null(), "{checks}");
}

#[test]
fn a_page_says_how_it_was_made() {
    let study = Study::parse(STUDY).expect("a study");
    let page = page(&study, &results(), "fraglab paper made-up --seeds 5");
    for part in [
        "# made-up: a document\n",
        "```sh\nfraglab paper made-up --seeds 5\n```",
        "## Answer\n\nYes: 62 events in place of 102.\n",
        "- `s`: memory 8 MiB, scale 1/8\n    - `a`: policy linux-4.20\n\nSeeds 1 to 5; ",
        "## Two columns\n",
        "## Rows that disagree\n",
        "Cause: not known",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("signal: 9 (SIGKILL)\n") && !page.contains("\n\n\n"), "{page}");
    assert!(page.ends_with("## What this can't tell\n\nAnything at all.\n"), "{page}");
}

#[test]
fn a_bar_that_nothing_can_miss_is_refused() {
    let refused = |test: &str| {
        let text = format!("{STUDY}\n[[check]]\nsays = \"it holds\"\ntest = {test}\n");
        Study::parse(&text).expect_err("refused").to_string()
    };
    let words =
        refused("{ kind = \"points\", figures = [\"part\", \"rest\"], published = [1], of = \"s:a\", points = 1 }");
    assert_eq!(words, "check `it holds`: there are 2 figures and 1 published values");
    let words = refused("{ kind = \"ratio\", figure = \"part\", of = \"s:a\", base = \"s:b\" }");
    assert_eq!(words, "check `it holds`: neither `min` nor `max` is given");
}
