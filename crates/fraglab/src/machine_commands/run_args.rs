//! Arguments of `fraglab run` and `fraglab ops`.

use crate::column_spec::{ColumnSpec, Setting};
use crate::counts::{count, number};
use crate::output::FormatArgs;
use clap::{Args, FromArgMatches, ValueEnum};
use linux::record::EventSet;
use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use workload::{Scale, Scenario};

/// Where a scenario runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// On the simulated computer.
    Sim,
    /// Under QEMU with a kernel of this version, or of this file.
    Vm(String),
    /// Here.
    Host,
}

impl FromStr for On {
    type Err = String;

    fn from_str(text: &str) -> Result<On, String> {
        match text.split_once(':') {
            None if text == "sim" => Ok(On::Sim),
            None if text == "host" => Ok(On::Host),
            Some(("vm", kernel)) if !kernel.is_empty() => Ok(On::Vm(kernel.to_owned())),
            _ => Err(format!("`{text}` is not a machine; there are sim, vm:VERSION (as vm:6.18), vm:PATH and host")),
        }
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            On::Sim => f.write_str("sim"),
            On::Host => f.write_str("host"),
            // Of a file, the name is enough to tell columns apart.
            On::Vm(kernel) => write!(f, "vm:{}", kernel.rsplit('/').next().unwrap_or(kernel)),
        }
    }
}

/// What is recorded in a virtual machine while the scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Record {
    /// Nothing: counters and the state at the end only
    None,
    /// Fragmentation events, and when compaction and reclaim ran
    Minimal,
    /// What a replay needs
    Standard,
    /// Everything
    Full,
}

impl Record {
    /// The set of events.
    pub fn events(self) -> Option<EventSet> {
        match self {
            Record::None => None,
            Record::Minimal => Some(EventSet::Minimal),
            Record::Standard => Some(EventSet::Standard),
            Record::Full => Some(EventSet::Full),
        }
    }
}

/// Which scenario, with which changes.
#[derive(Clone, Debug, Args)]
pub struct ScenarioArgs {
    /// Scenario: the name of a shipped one, or the path of a TOML file
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,
    /// Share of the full size, such as 1/8, in place of the scenario's default
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<Scale>,
    /// Seed in place of the scenario's
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub seed: Option<u64>,
    /// Memory in place of the scenario's machine's; the sizes of the workload follow it
    #[arg(long, value_name = "MIB", value_parser = count::<NonZero<u32>>)]
    pub memory: Option<NonZero<u32>>,
    /// Take this saved operation stream in place of the scenario's own
    #[arg(long, value_name = "FILE")]
    pub ops: Option<PathBuf>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "One column for each --on and --variant. --set is for sim and vm; the settings of this machine are left alone, so with \
    --on host it is refused. A run ends when every root task has done its quota; one that the time limit or a signal ends is \
    `cut short` and has no digest."
)]
pub struct RunArgs {
    /// What runs
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Where it runs: sim, vm:VERSION, vm:PATH of a bzImage, or host; more than once for several columns
    #[arg(long = "on", required = true, value_name = "MACHINE")]
    pub on: Vec<On>,
    /// Variant of the scenario (see `fraglab scenarios`), or `all`; more than once for several columns. Without it, the
    /// scenario's own settings
    #[arg(long = "variant", value_name = "NAME|all")]
    pub variants: Vec<String>,
    /// Change a sysctl (vm.swappiness=10), or lru_gen/enabled, a file of /sys/kernel/mm
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub sets: Vec<Setting>,
    /// Policy of the simulated computer: a preset (see `fraglab policies`), with changes attached by commas [default: the
    /// variant's or the scenario's; linux-6.18 if they name none]
    #[arg(long, value_name = "PRESET[,vm.NAME=VALUE]...")]
    pub policy: Option<ColumnSpec>,
    /// Seconds after which the run ends, in place of the scenario's
    #[arg(long, value_name = "SECONDS", value_parser = count::<NonZero<u32>>)]
    pub time_limit: Option<NonZero<u32>>,
    /// CPUs in place of the scenario's
    #[arg(long, value_name = "N", value_parser = count::<NonZero<u16>>)]
    pub cpus: Option<NonZero<u16>>,
    /// NUMA nodes in place of the scenario's
    #[arg(long, value_name = "N", value_parser = count::<NonZero<u8>>)]
    pub nodes: Option<NonZero<u8>>,
    /// Let sim stand in for the machine of this recording, of the same size: with as much memory in use at the start, and as
    /// fast
    #[arg(long, value_name = "RECORDING")]
    pub machine_of: Option<PathBuf>,
    /// What is recorded in a virtual machine meanwhile [default: minimal]
    #[arg(long, value_enum, value_name = "EVENTS")]
    pub record: Option<Record>,
    /// Directory for the scenario's files with --on host; made new, and removed at the end
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Save the operation stream that runs
    #[arg(long, value_name = "FILE")]
    pub save_ops: Option<PathBuf>,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
    /// Leave a run directory: manifest, counters, events, series, table, and what came out of virtual machines
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl RunArgs {
    /// What words behind `fraglab run` mean: who runs on behalf of another command says it as a user would.
    ///
    /// # Errors
    /// What a user would be told.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<RunArgs, clap::Error> {
        let command = RunArgs::augment_args(clap::Command::new("fraglab run")).no_binary_name(true);
        RunArgs::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    /// What is recorded in a virtual machine.
    pub fn recorded(&self) -> Record {
        self.record.unwrap_or(Record::Minimal)
    }

    /// Seconds after which a run ends.
    pub fn time_limit_of(&self, scenario: &Scenario) -> u32 {
        self.time_limit.unwrap_or(scenario.time_limit).get()
    }
}

/// Arguments of `ops`.
#[derive(Debug, Args)]
#[command(
    after_help = "Shows what a scenario asks for without running it anywhere: its digest, and its operations by role. \
    docs/operations.md describes every operation and the format of saved streams."
)]
pub struct OpsArgs {
    /// What is looked at
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Variant of the scenario (see `fraglab scenarios`)
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Save the operation stream
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Percent of its quota that each root's saved operations go beyond it: load for as long as others still work
    #[arg(long, default_value_t = 100, value_name = "PERCENT", value_parser = number::<u64>)]
    pub beyond: u64,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// Arguments of `scenarios`.
#[derive(Debug, Args)]
pub struct ScenariosArgs {
    /// Show this one only: a shipped one, or the path of a TOML file
    pub scenario: Option<String>,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}
