//! Reading run directories: what `fraglab replay -o DIR` left, column by column.

use super::direction::Better;
use super::error::CompareError;
use crate::calibration::Verdict;
use crate::json::SCHEMA_VERSION;
use crate::manifest::SCHEMA;
use crate::rows::{Row, Rows};
use crate::stats;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the recorded kernel's column.
pub(super) const KERNEL: &str = "kernel";

/// One outcome of a run directory: the recorded kernel's, or one replay's.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The run directory.
    pub dir: PathBuf,
    /// Name of the recording that was replayed.
    pub recording: String,
    /// Digest of what its kernel did, where the run directory tells: recordings may have the same name.
    pub recording_digest: Option<String>,
    /// Version of the fraglab that wrote it.
    pub version: String,
    /// The column's name in the directory: the policy as it was asked for.
    pub column: String,
    /// The replay that made it; nothing for the recorded kernel.
    pub replay: Option<Replay>,
    /// Its rows.
    pub rows: Rows,
    /// What an experiment measured in it, by row name.
    pub measures: Vec<Measured>,
    /// Whether rows are calibrated, where the run was compared with the recorded kernel.
    pub calibrated: BTreeMap<String, bool>,
    /// Length of the window in seconds, where samples tell.
    pub seconds: Option<f64>,
    /// Counters over time, where they were asked for: nanoseconds and value, by row name.
    pub series: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Run {
    /// Whether a scenario ran, and no recording was replayed.
    pub(super) fn is_of_scenario(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.setup.is_some())
    }

    /// A row's figure: what was counted, or the mean of what was measured.
    pub fn value(&self, row: &str) -> Option<f64> {
        let measured = || stats::mean(&self.measured(row)?.samples);
        self.rows.known(row).map(|count| count as f64).or_else(measured)
    }

    /// A row's unit in one word.
    pub(super) fn unit(&self, row: &str) -> &str {
        self.measured(row).map(|measured| measured.unit.as_str()).filter(|unit| !unit.is_empty()).unwrap_or("count")
    }

    /// A row that an experiment measured.
    pub fn measured(&self, row: &str) -> Option<&Measured> {
        self.measures.iter().find(|measured| measured.row == row)
    }
}

/// What an experiment measured: one row, with all samples of the run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Measured {
    /// Name of the row.
    #[serde(skip)]
    pub row: String,
    /// Unit; none of counts.
    #[serde(default)]
    unit: String,
    /// Which way is better: `lower` or `higher`.
    better: String,
    /// Samples in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Measured {
    /// Which way is better.
    pub fn better(&self) -> Option<Better> {
        [Better::Lower, Better::Higher].into_iter().find(|better| better.name() == self.better)
    }
}

/// What decided a replay.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Replay {
    /// The column's name.
    #[serde(rename = "policy")]
    column: String,
    /// Variant of the scenario that ran.
    #[serde(default)]
    pub variant: Option<String>,
    /// Of a scenario: machine, work and settings beside the sysctls. Nothing where fraglab did not tell yet, and of a replay.
    #[serde(default)]
    pub setup: Option<BTreeMap<String, String>>,
    /// Name of the policy that the engine ran.
    pub preset: String,
    /// Sysctls by name below `vm.`; `None` where computed from the machine.
    pub sysctls: BTreeMap<String, Option<u64>>,
    /// Seed.
    pub seed: u64,
    /// Digest of the event stream.
    pub event_digest: String,
}

#[derive(Deserialize)]
struct Manifest {
    schema: String,
    #[serde(default)]
    schema_version: u32,
}

#[derive(Deserialize)]
struct Contents {
    version: String,
    recording: String,
    #[serde(default)]
    recording_digest: Option<String>,
    #[serde(default)]
    calibration: Option<Mirrored>,
    runs: Vec<Replay>,
}

/// The mirror error; without rows where it was not measured.
#[derive(Deserialize)]
struct Mirrored {
    #[serde(default)]
    rows: Vec<MirroredRow>,
}

#[derive(Deserialize)]
struct MirroredRow {
    row: String,
    verdict: String,
}

impl Contents {
    fn calibrated(&self) -> BTreeMap<String, bool> {
        let rows = self.calibration.iter().flat_map(|calibration| &calibration.rows);
        rows.map(|row| (row.row.clone(), row.verdict != Verdict::NotCalibrated.name())).collect()
    }
}

