//! The run directory: everything from which the table can be made again. It appears whole or not at all.

use crate::manifest::{self, Provenance};
use crate::scenario::{self, ScenarioReport};
use crate::view::{Subject, VIEW_FILE, View};
use crate::{Column, Report, Rows, SeedsReport, activity, csv, json};
use lab::outcome::{Outcome, ZoneEnd};
use pagealloc::Gfp;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory was not written.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// Something else is there, and stays.
    #[error("{} exists and is not a fraglab run directory (no manifest.json with schema \"fraglab.run\")", .0.display())]
    NotARun(PathBuf),
    /// The path names no directory that could be made.
    #[error("{} cannot be the name of a directory", .0.display())]
    NoName(PathBuf),
    /// The file system said no.
    #[error("writing {}: {source}", path.display())]
    Io {
        /// What was being written.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

/// Writes the run directory. An older run of the same name is replaced; anything else of that name is left alone.
///
/// # Errors
/// [`RunDirError`]; whatever was there before is then still there.
pub fn write_run(target: &Path, report: &Report, provenance: &Provenance) -> Result<(), RunDirError> {
    write_dir(target, |fresh| write_files(fresh, &files_of_run(report, provenance)))
}

fn files_of_run(report: &Report, provenance: &Provenance) -> Vec<NewFile> {
    let mut files = tables(report, counters(report));
    files.push(("manifest.json", pretty(&manifest::manifest(report, provenance))));
    files.push(("table.txt", report.to_table()));
    files.push((VIEW_FILE, View::of_report(report, Subject::Recording, provenance).to_json()));
    files
}

/// Writes a directory that holds a run directory for each seed, `seed-N`, and what they come to together. Like a run
/// directory it appears whole or not at all, and replaces nothing but a run or such a directory.
///
/// # Errors
/// As [`write_run`].
pub fn write_seeds(target: &Path, report: &SeedsReport, provenance: &Provenance) -> Result<(), RunDirError> {
    let names: Vec<String> = report.numbers().iter().map(|seed| format!("seed-{seed}")).collect();
    write_dir(target, |fresh| {
        for (name, seed) in names.iter().zip(&report.seeds) {
            let dir = fresh.join(name);
            fs::create_dir(&dir).map_err(at(&dir))?;
            write_files(&dir, &files_of_run(seed, provenance))?;
        }
        let files = [
            ("manifest.json", pretty(&manifest::of_seeds(report, &names, provenance))),
            ("table.txt", report.to_table()),
            ("rows.csv", report.to_csv()),
        ];
        write_files(fresh, &files)
    })
}

/// Run directories in a directory that [`write_seeds`] wrote; of any other path, nothing.
pub fn runs_in(dir: &Path) -> Option<Vec<PathBuf>> {
    let names = manifest::runs_of_seeds(&fs::read_to_string(dir.join("manifest.json")).ok()?)?;
    Some(names.into_iter().map(|name| dir.join(name)).collect())
}

/// Writes the run directory of a scenario, as [`write_run`] does that of a replay.
///
/// # Errors
/// As [`write_run`].
pub fn write_scenario(
    target: &Path,
    report: &ScenarioReport,
    definition: &str,
    provenance: &Provenance,
) -> Result<(), RunDirError> {
    let columns = report.columns(true);
    let mut manifest = manifest::manifest(&columns, provenance);
    scenario::describe(report, &mut manifest);
    let mut files = tables(&columns, counters_of_scenario(report, &columns));
    files.push(("manifest.json", pretty(&manifest)));
    files.push(("workload.json", pretty(&scenario::workloads(report))));
    files.push(("measures.json", pretty(&scenario::measures(report))));
    files.push(("scenario.toml", definition.to_owned()));
    files.push(("table.txt", report.to_table()));
    files.push((VIEW_FILE, View::of_report(&columns, Subject::Scenario, provenance).to_json()));
    write_dir(target, |fresh| write_files(fresh, &files))
}

/// Whether a run directory could be written there: to be asked before work that would be lost.
///
/// # Errors
/// [`RunDirError`] for a place that holds something else, or where no directory can be made.
pub fn check_place(target: &Path) -> Result<(), RunDirError> {
    let probe = sibling(target, "check")?;
    check_target(target)?;
    // What is missing above it will be made when it is written.
    let here = |above| if above == Path::new("") { Path::new(".") } else { above };
    let Some(above) = target.ancestors().skip(1).map(here).find(|above| above.exists()) else { return Ok(()) };
    let probe = above.join(probe.file_name().unwrap_or_default());
    fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).map_err(at(target))
}

