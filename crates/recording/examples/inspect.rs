//! What a recording holds: `cargo run --release -p recording --example inspect -- <recording> [<tick> <out>]`.
//!
//! With a tick and a directory, also writes the recording up to that tick there.

use std::error::Error;

use recording::{CutPoint, Recording};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments
        .first()
        .ok_or("usage: inspect <recording> [<tick> <out>]")?;
    let recording = Recording::open(path)?;
    println!("{:#?}", recording.inspect()?);
    if let [_, tick, out] = &arguments[..] {
        println!(
            "cut at {}",
            recording.cut(CutPoint::Tick(tick.parse()?), out)?
        );
    }
    Ok(())
}
