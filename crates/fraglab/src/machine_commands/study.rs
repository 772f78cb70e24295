//! `fraglab paper` and `fraglab question`: runs of all variants with all seeds, and what they come to.

use crate::failure::{Failure, warn};
use crate::flight::{Told, waiting};
use crate::machine_commands::machines::sim;
use crate::machine_commands::pool::{Cache, Order, Pool, PoolError, digest_of};
use crate::machine_commands::run_args::ScenarioArgs;
use crate::machine_commands::scenarios;
use crate::machine_commands::study_args::{StudyArgs, StudyFormat};
use crate::output;
use crate::workers::or_one_a_cpu;
use pagealloc::policy::closest;
use report::SCHEMA_VERSION;
use report::flight::{Leg, LegState};
use report::study::{self, CellId, FailedRun, Listed, Results, RunFigures, Size, Study};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What the two commands differ in.
pub struct Shelf {
    /// The command.
    command: &'static str,
    /// What it lists its studies under in JSON, and the directory of its pages.
    plural: &'static str,
    /// Head and first paragraph of the list of its pages.
    title: &'static str,
    about: &'static str,
    /// Its studies by name.
    studies: &'static [(&'static str, &'static str)],
}

/// Documents.
pub const PAPERS: Shelf = Shelf {
    command: "paper",
    plural: "papers",
    title: "The five documents, run again",
    about: "Each page has the document's tables with ours beside them. A figure agrees when the change between variants has the \
        same direction and ranking where the authors call it a result, and is within a factor of two of theirs; shares are \
        compared as they are.",
    studies: study::PAPERS,
};

/// Questions.
pub const QUESTIONS: Shelf = Shelf {
    command: "question",
    plural: "questions",
    title: "Questions that the threads left open",
    about: "Each page has the question, its answer in sentences and tables that are computed from the runs, what they can't tell, and the \
        command that makes it again.",
    studies: study::QUESTIONS,
};

impl Shelf {
    /// What its command's help ends with.
    pub fn help(&self) -> String {
        let mut text = String::new();
        for (name, file) in self.studies {
            // A test reads every file that comes with fraglab.
            let title = Study::parse(file).map(|study| study.title).unwrap_or_default();
            let _ = writeln!(text, "{name:<12}{title}");
        }
        text.push_str(
            "\nEach run is a process of its own. Results do not depend on how many work at a time. From 4 seeds on a difference can \
            be told from chance. Exit code 4 if a run was lost: the others' results are printed all the same.",
        );
        text
    }
}

/// What stands for all of a shelf.
const ALL: &str = "all";

/// Runs, prints, and writes pages if asked to.
pub fn run(args: &StudyArgs, shelf: &Shelf) -> Result<(), Failure> {
    let (studies, left_out) = with_scenarios(find(&args.name, shelf)?, args)?;
    let cells = cells(&studies);
    let known = known(&cells, args)?;
    let pages = args.output.as_deref().map(|directory| pages(directory, shelf)).transpose()?;
    let runs = runs(&cells, args)?;
    let all: Vec<(&Study, Results)> =
        studies.iter().map(|study| (study, results(study, &runs, &known, args))).collect();
    let written = pages.as_ref().map_or(Ok(()), |pages| write(pages, &all, args, shelf));
    let printed = match args.format {
        StudyFormat::Json => {
            let studies: Vec<_> = all.iter().map(|(study, results)| study::json(study, results)).collect();
            let (schema, version) = (format!("fraglab.{}", shelf.plural), SCHEMA_VERSION);
            output::print_json(&json!({ "schema": schema, "version": version, shelf.plural: studies }))
        }
        StudyFormat::Table => {
            let tables: Vec<String> = all.iter().map(|(study, results)| study::text(study, results)).collect();
            output::print(&tables.join("\n"))
        }
    };
    written.and(printed)?;
    match runs.values().filter(|run| run.is_err()).count() {
        0 if left_out.is_empty() => Ok(()),
        0 => Err(Failure::Input(format!("not run: {}", left_out.join("; ")))),
        lost => Err(Failure::Invariant(format!("{lost} of {} runs were lost", runs.len()))),
    }
}

/// Studies whose scenarios and variants are there; of `all`, one that lacks some does not keep the others from being run, and is
/// told of at the end.
fn with_scenarios(studies: Vec<Study>, args: &StudyArgs) -> Result<(Vec<Study>, Vec<String>), Failure> {
    let (mut there, mut left_out) = (Vec::new(), Vec::new());
    for study in studies {
        match known(&study.cells(), args) {
            Ok(_) => there.push(study),
            Err(why) if args.name == ALL => left_out.push(format!("{}: {why}", study.name)),
            Err(why) => return Err(why),
        }
    }
    left_out.iter().for_each(|why| warn(why));
    Ok((there, left_out))
}

