//! `fraglab report`: one page about runs.

use crate::failure::{Failure, warn};
use crate::run_spec::RunSpec;
use crate::view_args::{ReportArgs, ReportFormat};
use crate::views::{self, provenance};
use report::compare::{CompareError, Comparison, Options, Selection};
use report::view::{Found, View, join};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The page, with a place for its data.
const PAGE: &str = include_str!("../../assets/page.html");
/// The data's place.
const PLACE: &str = r#"<script type="application/json" id="fraglab-view">null</script>"#;
/// Largest page, bytes: what a mail or a bug tracker takes.
const LARGEST: usize = 14_900_000;

/// Reads, compares, and writes the page.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let mut found = Vec::new();
    for path in paths(&args.runs) {
        let view = views::load(path)?;
        found.extend(view.runs.into_iter().map(|run| Found { place: path.to_owned(), run }));
    }
    let comparison = comparison(args)?;
    let provenance = provenance();
    let runs = join(found, comparison.as_ref());
    let title = args.title.clone().unwrap_or_else(|| title(&runs));
    let mut view = View::of_runs(title, &provenance, runs);
    view.compare = comparison.map(|comparison| comparison.to_json());
    view.shrink_to(LARGEST - PAGE.len()).map_err(|error| Failure::Input(error.to_string()))?;
    let text = match args.format {
        ReportFormat::Json => view.to_json() + "\n",
        ReportFormat::Html => page(&view),
    };
    write(&args.output, &text)
}

/// All directories and files that were named.
fn paths(runs: &[RunSpec]) -> Vec<&Path> {
    let mut paths = Vec::new();
    for run in runs {
        match &run.selection {
            Selection::Run(dir) => paths.push(dir.as_path()),
            Selection::Named { dirs, .. } => paths.extend(dirs.iter().map(PathBuf::as_path)),
        }
    }
    paths
}

/// What the run directories among them tell side by side; nothing if there is no more than one replay.
fn comparison(args: &ReportArgs) -> Result<Option<Comparison>, Failure> {
    let is_run = |selection: &Selection| match selection {
        Selection::Run(dir) => views::is_run_dir(dir),
        Selection::Named { .. } => true,
    };
    let selections: Vec<Selection> = args.runs.iter().map(|run| run.selection.clone()).filter(is_run).collect();
    if selections.is_empty() {
        return Ok(None);
    }
    // Side by side is what a page is for: that recordings differ is said, and no reason to show nothing.
    let options = Options { base: args.base.clone(), across: true, ..Options::default() };
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

fn page(view: &View) -> String {
    let (before, after) = PAGE.split_once(PLACE).expect("a test proves that the page has a place for its data");
    let opening = PLACE.trim_end_matches("null</script>");
    format!("{before}{opening}{}</script>{after}", view.to_json())
}

/// Writes a file whole or not at all.
pub(super) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Output(format!("{}: {error}", path.display()));
    if path.file_name().is_none() || path.is_dir() {
        return Err(Failure::Usage(format!("{} is not the name of a file", path.display())));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let mut file = tempfile::Builder::new().prefix(".fraglab-").tempfile_in(parent).map_err(failed)?;
    file.write_all(text.as_ref()).map_err(failed)?;
    set_usual_mode(file.as_file()).map_err(failed)?;
    file.persist(path).map(drop).map_err(|error| failed(error.error))
}

/// A temporary file is its owner's alone; a result is not.
#[cfg(unix)]
fn set_usual_mode(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_usual_mode(_: &fs::File) -> std::io::Result<()> {
    Ok(())
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
