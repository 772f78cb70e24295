//! `fraglab-guest`: process 1 of the virtual machines that fraglab boots, and the load that it starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::init::run();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = guest::load::run(&arguments).map(|done| done.map(|()| 0));
    match done.or_else(|| guest::recorded::run(&arguments)) {
        Some(Ok(code)) => ExitCode::from(code),
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!(
                "fraglab-guest is the init of fraglab's virtual machines and does nothing elsewhere: see fraglab vm run"
            );
            ExitCode::from(2)
        }
    }
}
