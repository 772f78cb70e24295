//! How often a replay knows which page is freed: for recordings that show where compaction put pages (those made with
//! `fraglab record`'s probes), compares the page log that uses this with the one that has to infer it.
//!
//! `cargo run --release -p recording --example identity RECORDING...`

use pagealloc::CpuId;
use recording::pagelog::{ObjectId, OpKind, PageLog, normalise};
use recording::{Error, Recording};
use std::collections::HashMap;

/// Which object is freed when and on which CPU, in the same order in both logs.
fn frees(log: &PageLog) -> HashMap<(u64, CpuId), ObjectId> {
    let frees = log.ops.iter().filter(|op| op.kind == OpKind::Free);
    frees.map(|op| ((op.ts, CpuId(op.cpu.into())), op.object)).collect()
}

/// Which task asked for each object.
fn askers(log: &PageLog) -> HashMap<ObjectId, u16> {
    log.ops.iter().filter(|op| op.kind == OpKind::Alloc).map(|op| (op.object, op.task)).collect()
}

fn compare(path: &str) -> Result<(), Error> {
    let mut recording = Recording::open(path)?;
    if !recording.recorder.get("probes").is_some_and(|probes| probes.contains("fraglab_migrate")) {
        println!("{path}: SKIPPED: it does not show where pages went");
        return Ok(());
    }
    let shown = normalise(&recording)?.log;
    recording.recorder.remove("probes");
    let inferred = normalise(&recording)?.log;
    let (askers, frees_inferred) = (askers(&shown), frees(&inferred));
    let (mut right, mut of_task, mut wrong, mut missing) = (0, 0, 0, 0);
    for (free, object) in frees(&shown) {
        match frees_inferred.get(&free) {
            Some(other) if *other == object => right += 1,
            Some(other) if askers.get(other) == askers.get(&object) => of_task += 1,
            Some(_) => wrong += 1,
            None => missing += 1,
        }
    }
    let (moved, asked) = (shown.attribution.moves_recorded, shown.attribution.moves_to_asked);
    println!("{path}: {moved} pages moved, {asked} of them to pages that were asked for to that end");
    println!("  frees {right} right, {of_task} another page of its task, {wrong} of another task, {missing} missing");
    Ok(())
}

fn main() -> Result<(), Error> {
    std::env::args().skip(1).try_for_each(|path| compare(&path))
}
