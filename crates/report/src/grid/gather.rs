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
    /// What it adds to how many hold their bars by luck alone, where that is known.
    luck: Option<f64>,
    /// Share of the model's seeds that are below the kernel; nothing of a prediction.
    rank: Option<f64>,
}

impl<'a> From<&'a MirrorRow> for Figure<'a> {
    fn from(row: &'a MirrorRow) -> Figure<'a> {
        let MirrorRow { kernel, model, error, within, expected, rank, .. } = *row;
        Figure { row: &row.row, kernel, model, error, right: within, luck: expected, rank: Some(rank) }
    }
}

impl<'a> From<&'a PredictionRow> for Figure<'a> {
    fn from(row: &'a PredictionRow) -> Figure<'a> {
        let PredictionRow { kernel, model, error, sign_ok, .. } = *row;
        Figure { row: &row.row, kernel, model, error, right: sign_ok, luck: None, rank: None }
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
    /// Those in which it would hold, were the kernel one more seed of the model: the sum of its luck
    /// ([`MirrorRow::luck`]). Nothing of fewer than four seeds, without a bar, and of a prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub luck: Option<f64>,
    /// Mean share of the model's seeds that are below the kernel ([`MirrorRow::rank`]); nothing of a prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<f64>,
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
        let ranks: Vec<f64> = all.iter().filter_map(|figure| figure.rank).collect();
        (kernel.high > 0 || model.high > 0).then(|| Errors {
            row: figure.row.to_owned(),
            kernel,
            model,
            error: mean(&errors),
            half_width: half_width(&errors),
            judged: judged.len(),
            right: judged.iter().filter(|right| **right).count(),
            luck: sum(all.iter().filter_map(|figure| figure.luck)),
            rank: mean(&ranks),
        })
    };
    first.iter().filter_map(gather_row).collect()
}

/// Sum of what is known; nothing if nothing is.
fn sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(|sum, value| sum + value)
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

    /// How many of those would hold, were the kernel one more seed of the model; nothing where that is not known.
    pub fn luck(&self) -> Option<f64> {
        sum(self.rows.iter().filter_map(|row| row.luck))
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
        if let Some(luck) = self.luck() {
            object["luck"] = luck.into();
        }
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
    fn luck_is_summed_and_ranks_are_averaged() {
        let outcome =
            |count: u64| Outcome { counters: [("thp_fault_alloc".to_owned(), count)].into(), ..Outcome::default() };
        let cell = |kernel: u64, seeds: [u64; 5]| {
            mirror(&outcome(kernel), &seeds.map(outcome), &MIRROR_3, &KernelSpread::default())
        };
        // Luck 0.4 and 0.6 (all but 100 and 150 have a median of the others within 10), ranks 0.9 and 0.2.
        let cells = [cell(200, [10, 20, 30, 40, 200]), cell(12, [10, 14, 16, 100, 150])];
        let rows = gather(&cells.iter().map(|rows| figures(rows)).collect::<Vec<_>>());
        assert_eq!((rows[0].judged, rows[0].right, rows[0].luck), (2, 1, Some(1.0)));
        assert!(rows[0].rank.is_some_and(|rank| (rank - 0.55).abs() < 1e-12), "{rows:?}");
        let group = Group { kernel: "k".into(), setting: "s".into(), to: None };
        let gathered = Gathered { group, cells: 2, rows, checks: Vec::new() };
        assert_eq!((gathered.score(), gathered.luck()), ((1, 2), Some(1.0)));
        let json = gathered.to_json();
        assert_eq!((&json["luck"], &json["rows"][0]["luck"]), (&json!(1.0), &json!(1.0)));
        let one = gather(&[figures(&self::cell(100, 110))]);
        assert_eq!((one[0].luck, one[0].rank), (None, Some(0.0)));
        let json = Gathered { rows: one, ..gathered }.to_json();
        assert_eq!((json.get("luck"), json["rows"][0].get("luck")), (None, None));
    }

    #[test]
    fn a_row_that_a_cell_lacks_is_not_gathered() {
        let short = vec![cell(100, 100).remove(0)];
        let cells = [cell(100, 110), short];
        assert!(gather(&cells.iter().map(|rows| figures(rows)).collect::<Vec<_>>()).is_empty());
        assert!(gather(&[]).is_empty());
    }
}
