//! Tasks that had to wait: they don't catch up at once. The next operation takes as long to come as it did in the
//! recording, so that a wait shifts the demand instead of heaping it up; what makes up for a lag are the task's own
//! pauses.
//!
//! Two more rules keep a lag from becoming demand that no machine could make:
//!
//! - A CPU runs one task at a time. A task that lags takes turns with whoever was recorded on that CPU after it; else both would take single pages
//!   from one per-CPU list by turns, and memory be mixed more finely than any scheduler does it.
//! - A task does not begin before those have ended that had ended when it began: whoever started it had waited for them (`make` for a job's
//!   end). Else more tasks would have memory at the same time than ever had.

use super::late::LateFrees;
use super::schedule::Schedule;
use crate::pagelog::{Op, OpKind, PageLog, task_ends};
use std::collections::{BTreeSet, VecDeque};

/// A task that did nothing for this long in the recording was waiting or asleep: such a pause makes up for a lag.
const PAUSE_NS: u64 = 2_000_000;
/// A CPU whose task is quiet for this long may be had by others: waits for a device or another task begin at some tenths of a millisecond. With 2 ms,
/// replays of a machine that is busy all the time get through 7 % less than it did.
const QUIET_NS: u64 = 500_000;
/// How long a task keeps a CPU that others wait for: a tick of `CONFIG_HZ=250`, distributions' usual choice, at which the scheduler looks
/// whether its slice is used up.
const SLICE_NS: u64 = 4_000_000;

/// Who has a CPU.
#[derive(Clone, Copy, Default)]
struct Turn {
    task: u16,
    /// Whether that task lags.
    lags: bool,
    since: u64,
    /// When it is over if nothing more is heard of the task.
    until: u64,
}

impl Turn {
    fn ends(self) -> u64 {
        self.until.min(self.since + SLICE_NS)
    }

    fn goes_on(&mut self, op: Op, lags: bool, now: u64) {
        // Who has slept comes back with a slice of its own.
        if self.task != op.task || now >= self.until {
            *self = Turn { task: op.task, since: now, ..Turn::default() };
        }
        (self.lags, self.until) = (lags, now + QUIET_NS);
    }
}

/// What tasks had to hold back, and when they go on.
pub(super) struct Held {
    /// By task: operations behind the one that waits or lags; `None` for tasks that are in step.
    backlog: Vec<Option<VecDeque<Op>>>,
    /// Tasks that lag, by the time at which each one's next operation is due.
    due: Schedule<u16>,
    late: LateFrees,
    /// Time of the first of them, and of late frees; the end of time if there is none.
    pub next: u64,
    /// By CPU.
    turns: Vec<Turn>,
    /// By task: whether it has begun, and its last operation in the recording.
    begun: Vec<bool>,
    ends: Vec<u64>,
    /// Tasks that are not in step, by their end in the recording.
    behind: BTreeSet<(u64, u16)>,
    /// The task that lags whose operation is being done.
    performing: Option<u16>,
    /// Whether it has to wait for that.
    waits_anew: bool,
    /// Tasks that have yet to begin because of these, by their first operation in the recording.
    unborn: BTreeSet<(u64, u16)>,
    /// By task: who started it.
    parents: Vec<Option<u16>>,
    /// Tasks whose parent has yet to start them: parent, first operation in the recording, task.
    unforked: BTreeSet<(u16, u64, u16)>,
}

impl Held {
    /// For the tasks of a log, on a machine of so many CPUs.
    pub fn new(log: &PageLog, cpus: usize) -> Held {
        Held { parents: log.parents.clone(), ..Held::of_tasks(task_ends(&log.ops, log.tasks.len()), cpus) }
    }

    fn of_tasks(ends: Vec<u64>, cpus: usize) -> Held {
        Held {
            backlog: ends.iter().map(|_| None).collect(),
            due: Schedule::default(),
            late: LateFrees::default(),
            next: u64::MAX,
            turns: vec![Turn::default(); cpus.max(1)],
            begun: vec![false; ends.len()],
            ends,
            behind: BTreeSet::new(),
            performing: None,
            waits_anew: false,
            unborn: BTreeSet::new(),
            parents: Vec::new(),
            unforked: BTreeSet::new(),
        }
    }

