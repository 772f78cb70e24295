//! Seeds that a command goes over.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Most seeds that a command goes over: each is a run whose results are kept until the last has ended.
const MOST: u64 = 10_000;

/// Seeds of replays, if the command line names none. On the shipped recording (40 seeds) the median of one seed is off that of all
/// by more than a quarter in 13 % of the rows, of five in 5 %, of eight in 3 %; and eight replays take no longer than reading
/// a recording for the first time does.
pub const OF_REPLAYS: Seeds = Seeds::Count(NonZero::new(8).unwrap());

/// Seeds: how many, or from which to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// So many, from the first on.
    Count(NonZero<u64>),
    /// From one to another, both included.
    Range(u64, u64),
}

impl Seeds {
    /// The seeds, the first of them `first` if only their number was said.
    pub fn from(self, first: u64) -> RangeInclusive<u64> {
        match self {
            Seeds::Count(count) => first..=first.saturating_add(count.get() - 1),
            Seeds::Range(from, to) => from..=to,
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seeds, String> {
        let wrong = || format!("`{text}` is neither a number of seeds nor FIRST..LAST");
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let seeds = match text.split_once("..") {
            None => NonZero::new(number(text)?).map(Seeds::Count).ok_or("at least one seed is needed")?,
            Some((from, to)) => match (number(from)?, number(to.trim_start_matches('='))?) {
                (from, to) if from > to => return Err(format!("{from}..{to} holds no seed: say {to}..{from}")),
                (from, to) => Seeds::Range(from, to),
            },
        };
        let all = seeds.from(1);
        if all.end() - all.start() >= MOST { Err(format!("`{text}`: more than {MOST} seeds")) } else { Ok(seeds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds() {
        let seeds = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.from(7).collect::<Vec<_>>());
        assert_eq!(seeds("3"), Ok(vec![7, 8, 9]));
        assert_eq!((seeds("1..3"), seeds("1..=3")), (Ok(vec![1, 2, 3]), Ok(vec![1, 2, 3])));
        let error = |text: &str| seeds(text).expect_err("no seeds");
        assert_eq!(error("0"), "at least one seed is needed");
        assert_eq!(error("3..1"), "3..1 holds no seed: say 1..3");
        for text in ["", "a..b", "1..", "-1"] {
            assert!(error(text).contains("neither a number of seeds nor FIRST..LAST"), "{text}");
        }
        for text in ["10001", "5..10005", "0..18446744073709551615"] {
            assert!(error(text).contains("more than 10000"), "{text}");
        }
        assert_eq!(seeds("5..10004").map(|seeds| seeds.len()), Ok(10_000));
    }
}
