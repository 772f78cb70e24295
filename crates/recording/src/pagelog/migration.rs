//! Identity over migration. Compaction takes its target frames from the free lists without an event; all that a trace
//! shows is which blocks a run took targets from, and later the free of a frame that nobody was seen to allocate. Such
//! a free belongs to an object that was moved and is not placed yet: of those that a run moved which took targets from
//! the block, one of the task that frees it, or else the earliest; failing these, the task's own earliest.

use super::ObjectId;
use pagealloc::Order;
use std::collections::{HashMap, VecDeque};

/// Pages of an object that were moved together.
type Moved = (ObjectId, Order);

/// Runs of compaction, which of them took targets from each pageblock, and what is not placed yet.
#[derive(Default)]
pub(super) struct Migrations {
    /// By run, in the order in which they were moved.
    runs: Vec<VecDeque<Moved>>,
    /// By the task that asked for them, likewise.
    by_asker: HashMap<u16, VecDeque<Moved>>,
    /// Per pageblock: (time, run), in time order.
    targets: Vec<Vec<(u64, u32)>>,
    unplaced: Unplaced,
}

/// Pages of each object that are in no frame that is known, by number.
#[derive(Default)]
struct Unplaced(Vec<u32>);

impl Unplaced {
    fn add(&mut self, object: ObjectId, pages: u32) {
        let index = object as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] += pages;
    }

    fn remove(&mut self, object: ObjectId, pages: u32) {
        if let Some(left) = self.0.get_mut(object as usize) {
            *left = left.saturating_sub(pages);
        }
    }

    fn holds(&self, object: ObjectId) -> bool {
        self.0.get(object as usize).is_some_and(|pages| *pages > 0)
    }
}

/// Who frees a frame that nobody was seen to allocate, and what it may be.
pub(super) struct Freed<'a> {
    /// The frame's pageblock.
    pub block: usize,
    /// When the frame was last seen.
    pub since: u64,
    /// Order of the free.
    pub order: Order,
    /// The task that frees it, if it frees on its own account.
    pub by: Option<u16>,
    /// Which objects it may be.
    pub may_be: &'a dyn Fn(ObjectId) -> bool,
    /// Which task asked for an object.
    pub asker: &'a dyn Fn(ObjectId) -> u16,
}

impl Migrations {
    /// A run begins: its number.
    pub fn begin(&mut self) -> u32 {
        self.runs.push(VecDeque::new());
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

    /// The run freed frames whose content it had moved.
    pub fn moved(&mut self, run: u32, object: ObjectId, order: Order, asker: u16) {
        if let Some(run) = self.runs.get_mut(run as usize) {
            run.push_back((object, order));
            self.by_asker.entry(asker).or_default().push_back((object, order));
            self.unplaced.add(object, 1 << order);
        }
    }

    /// Pages of an object turned up, by their name or by what [`Migrations::recover`] says.
    pub fn placed(&mut self, object: ObjectId, order: Order) {
        self.unplaced.remove(object, 1 << order);
    }

    /// The object whose pages these are, which counts as placed now.
    pub fn recover(&mut self, freed: &Freed<'_>) -> Option<ObjectId> {
        let object =
            self.of_block(freed, true).or_else(|| self.of_block(freed, false)).or_else(|| self.of_asker(freed))?;
        self.placed(object, freed.order);
        Some(object)
    }

    fn of_block(&mut self, freed: &Freed<'_>, own: bool) -> Option<ObjectId> {
        if own && freed.by.is_none() {
            return None;
        }
        let Migrations { runs, targets, unplaced, .. } = self;
        for &(_, run) in targets.get(freed.block)?.iter().filter(|(ts, _)| *ts >= freed.since) {
            let moved = &mut runs[run as usize];
            moved.retain(|(object, _)| unplaced.holds(*object));
            let fits = |&(object, order): &Moved| {
                order == freed.order && (freed.may_be)(object) && (!own || freed.by == Some((freed.asker)(object)))
            };
            if let Some(position) = moved.iter().position(fits) {
                return moved.remove(position).map(|(object, _)| object);
            }
        }
        None
    }

    fn of_asker(&mut self, freed: &Freed<'_>) -> Option<ObjectId> {
        let moved = self.by_asker.get_mut(&freed.by?)?;
        moved.retain(|(object, _)| self.unplaced.holds(*object));
        let position = moved.iter().position(|&(object, order)| order == freed.order && (freed.may_be)(object))?;
        moved.remove(position).map(|(object, _)| object)
    }
}
