//! How fast a trace is read: `cargo run --release -p recording --example read_rate -- trace.dat`.
//!
//! Prints the events by name, then the rate of decoding and merging, best of five rounds.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use recording::{EventKind, TraceDat};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: read_rate <trace.dat>")?;
    let trace = TraceDat::open(path)?;
    let mut counts = vec![0_u64; EventKind::ALL.len()];
    for record in trace.records()? {
        counts[record?.event.kind() as usize] += 1;
    }
    for (kind, count) in EventKind::ALL.iter().zip(&counts) {
        if *count > 0 {
            println!("{count:>10} {}", kind.name());
        }
    }
    let total: u64 = counts.iter().sum();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for record in trace.records()? {
            black_box(record?);
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{total} events, {:.1} M events/s",
        total as f64 / best / 1e6
    );
    Ok(())
}
