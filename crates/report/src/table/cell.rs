//! What stands in a column of a line, and how wide columns are.

use crate::compare::Rule;
use crate::over_runs::middle;
use crate::text::{self, NUMBER_WIDTH};
use crate::vmstat_block::Value;

/// From here on a figure is too long to have a range beside it.
const LONG: u64 = 10_000_000;

/// Behind a figure that is unlike the first policy's beyond the luck of seeds.
pub(super) const STAR: &str = " *";

/// A figure; of several runs the median, and how far they lie apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The figure.
    figure: String,
    /// ` [low..high]`, where the runs differ.
    range: String,
    /// Whether the runs are unlike the first policy's.
    pub unlike: bool,
    /// Whether any run's figure is other than 0.
    pub tells: bool,
}

impl Cell {
    /// A number of every run, at least of one. In a table with ranges, what has eight digits or more is shortened.
    pub fn of_counts(values: &[u64], with_ranges: bool) -> Cell {
        let figure = |value: u64| match with_ranges && value >= LONG {
            true => text::short(value as f64),
            false => value.to_string(),
        };
        Cell::of(values.iter().map(|&value| (value as f64, figure(value), text::short(value as f64))).collect())
    }

    /// A derived value of every run, at least of one. In a table with ranges, decimals that their width hides are left out.
    pub fn of_values(values: &[Value], with_ranges: bool) -> Cell {
        let end = |value: Value| match value {
            Value::Percent(_) => value.to_string(),
            _ => text::short(value.number()),
        };
        let figure = |value: Value| if with_ranges { end(value) } else { value.to_string() };
        Cell::of(values.iter().map(|&value| (value.number(), figure(value), end(value))).collect())
    }

    /// Each run's number, its text, and its text as the end of a range.
    fn of(mut runs: Vec<(f64, String, String)>) -> Cell {
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let figure = middle(&runs).map(|run| run.1.clone()).unwrap_or_default();
        let range = match (runs.first(), runs.last()) {
            (Some(low), Some(high)) if low.0 != high.0 => format!(" [{}..{}]", low.2, high.2),
            _ => String::new(),
        };
        Cell { figure, range, unlike: false, tells: runs.iter().any(|run| run.1 != "0") }
    }

    /// The same, marked if the figures are unlike the first policy's.
    pub fn beside(self, first: Option<&[f64]>, values: &[f64]) -> Cell {
        Cell { unlike: first.is_some_and(|first| unlike(first, values)), ..self }
    }
}

/// Whether two policies' seeds differ beyond luck. A single seed tells nothing of that.
pub(crate) fn unlike(first: &[f64], values: &[f64]) -> bool {
    Rule::Benchstat.judge(first, values).is_some_and(|verdict| verdict.significant)
}

/// How much room a column's figures, ranges and marks take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Width {
    figure: usize,
    range: usize,
    mark: usize,
}

/// Least room of figures that have company, with their gap.
const NARROW: usize = 8;

