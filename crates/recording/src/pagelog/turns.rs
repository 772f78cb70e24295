//! Turns on a CPU: how long kswapd and tasks that compact or reclaim worked until they lost the CPU, how long they were away, and how long
//! kswapd waited after a wake-up. The scheduler is not in a trace; what shows is whether somebody else had a turn between two events of a
//! task. One who computes and asks for nothing does not show: his slices count as the task's work (times between kswapd's events have a second
//! mode at one to six milliseconds). Nobody else asks for memory on that CPU meanwhile, either, which is what a replay needs to know.

use lab::{Lasted, Spread, Turns};

/// Longest time between two events that is taken for work, and longest wait for a CPU after a wake-up; what lasts longer is something else.
pub(super) const LONGEST_STEP_NS: u64 = 20_000_000;

/// Others have their turns for less than this: reclaim that is throttled sleeps for as long, or longer (10.14).
const LONGEST_ABSENCE_NS: u64 = 100_000_000;

/// What passed between two events of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// It worked.
    Work(u64),
    /// Others had its CPU, or it waited for what others had.
    Away(u64),
    /// It slept.
    Sleep,
}

impl Passed {
    /// The time that passed if nobody else had a turn, and in any case; whether the task may sleep at all, for longer than others have turns.
    pub fn between(undisturbed: Option<u64>, wall: u64, sleeps: bool) -> Passed {
        match undisturbed {
            Some(worked) if worked <= LONGEST_STEP_NS => Passed::Work(worked),
            _ if sleeps && wall >= LONGEST_ABSENCE_NS => Passed::Sleep,
            _ => Passed::Away(wall),
        }
    }
}

/// A turn that has ended.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// It had slept before.
    fresh: bool,
    /// Undisturbed work, nanoseconds.
    worked: u64,
    /// How long others had the CPU then; nothing: the task was done, or slept.
    away: Option<u64>,
}

/// The turns of a trace.
#[derive(Clone, Debug)]
pub(super) struct KswapdTurns {
    ended: Vec<Turn>,
    fresh: bool,
    worked: u64,
    woken: Option<u64>,
    latencies: Vec<Lasted>,
}

impl Default for KswapdTurns {
    fn default() -> KswapdTurns {
        KswapdTurns { ended: Vec::new(), fresh: true, worked: 0, woken: None, latencies: Vec::new() }
    }
}

impl KswapdTurns {
    /// kswapd sleeps and was woken.
    pub fn woken(&mut self, ts: u64) {
        self.woken.get_or_insert(ts);
    }

    /// It runs.
    pub fn runs(&mut self, ts: u64) {
        self.sleeps();
        let waited =
            self.woken.take().map(|woken| ts.saturating_sub(woken)).filter(|waited| *waited <= LONGEST_STEP_NS);
        self.latencies.extend(waited.map(|took| Lasted { took, cut: false }));
    }

    /// Time passed between two of its events.
    pub fn passed(&mut self, passed: Passed) {
        match passed {
            Passed::Work(worked) => self.worked += worked,
            Passed::Away(away) => self.ends(Some(away)),
            Passed::Sleep => self.sleeps(),
        }
    }

    /// It sleeps, or has slept until now.
    pub fn sleeps(&mut self) {
        if self.worked > 0 {
            self.ends(None);
        }
        self.fresh = true;
    }

    fn ends(&mut self, away: Option<u64>) {
        self.ended.push(Turn { fresh: self.fresh, worked: std::mem::take(&mut self.worked), away });
        self.fresh = false;
    }

    /// The turns, if kswapd ever lost its CPU.
    pub fn turns(&self) -> Option<Turns> {
        let works = |fresh: bool| self.ended.iter().filter(|turn| turn.fresh == fresh).map(Turn::lasted).collect();
        let again = Spread::of(works(false))?;
        let away = Spread::of(self.ended.iter().filter_map(Turn::away).collect())?;
        Some(Turns { fresh: Spread::of(works(true)).unwrap_or(again), again, away })
    }

    /// How long it waited after wake-ups, if there was one.
    pub fn latency(&self) -> Option<Spread> {
        Spread::of(self.latencies.clone())
    }
}

