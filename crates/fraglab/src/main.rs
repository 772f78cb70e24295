//! The `fraglab` command line: reads a recording, asks the engine, prints what the report says.
//!
//! Nothing is decided here. stdout carries data, stderr progress and diagnostics; exit codes are in [`failure`].
#![forbid(unsafe_code)]
// A build that leaves commands out leaves what only they use.
#![cfg_attr(not(all(feature = "machines", feature = "manual", feature = "serve", feature = "watch")), allow(dead_code))]

mod backend;
mod cli;
mod column_spec;
mod commands;
mod compare_args;
mod describe;
mod facts;
mod failure;
mod flight;
#[cfg(feature = "machines")]
mod grid;
#[cfg(feature = "machines")]
mod grid_args;
#[cfg(feature = "machines")]
mod machine_command;
#[cfg(feature = "machines")]
mod machines;
mod map_text;
mod output;
#[cfg(feature = "machines")]
mod pool;
mod progress;
#[cfg(feature = "machines")]
mod record_args;
#[cfg(feature = "machines")]
mod run_args;
mod run_spec;
#[cfg(feature = "machines")]
mod scenarios;
mod seeds;
#[cfg(feature = "serve")]
mod serve;
mod settings;
#[cfg(feature = "machines")]
mod study_args;
mod view_args;
mod views;
#[cfg(feature = "machines")]
mod vm_args;
#[cfg(feature = "watch")]
mod watch;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::explain_panics();
    let result = match Cli::parse().command {
        #[cfg(feature = "machines")]
        Command::Machine(command) => command.run(),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Map(args) => commands::map::run(&args),
        #[cfg(feature = "watch")]
        Command::Watch(args) => commands::watch::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Cut(args) => commands::cut::run(&args),
        Command::Policies(args) => commands::policies::run(&args),
        #[cfg(feature = "manual")]
        Command::Completions(args) => commands::generate::completions(&args),
        #[cfg(feature = "manual")]
        Command::Man(args) => commands::generate::man(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
