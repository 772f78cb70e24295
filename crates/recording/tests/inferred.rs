//! What is inferred of a start snapshot that lacks the states of pages and pageblocks, against those that were recorded.

use pagealloc::{Order, Pfn};
use recording::Recording;
use recording::pagelog::{StartState, normalise};
use std::path::{Path, PathBuf};

/// How far an inferred start is from the recorded one.
#[derive(Debug)]
struct Distance {
    pageblocks: usize,
    wrong_pageblocks: usize,
    frames: usize,
    /// Frames that are free in one and in use in the other.
    wrong_frames: usize,
    cached: usize,
    cached_inferred: usize,
}

fn free_frames(start: &StartState, frames: usize) -> Vec<bool> {
    let mut free = vec![false; frames];
    let cached = start.pcp.iter().map(|page| (page.pfn, page.order));
    for (Pfn(pfn), order) in start.free.iter().copied().chain(cached) {
        let end = (pfn as usize + (1 << Order::from(order))).min(frames);
        free[pfn as usize..end].fill(true);
    }
    free
}

fn distance(path: &Path) -> Distance {
    let mut recording = Recording::open(path).unwrap();
    let frames = recording.frames().unwrap() as usize;
    let truth = normalise(&recording).unwrap().log.start;
    let start = recording.snapshots.get_mut("start").unwrap();
    start.pagestate.clear();
    start.pageblocks.clear();
    let inferred = normalise(&recording).unwrap().log.start;
    let wrong = |(a, b): &(bool, bool)| a != b;
    Distance {
        pageblocks: truth.blocks.len(),
        wrong_pageblocks: truth.blocks.iter().zip(&inferred.blocks).filter(|(a, b)| a != b).count(),
        frames,
        wrong_frames: free_frames(&truth, frames).into_iter().zip(free_frames(&inferred, frames)).filter(wrong).count(),
        cached: truth.pcp.len(),
        cached_inferred: inferred.pcp.len(),
    }
}

fn check(path: &Path) {
    let distance = distance(path);
    println!("{}: {distance:?}", path.file_name().unwrap_or_default().to_string_lossy());
    // Bars, not tolerances of noise: what docs/recording.md promises.
    assert!(distance.wrong_pageblocks * 16 <= distance.pageblocks, "{distance:?}");
    assert!(distance.wrong_frames * 100 <= distance.frames, "{distance:?}");
    // Those that the trace never hands out stay unknown; none is made up.
    assert!((1..=distance.cached).contains(&distance.cached_inferred), "{distance:?}");
}

#[test]
fn the_start_of_the_demo_can_be_inferred() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/demo"));
}

#[test]
fn the_starts_of_the_shared_recordings_can_be_inferred() {
    let shared: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let names = ["m512lru-d0-s21", "m512lru-d1-s21", "m512-d0-s1", "m512-d1-s1"];
    let paths: Vec<_> = names.iter().map(|name| shared.join(name)).filter(|path| path.exists()).collect();
    if paths.is_empty() {
        println!("skipped: no recordings in ../shared");
    }
    paths.iter().for_each(|path| check(path));
}