fn find(name: &str, shelf: &Shelf) -> Result<Vec<Study>, Failure> {
    let parse = |name: &str, text: &str| Study::parse(text).map_err(|error| Failure::Input(format!("{name}: {error}")));
    if name == ALL {
        return shelf.studies.iter().map(|(name, text)| parse(name, text)).collect();
    }
    if let Some((name, text)) = shelf.studies.iter().find(|(known, _)| *known == name) {
        return Ok(vec![parse(name, text)?]);
    }
    match fs::read_to_string(name) {
        Ok(text) => Ok(vec![parse(name, &text)?]),
        Err(error) if name.contains(['/', '.']) => Err(Failure::Input(format!("{name}: {error}"))),
        Err(_) => {
            let names: Vec<&str> = shelf.studies.iter().map(|(name, _)| *name).collect();
            let meant = closest(name, names.iter().copied()).map(|name| format!(" (did you mean `{name}`?)"));
            let (command, known) = (shelf.command, names.join(", "));
            Err(Failure::Usage(format!(
                "unknown {command} `{name}`{}; there are {known} and all",
                meant.unwrap_or_default()
            )))
        }
    }
}

/// Cells of all studies, each once.
fn cells(studies: &[Study]) -> Vec<CellId> {
    let mut cells: Vec<CellId> = Vec::new();
    for cell in studies.iter().flat_map(Study::cells) {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

/// Size of each scenario, and settings of each cell in words.
struct Known {
    sizes: BTreeMap<String, Size>,
    settings: BTreeMap<CellId, String>,
}

/// A scenario or variant that is not there, or can't be run at this scale, is told before hours of work.
fn known(cells: &[CellId], args: &StudyArgs) -> Result<Known, Failure> {
    let mut known = Known { sizes: BTreeMap::new(), settings: BTreeMap::new() };
    for cell in cells {
        let scenario = cell.scenario.clone();
        let args = ScenarioArgs { scenario, scale: args.scale, seed: None, memory: None, ops: None };
        let chosen = scenarios::choose(&args, cell.variant.as_deref())?;
        sim::check(&chosen).map_err(|why| Failure::Usage(format!("{cell}: {why}")))?;
        let memory = chosen.scenario.machine.memory_mib;
        let words = format!("memory {memory} MiB, {}", scenarios::size(&chosen));
        known.sizes.insert(cell.scenario.clone(), Size { words, scale: chosen.scale.share() });
        known.settings.insert(cell.clone(), scenarios::settings(&chosen));
    }
    Ok(known)
}

/// What became of every run.
type Runs = BTreeMap<(CellId, u64), Result<RunFigures, PoolError>>;

fn runs(cells: &[CellId], args: &StudyArgs) -> Result<Runs, Failure> {
    let mut orders = Vec::new();
    for cell in cells {
        let file = digest_of(scenarios::read(&cell.scenario)?.0.as_bytes());
        orders.extend(args.seeds.from(1).map(|seed| Order { cell: cell.clone(), seed, scale: args.scale, file }));
    }
    let open = |directory: &Path| {
        Cache::open(directory).map_err(|error| Failure::Output(format!("{}: {error}", directory.display())))
    };
    let pool = Pool { workers: or_one_a_cpu(args.workers), cache: args.cache.as_deref().map(open).transpose()? };
    let (done, started) = (AtomicUsize::new(0), Instant::now());
    let told = told(cells, args);
    let results = pool.run(&orders, &|at, result| {
        let cell = cells.iter().position(|cell| *cell == orders[at].cell);
        cell.into_iter().for_each(|cell| told.tell(cell, one_more));
        let (count, order) = (done.fetch_add(1, Ordering::Relaxed) + 1, &orders[at]);
        let seconds = started.elapsed().as_secs();
        let lost = if result.is_err() { ", lost" } else { "" };
        say!("{count} of {}, {seconds} s: {} seed {}{lost}", orders.len(), order.cell, order.seed);
    });
    for error in results.iter().filter_map(|result| result.as_ref().err()) {
        warn(&error.to_string());
    }
    let keys = orders.into_iter().map(|order| (order.cell, order.seed));
    Ok(keys.zip(results).collect())
}

/// Who watches is told how many runs of each cell are done.
fn told(cells: &[CellId], args: &StudyArgs) -> Told {
    let seeds = args.seeds.from(1).count() as f64;
    let legs =
        cells.iter().map(|cell| Leg { state: LegState::Running, ..waiting(cell.to_string(), Some(seeds), "runs") });
    Told::within(args.output.as_deref().or(args.cache.as_deref()), &args.name, legs.collect())
}

fn one_more(leg: &mut Leg) {
    leg.done += 1.0;
    leg.state = if leg.whole.is_some_and(|whole| leg.done >= whole) { LegState::Done } else { LegState::Running };
}

/// The runs that a study needs.
fn results(study: &Study, all: &Runs, known: &Known, args: &StudyArgs) -> Results {
    let seeds = args.seeds.from(1);
    let mut results = Results { seeds: format!("{} to {}", seeds.start(), seeds.end()), ..Results::default() };
    for cell in study.cells() {
        let size = known.sizes.get_key_value(&cell.scenario);
        results.sizes.extend(size.map(|(name, size)| (name.clone(), size.clone())));
        let settings = known.settings.get_key_value(&cell);
        results.settings.extend(settings.map(|(cell, settings)| (cell.clone(), settings.clone())));
        for seed in seeds.clone() {
            match all.get(&(cell.clone(), seed)) {
                Some(Ok(run)) => results.runs.entry(cell.clone()).or_default().push(run.clone()),
                Some(Err(why)) => results.failed.push(FailedRun { cell: cell.clone(), seed, why: why.to_string() }),
                None => {}
            }
        }
    }
    results
}

/// The directory of pages, made before hours of work: a place where it can't be is told in time.
fn pages(directory: &Path, shelf: &Shelf) -> Result<PathBuf, Failure> {
    let pages = directory.join(shelf.plural);
    let failed = |error| Failure::Output(format!("{}: {error}", pages.display()));
    fs::create_dir_all(&pages).map_err(failed)?;
    Ok(pages)
}

/// Pages, plots, and the list of pages if all were run.
fn write(directory: &Path, all: &[(&Study, Results)], args: &StudyArgs, shelf: &Shelf) -> Result<(), Failure> {
    let write = |name: String, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| Failure::Output(format!("{}: {error}", path.display())))
    };
    for (study, results) in all {
        write(format!("{}.md", study.name), study::page(study, results, &command(&study.name, args, shelf)))?;
        for plot in &study.plots {
            if let Some(svg) = plot.to_svg(results) {
                write(format!("{}.svg", plot.name), svg)?;
            }
        }
    }
    if args.name == ALL {
        let mut listed = Vec::new();
        for (study, results) in all {
            listed.push(Listed { study, results, full_size: full_size(directory, &study.name)? });
        }
        write("README.md".to_owned(), study::index(shelf.title, shelf.about, &listed))?;
    }
    Ok(())
}

