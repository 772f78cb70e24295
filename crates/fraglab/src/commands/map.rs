//! `fraglab map`: the block map as characters.

use crate::failure::Failure;
use crate::map_text::{self, Paint};
use crate::output;
use crate::view_args::MapArgs;
use crate::views::{self, chosen};
use report::view::{Run, grid};
use std::fmt::Write;

/// Width of a line where nothing tells the terminal's.
const USUAL_WIDTH: u16 = 100;

/// Prints the map of every run, or of the one that was asked for.
pub fn run(args: &MapArgs) -> Result<(), Failure> {
    let width = args.width.unwrap_or_else(|| terminal_width().unwrap_or(USUAL_WIDTH));
    let paint = Paint::for_stdout();
    let runs = chosen(views::load(&args.run)?.runs, args.only.as_deref(), |run| &run.name)?;
    let mut text = String::new();
    for run in &runs {
        draw(&mut text, run, args, width, paint)?;
    }
    text.push_str(&map_text::legend(paint));
    output::print(&text)
}

fn draw(text: &mut String, run: &Run, args: &MapArgs, width: u16, paint: Paint) -> Result<(), Failure> {
    let cells = usize::from(width) * usize::from(args.lines);
    let drawn = grid(run, args.at, cells).map_err(|error| Failure::Input(format!("run `{}`: {error}", run.name)))?;
    let Some((time, zones)) = drawn else {
        let _ = writeln!(text, "{}: no block map was kept\n", run.name);
        return Ok(());
    };
    let preset = if run.preset.is_empty() { String::new() } else { format!(" ({})", run.preset) };
    let _ = writeln!(text, "{}{preset}, {time:.1} s of {:.1} s", run.name, run.duration_s);
    let block_kib = (u64::from(run.page_size) << run.pageblock_order) >> 10;
    for zone in zones.iter().filter(|zone| !zone.cells.is_empty()) {
        text.push_str(&map_text::zone(zone, block_kib, usize::from(width), paint));
    }
    Ok(())
}

fn terminal_width() -> Option<u16> {
    let (_, width) = console::Term::stdout().size_checked()?;
    Some(width.max(16))
}
