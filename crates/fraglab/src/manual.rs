//! `fraglab completions` and `fraglab man`: made from the same definitions that parse the command line.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fraglab", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints the man page of `fraglab`, or writes those of all its commands into a directory.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let Some(dir) = &args.output else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(|error| Failure::stdout(&error))?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|error| Failure::Output(format!("writing man pages to {}: {error}", dir.display())))
}
