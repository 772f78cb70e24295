//! Late frees: they come as long after the end of the task that let go of the pages as they did in the recording, and wait for nobody's
//! turn on a CPU.

use super::schedule::Schedule;
use crate::pagelog::{ObjectId, Op, OpKind};
use std::collections::BTreeMap;

/// Late frees of tasks that lag.
#[derive(Default)]
pub(super) struct LateFrees {
    /// By task that has yet to end.
    parked: BTreeMap<u16, Vec<Op>>,
    /// Those whose task has ended, by time: task, page and CPU.
    due: Schedule<(u16, ObjectId, u8)>,
}

impl LateFrees {
    /// The task has yet to let go.
    pub fn park(&mut self, op: Op) {
        self.parked.entry(op.task).or_default().push(op);
    }

    /// The task that ended at `end` in the recording has done so now.
    pub fn ended(&mut self, task: u16, end: u64, now: u64) {
        for op in self.parked.remove(&task).into_iter().flatten() {
            self.due.add(now + op.ts.saturating_sub(end), (task, op.object, op.cpu));
        }
    }

    /// When the first one is due; the end of time if none is.
    #[inline]
    pub fn next(&self) -> u64 {
        self.due.next()
    }

    /// Takes the first one.
    pub fn pop(&mut self) -> Option<Op> {
        let (ts, (task, object, cpu)) = self.due.pop()?;
        Some(Op { ts, object, task, cpu, kind: OpKind::LateFree })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(ts: u64, task: u16, object: ObjectId) -> Op {
        Op { ts, object, task, cpu: 1, kind: OpKind::LateFree }
    }

    #[test]
    fn a_late_free_comes_as_long_after_its_tasks_end_as_it_did() {
        let mut late = LateFrees::default();
        [op(120, 3, 1), op(150, 3, 2), op(130, 4, 5)].into_iter().for_each(|op| late.park(op));
        assert_eq!(late.next(), u64::MAX);
        late.ended(3, 100, 1_000);
        assert_eq!(
            (late.next(), late.pop(), late.pop(), late.pop()),
            (1_020, Some(op(1_020, 3, 1)), Some(op(1_050, 3, 2)), None)
        );
    }
}
