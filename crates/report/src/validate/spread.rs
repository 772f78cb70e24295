//! How far runs of one kernel with one setting lie apart, which no model can foretell.

use crate::over_runs::Summary;
use crate::rows::Rows;
use crate::window;
use lab::outcome::Outcome;

/// Rows of several recordings of the same setting, over the same length of time.
#[derive(Clone, Debug, Default)]
pub struct KernelSpread {
    /// Names of the recordings.
    pub names: Vec<String>,
    runs: Vec<Rows>,
}

impl KernelSpread {
    /// All recordings cut to `length_ns`; `None` leaves them as they are.
    pub fn of<'a>(runs: impl IntoIterator<Item = (&'a str, &'a Outcome)>, length_ns: Option<u64>) -> KernelSpread {
        let mut spread = KernelSpread::default();
        for (name, outcome) in runs {
            spread.names.push(name.to_owned());
            spread.runs.push(Rows::of(&window::clip(outcome, length_ns.unwrap_or(u64::MAX))));
        }
        spread
    }

    /// Largest difference between two of the runs; nothing where fewer than two of them know the row.
    pub fn range(&self, row: &str) -> Option<u64> {
        let values: Vec<u64> = self.runs.iter().filter_map(|rows| rows.get(row)).collect();
        if values.len() < 2 { None } else { Summary::of(&values).map(|summary| summary.range()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;

    #[test]
    fn one_run_has_no_spread() {
        let [a, b, c] = [&[("pswpin", 10)][..], &[("pswpin", 14)], &[("pswpout", 1)]].map(outcome);
        assert_eq!(KernelSpread::of([("a", &a)], None).range("pswpin"), None);
        let spread = KernelSpread::of([("a", &a), ("b", &b), ("c", &c)], None);
        assert_eq!((spread.range("pswpin"), spread.range("pswpout")), (Some(4), None));
    }
}
