//! What a recorded kernel's memory looked like over time: the same [`Timeline`] that models leave.
//!
//! What /proc said at every tick is measured. How full pageblocks were in between is inferred: pages in use at the start,
//! then allocations and frees. Compaction takes its targets without an event of its own; where no probe shows the moves,
//! pages go to the ranges that the free scanner isolated for the same task, block by block. Every later snapshot sets
//! all right again.

mod follow;
mod frames;
mod moments;
mod slices;

use crate::pagelog::{PageArray, PageLog, since_epoch};
use crate::{Error, Recording};
use follow::Follower;
use lab::outcome::Outcome;
use lab::timeline::{Sampler, Sampling, Shape, Span, Timeline};
use pagealloc::Geometry;

/// The recorded kernel over the log's window. `kernel` is its outcome over the same.
///
/// # Errors
/// Those of the trace.
pub fn kernel_timeline(
    recording: &Recording,
    log: &PageLog,
    kernel: &Outcome,
    sampling: Sampling,
) -> Result<Timeline, Error> {
    let sampler = Sampler::new(log.window.0, shape(log), Geometry::PAGES_4K.max_order, sampling);
    let mut follower = Follower::new(recording, log, kernel, sampler);
    for record in since_epoch(recording.page_trace()?.records()?) {
        let record = record?;
        if record.ts_ns > log.window.1 {
            break;
        }
        follower.record(&record);
    }
    let mut timeline = follower.finish();
    timeline.notes = notes(recording);
    timeline.release = recording.kernel_version.clone();
    Ok(timeline)
}

fn shape(log: &PageLog) -> Shape {
    let geometry = log.start.machine.geometry;
    let block = |pfn: u32| pfn >> geometry.pageblock_order;
    let span = |zone: &pagealloc::ZoneSpan| {
        let (first, last) = (block(zone.start.0), block(zone.start.0 + zone.spanned - 1));
        Span { node: zone.node.0, name: zone.kind.name().to_owned(), first_block: first, blocks: last + 1 - first }
    };
    Shape {
        page_size: 1 << geometry.page_shift,
        pageblock_order: geometry.pageblock_order,
        zones: log.start.machine.zones.iter().filter(|zone| zone.spanned > 0).map(span).collect(),
    }
}

fn notes(recording: &Recording) -> Vec<String> {
    let mut notes = vec![
        "How full pageblocks are is inferred from the start snapshot and the page trace; types and free blocks are \
         measured once a second."
            .to_owned(),
        "Watermarks are those of the start snapshot; the boost is not known.".to_owned(),
    ];
    if PageArray::of(recording).is_none() {
        notes.push(
            "The recording does not show where compaction moved pages to: they are put into the ranges that the free \
             scanner took for it."
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests;
