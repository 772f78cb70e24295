//! `fraglab export`: a run for other tools.

use crate::failure::Failure;
use crate::view_args::{ExportArgs, ExportFormat};
use crate::views::chosen;
use crate::whole_file;
use report::export::{Exported, csv, ftrace, json, perfetto};

/// Reads the run directory and writes the file.
pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let runs = chosen(Exported::read(&args.run)?, args.only.as_deref(), |run| &run.view.name)?;
    let form: Vec<u8> = match args.to {
        ExportFormat::Perfetto => perfetto(&runs)?,
        ExportFormat::Csv => csv(&runs)?.into(),
        ExportFormat::Json => format!("{}\n", json(&runs)?).into(),
        ExportFormat::Ftrace => match runs.as_slice() {
            [run] => ftrace(run).into(),
            runs => {
                let names: Vec<&str> = runs.iter().map(|run| run.view.name.as_str()).collect();
                let names = names.join("  ");
                return Err(Failure::Usage(format!("ftrace text is of one run: say --run with one of: {names}")));
            }
        },
    };
    whole_file::write(&args.output, |out| out.write_all(&form))
}
