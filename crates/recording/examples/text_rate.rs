//! How fast ftrace text is read: `cargo run --release -p recording --example text_rate -- trace.txt`.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use recording::TextTrace;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: text_rate <trace text>")?;
    let trace = TextTrace::open(path)?;
    let mut best = f64::INFINITY;
    let mut total = 0_u64;
    for _ in 0..5 {
        let start = Instant::now();
        total = 0;
        for record in trace.records() {
            black_box(record?);
            total += 1;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{total} records, {:.1} M lines/s",
        total as f64 / best / 1e6
    );
    Ok(())
}
