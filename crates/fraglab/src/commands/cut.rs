//! `fraglab cut`: the beginning of a recording as a smaller one.

use crate::backend;
use crate::cli::CutArgs;
use crate::failure::Failure;

/// Cuts. An existing target is never overwritten.
pub fn run(args: &CutArgs) -> Result<(), Failure> {
    if args.output.exists() {
        return Err(Failure::Usage(format!("{} exists; name a new directory with -o", args.output.display())));
    }
    backend::cut(&args.recording, args.tick, &args.output)
}
