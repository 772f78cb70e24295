//! Who started a task? No event of a recording says so, but a fork copies page tables: the task that asked for several of them just
//! before a new one shows up is its parent.

use super::{Class, Object, Op, OpKind};
use foldhash::HashMap;
use pagealloc::{Gfp, Migratetype};
use std::collections::VecDeque;

/// From the copying of page tables to the child's first fault, nanoseconds: some turns on a CPU.
const FORK_NS: u64 = 30_000_000;
/// A fork takes a page for each level of the tables, at least; a fault takes one of them now and then.
const TABLES: usize = 4;

/// Parents of tasks.
#[derive(Default)]
pub(super) struct Forks {
    /// Requests for page tables of late: when and by whom.
    recent: VecDeque<(u64, u16)>,
    highest_pid: i32,
    /// By task.
    pub parents: Vec<Option<u16>>,
}

impl Forks {
    /// A task asks for a page.
    pub fn asks(&mut self, ts: u64, task: u16, gfp: Gfp) {
        // As long as no new task shows up nobody else does. Lines of a text may go back by a third of that time.
        self.forget(ts.saturating_sub(FORK_NS));
        if gfp.contains(Gfp::KERNEL_ACCOUNT | Gfp::ZERO) && gfp.migratetype() == Migratetype::Unmovable {
            self.recent.push_back((ts, task));
        }
    }

    /// Something is heard of the task with this index. New tasks have the highest number so far.
    pub fn heard(&mut self, ts: u64, index: usize, pid: i32) {
        if index < self.parents.len() {
            return;
        }
        self.forget(ts);
        let new = pid > self.highest_pid;
        self.parents.resize(index, None);
        self.parents.push(if new { self.parent() } else { None });
        self.highest_pid = self.highest_pid.max(pid);
    }

    /// Forgets requests that no task which shows up at this time can be due to.
    fn forget(&mut self, ts: u64) {
        while self.recent.front().is_some_and(|(asked, _)| asked + FORK_NS < ts) {
            self.recent.pop_front();
        }
    }

    /// Who asked for the most page tables of late, if they were enough for a fork; of several the last.
    fn parent(&self) -> Option<u16> {
        let mut asked: HashMap<u16, usize> = HashMap::default();
        self.recent.iter().for_each(|(_, task)| *asked.entry(*task).or_default() += 1);
        let most = self.recent.iter().map(|(_, task)| (asked[task], *task)).max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count >= TABLES).map(|(_, task)| task)
    }
}

/// By task, the time of its first anonymous page, if its parent shows.
pub(super) fn began(parents: &[Option<u16>], tasks: usize, ops: &[Op], objects: &[Object]) -> Vec<u64> {
    let mut began = vec![0; tasks];
    let forked = |task: usize| parents.get(task).is_some_and(Option::is_some);
    for op in ops.iter().filter(|op| matches!(op.kind, OpKind::Alloc | OpKind::ThpFault)) {
        let task = usize::from(op.task);
        if began[task] == 0 && forked(task) && objects[op.object as usize].class == Class::Anon {
            began[task] = op.ts;
        }
    }
    began
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Gfp = Gfp(Gfp::KERNEL_ACCOUNT.0 | Gfp::ZERO.0 | Gfp::COMP.0);

    #[test]
    fn the_parent_has_just_copied_its_page_tables() {
        let mut forks = Forks::default();
        (0..3).for_each(|index| forks.heard(1, index, [90, 80, 100][index]));
        (0..5).for_each(|at| forks.asks(1_000 + at, 1, TABLE));
        forks.asks(1_010, 2, TABLE);
        forks.asks(1_011, 2, Gfp::HIGHUSER_MOVABLE | Gfp::ZERO);
        forks.heard(2_000, 3, 101);
        forks.heard(2_001, 4, 85);
        forks.heard(3_000 + FORK_NS, 5, 102);
        assert_eq!(forks.parents, [None, None, None, Some(1), None, None]);
    }
    #[test]
    fn requests_are_not_kept_until_somebody_forks() {
        let mut forks = Forks::default();
        (0..1_000).for_each(|at| forks.asks(at * FORK_NS / 10, 0, TABLE));
        assert_eq!(forks.recent.len(), 21, "those of twice the time of a fork");
    }

    /// Counting each one's requests anew for each request took 10^11 steps.
    #[test]
    fn the_time_to_find_a_parent_goes_by_the_requests() {
        let mut forks = Forks::default();
        let begun = std::time::Instant::now();
        for new in 0..100 {
            (0..40_000).for_each(|at| forks.asks(new * FORK_NS + at, (at % 50_000) as u16, TABLE));
            forks.heard(new * FORK_NS + 40_000, new as usize, new as i32 + 1);
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
