//! Turns on a CPU: what a run does not model wants to run, too, so a task that works loses its CPU after a while and waits
//! until it is its turn again. For whoever waits for memory meanwhile that is not the same as slower work: while kswapd is
//! away for some ten milliseconds, the others use up what it has freed, and reclaim for themselves.

use mm::Nanos;
use std::collections::BTreeMap;

/// Turns as a scheduler deals them out, in the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// CPU time after which a task loses its CPU, nanoseconds; 0: it never does.
    pub works: Nanos,
    /// Time until it has one again, nanoseconds.
    pub away: Nanos,
}

impl Turns {
    /// Nobody loses a CPU.
    pub const NONE: Turns = Turns { works: 0, away: 0 };
}

/// Since a task last lost its CPU.
struct Turn {
    worked: Nanos,
    waited: Nanos,
}

/// The turn of each task, by its number.
#[derive(Default)]
pub(crate) struct TurnsTaken(BTreeMap<u32, Turn>);

impl TurnsTaken {
    /// A task has worked for a time, and waited for a CPU before: how long it is away now. What it waited is a part of it.
    pub fn away(&mut self, pid: u32, turns: Turns, worked: Nanos, waited: Nanos) -> Nanos {
        if turns.works == 0 {
            return 0;
        }
        let turn = self.0.entry(pid).or_insert_with(|| Turn { worked: begun(pid, turns), waited: 0 });
        turn.worked += worked;
        turn.waited += waited;
        let lost = turn.worked / turns.works;
        if lost == 0 {
            return 0;
        }
        turn.worked %= turns.works;
        (lost * turns.away).saturating_sub(std::mem::take(&mut turn.waited))
    }
}

/// How much of its turn a task has used up when it is first heard of: any share, by its number.
fn begun(pid: u32, turns: Turns) -> Nanos {
    let share = u64::from(pid).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((u128::from(share) * u128::from(turns.works)) >> 32) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: Turns = Turns { works: 4_000, away: 20_000 };

    #[test]
    fn a_task_is_away_once_a_turn_and_not_for_what_it_waited_already() {
        let mut taken = TurnsTaken::default();
        let pid = 0; // Its first turn begins now.
        assert_eq!([3_000, 1_000, 3_999].map(|worked| taken.away(pid, TURNS, worked, 0)), [0, 20_000, 0]);
        assert_eq!(taken.away(pid, TURNS, 1, 5_000), 15_000);
        assert_eq!(taken.away(pid, TURNS, 9_000, 0), 40_000);
    }

    #[test]
    fn tasks_have_turns_of_their_own_and_are_first_heard_of_somewhere_in_one() {
        let mut taken = TurnsTaken::default();
        assert_eq!((taken.away(0, TURNS, 3_000, 0), taken.away(1, TURNS, 3_000, 0)), (0, 20_000));
        assert!((0..1_000).all(|pid| begun(pid, TURNS) < TURNS.works));
        let mean = (0..1_000).map(|pid| begun(pid, TURNS)).sum::<Nanos>() / 1_000;
        assert!((1_900..2_100).contains(&mean), "{mean}");
    }

    #[test]
    fn without_turns_nobody_is_away() {
        assert_eq!(TurnsTaken::default().away(7, Turns::NONE, 1 << 40, 0), 0);
    }
}
