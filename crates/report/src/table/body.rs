//! The sections of the table that hold one figure a column: rows, what is derived from them, and what the trace left open.

use super::cell::{Cell, Width};
use super::lines::{DERIVED, sections};
use super::shown::{Shown, first_policy};
use super::{Report, ends};
use crate::calibration::{self, Calibration, Verdict};
use crate::text::{self, LABEL_WIDTH, LINE_WIDTH, heading};
use crate::vmstat_block::Value;

/// A line: what it is called, a cell a column where that is known, and what stands behind it.
struct Line {
    label: String,
    cells: Vec<Option<Cell>>,
    mark: &'static str,
    /// Whether it is left out where all its figures are 0.
    only_if_it_tells: bool,
}

impl Line {
    /// Whether it is worth a line beside these columns.
    fn tells(&self, columns: &[usize]) -> bool {
        let mut cells = columns.iter().filter_map(|&at| self.cells[at].as_ref());
        cells.any(|cell| cell.tells || !self.only_if_it_tells)
    }
}

/// Everything below the head.
pub(crate) struct Body<'a> {
    columns: Vec<Shown<'a>>,
    /// Whether any column has several runs.
    several: bool,
    calibration: Option<&'a Calibration>,
}

impl<'a> Body<'a> {
    /// Of reports with the same columns, one a seed.
    pub fn of(seeds: &'a [Report<'a>], calibration: Option<&'a Calibration>) -> Body<'a> {
        let columns = Shown::all(seeds);
        Body { several: columns.iter().any(|column| column.runs.len() > 1), columns, calibration }
    }

    /// All sections, for all columns.
    pub fn print(&self, text: &mut String) {
        let sections: Vec<(&str, Vec<Line>)> = self.sections();
        let lines = || sections.iter().flat_map(|(_, lines)| lines);
        let width = |at: usize| {
            let cells = lines().filter_map(|line| line.cells[at].as_ref());
            Width::of(cells, self.several, self.columns[at].runs.len() > 1)
        };
        let widths: Vec<Width> = (0..self.columns.len()).map(width).collect();
        for bank in banks(&widths) {
            text.push('\n');
            self.header(text, &bank, &widths);
            for (title, lines) in &sections {
                let lines: Vec<&Line> = lines.iter().filter(|line| line.tells(&bank)).collect();
                if !lines.is_empty() {
                    heading(text, title);
                }
                for line in lines {
                    let cells = bank.iter().map(|&at| (widths[at].text(line.cells[at].as_ref()), widths[at].whole()));
                    let mark = (line.mark.to_owned(), line.mark.len() + 1);
                    text::line_at(text, &line.label, LABEL_WIDTH, cells.chain([mark]));
                }
            }
        }
        ends::print(text, &self.columns);
    }

    /// Names of columns: over the last digit of single figures, over the first of those that have company.
    fn header(&self, text: &mut String, bank: &[usize], widths: &[Width]) {
        let names: Vec<(&str, usize)> = bank.iter().map(|&at| (self.columns[at].name, widths[at].whole())).collect();
        let left = |at: usize| self.columns[bank[at]].runs.len() > 1;
        text::header_at(text, &names, &left);
    }

    fn sections(&self) -> Vec<(&'static str, Vec<Line>)> {
        let mut all: Vec<(&str, Vec<Line>)> = Vec::new();
        for (title, lines) in sections() {
            all.push((title, lines.into_iter().map(|(label, row)| self.row_line(label, &row)).collect()));
        }
        let derived = DERIVED.iter().map(|label| self.derived_line(label)).collect();
        all.push(("Derived as mmtests does (velocities in pages a second)", derived));
        all.push(("What the trace could not tell, or the replay did otherwise", self.departures()));
        all
    }

    fn row_line(&self, label: String, row: &str) -> Line {
        let values: Vec<Option<Vec<u64>>> = self.columns.iter().map(|column| column.row(row)).collect();
        let floats = |values: &[u64]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
        let first = first_policy(&self.columns).and_then(|at| values[at].as_deref().map(floats));
        let cell = |values: &Vec<u64>| Cell::of_counts(values, self.several).beside(first.as_deref(), &floats(values));
        let cells = values.iter().map(|values| values.as_ref().map(cell)).collect();
        // Most orders never fail, and hardly any kernel has this stall: those lines would only hide the others.
        let only_if_it_tells = row.starts_with("failed.") || row == "fragment_stall";
        Line { label, cells, mark: self.mark(row), only_if_it_tells }
    }

    fn derived_line(&self, label: &str) -> Line {
        let values: Vec<_> = self.columns.iter().map(|column| column.derived(label)).collect();
        let floats = |values: &[Value]| values.iter().map(|value| value.number()).collect::<Vec<_>>();
        let first = first_policy(&self.columns).and_then(|at| values[at].as_deref().map(floats));
        let cell =
            |values: &Vec<Value>| Cell::of_values(values, self.several).beside(first.as_deref(), &floats(values));
        let cells = values.iter().map(|values| values.as_ref().map(cell)).collect();
        Line { label: label.to_owned(), cells, mark: "", only_if_it_tells: true }
    }

    /// What every replay could not take from the trace, or did otherwise than the kernel.
    fn departures(&self) -> Vec<Line> {
        let facts = self.columns.iter().flat_map(Shown::facts);
        let mut names: Vec<&String> = Vec::new();
        for (name, _) in facts.flat_map(|facts| &facts.unattributed) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let line = |name: &String| {
            let cell = |column: &Shown| column.departure(name).map(|counts| Cell::of_counts(&counts, self.several));
            let cells = self.columns.iter().map(cell).collect();
            Line { label: name.replace('_', " "), cells, mark: "", only_if_it_tells: false }
        };
        names.into_iter().map(line).collect()
    }

    /// What stands behind a row's line: whether the model can be trusted with it.
    fn mark(&self, row: &str) -> &'static str {
        match self.calibration.and_then(|calibration| calibration.of_row(row)) {
            Some(Verdict::NotCalibrated) => calibration::MARK,
            Some(Verdict::Calibrated | Verdict::Few) | None => "",
        }
    }
}

/// Columns that stand side by side, the first one in every bank, as many as fit before the mark.
fn banks(widths: &[Width]) -> Vec<Vec<usize>> {
    let room = LINE_WIDTH - LABEL_WIDTH - 2;
    let mut banks: Vec<Vec<usize>> = Vec::new();
    let mut taken = 0;
    for (at, width) in widths.iter().enumerate().skip(1) {
        match banks.last_mut() {
            Some(bank) if taken + width.whole() <= room => bank.push(at),
            _ => {
                taken = widths[0].whole();
                banks.push(vec![0, at]);
            }
        }
        taken += width.whole();
    }
    if banks.is_empty() && !widths.is_empty() {
        banks.push(vec![0]);
    }
    banks
}
