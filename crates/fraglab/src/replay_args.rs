//! Arguments of `fraglab replay`, and of all that replays.

use crate::column_spec::{ColumnSpec, Setting};
use crate::counts::{count, number};
use crate::output::FormatArgs;
use crate::seeds::Seeds;
use clap::Args;
use std::num::NonZero;
use std::path::PathBuf;

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
    /// Recording: a directory with a trace and its snapshots, or a .tar or .tar.xz of one
    pub recording: PathBuf,
    /// Policy to replay under: a preset (see `fraglab policies`) or `recorded`, with changes attached by commas
    #[arg(long = "policy", value_name = "PRESET[,vm.NAME=VALUE]...")]
    pub policies: Vec<ColumnSpec>,
    /// Change a sysctl (vm.swappiness=10), or lru_gen/enabled, a file of /sys/kernel/mm
    #[arg(long = "set", value_name = "vm.NAME=VALUE")]
    pub sets: Vec<Setting>,
    /// Do not compare the model with the recorded kernel first: no row is then known to be calibrated
    #[arg(long)]
    pub no_mirror: bool,
    /// Replay with this many seeds from 1 on (default 8), or with FIRST..LAST, and print medians with the lowest and the
    /// highest: a trace leaves open who held a lock or a page at a moment, and counts such as extfrag_total depend on it
    #[arg(long, value_name = "N|FIRST..LAST", conflicts_with = "seed")]
    pub seeds: Option<Seeds>,
    /// Replay with this seed alone
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub seed: Option<u64>,
    /// How to replay
    #[command(flatten)]
    pub engine: EngineArgs,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
    /// Leave a run directory: manifest, counters, events, series, table; with several seeds, a directory that holds one for each.
    /// An older one of that name is replaced
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
