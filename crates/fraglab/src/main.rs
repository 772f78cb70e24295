//! The `fraglab` command line: reads a recording, asks the engine, prints what the report says.
//!
//! Nothing is decided here. stdout carries data, stderr progress and diagnostics; exit codes are in [`failure`].
#![forbid(unsafe_code)]
// A feature's commands and all that only they use are one module here; what else a build without them leaves unused, it may.
#![cfg_attr(not(all(feature = "machines", feature = "manual", feature = "serve", feature = "watch")), allow(dead_code))]

#[macro_use]
mod say;

mod backend;
mod cli;
mod column_spec;
mod commands;
mod compare_args;
mod counts;
mod describe;
mod facts;
mod failure;
mod flight;
mod interrupt;
#[cfg(feature = "machines")]
mod machine_commands;
#[cfg(feature = "manual")]
mod manual;
mod map_text;
mod output;
mod place;
mod progress;
mod replay_args;
mod replays;
mod run_spec;
mod seeds;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod validate_args;
mod view_args;
mod views;
#[cfg(feature = "watch")]
mod watch;
mod whole_file;
mod workers;

use cli::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::explain_panics();
    let result = match cli::parse().command {
        #[cfg(feature = "machines")]
        Command::Machine(command) => command.run(),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Map(args) => commands::map::run(&args),
        #[cfg(feature = "watch")]
        Command::Watch(args) => watch::command::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::command::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Cut(args) => commands::cut::run(&args),
        Command::Policies(args) => commands::policies::run(&args),
        #[cfg(feature = "manual")]
        Command::Completions(args) => manual::completions(&args),
        #[cfg(feature = "manual")]
        Command::Man(args) => manual::man(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
