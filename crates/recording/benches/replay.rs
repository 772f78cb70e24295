//! Speed of replaying a page log under the policy that was in force: `cargo bench -p recording --bench replay`.
//!
//! The recording is `recordings/demo`, or the one that `FRAGLAB_BENCH_RECORDING` names. What is timed is `replay_seconds`
//! of a run's manifest: the replay of the log, without reading it and without setting up memory.

use criterion::{Criterion, SamplingMode, Throughput};
use recording::Recording;
use recording::pagelog::{PageLog, normalise};
use recording::replay::{ReplayOptions, Replayed, recorded_policy, replay};
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/demo");

fn load(path: &str) -> Result<(Arc<PageLog>, ReplayOptions), Box<dyn Error>> {
    if !Path::new(path).exists() {
        return Err("there is no such recording".into());
    }
    let recording = Recording::open(path)?;
    let log = Arc::new(normalise(&recording)?.log);
    let policy = recorded_policy(&recording)?;
    Ok((log, ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: false, sampling: None }))
}

fn run(log: &Arc<PageLog>, options: &ReplayOptions) -> Replayed {
    replay(log, options, &mut |_| ControlFlow::Continue(())).expect("a recording that can be replayed")
}

fn main() {
    let path = std::env::var("FRAGLAB_BENCH_RECORDING").unwrap_or_else(|_| DEMO.to_owned());
    let (log, options) = match load(&path) {
        Ok(loaded) => loaded,
        Err(why) => return println!("SKIPPED: replay: {path}: {why}"),
    };
    let seconds = |runs: u64| (0..runs).map(|_| run(&log, &options).replay_seconds).sum();
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("replay");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.throughput(Throughput::Elements(run(&log, &options).page_events));
    group.bench_function("recorded", |bencher| bencher.iter_custom(|runs| Duration::from_secs_f64(seconds(runs))));
    group.finish();
    criterion.final_summary();
}
