//! Arguments of `fraglab record`.

use clap::Args;
use linux::record::{EventSet, parse_duration, parse_size};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `record`.
#[derive(Debug, Args)]
#[command(
    after_help = "Records until the command ends, --duration is over, or SIGINT (Ctrl-C) or SIGTERM comes; tracefs is then \
    as it was. What a killed recorder left in tracefs is removed by the next start, and --salvage completes its recording. Needs root. docs/recording.md says what is touched, \
    what a recording tells about the host, and what it costs."
)]
pub struct RecordArgs {
    /// Directory of the recording: new, or empty
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["dry_run", "salvage"])]
    pub output: Option<PathBuf>,
    /// Record nothing, but complete the recording in this directory, whose recorder was killed
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub salvage: Option<PathBuf>,
    /// How much to record: minimal (fragmentation, and when compaction and reclaim ran), standard (what a replay needs), full
    #[arg(long, default_value = "standard", value_name = "SET")]
    pub events: EventSet,
    /// End before the recording is larger than this, for instance 2G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_size: Option<u64>,
    /// End after this time, for instance 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,
    /// Ring buffer of each CPU [default: a 64th of memory shared by all CPUs, 1M to 16M each]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub buffer_size: Option<u64>,
    /// Leave out what needs probes in the kernel: where migrated pages went, and huge-page faults that fell back
    #[arg(long)]
    pub no_probes: bool,
    /// Where tracefs is mounted, if not where it usually is
    #[arg(long, value_name = "DIR")]
    pub tracefs: Option<PathBuf>,
    /// Say what would be touched, and touch nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Command to run while recording
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