impl Width {
    /// Of a column with these cells. `with_ranges`: whether any column of the table has several runs, `has_ranges`: this one.
    pub fn of<'a>(cells: impl Iterator<Item = &'a Cell>, with_ranges: bool, has_ranges: bool) -> Width {
        if !with_ranges {
            return Width { figure: NUMBER_WIDTH, range: 0, mark: 0 };
        }
        let mut width = cells.fold(Width { figure: NARROW, range: 0, mark: 0 }, |width, cell| Width {
            figure: width.figure.max(cell.figure.len() + 2),
            range: width.range.max(cell.range.len()),
            mark: width.mark.max(if cell.unlike { STAR.len() } else { 0 }),
        });
        if has_ranges {
            // Names are broken into pieces that fit the usual width.
            width.range += (NUMBER_WIDTH + 1).saturating_sub(width.whole());
        }
        width
    }

    /// All of it.
    pub const fn whole(self) -> usize {
        self.figure + self.range + self.mark
    }

    /// The cell as text of the whole width: figures end at one edge, ranges begin at the next. Absent figures print as a dash:
    /// not known is not zero.
    pub fn text(self, cell: Option<&Cell>) -> String {
        let dash = Cell { figure: "-".to_owned(), range: String::new(), unlike: false, tells: false };
        let cell = cell.unwrap_or(&dash);
        let (figure, range) = (self.figure, self.range);
        let star = if cell.unlike { STAR } else { "" };
        let mark = self.mark;
        format!("{:>figure$}{:<range$}{star:<mark$}", cell.figure, cell.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_its_range_beside_it() {
        let text = |values: &[u64]| {
            let cell = Cell::of_counts(values, true);
            (cell.figure + &cell.range, cell.tells)
        };
        assert_eq!(text(&[27, 20, 540, 17, 345, 117, 22, 22]), ("22 [17..540]".to_owned(), true));
        assert_eq!(text(&[28_687, 1_234_567]), ("28687 [28.7k..1.23M]".to_owned(), true));
        assert_eq!([text(&[9_999_999]).0, text(&[10_000_000]).0], ["9999999", "10.0M"], "eight digits are too long");
        assert_eq!(text(&[0, 0, 0]), ("0".to_owned(), false));
        assert_eq!(text(&[0, 1]), ("0 [0..1]".to_owned(), true));
        let derived = Cell::of_values(&[Value::Percent(81), Value::Percent(80), Value::Percent(95)], true);
        assert_eq!(derived.figure + &derived.range, "81% [80%..95%]");
        let derived = Cell::of_values(&[Value::PerSecond(1234.567), Value::PerSecond(71.25)], true);
        assert_eq!(derived.figure + &derived.range, "71.2 [71.2..1235]");
        assert_eq!(Cell::of_values(&[Value::PerSecond(71.25)], false).figure, "71.250");
        assert_eq!(Cell::of_counts(&[12_345_678], false).figure, "12345678");
    }

    #[test]
    fn one_run_is_a_number_and_never_marked() {
        let cell = Cell::of_counts(&[540], false).beside(Some(&[0.0]), &[540.0]);
        let width = Width::of([&cell].into_iter(), false, false);
        assert_eq!((cell.unlike, width.text(Some(&cell))), (false, "           540".to_owned()));
    }

    #[test]
    fn a_mark_needs_a_difference_beyond_luck() {
        let marked = |a: &[f64], b: &[f64]| Cell::of_counts(&[1], true).beside(Some(a), b).unlike;
        assert!(marked(&[27.0, 20.0, 540.0, 17.0], &[0.0; 4]));
        assert!(!marked(&[27.0, 20.0, 540.0], &[0.0; 3]), "three seeds a side can't tell");
        assert!(!marked(&[1.0, 2.0, 3.0, 4.0], &[2.0, 3.0, 4.0, 5.0]));
        assert!(!marked(&[0.0; 8], &[0.0; 8]));
        assert!(!Cell::of_counts(&[1], true).beside(None, &[1.0; 8]).unlike);
    }

    #[test]
    fn columns_are_as_wide_as_what_they_hold() {
        let cells = [Cell::of_counts(&[1, 100, 7], true), Cell { unlike: true, ..Cell::of_counts(&[5; 3], true) }];
        let width = Width::of(cells.iter(), true, true);
        assert_eq!(width.text(Some(&cells[0])), "       7 [1..100]  ");
        assert_eq!(width.text(Some(&cells[1])), "       5          *");
        assert_eq!(width.text(None), "       -           ");
        assert_eq!(width.whole(), 19);
        assert_eq!(Width::of(cells[1..].iter(), true, true).whole(), NUMBER_WIDTH + 1, "room for a name");
        assert_eq!(Width::of([Cell::of_counts(&[7], true)].iter(), true, false).whole(), NARROW);
    }
}
