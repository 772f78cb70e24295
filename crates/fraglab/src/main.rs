//! The `fraglab` command line: reads a recording, asks the engine, prints what the report says.
//!
//! Nothing is decided here. stdout carries data, stderr progress and diagnostics; exit codes are in [`failure`].
#![forbid(unsafe_code)]

mod backend;
mod cli;
mod column_spec;
mod commands;
mod compare_args;
mod describe;
mod facts;
mod failure;
mod grid;
mod grid_args;
mod machines;
mod map_text;
mod output;
mod pool;
mod progress;
mod run_args;
mod run_spec;
mod scenarios;
mod serve;
mod settings;
mod study_args;
mod view_args;
mod views;
mod vm_args;
mod watch;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::explain_panics();
    let result = match Cli::parse().command {
        Command::Run(args) => commands::run::run(&args),
        Command::Ops(args) => commands::ops::run(&args),
        Command::Paper(args) => commands::study::run(&args, &commands::study::PAPERS),
        Command::Question(args) => commands::study::run(&args, &commands::study::QUESTIONS),
        Command::Worker(args) => commands::worker::run(&args),
        Command::Scenarios(args) => commands::scenarios::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Map(args) => commands::map::run(&args),
        Command::Watch(args) => commands::watch::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Cut(args) => commands::cut::run(&args),
        Command::Policies(args) => commands::policies::run(&args),
        Command::Vm(args) => commands::vm::run(&args),
        Command::Completions(args) => commands::generate::completions(&args),
        Command::Man(args) => commands::generate::man(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
