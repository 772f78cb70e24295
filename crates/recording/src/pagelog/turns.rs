//! Turns on a CPU: how long kswapd and tasks that compact worked until they lost the CPU, how long they were away, and how long kswapd
//! waited after a wake-up. The scheduler is not in a trace; what shows is whether somebody else had a turn between two steps.

use super::speed::LONGEST_STEP_NS;
use lab::{Lasted, Spread, Turns};

/// Others have their turns for less than this: reclaim that is throttled sleeps for as long, or longer (10.14).
const LONGEST_ABSENCE_NS: u64 = 100_000_000;

/// What ended a turn.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Others had the CPU during a step of so many pages that took this long.
    Lost { pages: u64, wall: u64 },
    /// It went to sleep.
    Slept,
}

/// A turn that has ended.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// It had slept before.
    fresh: bool,
    /// Undisturbed work, nanoseconds.
    worked: u64,
    end: End,
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
        let waited = self.woken.take().map(|woken| ts - woken).filter(|waited| *waited <= LONGEST_STEP_NS);
        self.latencies.extend(waited.map(|took| Lasted { took, cut: false }));
    }

    /// It made a step: the time that it took if nobody else had a turn, and the time that passed in any case.
    pub fn step(&mut self, worked: Option<u64>, wall: Option<u64>, pages: u64) {
        match (worked, wall) {
            (Some(worked), _) if worked <= LONGEST_STEP_NS => self.worked += worked,
            (None, Some(wall)) if wall < LONGEST_ABSENCE_NS => self.ends(End::Lost { pages, wall }),
            _ => self.sleeps(),
        }
    }

    /// It sleeps, or has slept until now.
    pub fn sleeps(&mut self) {
        if self.worked > 0 {
            self.ends(End::Slept);
        }
        self.fresh = true;
    }

    fn ends(&mut self, end: End) {
        self.ended.push(Turn { fresh: self.fresh, worked: std::mem::take(&mut self.worked), end });
        self.fresh = false;
    }

    /// The turns, if kswapd ever lost its CPU; `ns_a_page`: what a page costs undisturbed.
    pub fn turns(&self, ns_a_page: u64) -> Option<Turns> {
        let works = |fresh: bool| {
            self.ended.iter().filter(|turn| turn.fresh == fresh).map(|turn| turn.lasted(ns_a_page)).collect()
        };
        let again = Spread::of(works(false))?;
        let away = Spread::of(self.ended.iter().filter_map(|turn| turn.away(ns_a_page)).collect())?;
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
pub(super) struct TaskTurns {
    works: Vec<Lasted>,
    away: Vec<Lasted>,
}

impl TaskTurns {
    /// A task that has worked undisturbed for `worked` in this turn, and compacts or reclaims, made a step: the time that it took if nobody else had a turn,
    /// and the time that passed in any case.
    pub fn step(&mut self, worked: &mut u64, undisturbed: Option<u64>, wall: Option<u64>) {
        match (undisturbed, wall) {
            (Some(took), _) if took <= LONGEST_STEP_NS => *worked += took,
            (None, Some(wall)) if wall < LONGEST_ABSENCE_NS => {
                self.works.push(Lasted { took: std::mem::take(worked), cut: false });
                self.away.push(Lasted { took: wall, cut: false });
            }
            _ => self.ends(worked),
        }
    }

    /// It has done what it wanted.
    pub fn ends(&mut self, worked: &mut u64) {
        let took = std::mem::take(worked);
        if took > 0 {
            self.works.push(Lasted { took, cut: true });
        }
    }

    /// The turns, if a task ever lost its CPU.
    pub fn turns(&self) -> Option<Turns> {
        let works = Spread::of(self.works.clone())?;
        Some(Turns { fresh: works, again: works, away: Spread::of(self.away.clone())? })
    }
}

impl Turn {
    /// How long it would have worked on.
    fn lasted(&self, ns_a_page: u64) -> Lasted {
        match self.end {
            End::Lost { pages, wall } => Lasted { took: self.worked + wall.min(pages * ns_a_page), cut: false },
            End::Slept => Lasted { took: self.worked, cut: true },
        }
    }

    /// How long it was away: what its last step took beyond its work.
    fn away(&self, ns_a_page: u64) -> Option<Lasted> {
        match self.end {
            End::Lost { pages, wall } => Some(Lasted { took: wall.saturating_sub(pages * ns_a_page), cut: false }),
            End::Slept => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_work_between_sleep_and_loss_or_two_losses() {
        let mut turns = KswapdTurns::default();
        turns.woken(100);
        turns.runs(2_100);
        for worked in [1_000, 2_000] {
            turns.step(Some(worked), Some(worked), 10);
        }
        turns.step(None, Some(16_000), 10);
        turns.step(Some(500), Some(500), 5);
        turns.step(None, Some(9_000), 10);
        turns.step(Some(800), Some(800), 8);
        turns.sleeps();
        let found = turns.turns(100).unwrap();
        assert_eq!(found.fresh, Spread::always(4_000), "3,000 and ten pages of the step in which it was lost");
        assert_eq!(found.again, Spread::always(1_500), "the turn that sleep cut short took no longer");
        assert_eq!(found.away.mean(), (15_000 + 8_000) / 2);
        assert_eq!(turns.latency(), Some(Spread::always(2_000)));
    }

    #[test]
    fn a_task_that_compacts_loses_its_cpu_or_is_done() {
        let (mut turns, mut worked) = (TaskTurns::default(), 0);
        for (undisturbed, wall) in
            [(Some(2_000), 2_000), (None, 9_000), (Some(1_000), 1_000), (Some(1_000), 1_000), (None, 5_000)]
        {
            turns.step(&mut worked, undisturbed, Some(wall));
        }
        worked = 100;
        turns.ends(&mut worked);
        let found = turns.turns().unwrap();
        assert_eq!((found.again, worked), (Spread::always(2_000), 0), "what was done after 100 took no longer");
        assert_eq!(found.away.mean(), 7_000);
        assert_eq!(TaskTurns::default().turns(), None);
    }

    #[test]
    fn throttled_reclaim_has_slept() {
        let mut turns = KswapdTurns::default();
        turns.step(None, Some(LONGEST_ABSENCE_NS), 32);
        assert_eq!(turns.turns(100), None);
    }
}
