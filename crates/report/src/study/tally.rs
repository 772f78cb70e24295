//! How many published figures agree and how many bars hold: counted from the runs, or read from the page that says so.

use super::check::Outcome;
use super::definition::Study;
use super::judge::{Verdict, verdicts};
use super::results::Results;
use std::fmt;

/// What a page says after the count of figures.
pub(super) const AGREE: &str = " published figures agree.";
/// The heading above a page's bars.
pub(super) const HOLD: &str = "## What shall hold";

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub part: usize,
    /// Of how many.
    pub whole: usize,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole {
            0 => f.write_str("-"),
            whole => write!(f, "{} of {whole}", self.part),
        }
    }
}

impl Share {
    fn add(self, counts: bool) -> Share {
        Share { part: self.part + usize::from(counts), whole: self.whole + 1 }
    }

    /// Reads what is printed.
    fn parse(text: &str) -> Option<Share> {
        let (part, whole) = text.split_once(" of ")?;
        Some(Share { part: part.parse().ok()?, whole: whole.parse().ok()? })
    }
}

/// What a study comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Published figures that agree, of those that are judged.
    pub agree: Share,
    /// Bars that hold.
    pub hold: Share,
}

impl Tally {
    /// Counts.
    pub fn of(study: &Study, results: &Results) -> Tally {
        let holds = |check: &super::check::Check| check.look(results).outcome == Outcome::Holds;
        let hold = study.checks.iter().map(holds).fold(Share::default(), Share::add);
        Tally { agree: agreement(&verdicts(study, results)), hold }
    }

    /// Reads a page, whose runs may be of another day.
    pub fn of_page(page: &str) -> Tally {
        let agree = page.lines().find_map(|line| Share::parse(line.strip_suffix(AGREE)?));
        let bars = page.lines().skip_while(|line| *line != HOLD).skip(1).take_while(|line| !line.starts_with("## "));
        let hold = bars.filter_map(outcome).map(|outcome| outcome == Outcome::Holds).fold(Share::default(), Share::add);
        Tally { agree: agree.unwrap_or_default(), hold }
    }
}

/// Figures that agree, of those that are judged.
pub(super) fn agreement(verdicts: &[Verdict]) -> Share {
    verdicts.iter().filter_map(|verdict| verdict.agrees).fold(Share::default(), Share::add)
}

/// What came of the bar that a line of a page is of.
fn outcome(line: &str) -> Option<Outcome> {
    let word = line.split(' ').next()?;
    [Outcome::Holds, Outcome::Fails, Outcome::Open].into_iter().find(|outcome| outcome.word() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_judges_nothing_has_no_shares() {
        for page in ["", "# a: b\n\nNone published figures agree.\n", "PASS above the bars\n\n## What shall hold\n"] {
            let Tally { agree, hold } = Tally::of_page(page);
            assert_eq!((agree.to_string(), hold.to_string()), ("-".to_owned(), "-".to_owned()), "{page}");
        }
    }

    #[test]
    fn bars_are_those_of_their_section() {
        let page = "0 of 7 published figures agree.\n\n## What shall hold\n\n```text\nPASS this\nMISS that: 1\n     cause: PASS\n\
            OPEN the rest\n```\n\n## What this can't tell\n\nPASS is no bar here\n";
        let tally = Tally { agree: Share { part: 0, whole: 7 }, hold: Share { part: 1, whole: 3 } };
        assert_eq!(Tally::of_page(page), tally);
    }
}
