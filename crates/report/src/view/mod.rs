//! The view file: the data of runs over time, as the page, the terminal map and the exports read it. The format is
//! `docs/view-format.md`; field names here are its keys.

mod build;
mod chunk;
mod frames;
mod grid;
mod join;
mod read;
mod thin;

pub use build::Ran;
pub(crate) use build::everything_that_took_time;
pub use chunk::{Chunk, ChunkError, Dtype};
pub use frames::{FrameReader, MapError, pack_frames};
pub use grid::{Cell as MapCell, Fill, ZoneGrid, grid};
pub use join::{Found, join};
pub use read::ViewError;

use crate::manifest::Provenance;
use crate::{Column, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `schema` of a view file.
pub const SCHEMA: &str = "fraglab.view";
/// `version` of a view file.
pub const VERSION: u32 = 1;

/// A view file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Title of the page.
    #[serde(default)]
    pub title: String,
    /// Command line that made the file.
    #[serde(default)]
    pub command: String,
    /// `fraglab VERSION`.
    #[serde(default)]
    pub generated_by: String,
    /// What `fraglab compare --format json` prints for the runs.
    #[serde(default)]
    pub compare: Option<serde_json::Value>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Unique in the file.
    pub name: String,
    /// Variant or policy.
    pub group: String,
    /// What ran.
    pub kind: Kind,
    /// Scenario that was run.
    pub scenario: Option<String>,
    /// Recording that was replayed, or that the kernel's side is read from.
    pub recording: Option<String>,
    /// Column name.
    pub policy: String,
    /// Preset of the policy, or release of a real kernel.
    pub preset: String,
    /// Settings in force.
    pub sysctls: BTreeMap<String, Option<u64>>,
    /// Seed of a model's run.
    pub seed: Option<u64>,
    /// Digest of the event stream, 16 hex digits.
    pub digest: Option<String>,
    /// Command line that repeats the run.
    pub command: String,
    /// What is inferred or missing in this run.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Nanoseconds on the run's own clock at second 0.
    #[serde(default)]
    pub clock_start_ns: u64,
    /// Length, seconds.
    pub duration_s: f64,
    /// Bytes of a page.
    pub page_size: u32,
    /// log2 of a pageblock's pages.
    pub pageblock_order: u8,
    /// Spans of the map.
    pub zones: Vec<Zone>,
    /// Times of buckets, seconds, which series share.
    pub clocks: Vec<Chunk>,
    /// Everything over time that is a number.
    pub series: Vec<Series>,
    /// Pageblocks over time.
    pub map: Option<Map>,
    /// Fragmentation events.
    pub events: Events,
    /// How many there were before thinning.
    pub events_total: u64,
    /// The same events, counted.
    pub matrix: Vec<Cell>,
    /// How long requests took.
    pub latency: Vec<Latency>,
    /// All rows that the run knows.
    pub counters: BTreeMap<String, u64>,
    /// What took time.
    #[serde(default)]
    pub slices: Vec<Slice>,
    /// How many there were before thinning.
    #[serde(default)]
    pub slices_total: u64,
}

/// What ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The simulated computer.
    Simulated,
    /// A replay of a recording.
    Replay,
    /// A real kernel.
    Kernel,
}

/// A zone's span of the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Node number.
    pub node: u8,
    /// Zone name as in /proc.
    pub name: String,
    /// Its first pageblock.
    pub first_block: u32,
    /// Number of pageblocks.
    pub blocks: u32,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Stable name; unique together with the zone.
    pub name: String,
    /// For people.
    pub label: String,
    /// Unit.
    pub unit: String,
    /// Plot that it belongs to.
    pub group: String,
    /// `NODE/NAME`; `None`: the whole machine.
    pub zone: Option<String>,
    /// Index of the clock that tells the end of each bucket.
    pub times: usize,
    /// Last value, or mean rate.
    pub value: Chunk,
    /// Least value of each bucket.
    pub low: Option<Chunk>,
    /// Greatest value of each bucket.
    pub high: Option<Chunk>,
}

/// Pageblocks over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// Seconds of the samples.
    pub times: Chunk,
    /// Number of pageblocks.
    pub blocks: u32,
    /// Every so many samples one stands in full.
    pub keyframe_every: u32,
    /// One byte a block and sample.
    pub frames: Chunk,
}

/// Fragmentation events, a column each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// Seconds.
    pub time: Chunk,
    /// Index into the map.
    pub block: Chunk,
    /// 0 claim, 1 steal, 2 pollute.
    pub kind: Chunk,
    /// Type asked for.
    pub alloc_type: Chunk,
    /// Type of the list that it was taken from.
    pub block_type: Chunk,
    /// Order asked for.
    pub alloc_order: Chunk,
    /// Order of what was taken.
    pub fallback_order: Chunk,
}

/// Events of a pair of types.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Type asked for.
    pub alloc: String,
    /// Type taken from.
    pub fallback: String,
    /// `fragmenting` or `whole`.
    pub severity: String,
    /// `kept` or `changed`; `None` for whole blocks.
    pub ownership: Option<String>,
    /// How many.
    pub count: u64,
}

/// How long requests of an order and class took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Order.
    pub order: u8,
    /// Class, or `all`.
    pub class: String,
    /// Requests.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Histogram.
    pub buckets: Vec<Bucket>,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Longest that it counts: a power of two, or 0.
    pub upto_ns: u64,
    /// How many.
    pub count: u64,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Who did it, or where.
    pub track: String,
    /// What.
    pub name: String,
    /// Start, seconds.
    pub start_s: f64,
    /// End, seconds.
    pub end_s: f64,
}

/// Name of a view in a run directory.
pub const VIEW_FILE: &str = "view.json";

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A recording and its replays.
    Recording,
    /// A scenario on machines.
    Scenario,
}

impl View {
    /// The columns of a report, over time.
    pub fn of_report(report: &Report<'_>, subject: Subject, provenance: &Provenance) -> View {
        let command = shell_words(&provenance.command_line);
        let kind = |column: &Column| match (&column.facts, subject) {
            (Some(facts), Subject::Scenario) if facts.digest != 0 => Kind::Simulated,
            (Some(_), Subject::Recording) => Kind::Replay,
            _ => Kind::Kernel,
        };
        let about = |which| (subject == which).then(|| report.recording.clone());
        let run = |column: &Column| {
            Run::of(&Ran {
                name: column.name.clone(),
                kind: kind(column),
                scenario: about(Subject::Scenario),
                recording: about(Subject::Recording),
                command: command.clone(),
                facts: column.facts.as_ref(),
                outcome: column.outcome,
                timeline: column.timeline,
            })
        };
        View::of_runs(report.recording.clone(), provenance, report.columns.iter().map(run).collect())
    }

    /// A view of some runs.
    pub fn of_runs(title: String, provenance: &Provenance, runs: Vec<Run>) -> View {
        let generated_by = format!("fraglab {}", provenance.version);
        let command = shell_words(&provenance.command_line);
        View { schema: SCHEMA.to_owned(), version: VERSION, title, command, generated_by, compare: None, runs }
    }

    /// The file's text, fit for a script element: `<` stands as an escape.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(self).expect("names, numbers and lists of them can be written down");
        text.replace('<', "\\u003c")
    }
}

/// A command line as a shell reads it.
fn shell_words(words: &[String]) -> String {
    let plain = |word: &String| {
        let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
        if !word.is_empty() && word.chars().all(harmless) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(plain).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
