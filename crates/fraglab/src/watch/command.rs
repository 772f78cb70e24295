//! `fraglab watch`: a host, a run or a recording, live in the terminal.

use crate::failure::Failure;
use crate::output;
use crate::view_args::WatchArgs;
use crate::views::{self, chosen};
use crate::watch::{Host, Replayed, Source, once, run as run_terminal};
use std::thread;
use std::time::Duration;

/// Size of a frame that is printed, if nothing tells another.
const USUAL: (u16, u16) = (110, 48);

/// Draws until it is ended, or once.
pub fn run(args: &WatchArgs) -> Result<(), Failure> {
    let mut source = match &args.run {
        None => Source::Host(Host::new(&args.proc)),
        Some(path) => {
            let mut runs = chosen(views::load(path)?.runs, args.only.as_deref(), |run| &run.name)?;
            if runs.is_empty() {
                return Err(Failure::Input(format!("{}: there is no run in it", path.display())));
            }
            let run = runs.swap_remove(0);
            let at = args.at.map_or(if args.once { run.duration_s } else { 0.0 }, f64::from);
            Source::Replayed(Box::new(Replayed::new(run, at)))
        }
    };
    let interval = Duration::from_secs_f32(args.interval.max(0.05));
    if !args.once {
        return run_terminal(&mut source, interval);
    }
    if let Source::Host(host) = &mut source {
        // Rates need two looks.
        host.look()?;
        thread::sleep(interval);
    }
    let (width, height) = USUAL;
    output::print(&once(&mut source, args.width.unwrap_or(width), height)?)
}
