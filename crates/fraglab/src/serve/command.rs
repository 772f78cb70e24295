//! `fraglab serve`: a directory of runs in a browser.

use crate::failure::Failure;
use crate::serve::serve;
use crate::view_args::ServeArgs;

/// Serves until it is ended.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::Input(format!("{} is not a directory", args.dir.display())));
    }
    serve(&args.dir, args.listen, |address| say!("http://{address}/ shows {}", args.dir.display()))
}
