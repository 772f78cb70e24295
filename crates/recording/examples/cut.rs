//! Writes a shorter recording: `cargo run --release -p recording --example cut -- <recording> <ms> <out>`.
//!
//! The test fixture `tiny` was made with it from the recording `m512lru-d0-s21`, with 140 ms.

use std::error::Error;

use recording::{CutPoint, Recording};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, ms, out] = &arguments[..] else {
        return Err("usage: cut <recording> <milliseconds> <out>".into());
    };
    let ns = ms.parse::<u64>()?.saturating_mul(1_000_000);
    let tag = Recording::open(path)?.cut(CutPoint::AfterNs(ns), out)?;
    println!("cut at {tag}");
    Ok(())
}
