//! Identity over migration. Compaction takes its target frames from the free lists without an event; all that a trace
//! shows is which blocks a run took targets from, and later the free of a frame that nobody was seen to allocate. Such
//! a free belongs to an object that was moved and is not placed yet. Memory is mostly given back in the order in which it
//! was asked for, so it is the next one of the task that frees it, after what that task freed last; failing that, the
//! earliest of those that a run moved which took targets from the block. `examples/identity.rs` counts how often that is
//! right.

use super::ObjectId;
use foldhash::HashMap;
use pagealloc::Order;
use std::collections::{BTreeSet, VecDeque};

/// Pages of an object that were moved together.
type Moved = (ObjectId, Order);

/// Runs of compaction, which of them took targets from each pageblock, and what is not placed yet.
#[derive(Default)]
pub(super) struct Migrations {
    /// By run, in the order in which they were moved.
    runs: Vec<VecDeque<Moved>>,
    /// By the task that asked for them, in the order in which it did.
    by_asker: HashMap<u16, BTreeSet<Moved>>,
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
    /// What that task freed before.
    pub after: ObjectId,
    /// Which objects it may be.
    pub may_be: &'a dyn Fn(ObjectId) -> bool,
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
            self.by_asker.entry(asker).or_default().insert((object, order));
            self.unplaced.add(object, 1 << order);
        }
    }

    /// Pages of an object turned up, by their name or by what [`Migrations::recover`] says.
    pub fn placed(&mut self, object: ObjectId, order: Order) {
        self.unplaced.remove(object, 1 << order);
    }

    /// The object whose pages these are, which counts as placed now.
    pub fn recover(&mut self, freed: &Freed<'_>) -> Option<ObjectId> {
        let object = self.of_asker(freed).or_else(|| self.of_block(freed))?;
        self.placed(object, freed.order);
        Some(object)
    }

    /// The next of the task's own that is not placed, or else its first.
    fn of_asker(&mut self, freed: &Freed<'_>) -> Option<ObjectId> {
        let Migrations { by_asker, unplaced, .. } = self;
        let moved = by_asker.get_mut(&freed.by?)?;
        let mut placed = Vec::new();
        let mut fits = |&&(object, order): &&Moved| {
            if !unplaced.holds(object) {
                placed.push((object, order));
                return false;
            }
            order == freed.order && (freed.may_be)(object)
        };
        let later = moved.range((freed.after, Order::MAX)..).find(&mut fits);
        let found = later.or_else(|| moved.iter().find(&mut fits)).copied();
        placed.extend(found);
        for one in &placed {
            moved.remove(one);
        }
        found.map(|(object, _)| object)
    }

    fn of_block(&mut self, freed: &Freed<'_>) -> Option<ObjectId> {
        let Migrations { runs, targets, unplaced, .. } = self;
        for &(_, run) in targets.get(freed.block)?.iter().filter(|(ts, _)| *ts >= freed.since) {
            // A run that began before the trace has no number, and moved nothing that is known.
            let Some(moved) = runs.get_mut(run as usize) else { continue };
            moved.retain(|(object, _)| unplaced.holds(*object));
            let fits = |&(object, order): &Moved| order == freed.order && (freed.may_be)(object);
            if let Some(position) = moved.iter().position(fits) {
                return moved.remove(position).map(|(object, _)| object);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects that frees of single pages of this block are taken for, each after the one that the task freed before.
    fn recovered(migrations: &mut Migrations, by: Option<u16>, after: ObjectId, frees: usize) -> Vec<Option<ObjectId>> {
        let mut after = after;
        let mut next = |_| {
            let freed = Freed { block: 7, since: 0, order: 0, by, after, may_be: &|_| true };
            let object = migrations.recover(&freed);
            after = object.unwrap_or(after);
            object
        };
        (0..frees).map(&mut next).collect()
    }

    fn moved(objects: &[(ObjectId, u16)]) -> Migrations {
        let mut migrations = Migrations::default();
        let run = migrations.begin();
        migrations.took_targets(run, 7, 10);
        objects.iter().for_each(|&(object, asker)| migrations.moved(run, object, 0, asker));
        migrations
    }

    #[test]
    fn a_task_gives_back_in_the_order_in_which_it_asked() {
        // As compaction moves a block: the last page first.
        let mut migrations = moved(&[(9, 1), (8, 1), (6, 2), (5, 1), (4, 1)]);
        assert_eq!(recovered(&mut migrations, Some(1), 7, 5), [Some(8), Some(9), Some(4), Some(5), Some(6)]);
    }

    #[test]
    fn what_turned_up_elsewhere_is_not_taken_again() {
        let mut migrations = moved(&[(5, 1), (4, 1), (3, 1)]);
        migrations.placed(4, 0);
        assert_eq!(recovered(&mut migrations, Some(1), 3, 3), [Some(5), Some(3), None]);
    }

    #[test]
    fn a_run_that_began_before_the_trace_moved_nothing() {
        let mut migrations = Migrations::default();
        migrations.took_targets(0, 7, 10);
        assert_eq!(recovered(&mut migrations, Some(1), 0, 1), [None]);
    }

    #[test]
    fn reclaim_takes_what_moved_first() {
        assert_eq!(recovered(&mut moved(&[(5, 1), (4, 2)]), None, 0, 3), [Some(5), Some(4), None]);
    }
}
