//! The command line, as clap sees it: completions and man pages are made from these definitions.

use crate::column_spec::{ColumnSpec, Setting};
use crate::compare_args::CompareArgs;
use crate::counts::count;
#[cfg(feature = "machines")]
use crate::machine_commands::MachineCommand;
#[cfg(feature = "machines")]
use crate::machine_commands::grid_args::GridArgs;
use crate::output::Format;
use crate::seeds::Seeds;
#[cfg(feature = "serve")]
use crate::view_args::ServeArgs;
#[cfg(feature = "watch")]
use crate::view_args::WatchArgs;
use crate::view_args::{ExportArgs, MapArgs, ReportArgs};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
#[cfg(feature = "manual")]
use clap_complete::Shell;
use report::bars::{BarSet, MIRROR_2, MIRROR_3};
use std::num::NonZero;
use std::path::PathBuf;

/// What would a real machine have done under another memory policy?
#[derive(Debug, Parser)]
#[command(
    name = "fraglab",
    version,
    about,
    after_help = "Exit codes: 0 done, 1 result not written, 2 usage, 3 bad input, 4 broken invariant (a bug in \
        fraglab), 5 the virtual machine, or the command in it, failed, 6 not possible on this host, 7 the \
        simulated computer hung in a livelock."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What was asked for; what can't be is said, and ends the process with exit code 2.
pub fn parse() -> Cli {
    let matches = with_negative_numbers(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Lets `--at -1` be refused as a value that no moment has, not as an argument that nobody knows.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_a_value = |arg: &clap::Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes_a_value(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negative_numbers)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// On machines, simulated and real
    #[cfg(feature = "machines")]
    #[command(flatten)]
    Machine(MachineCommand),
    /// Replay a recording under one or more policies and print one table
    Replay(ReplayArgs),
    /// Compare the model with the recorded kernel, row by row
    Validate(ValidateArgs),
    /// Lay runs side by side: several seeds a variant, and which differences count
    Compare(CompareArgs),
    /// Put runs into one page that works offline: block map, plots, comparison
    Report(ReportArgs),
    /// Show the block map of a run or a recording in the terminal
    Map(MapArgs),
    /// Watch this host, a run or a recording in the terminal
    #[cfg(feature = "watch")]
    Watch(WatchArgs),
    /// Show a directory of runs in a browser
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Hand a run to other tools: Perfetto, ftrace text, CSV, JSON
    Export(ExportArgs),
    /// Show what a recording holds
    Inspect(InspectArgs),
    /// Cut the beginning of a recording out as a smaller one
    Cut(CutArgs),
    /// List policies and sysctls, or every field of one policy
    Policies(PoliciesArgs),
    /// Print a completion script
    #[cfg(feature = "manual")]
    Completions(CompletionsArgs),
    /// Print the man page, or write those of all commands
    #[cfg(feature = "manual")]
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
#[derive(Debug, Default, Args)]
pub struct EngineArgs {
    /// Replays at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N", value_parser = count::<NonZero<usize>>)]
    pub workers: Option<NonZero<usize>>,
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
    /// Recording: a directory, a .tar or .tar.xz of one, or a trace file beside its snapshots
    pub recording: PathBuf,
    /// Policy to replay under: a preset (see `fraglab policies`) or `recorded`, with changes attached by commas
    #[arg(long = "policy", value_name = "PRESET[,vm.NAME=VALUE]...")]
    pub policies: Vec<ColumnSpec>,
    /// Change a sysctl
    #[arg(long = "set", value_name = "vm.NAME=VALUE")]
    pub sets: Vec<Setting>,
    /// Do not compare the model with the recorded kernel first: no row is then known to be calibrated
    #[arg(long)]
    pub no_mirror: bool,
    /// Replay with so many seeds from 1 on (default 8), or with FIRST..LAST, and print medians with the lowest and the
    /// highest: a trace leaves open who held a lock or a page at a moment, and counts such as extfrag_total hang on it
    #[arg(long, value_name = "N|FIRST..LAST", conflicts_with = "seed")]
    pub seeds: Option<Seeds>,
    /// Replay with this seed alone
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How to replay
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
    /// Leave a run directory: manifest, counters, events, series, table. Of several seeds, a directory that holds one a seed. An older
    /// one that is there is replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
#[command(after_help = "error = (model - kernel) / kernel: 0 when both are 0, null when only the kernel's is 0. With \
    --pair the model sees RECORDING only and predicts the kernel that made OTHER.")]
pub struct ValidateArgs {
    /// Recording whose demand is replayed; or a directory with a plan, grid.json, that names several
    #[cfg_attr(feature = "machines", arg(required_unless_present = "scenario"))]
    #[cfg_attr(not(feature = "machines"), arg(required = true))]
    pub recording: Option<PathBuf>,
    /// Predict this recording's settings from RECORDING's demand
    #[arg(long, value_name = "OTHER")]
    pub pair: Option<PathBuf>,
    /// Replay with so many seeds from --seed on (default 8), or with FIRST..LAST, and take medians: a trace leaves open who
    /// held a lock or a page at a moment, and counts such as extfrag_total hang on it. With --scenario: seeds of the
    /// workload (default 1..3)
    #[arg(long, value_name = "N|FIRST..LAST")]
    pub seeds: Option<Seeds>,
    /// First seed of what a trace leaves open
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// Bars to judge by, without --pair [default: mirror-3]
    #[arg(long, value_enum, value_name = "SET")]
    pub bars: Option<Bars>,
    /// Further recordings of the same settings: how far runs of the kernel itself lie apart
    #[arg(long, value_name = "RECORDING", value_delimiter = ',')]
    pub spread: Vec<PathBuf>,
    /// Many recordings at once
    #[cfg(feature = "machines")]
    #[command(flatten)]
    pub grid: GridArgs,
    /// How to replay
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// A set of bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Bars {
    /// What the engine was first brought to: extfrag_total 25 %, THP 20 %, pageblocks 10 % of all
    #[value(name = "mirror-2")]
    Mirror2,
    /// extfrag_total 10 %, large cells 20 %, pageblocks 5 % of all, free blocks 15 %, THP 10 %, reclaim and compaction 25 %
    #[default]
    #[value(name = "mirror-3")]
    Mirror3,
}

impl Bars {
    /// The bars themselves.
    pub const fn set(self) -> &'static BarSet {
        match self {
            Bars::Mirror2 => &MIRROR_2,
            Bars::Mirror3 => &MIRROR_3,
        }
    }
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Recording: a directory, a .tar or .tar.xz of one, or a trace file beside its snapshots
    pub recording: PathBuf,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Recording: a directory, a .tar or .tar.xz of one, or a trace file beside its snapshots
    pub recording: PathBuf,
    /// Keep everything up to the end of this tick: they are numbered from 0 (`fraglab inspect` says how many there are). Traces in text
    /// can be cut with head(1)
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
    /// Show what this one has otherwise than the first
    pub other: Option<String>,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `completions`.
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    pub shell: Shell,
}

/// Arguments of `man`.
#[cfg(feature = "manual")]
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page a command into this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
