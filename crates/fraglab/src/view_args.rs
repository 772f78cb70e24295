//! Arguments of the commands that show what runs looked like over time: `report`, `map`, `export`, `watch`.

use crate::run_spec::RunSpec;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(
    after_help = "RUN is a run directory, as `fraglab run -o DIR` and `fraglab replay -o DIR` leave it (of several seeds: all of them), or \
    NAME=DIR,DIR; RECORDING is shown beside its replay under the settings it was recorded under. The page is one file, \
    works from disk, and asks nothing of any network. What does not fit into 15 MB loses detail over time, never an \
    extreme."
)]
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

/// Arguments of `map`.
#[derive(Debug, Args)]
#[command(
    after_help = "A character is a pageblock, or as many as the heading of the zone says. Colour is the block's type; \
    without colour (NO_COLOR, or no terminal) the letter is. Without --run, all runs are shown, one after the other."
)]
pub struct MapArgs {
    /// Run directory or recording
    #[arg(value_name = "RUN|RECORDING")]
    pub run: PathBuf,
    /// Moment, in seconds since the start [default: the end]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub at: Option<f32>,
    /// Show only this run of the directory: `kernel`, or a policy
    #[arg(long = "run", value_name = "NAME")]
    pub only: Option<String>,
    /// Characters in a line [default: the terminal's, or 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(16..=1000))]
    pub width: Option<u16>,
    /// Lines for a zone; larger zones have several blocks in a character
    #[arg(long, default_value_t = 24, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub lines: u16,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Times are since the start of the run. Perfetto: a process a run, with a counter a series, slices for all \
    that took time, an instant a fragmentation event. ftrace: the events of one run as text; a directory with several \
    needs --run."
)]
pub struct ExportArgs {
    /// Run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Into which form
    #[arg(long, value_enum, value_name = "F")]
    pub to: ExportFormat,
    /// Export only this run of the directory: `kernel`, or a policy
    #[arg(long = "run", value_name = "NAME")]
    pub only: Option<String>,
    /// The file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Native Perfetto trace (ui.perfetto.dev, trace processor)
    Perfetto,
    /// Text as of /sys/kernel/tracing/trace, for scripts of trace-cmd and perf
    Ftrace,
    /// All series, a line a value
    Csv,
    /// Everything in plain arrays (docs/export.schema.json)
    Json,
}

fn seconds(text: &str) -> Result<f32, String> {
    let seconds =
        text.trim_end_matches('s').parse().ok().filter(|seconds: &f32| seconds.is_finite() && *seconds >= 0.0);
    seconds.ok_or_else(|| "a number of seconds from 0 on is needed".to_owned())
}

/// The same between frames: an hour is longer than anybody looks, and some number of seconds is more than a clock holds.
fn interval(text: &str) -> Result<f32, String> {
    const MOST: f32 = 3600.0;
    let within = seconds(text).ok().filter(|seconds| *seconds <= MOST);
    within.ok_or_else(|| format!("a number of seconds from 0 to {MOST} is needed"))
}

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without RUN, this host: free blocks by order, fragmentation, pageblocks by type (for root), and what counts \
    up in /proc/vmstat. Nothing is changed. Of a run or a recording the block map and events too; left and right move in time."
)]
pub struct WatchArgs {
    /// Run directory or recording
    #[arg(value_name = "RUN|RECORDING")]
    pub run: Option<PathBuf>,
    /// This run of the directory [default: the first]
    #[arg(long = "run", value_name = "NAME", requires = "run")]
    pub only: Option<String>,
    /// Moment to start from, in seconds since the start
    #[arg(long, value_name = "SECONDS", value_parser = seconds, requires = "run")]
    pub at: Option<f32>,
    /// Print one frame as text
    #[arg(long)]
    pub once: bool,
    /// Seconds between frames
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = interval)]
    pub interval: f32,
    /// Characters in a line of a frame that is printed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(40..=1000), requires = "once")]
    pub width: Option<u16>,
    /// Where /proc is
    #[arg(long, default_value = "/proc", value_name = "DIR", conflicts_with = "run")]
    pub proc: PathBuf,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Lists the run directories below DIR, with search; those chosen are shown in one page, as `fraglab report` \
    makes it. The list follows the directory: runs that go on stand above it with what they came to so far, and join it when they are \
    done. Nothing is written."
)]
pub struct ServeArgs {
    /// Directory with run directories
    pub dir: PathBuf,
    /// Address and port; another than 127.0.0.1 lets others read all runs
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDRESS:PORT")]
    pub listen: std::net::SocketAddr,
}
