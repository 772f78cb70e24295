//! The command line, as clap sees it: completions and man pages are made from these definitions.

use crate::column_spec::{ColumnSpec, Setting};
use crate::output::Format;
use crate::run_spec::RunSpec;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::num::NonZero;
use std::path::PathBuf;

/// What would a real machine have done under another memory policy?
#[derive(Debug, Parser)]
#[command(
    name = "fraglab",
    version,
    about,
    after_help = "Exit codes: 0 done, 1 result not written, 2 usage, 3 bad input, 4 broken invariant (a bug in fraglab)."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay a recording under one or more policies and print one table
    Replay(ReplayArgs),
    /// Compare the model with the recorded kernel, row by row
    Validate(ValidateArgs),
    /// Lay runs side by side: several seeds a variant, and which differences count
    Compare(CompareArgs),
    /// Show what a recording holds
    Inspect(InspectArgs),
    /// Cut the beginning of a recording out as a smaller one
    Cut(CutArgs),
    /// List policies and sysctls, or every field of one policy
    Policies(PoliciesArgs),
    /// Print a completion script
    Completions(CompletionsArgs),
    /// Print the man page, or write those of all commands
    Man(ManArgs),
}

/// How a result is printed.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "F")]
    pub format: Format,
}

/// How to replay.
#[derive(Debug, Args)]
pub struct EngineArgs {
    /// Seed of what a trace leaves open
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Check all invariants as the replay goes (slow)
    #[arg(long)]
    pub check: bool,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --policy the recording is replayed under `recorded`, the settings in force when it was \
    made. --set alone adds a second column: `recorded` as it was, then changed. With --policy, every --set applies to \
    every policy named; to change only one of them, attach the change to its name: \
    --policy recorded --policy recorded,vm.defrag_mode=1"
)]
pub struct ReplayArgs {
    /// Recording: a directory, or a trace file beside its snapshots
    pub recording: PathBuf,
    /// Policy to replay under: a preset (see `fraglab policies`) or `recorded`, with changes attached by commas
    #[arg(long = "policy", value_name = "PRESET[,vm.NAME=VALUE]...")]
    pub policies: Vec<ColumnSpec>,
    /// Change a sysctl
    #[arg(long = "set", value_name = "vm.NAME=VALUE")]
    pub sets: Vec<Setting>,
    /// How to replay
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
    /// Leave a run directory: manifest, counters, events, series, table
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
#[command(after_help = "error = (model - kernel) / kernel: 0 when both are 0, null when only the kernel's is 0. With \
    --pair the model sees RECORDING only and predicts the kernel that made OTHER.")]
pub struct ValidateArgs {
    /// Recording whose demand is replayed
    pub recording: PathBuf,
    /// Predict this recording's settings from RECORDING's demand
    #[arg(long, value_name = "OTHER")]
    pub pair: Option<PathBuf>,
    /// Replay with this many seeds, from --seed on, and take medians: a trace leaves open who held a lock or a page at a
    /// moment, and counts such as extfrag_total hang on it
    #[arg(long, default_value = "5", value_name = "N")]
    pub seeds: NonZero<u64>,
    /// How to replay
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "RUN is a run directory, as `fraglab replay -o DIR` leaves it, or NAME=DIR,DIR. Runs that differ \
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
    /// Add the recorded kernel as a variant (one run: never a star)
    #[arg(long)]
    pub kernel: bool,
    /// Compare runs of different recordings all the same
    #[arg(long)]
    pub across: bool,
    /// Rows whose rise or fall from run to run is wanted, in the order of the runs given
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    pub trend: Vec<String>,
    /// With --trend: in the course of each run instead, a point being what so many seconds add
    #[arg(long, value_name = "SECONDS", requires = "trend", value_parser = positive)]
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

fn positive(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds.is_finite() && seconds > 0.0);
    seconds.ok_or_else(|| "a number of seconds above 0 is needed".to_owned())
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Recording
    pub recording: PathBuf,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Recording
    pub recording: PathBuf,
    /// Keep everything up to the end of this tick
    #[arg(long, value_name = "N")]
    pub tick: u64,
    /// Directory of the new recording
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Arguments of `policies`.
#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Show every field of this policy
    pub name: Option<String>,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page a command into this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
