//! Turns on a CPU: what a run does not model wants to run, too, so a task that works loses its CPU after a while and waits
//! until it is its turn again. For whoever waits for memory meanwhile that is not the same as slower work: while kswapd is
//! away for some ten milliseconds, the others use up what it has freed, and reclaim for themselves.

use crate::chance::Chance;
use crate::spread::Spread;
use crate::task::TaskId;
use mm::{Nanos, TaskContext, TaskFlags, Work};
use std::collections::BTreeMap;

/// What a task does that may lose it its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Job {
    Kswapd,
    Kcompactd,
    Reclaim,
    Compaction,
}

impl Job {
    pub fn of(task: &TaskContext, work: Work) -> Job {
        let compacts = matches!(work, Work::ScanMigrate(_) | Work::ScanFree(_) | Work::Unmap(_) | Work::Migrate(_));
        match task.flags {
            flags if flags.contains(TaskFlags::KSWAPD) => Job::Kswapd,
            flags if flags.contains(TaskFlags::KTHREAD) => Job::Kcompactd,
            _ if compacts => Job::Compaction,
            _ => Job::Reclaim,
        }
    }
}

/// Turns by what they are taken for: in recordings tasks that compact are away for 5 to 11 times as long as they work, those that
/// reclaim 3 to 6 times, kcompactd 6 to 20 times. Nothing: whoever does it never loses its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsByJob {
    /// kswapd's: while it is away, others use up what it has freed.
    pub kswapd: Option<Turns>,
    /// kcompactd's.
    pub kcompactd: Option<Turns>,
    /// Of tasks that reclaim for themselves.
    pub reclaim: Option<Turns>,
    /// Of tasks that compact for themselves.
    pub compaction: Option<Turns>,
}

impl TurnsByJob {
    /// Nobody loses its CPU.
    pub const NONE: TurnsByJob = TurnsByJob { kswapd: None, kcompactd: None, reclaim: None, compaction: None };

    pub(crate) fn of(&self, job: Job) -> Option<&Turns> {
        match job {
            Job::Kswapd => &self.kswapd,
            Job::Kcompactd => &self.kcompactd,
            Job::Reclaim => &self.reclaim,
            Job::Compaction => &self.compaction,
        }
        .as_ref()
    }
}

/// Turns as a scheduler deals them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// CPU time after which a task that has slept loses its CPU. It is entitled to a whole slice, so this is longer than the next.
    pub fresh: Spread,
    /// CPU time after which a task that has lost its CPU before, and has not slept since, loses it again.
    pub again: Spread,
    /// Time until it has a CPU again.
    pub away: Spread,
}

/// What is left of a task's turn.
struct Turn {
    left: Nanos,
    /// What it has waited for a CPU since it lost one.
    waited: Nanos,
}

/// The turns of tasks that have not slept since they worked.
#[derive(Default)]
pub(crate) struct TurnsTaken(BTreeMap<(TaskId, Job), Turn>);

impl TurnsTaken {
    /// A task has worked for a time, and waited for a CPU before: how long it is away now. What it waited is a part of it.
    pub fn away(
        &mut self,
        task: (TaskId, Job),
        turns: &Turns,
        mut worked: Nanos,
        waited: Nanos,
        chance: &Chance,
    ) -> Nanos {
        let turn = self.0.entry(task).or_insert_with(|| Turn { left: turns.fresh.draw(chance), waited: 0 });
        turn.waited += waited;
        let mut away = 0;
        while worked > turn.left {
            worked -= turn.left;
            away += turns.away.draw(chance).saturating_sub(std::mem::take(&mut turn.waited));
            turn.left = turns.again.draw(chance).max(SHORTEST_TURN);
        }
        turn.left -= worked;
        away
    }

    /// A task sleeps.
    pub fn sleeps(&mut self, task: TaskId) {
        self.0.retain(|(of, _), _| *of != task);
    }
}

/// No turn is shorter: what ends it then is the end of a step that is reported, not of a slice.
const SHORTEST_TURN: Nanos = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: Turns =
        Turns { fresh: Spread::always(4_000), again: Spread::always(2_000), away: Spread::always(20_000) };

    #[test]
    fn a_task_is_away_once_a_turn_and_not_for_what_it_waited_already() {
        let (mut taken, chance) = (TurnsTaken::default(), Chance::new(1));
        let mut away = |worked, waited| taken.away((0, Job::Reclaim), &TURNS, worked, waited, &chance);
        assert_eq!([3_000, 1_000, 1, 1_999].map(|worked| away(worked, 0)), [0, 0, 20_000, 0]);
        assert_eq!(away(1, 5_000), 15_000);
        assert_eq!(away(4_000, 0), 40_000);
    }

    #[test]
    fn a_task_that_slept_has_a_whole_turn_before_it() {
        let (mut taken, chance) = (TurnsTaken::default(), Chance::new(1));
        for _ in 0..10 {
            assert_eq!(taken.away((0, Job::Kswapd), &TURNS, 3_999, 0, &chance), 0);
            taken.sleeps(0);
        }
        assert_eq!([4_000, 1].map(|worked| taken.away((0, Job::Kswapd), &TURNS, worked, 0, &chance)), [0, 20_000]);
        assert_eq!(taken.away((1, Job::Kswapd), &TURNS, 4_000, 0, &chance), 0, "tasks have turns of their own");
        assert_eq!(taken.away((0, Job::Reclaim), &TURNS, 4_000, 0, &chance), 0, "and so have jobs");
    }
}
