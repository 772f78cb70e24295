//! A study as a page of the documentation, and as JSON.

use super::definition::Study;
use super::judge::{Verdict, verdicts};
use super::layout::{checks, disagreement, how_to_read, tables};
use super::results::Results;
use super::tally::{AGREE, HOLD, Tally, agreement};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The page: what was run and how, the tables, what disagrees with its cause, what shall hold, plots.
pub fn page(study: &Study, results: &Results, command: &str) -> String {
    let mut text = format!("# {}: {}\n\n{}.\n\n", study.name, study.title, study.document);
    text.push_str("This page is made by the command below; no figure on it is written by hand.\n\n");
    paragraphs(&mut text, "Answer", study.answers.iter().map(|answer| answer.sentence(results)));
    if !study.answers.is_empty() {
        text.push_str("## What was run\n\n");
    }
    for paragraph in &study.about {
        let _ = writeln!(text, "{paragraph}\n");
    }
    let _ = writeln!(text, "```sh\n{command}\n```\n");
    for (scenario, size) in &results.sizes {
        let _ = writeln!(text, "- `{scenario}`: {}", size.words);
        let cells = study.cells().into_iter().filter(|cell| cell.scenario == *scenario);
        for (cell, settings) in cells.filter_map(|cell| results.settings.get_key_value(&cell)) {
            let _ = writeln!(text, "    - `{}`: {settings}", cell.variant.as_deref().unwrap_or("as it is"));
        }
    }
    let _ = writeln!(text, "\n{}.\n", how_to_read(results));
    for table in &study.tables {
        let mut block = String::new();
        tables(&mut block, table, results);
        // The page's own heading stands in for the table's.
        let body = block.trim_start().splitn(3, '\n').nth(2).unwrap_or_default();
        let _ = writeln!(text, "## {}\n\n```text\n{}\n```\n", table.title, body.trim_end());
    }
    for plot in study.plots.iter().filter(|plot| plot.to_svg(results).is_some()) {
        let _ = writeln!(text, "![{}]({}.svg)\n", plot.title, plot.name);
    }
    rows_that_miss(&mut text, &verdicts(study, results));
    if !study.checks.is_empty() {
        let _ = writeln!(text, "{HOLD}\n\n```text\n{}```\n", checks(study, results));
    }
    for failed in &results.failed {
        let _ = writeln!(text, "Run lost: {} seed {}: {}\n", failed.cell, failed.seed, failed.why);
    }
    paragraphs(&mut text, "What this can't tell", study.limits.iter().cloned());
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A section, if there is anything in it.
fn paragraphs(text: &mut String, title: &str, paragraphs: impl Iterator<Item = String>) {
    for (at, paragraph) in paragraphs.enumerate() {
        if at == 0 {
            let _ = writeln!(text, "## {title}\n");
        }
        let _ = writeln!(text, "{paragraph}\n");
    }
}

fn rows_that_miss(text: &mut String, verdicts: &[Verdict]) {
    let share = agreement(verdicts);
    if share.whole == 0 {
        return;
    }
    let _ = writeln!(text, "## Rows that disagree\n\n{share}{AGREE}\n");
    for verdict in verdicts.iter().filter(|verdict| verdict.agrees == Some(false)) {
        let _ = writeln!(text, "- {}", disagreement(verdict));
    }
    if share.part < share.whole {
        text.push('\n');
    }
}

/// A study as JSON.
pub fn json(study: &Study, results: &Results) -> Value {
    let row = |verdict: &Verdict| {
        json!({
            "row": verdict.row,
            "kind": verdict.kind.name(),
            "published": verdict.published,
            "ours": verdict.ours,
            "low": verdict.interval.map(|interval| interval.low),
            "high": verdict.interval.map(|interval| interval.high),
            "agrees": verdict.agrees,
            "how": verdict.how,
            "cause": verdict.cause,
        })
    };
    let check = |check: &super::check::Check| {
        let finding = check.look(results);
        json!({ "says": check.says, "holds": finding.outcome.holds(), "measured": finding.measured, "cause": check.cause })
    };
    let failed =
        |run: &super::results::FailedRun| json!({ "run": run.cell.to_string(), "seed": run.seed, "why": run.why });
    json!({
        "paper": study.name,
        "seeds": results.seeds,
        "sizes": results.sizes.iter().map(|(name, size)| (name, &size.words)).collect::<BTreeMap<_, _>>(),
        "answers": study.answers.iter().map(|answer| answer.sentence(results)).collect::<Vec<_>>(),
        "rows": verdicts(study, results).iter().map(row).collect::<Vec<_>>(),
        "checks": study.checks.iter().map(check).collect::<Vec<_>>(),
        "lost": results.failed.iter().map(failed).collect::<Vec<_>>(),
        "digest": results.digest(),
    })
}

/// Where pages of the full size are, beside those of the scale that a study takes by itself.
pub const FULL_SIZE: &str = "full-size";

/// A study in the list of pages.
pub struct Listed<'a> {
    /// The study.
    pub study: &'a Study,
    /// What its page is of.
    pub results: &'a Results,
    /// Its page below [`FULL_SIZE`], if there is one. Its runs take too long to be made each time, so it is the page that is counted.
    pub full_size: Option<String>,
}

/// A list of pages: how many rows agree, how many bars hold.
pub fn index(title: &str, about: &str, all: &[Listed]) -> String {
    if all.iter().any(|listed| !listed.study.answers.is_empty()) {
        return answers(title, about, all);
    }
    let mut text =
        format!("# {title}\n\n{about}\n\n| page | | figures that agree | what holds |\n| --- | --- | --- | --- |\n");
    for Listed { study, results, full_size } in all {
        let Tally { agree, hold } = Tally::of(study, results);
        let _ = writeln!(text, "| [{name}]({name}.md) | {} | {agree} | {hold} |", study.title, name = study.name);
        if let Some(page) = full_size {
            let Tally { agree, hold } = Tally::of_page(page);
            let how = made_by(page).map(|command| format!(": `{command}`")).unwrap_or_default();
            let name = &study.name;
            let _ = writeln!(text, "| [{name}, full size]({FULL_SIZE}/{name}.md) | the same{how} | {agree} | {hold} |");
        }
    }
    text
}

/// The command that a page says it is made by.
fn made_by(page: &str) -> Option<&str> {
    page.split_once("```sh\n")?.1.lines().next()
}

/// A list of questions with their answers.
fn answers(title: &str, about: &str, all: &[Listed]) -> String {
    let mut text = format!("# {title}\n\n{about}\n");
    if let Some(first) = all.first() {
        let _ = writeln!(text, "\n{}.", how_to_read(first.results));
    }
    for Listed { study, results, .. } in all {
        let _ = writeln!(text, "\n## [{}]({0}.md): {}\n", study.name, study.title);
        for answer in &study.answers {
            let _ = writeln!(text, "- {}", answer.sentence(results));
        }
    }
    text
}
