//! Arguments of `fraglab validate` that span a grid.

use crate::counts::count;
use crate::machine_commands::run_args::Record;
use clap::{Args, ValueEnum};
use linux::record::EventSet;
use report::grid::plan::Axis;
use std::num::NonZero;
use std::path::PathBuf;
use workload::Scale;

/// What spans the grid.
#[derive(Debug, Args)]
pub struct GridArgs {
    /// Run this scenario (a shipped one, or the path of a TOML file) on every kernel with every setting and seed in a virtual
    /// machine, and compare all of it with the model
    #[arg(long, value_name = "SCENARIO", requires = "kernels", requires = "output",
        conflicts_with_all = ["recording", "pair", "spread"])]
    pub scenario: Option<String>,
    /// Variant of the scenario (see `fraglab scenarios`)
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub variant: Option<String>,
    /// Share of the scenario's full size, such as 1/8, in place of its default
    #[arg(long, value_name = "SCALE", requires = "scenario")]
    pub scale: Option<Scale>,
    /// Kernels: versions of Debian's (6.12 is the newest of 6.12), or paths of bzImages
    #[arg(long, value_name = "VERSION|PATH,...", value_delimiter = ',', requires = "scenario")]
    pub kernels: Vec<String>,
    /// A sysctl, or lru_gen/enabled, and the values that it takes in turn; with several --set, every combination is run
    #[arg(long = "set", value_name = "vm.NAME=VALUE,VALUE...")]
    pub sets: Vec<Axis>,
    /// Run each seed this many times, to see how far runs of the kernel itself lie apart
    #[arg(long, default_value = "1", value_name = "N", value_parser = count::<NonZero<u64>>, requires = "scenario")]
    pub repeats: NonZero<u64>,
    /// Replay each recording of a grid with this many seeds, from --seed on (default 5)
    #[arg(long, value_name = "N", value_parser = count::<NonZero<u64>>)]
    pub replays: Option<NonZero<u64>>,
    /// What is recorded in the virtual machines: `standard` or `full`, which can be replayed
    #[arg(long, value_parser = replayable, default_value = "standard", value_name = "EVENTS", requires = "scenario")]
    pub record: EventSet,
    /// Seconds after which a run ends, in place of the scenario's
    #[arg(long, value_name = "SECONDS", value_parser = count::<NonZero<u32>>, requires = "scenario")]
    pub time_limit: Option<NonZero<u32>>,
    /// Keep recordings and report in this directory. Cells that it holds already are not run again
    #[arg(short, long, value_name = "DIR", requires = "scenario")]
    pub output: Option<PathBuf>,
}

/// What is recorded, if it can be compared with replays of it: nobody shall boot a grid for a report without rows.
fn replayable(text: &str) -> Result<EventSet, String> {
    match Record::from_str(text, false)?.events() {
        Some(events @ (EventSet::Standard | EventSet::Full)) => Ok(events),
        Some(EventSet::Minimal) => {
            Err("it can't be replayed, and leaves nothing to compare with: standard or full".to_owned())
        }
        None => Err("it leaves nothing to compare with: standard or full".to_owned()),
    }
}
