//! One row over the cells of a kernel and a setting.

use super::Group;
use crate::over_runs::{Summary, half_width};
use crate::stats::mean;
use crate::validate::{Check, MirrorRow, PredictionRow};
use serde::Serialize;
use serde_json::{Value, json};

/// A row of a cell, as far as gathering needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure<'a> {
    row: &'a str,
    kernel: u64,
    model: u64,
    error: Option<f64>,
    /// Whether it holds its bar; nothing where there is none. Of a prediction: whether the sign is right.
    right: Option<bool>,
}

impl<'a> From<&'a MirrorRow> for Figure<'a> {
    fn from(row: &'a MirrorRow) -> Figure<'a> {
        let MirrorRow { kernel, model, error, within, .. } = *row;
        Figure { row: &row.row, kernel, model, error, right: within }
    }
}

impl<'a> From<&'a PredictionRow> for Figure<'a> {
    fn from(row: &'a PredictionRow) -> Figure<'a> {
        let PredictionRow { kernel, model, error, sign_ok, .. } = *row;
        Figure { row: &row.row, kernel, model, error, right: sign_ok }
    }
}

/// A row over cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Row name (`docs/rows.md`).
    pub row: String,
    /// The kernel's figure over the cells: its range is the kernel's own spread.
    pub kernel: Summary,
    /// The model's.
    pub model: Summary,
    /// Mean relative error of the cells in which the kernel's figure is not 0; `null` if it is 0 in all.
    pub error: Option<f64>,
    /// Half of that mean's 95 % confidence interval (Student's t); `null` of a single cell.
    pub half_width: Option<f64>,
    /// Cells in which the row is held to something: a bar, or a sign.
    pub judged: usize,
    /// Those of them in which it holds.
    pub right: usize,
}

/// A comparison over its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered {
    /// What was compared.
    pub group: Group,
    /// Number of cells.
    pub cells: usize,
    /// Rows that are known in every cell and are not 0 everywhere.
    pub rows: Vec<Errors>,
    /// Of a prediction: its bars, cell by cell.
    pub checks: Vec<Vec<Check>>,
}

/// Gathers rows that every cell knows; those that are 0 everywhere are left out.
pub fn gather(cells: &[Vec<Figure>]) -> Vec<Errors> {
    let Some(first) = cells.first() else { return Vec::new() };
    let gather_row = |figure: &Figure| {
        let same = |other: &&Figure| other.row == figure.row;
        let all: Vec<Figure> = cells.iter().map(|figures| figures.iter().find(same).copied()).collect::<Option<_>>()?;
        let summary = |side: fn(&Figure) -> u64| Summary::of(&all.iter().map(side).collect::<Vec<_>>());
        let (kernel, model) = (summary(|figure| figure.kernel)?, summary(|figure| figure.model)?);
        let errors: Vec<f64> = all.iter().filter_map(|figure| figure.error).collect();
        let judged: Vec<bool> = all.iter().filter_map(|figure| figure.right).collect();
        (kernel.high > 0 || model.high > 0).then(|| Errors {
            row: figure.row.to_owned(),
            kernel,
            model,
            error: mean(&errors),
            half_width: half_width(&errors),
            judged: judged.len(),
            right: judged.iter().filter(|right| **right).count(),
        })
    };
    first.iter().filter_map(gather_row).collect()
}

/// Rows of a cell as figures.
pub(super) fn figures<'a, R>(rows: &'a [R]) -> Vec<Figure<'a>>
where
    Figure<'a>: From<&'a R>,
{
    rows.iter().map(Figure::from).collect()
}

impl Gathered {
    /// Rows, counted once a cell, that are held to something, and those that hold.
    pub fn score(&self) -> (usize, usize) {
        let sum = |count: fn(&Errors) -> usize| self.rows.iter().map(count).sum();
        (sum(|row| row.right), sum(|row| row.judged))
    }

    /// Cells that hold a bar of the prediction as a whole, and those that it was known in.
    pub fn score_of(&self, check: &str) -> (usize, usize) {
        let found = || self.checks.iter().flatten().filter(|known| known.check == check);
        (found().filter(|known| known.within).count(), found().count())
    }

    pub(super) fn to_json(&self) -> Value {
        let (right, judged) = self.score();
        let mut object = json!({
            "kernel": self.group.kernel, "setting": self.group.setting, "cells": self.cells,
            "right": right, "judged": judged, "rows": self.rows,
        });
        if let Some(to) = &self.group.to {
            object["to"] = to.as_str().into();
            object["checks"] = json!(self.checks);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::MIRROR_3;
    use crate::validate::{KernelSpread, mirror};
    use lab::outcome::Outcome;

    fn cell(kernel: u64, model: u64) -> Vec<MirrorRow> {
        let outcome = |count: u64| {
            let counters = [("thp_fault_alloc".to_owned(), count), ("oom_kill".to_owned(), 0)].into();
            Outcome { counters, ..Outcome::default() }
        };
        mirror(&outcome(kernel), &[outcome(model)], &MIRROR_3, &KernelSpread::default())
    }

    #[test]
    fn errors_over_cells() {
        let cells = [cell(100, 110), cell(200, 240), cell(400, 400)];
        let rows = gather(&cells.iter().map(|rows| figures(rows)).collect::<Vec<_>>());
        assert_eq!(rows.len(), 1, "rows that are 0 everywhere are left out: {rows:?}");
        let thp = &rows[0];
        assert_eq!((thp.kernel.median, thp.kernel.range(), thp.model.median), (200, 300, 240));
        assert_eq!((thp.judged, thp.right), (3, 2));
        let error = thp.error.expect("never 0");
        assert!((error - 0.1).abs() < 1e-12, "mean of 10, 20 and 0 %: {error}");
        // Standard deviation 0.1, over sqrt 3, times 4.303.
        let half = thp.half_width.expect("three cells");
        assert!((half - 0.2484).abs() < 1e-4, "{half}");
    }

    #[test]
    fn a_row_that_a_cell_lacks_is_not_gathered() {
        let short = vec![cell(100, 100).remove(0)];
        let cells = [cell(100, 110), short];
        assert!(gather(&cells.iter().map(|rows| figures(rows)).collect::<Vec<_>>()).is_empty());
        assert!(gather(&[]).is_empty());
    }
}
