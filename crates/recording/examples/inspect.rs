//! What a recording holds: `cargo run --release -p recording --example inspect -- <recording>`.

use std::error::Error;

use recording::Recording;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: inspect <recording>")?;
    println!("{:#?}", Recording::open(path)?.inspect()?);
    Ok(())
}