/// A file of the directory: name and content.
type NewFile = (&'static str, String);

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn write_dir(target: &Path, fill: impl FnOnce(&Path) -> Result<(), RunDirError>) -> Result<(), RunDirError> {
    let replaces = check_target(target)?;
    let (fresh, old) = (sibling(target, "new")?, sibling(target, "old")?);
    fs::create_dir_all(&fresh).map_err(at(&fresh))?;
    let written = fill(&fresh).and_then(|()| swap(&fresh, target, replaces.then_some(&old)));
    if written.is_err() {
        // The error that is reported is the first one; a leftover hidden directory does no harm.
        let _ = fs::remove_dir_all(&fresh);
    }
    written
}

/// A hidden name beside the directory, of this process alone.
fn sibling(target: &Path, suffix: &str) -> Result<PathBuf, RunDirError> {
    let name = target.file_name().ok_or_else(|| RunDirError::NoName(target.into()))?.to_string_lossy();
    Ok(target.with_file_name(format!(".{name}.{suffix}-{}", std::process::id())))
}

/// Whether an older run is there to be replaced.
fn check_target(target: &Path) -> Result<bool, RunDirError> {
    if !target.exists() {
        return Ok(false);
    }
    let is_ours = |text: String| manifest::is_run(&text) || manifest::runs_of_seeds(&text).is_some();
    let is_run = fs::read_to_string(target.join("manifest.json")).is_ok_and(is_ours);
    let is_empty = fs::read_dir(target).is_ok_and(|mut entries| entries.next().is_none());
    if is_run || is_empty { Ok(true) } else { Err(RunDirError::NotARun(target.into())) }
}

fn swap(fresh: &Path, target: &Path, old: Option<&PathBuf>) -> Result<(), RunDirError> {
    if let Some(old) = old {
        fs::rename(target, old).map_err(at(target))?;
    }
    if let Err(error) = fs::rename(fresh, target) {
        // The error that is reported is this one; what was there shall not be missing for it.
        let _ = old.map(|old| fs::rename(old, target));
        return Err(at(target)(error));
    }
    match old {
        Some(old) => fs::remove_dir_all(old).map_err(at(old)),
        None => Ok(()),
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> RunDirError + '_ {
    move |source| RunDirError::Io { path: path.into(), source }
}

fn write_files(dir: &Path, files: &[NewFile]) -> Result<(), RunDirError> {
    for (name, content) in files {
        let path = dir.join(name);
        fs::write(&path, content).map_err(at(&path))?;
    }
    Ok(())
}

/// The files that hold figures.
fn tables(report: &Report, counters: serde_json::Value) -> Vec<NewFile> {
    vec![
        ("counters.json", pretty(&counters)),
        ("extfrag.csv", extfrag(report)),
        ("series.csv", series(report)),
        ("vmstat.csv", vmstat(report)),
        ("requests.csv", requests(report)),
        ("activity.csv", activity::csv(report)),
        ("slices.csv", activity::slices_csv(report)),
    ]
}

/// Rows of every column.
fn counters(report: &Report) -> serde_json::Value {
    let column = |column: &Column| (column.name.clone(), json::rows(&Rows::of(column.outcome)));
    serde_json::Value::Object(report.columns.iter().map(column).collect())
}

/// The same with the rows of the workload, which are the machines' and not their memory management's.
fn counters_of_scenario(report: &ScenarioReport, columns: &Report) -> serde_json::Value {
    let mut counters = counters(columns);
    for machine in &report.machines {
        if let Some(rows) = counters[&machine.name].as_object_mut() {
            rows.extend(scenario::workload_figures(machine).map(|(name, value)| (name, value.into())));
        }
    }
    counters
}

fn extfrag(report: &Report) -> String {
    let mut text = String::from(
        "column,ts_ns,pfn,alloc_order,fallback_order,pageblock_order,alloc_migratetype,fallback_migratetype,\
         fragmenting,change_ownership\n",
    );
    for_each_outcome(report, |name, outcome| {
        for at in &outcome.extfrag {
            let e = &at.event;
            let _ = writeln!(
                text,
                "{name},{},{},{},{},{},{},{},{},{}",
                at.ts,
                e.pfn.0,
                e.alloc_order,
                e.fallback_order,
                e.pageblock_order,
                e.alloc_migratetype.name(),
                e.fallback_migratetype.name(),
                u8::from(e.fragmenting()),
                u8::from(e.change_ownership)
            );
        }
    });
    text
}

/// Free blocks and pageblocks by zone and type, every second; the last sample is the end of the window.
fn series(report: &Report) -> String {
    let orders: Vec<String> = (0..pagealloc::NR_ORDERS).map(|order| format!("order{order}")).collect();
    let mut text = format!("column,ts_ns,node,zone,type,pageblocks,{}\n", orders.join(","));
    for_each_outcome(report, |name, outcome| {
        for sample in &outcome.series {
            zones(&mut text, name, &sample.ts.to_string(), &sample.zones);
        }
        zones(&mut text, name, "end", &outcome.zones);
    });
    text
}

fn zones(text: &mut String, column: &str, ts: &str, zones: &[ZoneEnd]) {
    for zone in zones {
        for migratetype in pagealloc::Migratetype::ALL {
            let (blocks, free) = (zone.blocks[migratetype.index()], &zone.free[migratetype.index()]);
            if blocks == 0 && free.iter().all(|&count| count == 0) {
                continue;
            }
            let _ = write!(text, "{column},{ts},{},{},{},{blocks}", zone.node, zone.name, migratetype.name());
            for count in free {
                let _ = write!(text, ",{count}");
            }
            text.push('\n');
        }
    }
}

/// Counters over time, since the start of the window.
fn vmstat(report: &Report) -> String {
    let mut text = String::from("column,ts_ns,name,value\n");
    for_each_outcome(report, |column, outcome| {
        for sample in &outcome.series {
            let _ = writeln!(text, "{column},{},extfrag_total,{}", sample.ts, sample.extfrag);
            for (name, value) in &sample.counters {
                let _ = writeln!(text, "{column},{},{name},{value}", sample.ts);
            }
        }
    });
    text
}

/// Requests that had to wait, one a line; those that were served or refused without waiting, counted by order and mask.
fn requests(report: &Report) -> String {
    let mut text = String::from("column,ts_ns,order,gfp_flags,duration_ns,served,count\n");
    for_each_outcome(report, |column, outcome| {
        for (order, count) in outcome.fast_requests.iter().enumerate().filter(|(_, count)| **count > 0) {
            let _ = writeln!(text, "{column},,{order},,0,1,{count}");
        }
        let mut at_once: BTreeMap<(u8, Gfp, u8), u64> = BTreeMap::new();
        for slow in &outcome.slow_requests {
            let (order, gfp, served) = (slow.order, slow.gfp, u8::from(slow.served));
            if slow.duration == 0 {
                *at_once.entry((order, gfp, served)).or_default() += 1;
            } else {
                let _ = writeln!(text, "{column},{},{order},{gfp},{},{served},1", slow.ts, slow.duration);
            }
        }
        for ((order, gfp, served), count) in at_once {
            let _ = writeln!(text, "{column},,{order},{gfp},0,{served},{count}");
        }
    });
    text
}

fn for_each_outcome(report: &Report, mut each: impl FnMut(&str, &Outcome)) {
    for column in &report.columns {
        each(&csv::field(&column.name), column.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: &Outcome) -> Report<'_> {
        Report { recording: "demo".into(), calibration: None, columns: vec![Column::kernel(outcome)] }
    }

    #[test]
    fn writes_all_files_and_replaces_an_older_run() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let target = dir.path().join("run");
        let outcome = Outcome::default();
        for _ in 0..2 {
            write_run(&target, &report(&outcome), &Provenance::default()).expect("written");
        }
        for name in ["manifest.json", "counters.json", "extfrag.csv", "series.csv", "table.txt"] {
            assert!(target.join(name).is_file(), "{name}");
        }
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1, "no leftovers");
    }

    /// Hours of replays were lost to a place that no directory can be made in.
    #[test]
    fn a_place_that_cannot_be_written_is_found_out_before() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("file"), "").expect("written");
        let refused = check_place(&dir.path().join("file/below/run")).expect_err("there is a file in the way");
        assert!(matches!(refused, RunDirError::Io { .. }), "{refused}");
        check_place(&dir.path().join("new/below/run")).expect("they can be made");
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), 1, "nothing is made yet");
    }

    #[test]
    fn leaves_foreign_directories_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("thesis.tex"), "precious").expect("written");
        let result = write_run(dir.path(), &report(&Outcome::default()), &Provenance::default());
        assert!(matches!(result, Err(RunDirError::NotARun(_))), "{result:?}");
        assert!(dir.path().join("thesis.tex").is_file());
    }
}
