//! The command line, as clap sees it: completions and man pages are made from these definitions.

use crate::compare_args::CompareArgs;
use crate::counts::number;
#[cfg(feature = "machines")]
use crate::machine_commands::MachineCommand;
use crate::output::FormatArgs;
use crate::replay_args::ReplayArgs;
use crate::validate_args::ValidateArgs;
#[cfg(feature = "serve")]
use crate::view_args::ServeArgs;
#[cfg(feature = "watch")]
use crate::view_args::WatchArgs;
use crate::view_args::{ExportArgs, MapArgs, ReportArgs};
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
#[cfg(feature = "manual")]
use clap_complete::Shell;
use std::path::PathBuf;

/// What would a real machine have done under another memory policy?
#[derive(Debug, Parser)]
#[command(
    name = "fraglab",
    version,
    about,
    after_help = "Exit codes: 0 done, 1 result not written, 2 usage, 3 bad input, 4 broken invariant (a bug in \
        fraglab), 5 the virtual machine, or the command in it, failed, 6 not possible on this host, 7 the \
        simulated computer hung in a livelock, 130 or 143 ended by a signal."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What was asked for; what can't be is said, and ends the process with exit code 2.
pub fn parse() -> Cli {
    let matches = with_own_words(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Lets `--at -1` be refused as a value that no moment has, not as an argument that nobody knows; and `-o -` as no name.
fn with_own_words(command: clap::Command) -> clap::Command {
    let takes_a_value = |arg: &clap::Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    let refine = |arg: clap::Arg| match arg.get_long() {
        Some("output" | "save" | "save-ops") => arg.value_parser(PathBufValueParser::new().try_map(written_to)),
        _ if takes_a_value(&arg) => arg.allow_negative_numbers(true),
        _ => arg,
    };
    command.mut_args(refine).mut_subcommands(with_own_words)
}

/// Where a result is written. A `-` is meant for standard output, and would be a file of that name.
fn written_to(path: PathBuf) -> Result<PathBuf, &'static str> {
    let is_dash = path.as_os_str() == "-";
    if is_dash { Err("name it: a file can be /dev/stdout, and ./- is one of that name") } else { Ok(path) }
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
    /// Make a smaller recording of the beginning of one
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

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Recording: a directory, a .tar or .tar.xz of one, or a trace alone
    pub recording: PathBuf,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    /// Recording: a directory, a .tar or .tar.xz of one, or a trace alone
    pub recording: PathBuf,
    /// Keep everything up to the end of this tick: they are numbered from 0 (`fraglab inspect` says how many there are). Traces in text
    /// can be cut with head(1)
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub tick: u64,
    /// Directory of the new recording
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Arguments of `policies`.
#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Show every field of this policy: a preset, with changes attached by commas
    #[arg(value_name = "PRESET[,vm.NAME=VALUE]...")]
    pub name: Option<String>,
    /// Show only the fields in which this policy differs from the first
    #[arg(value_name = "OTHER")]
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