    /// The task waits for an answer. Mostly it works for it, so it keeps its CPU for a while.
    pub fn wait(&mut self, task: u16) {
        if self.performing == Some(task) {
            self.waits_anew = true; // It is behind already.
        } else {
            self.fall_behind(task);
        }
    }

    /// Holds the operation back if its task is not in step, or if others come first.
    #[inline(always)]
    pub fn hold(&mut self, op: &mut Op) -> bool {
        let task = usize::from(op.task);
        match op.kind {
            OpKind::LateFree => return self.hold_late(*op),
            // Memory pressure splits huge pages, whatever their owners wait for.
            OpKind::FreePart => return false,
            _ => {}
        }
        if let Some(waiting) = &mut self.backlog[task] {
            waiting.push_back(*op);
            return true;
        }
        if !self.begun[task] {
            self.begun[task] = true;
            if !self.may_begin(op.ts, op.task) {
                self.fall_behind(op.task).push_back(*op);
                return true;
            }
        }
        if self.turns[usize::from(op.cpu)].lags
            && let Err(at) = self.take_cpu(op, op.ts)
        {
            self.fall_behind(op.task).push_back(*op);
            self.schedule(at, op.task);
            return true;
        }
        self.turns[usize::from(op.cpu)].goes_on(*op, false, op.ts);
        false
    }

    /// Whether nobody stands in the way of a task that began at `ts` in the recording; else it waits for whoever does.
    fn may_begin(&mut self, ts: u64, task: u16) -> bool {
        let parent = self.parents.get(usize::from(task)).copied().flatten();
        if let Some(parent) = parent.filter(|parent| !self.has_passed(*parent, ts)) {
            self.unforked.insert((parent, ts, task));
            return false;
        }
        let waits = self.behind.first().is_some_and(|(end, _)| *end < ts);
        if waits {
            self.unborn.insert((ts, task));
        }
        !waits
    }

    /// Whether a task has done all that it had done by this time in the recording. What comes after an answer that it waits for is not known.
    fn has_passed(&self, task: u16, ts: u64) -> bool {
        let waiting = self.backlog[usize::from(task)].as_ref();
        waiting.is_none_or(|waiting| waiting.front().is_some_and(|next| next.ts > ts))
    }

    /// A task has come as far as its operation at `next` in the recording: whom it had started by then may begin.
    fn forks(&mut self, parent: u16, next: u64, now: u64) {
        while let Some(&(_, ts, task)) = self.unforked.range((parent, 0, 0)..(parent, next, 0)).next() {
            self.unforked.remove(&(parent, ts, task));
            if self.may_begin(ts, task) {
                self.schedule(now.max(ts), task);
            }
        }
    }

    /// Whether the free has to wait for its task's end.
    fn hold_late(&mut self, op: Op) -> bool {
        let lags = self.backlog[usize::from(op.task)].is_some();
        if lags {
            self.late.park(op);
        }
        lags
    }

    /// The CPU that the task has, or its own of the recording, or another one that nobody has: the operation is done there. Else, when one
    /// will be free.
    fn take_cpu(&self, op: &mut Op, now: u64) -> Result<(), u64> {
        let has = |cpu: &usize| self.turns[*cpu].task == op.task && now < self.turns[*cpu].ends();
        let free = |cpu: &usize| now >= self.turns[*cpu].ends();
        let (own, all) = (usize::from(op.cpu), || 0..self.turns.len());
        let cpu = all().find(has).or(Some(own).filter(free)).or_else(|| all().find(free));
        let first_free = || self.turns.iter().map(|turn| turn.ends()).min().unwrap_or(now);
        op.cpu = cpu.ok_or_else(first_free)? as u8;
        Ok(())
    }

    /// From now on the task's operations are held back.
    #[cold]
    fn fall_behind(&mut self, task: u16) -> &mut VecDeque<Op> {
        self.behind.insert((self.ends[usize::from(task)], task));
        self.backlog[usize::from(task)].get_or_insert_default()
    }

    /// The task has nothing left to make up for. Others may begin now.
    fn in_step(&mut self, task: u16, now: u64) {
        let end = self.ends[usize::from(task)];
        self.backlog[usize::from(task)] = None;
        self.behind.remove(&(end, task));
        self.late.ended(task, end, now);
        self.forks(task, u64::MAX, now);
        self.see_next();
        while let Some(&(ts, unborn)) = self.unborn.first() {
            if self.behind.first().is_some_and(|(end, _)| *end < ts) {
                return;
            }
            self.unborn.pop_first();
            self.schedule(now.max(ts), unborn);
        }
    }

