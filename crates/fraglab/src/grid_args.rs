//! Arguments of `fraglab validate` that span a grid, and the seeds that all of it goes over.

use crate::run_args::Record;
use clap::Args;
use report::grid::plan::Axis;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use workload::Scale;

/// Seeds: how many, or from which to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// So many, from the first on.
    Count(NonZero<u64>),
    /// From one to another, both included.
    Range(u64, u64),
}

impl Seeds {
    /// The seeds, the first of them `first` if only their number was said.
    pub fn from(self, first: u64) -> RangeInclusive<u64> {
        match self {
            Seeds::Count(count) => first..=first.saturating_add(count.get() - 1),
            Seeds::Range(from, to) => from..=to,
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let wrong = || format!("`{text}` is neither a number of seeds nor FIRST..LAST");
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        match text.split_once("..") {
            None => NonZero::new(number(text)?).map(Seeds::Count).ok_or_else(wrong),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
                if from <= to { Ok(Seeds::Range(from, to)) } else { Err(wrong()) }
            }
        }
    }
}

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
    #[arg(long, value_name = "VERSION|PATH", value_delimiter = ',')]
    pub kernels: Vec<String>,
    /// A sysctl and the values that it takes in turn; every combination of several is run
    #[arg(long = "set", value_name = "vm.NAME=VALUE,VALUE...", requires = "scenario")]
    pub sets: Vec<Axis>,
    /// Run each seed so many times: how far runs of the kernel itself lie apart
    #[arg(long, default_value = "1", value_name = "N")]
    pub repeats: NonZero<u64>,
    /// Replay each recording of a grid with this many seeds, from --seed on
    #[arg(long, default_value = "5", value_name = "N")]
    pub replays: NonZero<u64>,
    /// What is recorded in the virtual machines; only `standard` and `full` can be replayed
    #[arg(long, value_enum, default_value_t = Record::Standard, value_name = "EVENTS")]
    pub record: Record,
    /// Seconds after which a run ends, in place of the scenario's
    #[arg(long, value_name = "SECONDS")]
    pub time_limit: Option<NonZero<u32>>,
    /// Keep recordings and report in this directory. Cells that it holds already are not run again
    #[arg(short, long, value_name = "DIR", requires = "scenario")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.from(7).collect::<Vec<_>>());
        assert_eq!(seeds("3"), Ok(vec![7, 8, 9]));
        assert_eq!((seeds("1..3"), seeds("1..=3")), (Ok(vec![1, 2, 3]), Ok(vec![1, 2, 3])));
        for text in ["0", "", "3..1", "a..b", "1.."] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }
}