/// All outcomes of a run directory: the kernel's first, then the replays'. Only series that `wanted` names are kept.
pub(super) fn read(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Run>, CompareError> {
    let manifest = manifest(dir)?;
    let counters: serde_json::Map<String, serde_json::Value> =
        parse(dir, "counters.json", &file(dir, "counters.json")?)?;
    let mut samples = samples(dir, wanted)?;
    let mut measures = measures(dir)?;
    let kernel = counters.contains_key(KERNEL).then(|| (KERNEL.to_owned(), None));
    let calibrated = manifest.calibrated();
    let replays = manifest.runs.into_iter().map(|replay| (replay.column.clone(), Some(replay)));
    let columns = kernel.into_iter().chain(replays);
    columns
        .map(|(column, replay)| {
            let missing = || CompareError::damaged(dir, "counters.json", format!("no column `{column}`"));
            let rows = rows(dir, counters.get(&column).ok_or_else(missing)?)?;
            let Samples { seconds, series } = samples.remove(&column).unwrap_or_default().finish();
            let measures = measures.remove(&column).unwrap_or_default();
            Ok(Run {
                dir: dir.into(),
                recording: manifest.recording.clone(),
                recording_digest: manifest.recording_digest.clone(),
                version: manifest.version.clone(),
                column,
                replay,
                rows,
                measures,
                calibrated: calibrated.clone(),
                seconds,
                series,
            })
        })
        .collect()
}

fn file(dir: &Path, name: &str) -> Result<String, CompareError> {
    let path = dir.join(name);
    fs::read_to_string(&path).map_err(|source| CompareError::Read { path, source })
}

fn parse<T: for<'a> Deserialize<'a>>(dir: &Path, name: &str, text: &str) -> Result<T, CompareError> {
    serde_json::from_str(text).map_err(|error| CompareError::damaged(dir, name, error.to_string()))
}

fn manifest(dir: &Path) -> Result<Contents, CompareError> {
    let name = "manifest.json";
    let text = match fs::read_to_string(dir.join(name)) {
        Err(error) if !dir.exists() => return Err(CompareError::Read { path: dir.into(), source: error }),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(CompareError::NotARun(dir.into()));
        }
        read => read.map_err(|source| CompareError::Read { path: dir.join(name), source })?,
    };
    // What is not JSON may be a run's manifest that was damaged; JSON of another kind is not a run's.
    let value: serde_json::Value = parse(dir, name, &text)?;
    let Ok(manifest) = serde_json::from_value::<Manifest>(value) else { return Err(CompareError::NotARun(dir.into())) };
    if manifest.schema != SCHEMA {
        return Err(CompareError::NotARun(dir.into()));
    }
    if manifest.schema_version != SCHEMA_VERSION {
        return Err(CompareError::Version { dir: dir.into(), version: manifest.schema_version });
    }
    parse(dir, name, &text)
}

fn rows(dir: &Path, column: &serde_json::Value) -> Result<Rows, CompareError> {
    let damaged = |what: &str| CompareError::damaged(dir, "counters.json", what.to_owned());
    let rows = column.as_object().ok_or_else(|| damaged("a column is not an object"))?;
    let row = |(name, value): (&String, &serde_json::Value)| {
        let not_a_count = || damaged(&format!("row `{name}` is not a whole number"));
        Ok(Row { name: name.clone(), value: value.as_u64().ok_or_else(not_a_count)? })
    };
    rows.iter().map(row).collect::<Result<_, _>>().map(Rows::read)
}

/// What was measured, by column. Only runs of scenarios have the file.
fn measures(dir: &Path) -> Result<BTreeMap<String, Vec<Measured>>, CompareError> {
    let name = "measures.json";
    let text = match file(dir, name) {
        Err(CompareError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(BTreeMap::new());
        }
        text => text?,
    };
    let columns: BTreeMap<String, serde_json::Map<String, serde_json::Value>> = parse(dir, name, &text)?;
    let damaged = |error: serde_json::Error| CompareError::damaged(dir, name, error.to_string());
    let measured = |(row, value)| Ok(Measured { row, ..serde_json::from_value(value).map_err(damaged)? });
    let of_column = |(column, rows): (String, serde_json::Map<_, _>)| {
        Ok((column, rows.into_iter().map(measured).collect::<Result<_, _>>()?))
    };
    columns.into_iter().map(of_column).collect()
}

/// What `vmstat.csv` tells of a column.
#[derive(Default)]
struct Column {
    first: Option<u64>,
    last: u64,
    series: BTreeMap<String, Vec<(u64, u64)>>,
}

struct Samples {
    seconds: Option<f64>,
    series: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Column {
    fn finish(self) -> Samples {
        let length = self.first.map_or(0, |first| self.last.saturating_sub(first));
        Samples { seconds: (length > 0).then_some(length as f64 / 1e9), series: self.series }
    }
}

/// Samples by column. A directory without them is one of an outcome that has none.
fn samples(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<BTreeMap<String, Column>, CompareError> {
    let name = "vmstat.csv";
    let text = match file(dir, name) {
        Err(CompareError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(BTreeMap::new());
        }
        text => text?,
    };
    let mut columns: BTreeMap<String, Column> = BTreeMap::new();
    for (at, line) in text.lines().enumerate().skip(1) {
        let bad = || CompareError::damaged(dir, &format!("{name}:{}", at + 1), "not `column,ts_ns,name,value`".into());
        let (column, ts, row, value) = sample(line).ok_or_else(bad)?;
        if !columns.contains_key(&column) {
            columns.insert(column.clone(), Column::default());
        }
        let column = columns.get_mut(&column).expect("just inserted");
        column.first.get_or_insert(ts);
        column.last = column.last.max(ts);
        if wanted(row) {
            column.series.entry(row.to_owned()).or_default().push((ts, value));
        }
    }
    Ok(columns)
}

/// Fields of a line. Only the column's name can be quoted, because policies with changes hold commas.
fn sample(line: &str) -> Option<(String, u64, &str, u64)> {
    let mut fields = line.rsplitn(4, ',');
    let (value, row, ts, column) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let quoted = column.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let column = quoted.map_or_else(|| column.to_owned(), |inner| inner.replace("\"\"", "\""));
    Some((column, ts.parse().ok()?, row, value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn quoted_columns() {
        let quoted = sample("\"recorded,vm.defrag_mode=1\",12,pgfree,7").expect("a sample");
        assert_eq!(quoted, ("recorded,vm.defrag_mode=1".to_owned(), 12, "pgfree", 7));
        assert_eq!(sample("kernel,12,pgfree,7").expect("a sample").0, "kernel");
        assert_eq!(sample("kernel,12,pgfree"), None);
        assert_eq!(sample("kernel,x,pgfree,7"), None);
    }
}
