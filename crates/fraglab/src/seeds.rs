//! Seeds that a command goes over.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

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
        match text.split_once("..") {
            None => NonZero::new(number(text)?).map(Seeds::Count).ok_or_else(wrong),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
                if from <= to { Ok(Seeds::Range(from, to)) } else { Err(wrong()) }
            }
        }
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
        for text in ["0", "", "3..1", "a..b", "1.."] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }
}
