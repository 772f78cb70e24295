//! A run on paper: every program up to what it owes, on a system that does nothing. What a scenario asks for is known without
//! running it anywhere.

use crate::{Errno, Op, Program, RunReport, Spawn, System, TaskReport, Touched, Workload, drive};
use std::future::Future;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits to its end: real kernels answer at once as far as Rust can tell.
///
/// # Panics
/// If it does wait.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a system that answers at once was waited for"),
    }
}

/// Does nothing, and remembers who was forked.
#[derive(Default)]
struct Paper {
    forked: Vec<Spawn>,
    over: bool,
}

impl System for Paper {
    async fn perform(&mut self, op: &Op) -> Result<Touched, Errno> {
        if let Op::Fork(child) = op {
            self.forked.push(*child);
        }
        Ok(Touched::default())
    }

    fn now(&self) -> u64 {
        0
    }

    fn over(&self) -> bool {
        self.over
    }

    fn quota_done(&mut self) {
        self.over = true;
    }
}

/// What a complete run of this workload leaves, times aside: its digest and its operations by role.
pub fn on_paper(workload: &dyn Workload) -> RunReport {
    let roots = workload.roots();
    let mut run = RunReport::new(workload, &roots);
    for root in &roots {
        let mut waiting = vec![(root.spawn, Some(root.quota))];
        while let Some((spawn, quota)) = waiting.pop() {
            let (report, forked) = task_on_paper(&spawn, workload.program(&spawn), quota);
            run.tasks.push(report);
            waiting.extend(forked.into_iter().map(|child| (child, None)));
        }
    }
    run
}

/// A task on paper, and the children that it forks.
fn task_on_paper(spawn: &Spawn, program: Program, quota: Option<u64>) -> (TaskReport, Vec<Spawn>) {
    let mut paper = Paper::default();
    let report = ready(drive(&mut paper, spawn, program, quota));
    (report, paper.forked)
}
