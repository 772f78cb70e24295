//! Speed of reading trace.dat, in events a second: `cargo bench -p recording --bench read`.
//!
//! The trace is the test fixture, or the one that `FRAGLAB_BENCH_TRACE` names.

use criterion::{Criterion, Throughput};
use recording::TraceDat;
use std::hint::black_box;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/small.dat");

fn main() {
    let path = std::env::var("FRAGLAB_BENCH_TRACE").unwrap_or_else(|_| FIXTURE.to_owned());
    let trace = match TraceDat::open(&path) {
        Ok(trace) => trace,
        Err(why) => return println!("SKIPPED: read: {path}: {why}"),
    };
    let read = || trace.records().expect("a readable trace").map(|record| black_box(record.expect("a sound record")));
    let events = read().count() as u64;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(events));
    group.bench_function("trace_dat", |bencher| bencher.iter(|| read().count()));
    group.finish();
    criterion.final_summary();
}
