//! Writing results to stdout.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::{self, Write};

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Plain text for people and mails.
    #[default]
    Table,
    /// One JSON object (docs/formats.md).
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

/// The argument that says so.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t, value_name = "F")]
    pub format: Format,
}

/// Prints text to stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| Failure::stdout(&error))
}

/// What comes of a command after its result was `printed`. That nobody reads it may be the work of the signal that kept it from being
/// `whole`: Ctrl-C ends all of a pipe.
pub fn then(printed: Result<(), Failure>, whole: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Ok(()) | Err(Failure::ReaderGone) => whole,
        failed => failed,
    }
}

/// Prints JSON to stdout, indented.
pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}
