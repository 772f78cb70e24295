//! Turns on a CPU: how long kswapd and tasks that compact worked until they lost the CPU, how long they were away, and how long kswapd
//! waited after a wake-up. The scheduler is not in a trace; what shows is whether somebody else had a turn between two steps.

use super::speed::LONGEST_STEP_NS;
use lab::{Lasted, Spread, Turns};

/// Others have their turns for less than this: reclaim that is throttled sleeps for as long, or longer (10.14).
const LONGEST_ABSENCE_NS: u64 = 100_000_000;

/// What was done in a step, and to how many pages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Did {
    Shrink {
        anon: bool,
        pages: u64,
    },
    ScanMigrate(u64),
    ScanFree(u64),
    Migrate(u64),
    /// What follows the last step that tells.
    Rest,
}

/// What ended a turn.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Others had the CPU during this step, which took so long.
    Lost { did: Did, wall: u64 },
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
    pub fn step(&mut self, worked: Option<u64>, wall: Option<u64>, did: Did) {
        match (worked, wall) {
            (Some(worked), _) if worked <= LONGEST_STEP_NS => self.worked += worked,
            (None, Some(wall)) if wall < LONGEST_ABSENCE_NS => self.ends(End::Lost { did, wall }),
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

    /// The turns, if kswapd ever lost its CPU; `cost`: of a step, undisturbed, nanoseconds.
    pub fn turns(&self, cost: impl Fn(Did) -> u64) -> Option<Turns> {
        let works =
            |fresh: bool| self.ended.iter().filter(|turn| turn.fresh == fresh).map(|turn| turn.lasted(&cost)).collect();
        let again = Spread::of(works(false))?;
        let away = Spread::of(self.ended.iter().filter_map(|turn| turn.away(&cost)).collect())?;
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
    /// A task that has worked undisturbed for `worked` in this turn made a step: the time that it took if nobody else had a turn,
    /// and the time that passed in any case.
    pub fn step(&mut self, worked: &mut u64, undisturbed: Option<u64>, wall: Option<u64>, did: Did) {
        match (undisturbed, wall) {
            (Some(took), _) if took <= LONGEST_STEP_NS => *worked += took,
            (None, Some(wall)) if wall < LONGEST_ABSENCE_NS => {
                self.0.push(Turn { fresh: true, worked: std::mem::take(worked), end: End::Lost { did, wall } });
            }
            _ => self.ends(worked),
        }
    }

    /// It has done what it wanted.
    pub fn ends(&mut self, worked: &mut u64) {
        let worked = std::mem::take(worked);
        if worked > 0 {
            self.0.push(Turn { fresh: true, worked, end: End::Slept });
        }
    }

    /// The turns, if a task ever lost its CPU; `cost`: of a step, undisturbed, nanoseconds.
    pub fn turns(&self, cost: impl Fn(Did) -> u64) -> Option<Turns> {
        let away = Spread::of(self.0.iter().filter_map(|turn| turn.away(&cost)).collect())?;
        let works = Spread::of(self.0.iter().map(|turn| turn.lasted(&cost)).collect())?;
        Some(Turns { fresh: works, again: works, away })
    }
}

impl Turn {
    /// How long it would have worked on.
    fn lasted(&self, cost: &impl Fn(Did) -> u64) -> Lasted {
        match self.end {
            End::Lost { did, wall } => Lasted { took: self.worked + wall.min(cost(did)), cut: false },
            End::Slept => Lasted { took: self.worked, cut: true },
        }
    }

    /// How long it was away: what its last step took beyond its work.
    fn away(&self, cost: &impl Fn(Did) -> u64) -> Option<Lasted> {
        match self.end {
            End::Lost { did, wall } => Some(Lasted { took: wall.saturating_sub(cost(did)), cut: false }),
            End::Slept => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(pages: u64) -> Did {
        Did::Shrink { anon: false, pages }
    }

    fn cost(did: Did) -> u64 {
        match did {
            Did::Shrink { pages, .. } | Did::Migrate(pages) => 100 * pages,
            _ => 0,
        }
    }

    #[test]
    fn a_turn_is_the_work_between_sleep_and_loss_or_two_losses() {
        let mut turns = KswapdTurns::default();
        turns.woken(100);
        turns.runs(2_100);
        for worked in [1_000, 2_000] {
            turns.step(Some(worked), Some(worked), pages(10));
        }
        turns.step(None, Some(16_000), pages(10));
        turns.step(Some(500), Some(500), pages(5));
        turns.step(None, Some(9_000), pages(10));
        turns.step(Some(800), Some(800), pages(8));
        turns.sleeps();
        let found = turns.turns(cost).unwrap();
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
            turns.step(&mut worked, undisturbed, Some(wall), Did::Migrate(10));
        }
        worked = 100;
        turns.ends(&mut worked);
        let found = turns.turns(cost).unwrap();
        assert_eq!((found.again, worked), (Spread::always(3_000), 0), "what was done after 100 took no longer");
        assert_eq!(found.away.mean(), 6_000);
        assert_eq!(TaskTurns::default().turns(cost), None);
    }

    #[test]
    fn throttled_reclaim_has_slept() {
        let mut turns = KswapdTurns::default();
        turns.step(None, Some(LONGEST_ABSENCE_NS), pages(32));
        assert_eq!(turns.turns(cost), None);
    }
}