/// The page of the full size, of a study that has one.
fn full_size(directory: &Path, name: &str) -> Result<Option<String>, Failure> {
    let path = directory.join(study::FULL_SIZE).join(format!("{name}.md"));
    match fs::read_to_string(&path) {
        Ok(page) => Ok(Some(page)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Input(format!("{}: {error}", path.display()))),
    }
}

/// The command that makes a page again.
fn command(name: &str, args: &StudyArgs, shelf: &Shelf) -> String {
    let seeds = args.seeds.from(1);
    let seeds = match *seeds.start() {
        1 => seeds.end().to_string(),
        first => format!("{first}..{}", seeds.end()),
    };
    let scale = args.scale.map(|scale| format!(" --scale {scale}")).unwrap_or_default();
    format!("fraglab {} {name} --seeds {seeds}{scale}", shelf.command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::Seeds;

    const STUDY: &str = include_str!("../../tests/study.toml");

    fn all() -> StudyArgs {
        let seeds: Seeds = "2".parse().expect("seeds");
        StudyArgs {
            name: ALL.to_owned(),
            seeds,
            scale: None,
            workers: None,
            cache: None,
            format: StudyFormat::Table,
            output: None,
        }
    }

    /// The row was typed into the list, and `make papers` dropped it.
    #[test]
    fn the_list_counts_pages_of_the_full_size_that_are_there() {
        let study = Study::parse(STUDY).expect("a study");
        let directory = tempfile::tempdir().expect("a directory");
        let written = || {
            write(directory.path(), &[(&study, Results::default())], &all(), &PAPERS).expect("written");
            fs::read_to_string(directory.path().join("README.md")).expect("written")
        };
        let without = written();
        assert!(
            without.ends_with("| [made-up](made-up.md) | A document that nobody wrote | 0 of 2 | 0 of 3 |\n"),
            "{without}"
        );
        fs::create_dir(directory.path().join(study::FULL_SIZE)).expect("made");
        let page = study::page(&study, &Results::default(), "fraglab paper made-up --seeds 2 --scale 1");
        let page = page.replace("0 of 2 published", "1 of 2 published").replacen("OPEN", "PASS", 1);
        fs::write(directory.path().join("full-size/made-up.md"), page).expect("written");
        let row = "| [made-up, full size](full-size/made-up.md) | the same: `fraglab paper made-up --seeds 2 --scale 1` | 1 of 2 | 1 of 3 |\n";
        assert_eq!(written(), without + row);
    }
}
