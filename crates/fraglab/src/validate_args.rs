//! Arguments of `fraglab validate`.

use crate::counts::number;
#[cfg(feature = "machines")]
use crate::machine_commands::grid_args::GridArgs;
use crate::output::FormatArgs;
use crate::replay_args::EngineArgs;
use crate::seeds::Seeds;
use clap::{Args, ValueEnum};
use report::bars::{BarSet, MIRROR_2, MIRROR_3};
use std::path::PathBuf;

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
    /// Replay with this many seeds from --seed on (default 8), or with FIRST..LAST, and take medians: a trace leaves open who
    /// held a lock or a page at a moment, and counts such as extfrag_total depend on it. With --scenario: seeds of the
    /// workload (default 1..3)
    #[arg(long, value_name = "N|FIRST..LAST")]
    pub seeds: Option<Seeds>,
    /// First seed of what a trace leaves open [default: 1]
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub seed: Option<u64>,
    /// Bars to judge by, without --pair [default: mirror-3]
    #[arg(long, value_enum, value_name = "SET")]
    pub bars: Option<Bars>,
    /// Further recordings of the same settings, which show how far runs of the kernel itself lie apart
    #[arg(long, value_name = "RECORDING,...", value_delimiter = ',')]
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
    /// The first bars that the engine was held to: extfrag_total 25 %, THP 20 %, pageblocks 10 % of all
    #[value(name = "mirror-2")]
    Mirror2,
    /// extfrag_total 10 %, large cells 20 %, pageblocks 5 % of all, free blocks 15 %, THP 10 %, reclaim and compaction 25 %
    #[default]
    #[value(name = "mirror-3")]
    Mirror3,
}

impl ValidateArgs {
    /// First seed of what a trace leaves open.
    pub fn first_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
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
