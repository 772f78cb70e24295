//! Which page cache was used once? What is not used again leaves in the order in which it came. A page that is still there while
//! younger ones leave by the hundred was used meanwhile.

use super::{Class, LEAVE_SHIFT, NEVER, ONCE, Object, Op, OpKind};

/// Evictions in a row of which the median page tells how far reclaim has come.
const BATCH: usize = 512;
/// Reclaim takes folios in batches and by generations, not strictly by age: a page was used if it stayed a quarter longer than
/// those that left with it.
const LATE: u32 = 4;

/// Marks page cache that was used once, when it came. Objects of the start snapshot count as if they had come at the start. Returns how far
/// reclaim had come when.
pub(super) fn mark(objects: &mut [Object], ops: &[Op], window: (u64, u64)) -> Reach {
    let (came, went) = stays(objects.len(), ops, window);
    let reach = Reach::of(objects, &came);
    for (id, object) in objects.iter_mut().enumerate().filter(|(_, object)| object.class == Class::File) {
        let left = if object.leave == NEVER { went[id] } else { object.leave };
        let reached = reach.at(left);
        if came[id] + left.saturating_sub(reached) / LATE >= reached {
            object.flags |= ONCE;
        }
    }
    reach
}

/// When each object came, and when its owner let go of it: in units of 2^16 ns.
fn stays(objects: usize, ops: &[Op], (start, end): (u64, u64)) -> (Vec<u32>, Vec<u32>) {
    let coarse = |ts: u64| (ts >> LEAVE_SHIFT) as u32;
    let (mut came, mut went) = (vec![coarse(start); objects], vec![coarse(end); objects]);
    for op in ops {
        match op.kind {
            OpKind::Alloc => came[op.object as usize] = coarse(op.ts),
            OpKind::Free | OpKind::FreePart | OpKind::LateFree => went[op.object as usize] = coarse(op.ts),
            OpKind::Attempt | OpKind::ThpFault => {}
        }
    }
    (came, went)
}

/// How far reclaim had come, and when: (end of a batch of evictions, when what left with it had come), both ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach(Vec<(u32, u32)>);

impl Reach {
    fn of(objects: &[Object], came: &[u32]) -> Reach {
        let evicted = |object: &&Object| object.class == Class::File && object.leave != NEVER;
        let mut evictions: Vec<_> = objects
            .iter()
            .zip(came)
            .filter(|(object, _)| evicted(object))
            .map(|(object, came)| (object.leave, *came))
            .collect();
        evictions.sort_unstable();
        let mut furthest = 0;
        let reach = evictions.chunks_exact(BATCH).map(|batch| {
            let mut came: Vec<u32> = batch.iter().map(|(_, came)| *came).collect();
            furthest = furthest.max(*came.select_nth_unstable(BATCH / 2).1);
            (batch[BATCH - 1].0, furthest)
        });
        Reach(reach.collect())
    }

    /// When what left about this time had come; 0 before the end of the first batch.
    pub fn at(&self, time: u32) -> u32 {
        let batches = self.0.partition_point(|(last, _)| *last <= time);
        batches.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 1 << LEAVE_SHIFT;

    fn page(leave: u32, class: Class) -> Object {
        Object { leave, link: 0, gfp: 0, order: 0, class, flags: 0 }
    }

    fn op(kind: OpKind, object: u32, at: u64) -> Op {
        Op { ts: at * UNIT, object, task: 0, cpu: 0, kind }
    }

    /// Pages come one a unit and leave 1,000 units later, in order.
    fn stream() -> (Vec<Object>, Vec<Op>) {
        let objects = (0..4_000).map(|at| page(at + 1_000, Class::File)).collect();
        let ops = (0..4_000).map(|at| op(OpKind::Alloc, at, u64::from(at))).collect();
        (objects, ops)
    }

    #[test]
    fn what_leaves_in_the_order_in_which_it_came_was_used_once() {
        let (mut objects, ops) = stream();
        let reach = mark(&mut objects, &ops, (0, 5_000 * UNIT));
        assert!(objects.iter().all(|object| object.flags == ONCE));
        // The first batch leaves from 1,000 to 1,511, the next one until 2,023.
        assert_eq!([1_510, 1_511, 2_022, 2_023].map(|time| reach.at(time)), [0, 256, 256, 768]);
    }

    #[test]
    fn what_outlives_younger_pages_was_used() {
        let (mut objects, ops) = stream();
        objects[500].leave = 4_000;
        objects[501].leave = NEVER;
        objects[502].leave = 1_800;
        mark(&mut objects, &ops, (0, 5_000 * UNIT));
        assert_eq!(
            [500, 501, 502, 503].map(|id| objects[id].flags),
            [0, 0, ONCE, ONCE],
            "502 is late by less than a quarter"
        );
    }

    #[test]
    fn what_reclaim_has_not_come_to_may_have_been_used_once() {
        let (mut objects, mut ops) = stream();
        objects.extend([page(NEVER, Class::File), page(NEVER, Class::File), page(NEVER, Class::Anon)]);
        ops.extend([op(OpKind::Alloc, 4_000, 4_500), op(OpKind::Alloc, 4_001, 1_000), op(OpKind::Free, 4_001, 1_200)]);
        mark(&mut objects, &ops, (0, 5_000 * UNIT));
        assert_eq!(objects[4_000..].iter().map(|object| object.flags).collect::<Vec<_>>(), [ONCE, ONCE, 0]);
    }

    #[test]
    fn without_reclaim_nothing_shows_a_use() {
        let mut objects = vec![page(NEVER, Class::File); 3];
        mark(&mut objects, &[], (0, UNIT));
        assert!(objects.iter().all(|object| object.flags == ONCE));
    }

    /// The second batch has left at 2,023; its median page had come at 768, and so stayed for 1,255. Who came earlier and leaves with
    /// it has stayed longer, by no more than a quarter of that if it came at 455 or later.
    #[test]
    fn a_page_may_stay_a_quarter_longer_than_those_that_left_with_it() {
        let (mut objects, ops) = stream();
        (objects[454].leave, objects[455].leave) = (2_023, 2_023);
        let reach = mark(&mut objects, &ops, (0, 5_000 * UNIT));
        assert_eq!(reach.at(2_023), 768);
        assert_eq!([454, 455].map(|id| objects[id].flags), [0, ONCE], "a quarter of 1,255 is 313");
    }
}