    fn schedule(&mut self, at: u64, task: u16) {
        self.due.add(at, task);
        self.next = self.next.min(at);
    }

    fn see_next(&mut self) {
        self.next = self.due.next().min(self.late.next());
    }

    fn pop(&mut self) -> Option<(u64, u16)> {
        let first = self.due.pop();
        self.see_next();
        first
    }

    /// The next late free, if that is what comes next.
    pub fn pop_late(&mut self) -> Option<Op> {
        if self.late.next() > self.due.next() {
            return None;
        }
        let op = self.late.pop();
        self.see_next();
        op
    }

    /// The next operation of a task that lags, if it may come now; else the task is scheduled anew. What waits behind it stays in the backlog.
    pub fn pop_operation(&mut self) -> Option<(u64, Op)> {
        let (at, task) = self.pop()?;
        let mut op = *self.backlog[usize::from(task)].as_ref()?.front()?;
        if let Err(free) = self.take_cpu(&mut op, at) {
            self.schedule(free, task);
            return None;
        }
        self.backlog[usize::from(task)].as_mut()?.pop_front();
        self.turns[usize::from(op.cpu)].goes_on(op, true, at);
        self.performing = Some(task);
        Some((at, op))
    }

    /// The task goes on after an operation that came at this time, unless it has to wait anew.
    pub fn go_on(&mut self, op: Op, at: u64) {
        self.performing = None;
        if std::mem::take(&mut self.waits_anew) {
            return;
        }
        let next = self.backlog[usize::from(op.task)].as_ref().and_then(|waiting| waiting.front()).map(|next| next.ts);
        let ends = op.ts >= self.ends[usize::from(op.task)];
        let leaves = next.map_or(ends, |next| next - op.ts > PAUSE_NS);
        if leaves {
            self.turns[usize::from(op.cpu)].until = at;
        }
        let Some(next) = next else { return self.in_step(op.task, at) };
        self.forks(op.task, next, at);
        let made_up = if leaves { next - op.ts } else { 0 };
        self.schedule(next + at.saturating_sub(op.ts).saturating_sub(made_up), op.task);
    }

    /// The task has its answer.
    pub fn resume(&mut self, task: u16, now: u64) {
        if self.performing == Some(task) {
            self.waits_anew = false; // At once: whoever let it perform goes on with it.
            return;
        }
        match self.backlog[usize::from(task)].as_ref().map(|waiting| waiting.front().map(|next| next.ts)) {
            Some(Some(ts)) => self.schedule(now.max(ts), task),
            Some(None) => self.in_step(task, now),
            None => {}
        }
    }