/// The turns of tasks that compact or reclaim. When in its turn a task begins to is not known. Reclaim may also put it to sleep (10.14),
/// which counts as an absence unless it lasts longer.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskTurns(Vec<Turn>);

impl TaskTurns {
    /// Time passed between two events of a task that has worked undisturbed for `worked` in this turn.
    pub fn passed(&mut self, worked: &mut u64, passed: Passed) {
        match passed {
            Passed::Work(took) => *worked += took,
            Passed::Away(away) => {
                self.0.push(Turn { fresh: true, worked: std::mem::take(worked), away: Some(away) });
            }
            Passed::Sleep => self.ends(worked),
        }
    }

    /// It has done what it wanted.
    pub fn ends(&mut self, worked: &mut u64) {
        let worked = std::mem::take(worked);
        if worked > 0 {
            self.0.push(Turn { fresh: true, worked, away: None });
        }
    }

    /// The turns, if a task ever lost its CPU.
    pub fn turns(&self) -> Option<Turns> {
        let away = Spread::of(self.0.iter().filter_map(Turn::away).collect())?;
        let works = Spread::of(self.0.iter().map(Turn::lasted).collect())?;
        Some(Turns { fresh: works, again: works, away })
    }
}

impl Turn {
    /// How long it would have worked on.
    fn lasted(&self) -> Lasted {
        Lasted { took: self.worked, cut: self.away.is_none() }
    }

    fn away(&self) -> Option<Lasted> {
        self.away.map(|took| Lasted { took, cut: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_work_unless_others_had_a_turn_or_it_takes_too_long() {
        let slow = LONGEST_STEP_NS + 1;
        let cases = [
            (Some(10), 10, Passed::Work(10), Passed::Work(10)),
            (None, 10, Passed::Away(10), Passed::Away(10)),
            (None, LONGEST_ABSENCE_NS, Passed::Away(LONGEST_ABSENCE_NS), Passed::Sleep),
            (Some(slow), slow, Passed::Away(slow), Passed::Away(slow)),
        ];
        for (undisturbed, wall, wakeful, sleepy) in cases {
            assert_eq!(Passed::between(undisturbed, wall, false), wakeful);
            assert_eq!(Passed::between(undisturbed, wall, true), sleepy);
        }
    }

    #[test]
    fn a_turn_is_the_work_between_sleep_and_loss_or_two_losses() {
        let mut turns = KswapdTurns::default();
        turns.woken(100);
        turns.runs(2_100);
        for passed in [1_000, 2_000].map(Passed::Work) {
            turns.passed(passed);
        }
        for passed in [Passed::Away(16_000), Passed::Work(1_500), Passed::Away(8_000), Passed::Work(800)] {
            turns.passed(passed);
        }
        turns.sleeps();
        let found = turns.turns().unwrap();
        assert_eq!(found.fresh, Spread::always(3_000));
        assert_eq!(found.again, Spread::always(1_500), "the turn that sleep cut short took no longer");
        assert_eq!(found.away.mean(), 12_000);
        assert_eq!(turns.latency(), Some(Spread::always(2_000)));
    }

    #[test]
    fn a_task_that_compacts_loses_its_cpu_or_is_done() {
        let (mut turns, mut worked) = (TaskTurns::default(), 0);
        for passed in
            [Passed::Work(3_000), Passed::Away(8_000), Passed::Work(1_000), Passed::Work(2_000), Passed::Away(4_000)]
        {
            turns.passed(&mut worked, passed);
        }
        worked = 100;
        turns.ends(&mut worked);
        let found = turns.turns().unwrap();
        assert_eq!((found.again, worked), (Spread::always(3_000), 0), "what was done after 100 took no longer");
        assert_eq!(found.away.mean(), 6_000);
        assert_eq!(TaskTurns::default().turns(), None);
    }

    #[test]
    fn throttled_reclaim_has_slept() {
        let mut turns = KswapdTurns::default();
        turns.passed(Passed::Sleep);
        assert_eq!(turns.turns(), None);
    }
}
