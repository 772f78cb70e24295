//! How lengths of time are spread, as far as a run needs to know: some equally likely values.

use crate::chance::Chance;
use mm::Nanos;

/// How many values stand for a distribution.
const VALUES: usize = 32;

/// A distribution of times: the middles of 32 equal shares of it, in ascending order, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread([Nanos; VALUES]);

/// A time that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lasted {
    /// How long it took, nanoseconds.
    pub took: Nanos,
    /// It would have gone on, but something else ended it first.
    pub cut: bool,
}

impl Spread {
    /// Always the same time.
    pub const fn always(time: Nanos) -> Spread {
        Spread([time; VALUES])
    }

    /// The distribution of measured times; nothing without any. A time that was cut short counts as one of those that took longer
    /// (the estimate of Kaplan and Meier, 1958); if none did, as what it was.
    pub fn of(mut times: Vec<Lasted>) -> Option<Spread> {
        times.sort_unstable();
        let last = times.last()?.took;
        let mut values = [last; VALUES];
        let (mut alive, mut filled) = (WHOLE, 0);
        for (i, time) in times.iter().enumerate().filter(|(_, time)| !time.cut) {
            alive -= alive / (times.len() - i) as u64;
            while filled < VALUES && WHOLE - alive > middle(filled) {
                values[filled] = time.took;
                filled += 1;
            }
        }
        Some(Spread(values))
    }

    /// One of the times, all of them equally likely.
    pub(crate) fn draw(&self, chance: &Chance) -> Nanos {
        self.0[chance.below(VALUES as u64) as usize]
    }

    /// The mean of the times.
    pub fn mean(&self) -> Nanos {
        self.0.iter().sum::<Nanos>() / VALUES as u64
    }
}

/// All of a distribution.
const WHOLE: u64 = 1 << 48;

/// How much of a distribution lies before the middle of one of its shares.
const fn middle(share: usize) -> u64 {
    WHOLE / (2 * VALUES as u64) * (2 * share as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(took: impl IntoIterator<Item = Nanos>, cut: bool) -> Vec<Lasted> {
        took.into_iter().map(|took| Lasted { took, cut }).collect()
    }

    #[test]
    fn values_are_the_middles_of_equal_shares() {
        let spread = Spread::of(times(1..=64, false)).unwrap();
        assert_eq!(spread.0.to_vec(), (1..=32).map(|i| 2 * i).collect::<Vec<_>>());
        assert_eq!(spread.mean(), 33);
        assert_eq!(Spread::of(times([7], false)), Some(Spread::always(7)));
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn what_was_cut_short_counts_as_longer() {
        // Half of all are known to take 10; the other half took at least 5, so they are like those that did not end by then.
        let spread =
            |cut_at| Spread::of([times([10; 8], false), times([20; 8], false), times([cut_at; 16], true)].concat());
        let at_least = |spread: Option<Spread>, time| spread.unwrap().0.iter().filter(|t| **t >= time).count();
        assert_eq!(at_least(spread(5), 20), 16);
        assert_eq!(at_least(spread(15), 20), 24);
        // Nothing took longer than what was cut last.
        assert_eq!(at_least(spread(30), 30), 16);
    }

    #[test]
    fn every_value_is_drawn_about_as_often() {
        let spread = Spread::of(times(0..32, false)).unwrap();
        let chance = Chance::new(3);
        let mut drawn = [0; VALUES];
        (0..32_000).for_each(|_| drawn[spread.draw(&chance) as usize] += 1);
        assert!(drawn.iter().all(|n| (850..1_150).contains(n)), "{drawn:?}");
    }
}
