//! Arguments of `compare`.

use crate::run_spec::RunSpec;
use clap::{Args, ValueEnum};

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "RUN is a run directory, as `fraglab replay -o DIR` leaves it (of several seeds: all of them), or NAME=DIR,DIR. Runs that differ \
    in nothing but their seed are one variant; the first variant is the baseline. PATTERN is the name of a row in which \
    `*` stands for any characters."
)]
pub struct CompareArgs {
    /// Run directories; grouped by policy and sysctls, or by you: NAME=DIR,DIR
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<RunSpec>,
    /// The variant that all others are compared with [default: the first]
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// When a difference counts; benchstat has a layout of its own
    #[arg(long, value_enum, default_value_t, value_name = "RULE")]
    pub stat: CompareRule,
    /// Rows to show, `all` for all [default: headlines that are not 0 everywhere]
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    pub rows: Vec<String>,
    /// Rows of which less is better, besides those that fraglab knows
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    pub lower: Vec<String>,
    /// Rows of which more is better
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    pub higher: Vec<String>,
    /// All statistics of mmtests: extremes, variation, means of the best
    #[arg(long)]
    pub full: bool,
    /// Add the recorded kernel as a variant: one run a recording
    #[arg(long)]
    pub kernel: bool,
    /// Compare runs of different recordings all the same
    #[arg(long)]
    pub across: bool,
    /// Rows to fit a trend to: rise or fall from run to run, in the order given
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    pub trend: Vec<String>,
    /// With --trend: look into the course of each run instead; a point is what a counter grew by in this many seconds
    #[arg(long, value_name = "SECONDS", requires = "trend", value_parser = stretch)]
    pub every: Option<f64>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "F")]
    pub format: CompareFormat,
}

/// When a difference counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareRule {
    /// mmtests since November 2024: means further apart than 1.96 (s1 + s2)
    #[default]
    Mmtests,
    /// mmtests from October 2018 to November 2024: t-test, p < 0.10
    #[value(name = "mmtests-2018")]
    Mmtests2018,
    /// benchstat: medians, Mann-Whitney U, p < 0.05
    Benchstat,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Plain text for people and mails
    #[default]
    Table,
    /// One JSON object (docs/formats.md)
    Json,
    /// Comma-separated values with a header line
    Csv,
    /// Go benchmark text, for `benchstat -col policy`
    Benchstat,
}

/// Runs are sampled once a second: a shorter stretch has nothing of its own.
fn stretch(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds.is_finite() && seconds >= 1.0);
    seconds.ok_or_else(|| "a number of seconds from 1 on is needed (runs are sampled once a second)".to_owned())
}
