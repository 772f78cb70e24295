//! Arguments of `fraglab paper` and `fraglab question`, and of the worker that they start.

use crate::counts::count;
use crate::seeds::Seeds;
use clap::{Args, ValueEnum};
use std::num::NonZero;
use std::path::PathBuf;
use workload::Scale;

/// How a study is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// Plain text for people and mails.
    #[default]
    Table,
    /// One JSON object (docs/formats.md).
    Json,
}

/// Arguments of `paper` and `question`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Which: the name of a shipped one, `all`, or the path of a TOML file
    #[arg(value_name = "NAME|all")]
    pub name: String,
    /// Seeds of each variant: how many from 1 on, or FIRST..LAST
    #[arg(long, default_value = "10", value_name = "N|FIRST..LAST")]
    pub seeds: Seeds,
    /// Share of the full size, such as 1/8, in place of each scenario's default
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    /// Runs at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N", value_parser = count::<NonZero<usize>>)]
    pub workers: Option<NonZero<usize>>,
    /// Keep finished runs in this directory, and take those that are there: an interrupted study goes on where it was
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "F")]
    pub format: StudyFormat,
    /// Write pages of the documentation below this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Arguments of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Scenario: the name of a shipped one, or the path of a TOML file
    pub scenario: String,
    /// Variant of the scenario
    #[arg(long)]
    pub variant: Option<String>,
    /// Seed
    #[arg(long)]
    pub seed: u64,
    /// Scale in place of the scenario's default
    #[arg(long)]
    pub scale: Option<Scale>,
}