    /// The next operations of a task that lags, as many as lie side by side.
    pub fn ahead_of(&self, task: u16) -> &[Op] {
        self.backlog[usize::from(task)].as_ref().map_or(&[], |waiting| waiting.as_slices().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn op(task: u16, cpu: u8, ts: u64) -> Op {
        Op { ts, task, cpu, kind: OpKind::Alloc, object: 0 }
    }

    /// Task 0 had to wait at 10 ms and has its answer at 20 ms; since then two more operations of it came, 0.01 ms apart.
    fn lagging(ends: &[u64], cpus: usize) -> Held {
        let mut held = Held::of_tasks(ends.to_vec(), cpus);
        assert!(!held.hold(&mut op(0, 0, 10 * MS)));
        held.wait(0);
        assert!(held.hold(&mut op(0, 0, 10 * MS + 10_000)) && held.hold(&mut op(0, 0, 10 * MS + 20_000)));
        held.schedule(20 * MS, 0);
        held
    }

    /// Does the lagging task's next operation; when it was, and on which CPU.
    fn step(held: &mut Held) -> Option<(u64, u16, u8)> {
        while held.next != u64::MAX {
            if let Some((at, op)) = held.pop_operation() {
                held.go_on(op, at);
                return Some((at, op.task, op.cpu));
            }
        }
        None
    }

    #[test]
    fn a_task_that_lags_keeps_its_distances_and_its_cpu() {
        let mut held = lagging(&[50 * MS, 50 * MS], 1);
        assert_eq!(step(&mut held), Some((20 * MS, 0, 0)));
        // Another one comes in between. It has to wait until the first one is done and has been quiet for half a millisecond.
        assert!(held.hold(&mut op(1, 0, 20 * MS + 5_000)));
        assert_eq!(step(&mut held), Some((20 * MS + 10_000, 0, 0)));
        assert_eq!(step(&mut held), Some((20 * MS + 510_000, 1, 0)));
        assert!(held.backlog.iter().all(Option::is_none), "both are in step again");
    }

    #[test]
    fn a_task_whose_cpu_is_taken_goes_to_a_free_one() {
        let mut held = lagging(&[50 * MS, 50 * MS], 2);
        assert_eq!(step(&mut held), Some((20 * MS, 0, 0)));
        let mut other = op(1, 0, 20 * MS + 5_000);
        assert!(!held.hold(&mut other));
        assert_eq!(other.cpu, 1);
    }

    #[test]
    fn nobody_begins_before_those_have_ended_that_had_ended() {
        let mut held = lagging(&[10 * MS + 20_000, 50 * MS], 2);
        assert!(held.hold(&mut op(1, 1, 15 * MS)), "task 0 had ended at 10.02 ms");
        assert_eq!(step(&mut held), Some((20 * MS, 0, 0)));
        assert_eq!(step(&mut held), Some((20 * MS + 10_000, 0, 0)));
        assert_eq!(step(&mut held), Some((20 * MS + 10_000, 1, 1)));
    }

    #[test]
    fn tasks_take_turns_of_a_slice() {
        let mut held = Held::of_tasks(vec![50 * MS; 2], 1);
        let mut now = 20 * MS;
        for task in [0, 1] {
            assert_eq!(held.hold(&mut op(task, 0, 10 * MS)), task == 1 && held.turns[0].lags);
            held.wait(task);
            for number in 1..1000 {
                assert!(held.hold(&mut op(task, 0, 10 * MS + number * 10_000)));
            }
            held.schedule(now, task);
        }
        let mut turns: Vec<(u16, u32)> = Vec::new();
        while now < 32 * MS {
            let Some((at, task, _)) = step(&mut held) else { break };
            now = at;
            match turns.last_mut() {
                Some((last, count)) if *last == task => *count += 1,
                _ => turns.push((task, 1)),
            }
        }
        assert_eq!(turns.len(), 3, "{turns:?}");
        assert!(turns[..2].iter().all(|(_, count)| (390..=401).contains(count)), "{turns:?}");
    }

    /// A task that is 9 ms late goes on after a pause; more than 2 ms of it make up for that.
    #[test]
    fn pauses_make_up_for_a_lag() {
        for (pause, then) in [(1, 21), (2, 22), (5, 20), (20, 31)] {
            let mut held = Held::of_tasks(vec![50 * MS], 1);
            assert!(!held.hold(&mut op(0, 0, 10 * MS)));
            held.wait(0);
            assert!(held.hold(&mut op(0, 0, 11 * MS)) && held.hold(&mut op(0, 0, (11 + pause) * MS)));
            held.resume(0, 20 * MS);
            assert_eq!([step(&mut held), step(&mut held)], [20, then].map(|at| Some((at * MS, 0, 0))), "{pause} ms");
        }
    }

    #[test]
    fn nobody_is_started_before_the_answer_that_its_parent_waits_for() {
        let mut held = Held { parents: vec![None, Some(0)], ..Held::of_tasks(vec![50 * MS; 2], 2) };
        assert!(!held.hold(&mut op(0, 0, 10 * MS)));
        held.wait(0);
        assert!(held.hold(&mut op(1, 1, 12 * MS)), "what the parent does after its answer may be the fork");
        held.resume(0, 20 * MS);
        assert_eq!(step(&mut held), Some((20 * MS, 1, 1)));
    }

    #[test]
    fn parts_are_freed_whatever_their_owner_waits_for() {
        let mut held = lagging(&[50 * MS], 1);
        assert!(!held.hold(&mut Op { kind: OpKind::FreePart, ..op(0, 0, 11 * MS) }));
        assert!(held.hold(&mut Op { kind: OpKind::Free, ..op(0, 0, 11 * MS) }));
    }
}
