//! `fraglab report`: one page about runs.

use crate::failure::{Failure, warn};
use crate::run_spec::selections;
use crate::view_args::{ReportArgs, ReportFormat};
use crate::views::{self, provenance};
use crate::whole_file;
use report::compare::{CompareError, Comparison, Options, Selection};
use report::view::{Found, View, join};
use std::path::{Path, PathBuf};

/// The page, with a place for its data.
const PAGE: &str = include_str!("../../assets/page.html");
/// The data's place.
const PLACE: &str = r#"<script type="application/json" id="fraglab-view">null</script>"#;
/// Largest page, bytes: what a mail or a bug tracker takes.
const LARGEST: usize = 14_900_000;

/// Reads, compares, and writes the page.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let selections = selections(&args.runs);
    let view = build(&selections, args.title.as_deref(), args.base.as_deref())?;
    let text = match args.format {
        ReportFormat::Json => view.to_json() + "\n",
        ReportFormat::Html => page(&view),
    };
    whole_file::write(&args.output, |out| out.write_all(text.as_bytes()))
}

/// The view of all that was named, small enough for a page.
pub fn build(selections: &[Selection], wanted_title: Option<&str>, base: Option<&str>) -> Result<View, Failure> {
    let mut found = Vec::new();
    for path in paths(selections) {
        let view = views::load(path)?;
        found.extend(view.runs.into_iter().map(|run| Found { place: path.to_owned(), run }));
    }
    let comparison = comparison(selections, base)?;
    let runs = join(found, comparison.as_ref());
    let title = wanted_title.map_or_else(|| title(&runs), str::to_owned);
    let mut view = View::of_runs(title, &provenance(), runs);
    view.compare = comparison.map(|comparison| comparison.to_json());
    view.shrink_to(LARGEST - PAGE.len()).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(view)
}

/// All directories and files that were named.
fn paths(selections: &[Selection]) -> Vec<&Path> {
    let mut paths = Vec::new();
    for selection in selections {
        match selection {
            Selection::Run(dir) => paths.push(dir.as_path()),
            Selection::Named { dirs, .. } => paths.extend(dirs.iter().map(PathBuf::as_path)),
        }
    }
    paths
}

/// What the run directories among them tell side by side; nothing if there is no more than one replay.
fn comparison(selections: &[Selection], base: Option<&str>) -> Result<Option<Comparison>, Failure> {
    let is_run = |selection: &Selection| match selection {
        Selection::Run(dir) => views::is_run_dir(dir),
        Selection::Named { .. } => true,
    };
    let selections: Vec<Selection> = selections.iter().filter(|selection| is_run(selection)).cloned().collect();
    if selections.is_empty() {
        return Ok(None);
    }
    // Side by side is what a page is for: that recordings differ is said, and no reason to show nothing.
    let options = Options { base: base.map(str::to_owned), across: true, ..Options::default() };
    match Comparison::read(&selections, options) {
        Ok(comparison) => {
            comparison.caveats.iter().for_each(|caveat| warn(caveat));
            Ok(Some(comparison))
        }
        Err(CompareError::Nothing) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What was run or replayed.
fn title(runs: &[report::view::Run]) -> String {
    let mut subjects: Vec<&str> = Vec::new();
    for subject in runs.iter().filter_map(|run| run.scenario.as_deref().or(run.recording.as_deref())) {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    if subjects.is_empty() { "fraglab report".to_owned() } else { subjects.join(", ") }
}

/// The page with its data.
pub fn page(view: &View) -> String {
    let (before, after) = PAGE.split_once(PLACE).expect("a test proves that the page has a place for its data");
    let opening = PLACE.trim_end_matches("null</script>");
    format!("{before}{opening}{}</script>{after}", view.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_place_for_its_data_and_nothing_of_elsewhere() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        for outside in ["src=\"http", "href=\"http", "src=\"//", "@import"] {
            assert!(!PAGE.contains(outside), "the page asks for {outside}");
        }
    }
}
