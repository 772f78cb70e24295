//! Arguments of the commands that show what runs looked like over time: `report`, `map`, `export`, `watch`.

use crate::run_spec::RunSpec;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = "RUN is a run directory, as `fraglab run -o DIR` and `fraglab replay -o DIR` leave it, or \
    NAME=DIR,DIR; RECORDING is shown beside its replay under the settings it was recorded under. The page is one file, \
    works from disk, and asks nothing of any network. What does not fit into 15 MB loses detail over time, never an \
    extreme.")]
pub struct ReportArgs {
    /// Run directories or recordings
    #[arg(required = true, value_name = "RUN|RECORDING")]
    pub runs: Vec<RunSpec>,
    /// The page
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Title of the page [default: what was run]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The variant that all others are compared with [default: the first]
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// Write the page, or the data alone (docs/view-format.md)
    #[arg(long, value_enum, default_value_t, value_name = "F")]
    pub format: ReportFormat,
}

/// What `report` writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A page
    #[default]
    Html,
    /// Its data
    Json,
}
