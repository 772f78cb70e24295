//! `fraglab export`: a run for other tools.

use super::report::write;
use crate::failure::Failure;
use crate::view_args::{ExportArgs, ExportFormat};
use crate::views::chosen;
use report::export::{Exported, csv, ftrace, json, perfetto};

/// Reads the run directory and writes the file.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let runs = chosen(Exported::read(&args.run)?, args.only.as_deref(), |run| &run.view.name)?;
    match args.to {
        ExportFormat::Perfetto => write(&args.output, perfetto(&runs)?),
        ExportFormat::Csv => write(&args.output, csv(&runs)?),
        ExportFormat::Json => write(&args.output, format!("{}\n", json(&runs)?)),
        ExportFormat::Ftrace => match runs.as_slice() {
            [run] => write(&args.output, ftrace(run)),
            runs => {
                let names: Vec<&str> = runs.iter().map(|run| run.view.name.as_str()).collect();
                Err(Failure::Usage(format!("ftrace text is of one run: say --run with one of: {}", names.join("  "))))
            }
        },
    }
}
