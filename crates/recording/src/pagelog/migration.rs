//! Identity over migration. Compaction takes its target frames from the free lists without an event; all that a trace
//! shows is which blocks a run took targets from, and later the free of a frame that nobody was seen to allocate. Such
//! a free belongs to an object that the run moved: the earliest of the same order that is not placed yet.

use super::ObjectId;
use pagealloc::Order;
use std::collections::VecDeque;

/// A run of compaction.
#[derive(Default)]
struct Run {
    moved: VecDeque<(ObjectId, Order)>,
}

/// A page that the caller looks for among those that were moved.
pub(super) trait Wanted: Fn(ObjectId) -> bool {}
impl<F: Fn(ObjectId) -> bool> Wanted for F {}

/// Runs of compaction, and which of them took targets from each pageblock.
#[derive(Default)]
pub(super) struct Migrations {
    runs: Vec<Run>,
    /// Per pageblock: (time, run), in time order.
    targets: Vec<Vec<(u64, u32)>>,
}

impl Migrations {
    /// A run begins: its number.
    pub fn begin(&mut self) -> u32 {
        self.runs.push(Run::default());
        self.runs.len() as u32 - 1
    }

    /// The run took free frames from this pageblock as targets.
    pub fn took_targets(&mut self, run: u32, block: usize, ts: u64) {
        if self.targets.len() <= block {
            self.targets.resize_with(block + 1, Vec::new);
        }
        if self.targets[block].last().is_none_or(|&(_, last)| last != run) {
            self.targets[block].push((ts, run));
        }
    }

    /// The run freed a frame whose content it had moved.
    pub fn moved(&mut self, run: u32, object: ObjectId, order: Order) {
        if let Some(run) = self.runs.get_mut(run as usize) {
            run.moved.push_back((object, order));
        }
    }

    /// A frame in this block, last seen at `since`, is freed though nobody was seen to allocate it: the object that
    /// compaction had put there, among those that are `wanted`.
    pub fn recover(&mut self, block: usize, since: u64, order: Order, wanted: impl Wanted) -> Option<ObjectId> {
        let runs = self.targets.get(block)?;
        let fits = |&(object, moved_order): &(ObjectId, Order)| moved_order == order && wanted(object);
        for &(_, run) in runs.iter().filter(|(ts, _)| *ts >= since) {
            let moved = &mut self.runs[run as usize].moved;
            if let Some(position) = moved.iter().position(fits) {
                return moved.remove(position).map(|(object, _)| object);
            }
        }
        None
    }
}
