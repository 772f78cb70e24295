//! The commands that need a machine: a simulated one, one under QEMU, or this host.

pub mod grid;
pub mod grid_args;
mod list;
mod machines;
mod ops;
mod pool;
mod record;
mod record_args;
mod run;
mod run_args;
mod scenarios;
mod study;
mod study_args;
mod vm;
mod vm_args;
mod worker;

use crate::failure::Failure;
use clap::Subcommand;
use record_args::RecordArgs;
use run_args::{OpsArgs, RunArgs, ScenariosArgs};
use study_args::{StudyArgs, WorkerArgs};
use vm_args::VmArgs;

/// What to do on machines.
#[derive(Debug, Subcommand)]
pub enum MachineCommand {
    /// Run a scenario on real and simulated machines, one column each
    Run(RunArgs),
    /// Show what a scenario asks for, or save it as an operation stream
    Ops(OpsArgs),
    /// List scenarios with their variants and sizes
    Scenarios(ScenariosArgs),
    /// Run what a published document ran, and print its tables with ours beside them
    #[command(after_long_help = study::PAPERS.help())]
    Paper(StudyArgs),
    /// Run the scenarios that answer a question which a document left open
    #[command(after_long_help = study::QUESTIONS.help())]
    Question(StudyArgs),
    /// Run one scenario with one seed, and print its figures as JSON: what `paper` and `question` start for each run
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Record this host's memory management, or what it does while a command runs
    Record(RecordArgs),
    /// Boot a real kernel under QEMU and run something in it
    Vm(VmArgs),
}

impl MachineCommand {
    /// Does it.
    pub fn run(&self) -> Result<(), Failure> {
        match self {
            MachineCommand::Run(args) => run::run(args),
            MachineCommand::Ops(args) => ops::run(args),
            MachineCommand::Scenarios(args) => list::run(args),
            MachineCommand::Paper(args) => study::run(args, &study::PAPERS),
            MachineCommand::Question(args) => study::run(args, &study::QUESTIONS),
            MachineCommand::Worker(args) => worker::run(args),
            MachineCommand::Record(args) => record::run(args),
            MachineCommand::Vm(args) => vm::run(args),
        }
    }
}
