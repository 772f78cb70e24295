//! Whose are the frees that interrupts make? RCU callbacks give back page tables, stacks and slab some time after their owner let go
//! of them, in whatever task is interrupted then. That task has nothing to do with it, least of all while it waits for memory: it would
//! keep what it waits for.

use super::{ObjectId, Op, OpKind};

/// Gives each late free to the task that had asked for the page, if that had ended by then: it was its end that let go. All others,
/// and those of pages from before the recording (below `first`), are nobody's: `interrupts`.
pub(super) fn attribute(ops: &mut [Op], tasks: usize, askers: &[u16], first: ObjectId, interrupts: u16) {
    let ends = ends(ops, tasks);
    for op in ops.iter_mut().filter(|op| op.kind == OpKind::LateFree) {
        let asker = askers[op.object as usize];
        let gone = op.object >= first && ends[usize::from(asker)] <= op.ts;
        op.task = if gone { asker } else { interrupts };
    }
}

/// By task: its last operation of its own, 0 for those that have none.
pub(crate) fn ends(ops: &[Op], tasks: usize) -> Vec<u64> {
    let mut ends = vec![0; tasks];
    for op in ops.iter().filter(|op| !matches!(op.kind, OpKind::LateFree | OpKind::FreePart)) {
        ends[usize::from(op.task)] = op.ts;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_free_is_its_askers_if_that_has_ended() {
        let op = |kind, ts, task, object| Op { ts, object, task, cpu: 0, kind };
        let mut ops = [
            op(OpKind::Alloc, 1, 1, 1),
            op(OpKind::Alloc, 2, 2, 2),
            op(OpKind::LateFree, 5, 3, 1),
            op(OpKind::LateFree, 6, 3, 2),
            op(OpKind::LateFree, 7, 3, 0),
            op(OpKind::Free, 8, 2, 3),
            op(OpKind::Free, 9, 3, 4),
        ];
        attribute(&mut ops, 5, &[0, 1, 2, 2, 3], 1, 4);
        assert_eq!(ops.map(|op| op.task), [1, 2, 1, 4, 4, 2, 3]);
    }
}
