//! What a study is: the tables of a document (or those that answer a question) as data, and what shall hold of them.

use super::answer::Answer;
use super::check::Check;
use super::expression::Expression;
use super::plot::Plot;
use super::results::CellId;
use super::statistic::Statistic;
use serde::Deserialize;
use workload::{TomlError, read_toml};

/// A study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name on the command line.
    pub name: String,
    /// Title of the document, or the question.
    pub title: String,
    /// Who wrote it where and when; of a question, who asked it.
    pub document: String,
    /// What is run and how it stands for what the document ran, a paragraph each.
    #[serde(default)]
    pub about: Vec<String>,
    /// The answer to a question, sentence by sentence.
    #[serde(default, rename = "answer")]
    pub answers: Vec<Answer>,
    /// What can't be told from it, a paragraph each.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<Table>,
    /// What shall hold.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
    /// Plots.
    #[serde(default, rename = "plot")]
    pub plots: Vec<Plot>,
}

/// A table in the document's layout.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// Heads of the columns; the first is what the others are compared with.
    pub columns: Vec<String>,
    /// The cells that the columns are of.
    #[serde(default)]
    pub of: Vec<CellId>,
    /// How the document counts percentages.
    #[serde(default)]
    pub percent: Percent,
    /// Rows.
    #[serde(default, rename = "row")]
    pub rows: Vec<Row>,
    /// Rows that are series, one value a repetition.
    #[serde(default, rename = "series")]
    pub series: Vec<Series>,
}

/// A percentage beside a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Percent {
    /// Positive is more.
    #[default]
    Change,
    /// mmtests of rows of which less is better: positive is less.
    LowerIsBetter,
    /// mmtests of rows of which more is better: positive is more.
    HigherIsBetter,
    /// None at all.
    None,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name in the document.
    pub name: String,
    /// What it is in a run.
    pub figure: Expression,
    /// What is said of the figure over the runs.
    #[serde(default)]
    pub statistic: Statistic,
    /// The cells of its columns, where they are not the table's.
    #[serde(default)]
    pub of: Vec<CellId>,
    /// How the document counts its percentage, where that is not the table's way.
    pub percent: Option<Percent>,
    /// Published values by column; `nan` where there is none. Without any, it is a row of ours alone.
    #[serde(default)]
    pub published: Vec<f64>,
    /// The authors call it a result: direction and ranking count as well.
    #[serde(default)]
    pub significant: bool,
    /// Columns whose direction the authors call noise, by number from 0.
    #[serde(default)]
    pub noise: Vec<usize>,
    /// Our change may be so many times the published one, or one so-many-th.
    #[serde(default = "factor")]
    pub within: f64,
    /// Values are compared as they are, and may be so many points apart: for shares, which do not depend on the size of the machine.
    pub points: Option<f64>,
    /// Why it disagrees, where that is known.
    pub cause: Option<String>,
    /// It is printed and not judged, for this reason.
    pub not_judged: Option<String>,
}

/// Of targets: the ratio between variants agrees within this factor.
pub(super) const FACTOR: f64 = 2.0;

fn factor() -> f64 {
    FACTOR
}

/// A row of one value a repetition, such as the builds in a row; what is compared is its trend.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name in the document.
    pub name: String,
    /// Name of the measure.
    pub measure: String,
    /// Published values of each column.
    #[serde(default)]
    pub published: Vec<Vec<f64>>,
    /// Why it disagrees, where that is known.
    pub cause: Option<String>,
}

/// Why a study's file can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// It is not what such a file holds.
    #[error(transparent)]
    File(#[from] TomlError),
    /// What it says can't be looked at.
    #[error("answer `{answer}`: {fault}")]
    Answer {
        /// The sentence.
        answer: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A bar can't be missed.
    #[error("check `{check}`: {fault}")]
    Check {
        /// What shall hold.
        check: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A row has another number of values or cells than its table has columns.
    #[error("table `{table}`, row `{row}`: {what} of {found} columns, and the table has {columns}")]
    Columns {
        /// Title of the table.
        table: String,
        /// Name of the row.
        row: String,
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        columns: usize,
    },
}

impl Study {
    /// Reads a study's file.
    ///
    /// # Errors
    /// [`StudyError`] with the place.
    pub fn parse(text: &str) -> Result<Study, StudyError> {
        let study: Study = read_toml(text)?;
        study.tables.iter().try_for_each(Table::check)?;
        let wrong =
            |answer: &Answer| answer.fault().map(|fault| StudyError::Answer { answer: answer.says.clone(), fault });
        study.answers.iter().find_map(wrong).map_or(Ok(()), Err)?;
        let loose =
            |check: &Check| check.test.fault().map(|fault| StudyError::Check { check: check.says.clone(), fault });
        study.checks.iter().find_map(loose).map_or(Ok(()), Err)?;
        Ok(study)
    }

    /// All cells that it needs, each once.
    pub fn cells(&self) -> Vec<CellId> {
        let of_tables = self.tables.iter().flat_map(|table| {
            table.of.iter().chain(table.rows.iter().flat_map(|row| row.of.iter())).cloned().collect::<Vec<_>>()
        });
        let of_checks = self.answers.iter().flat_map(Answer::cells).chain(self.checks.iter().flat_map(Check::cells));
        let of_plots = self.plots.iter().flat_map(Plot::cells);
        let mut cells: Vec<CellId> = Vec::new();
        for cell in of_tables.chain(of_checks).chain(of_plots) {
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
        cells
    }
}

impl Table {
    /// The cells of a row's columns.
    pub fn cells<'a>(&'a self, row: &'a Row) -> &'a [CellId] {
        if row.of.is_empty() { &self.of } else { &row.of }
    }

    /// How a row's percentage is counted.
    pub fn percent(&self, row: &Row) -> Percent {
        row.percent.unwrap_or(self.percent)
    }

    fn check(&self) -> Result<(), StudyError> {
        let columns = self.columns.len();
        let wrong = |row: &str, what, found| StudyError::Columns {
            table: self.title.clone(),
            row: row.to_owned(),
            what,
            found,
            columns,
        };
        for row in &self.rows {
            let (cells, values) = (self.cells(row).len(), row.published.len());
            if cells != columns {
                return Err(wrong(&row.name, "cells", cells));
            }
            if values != 0 && values != columns {
                return Err(wrong(&row.name, "published values", values));
            }
        }
        for series in &self.series {
            let (cells, values) = (self.of.len(), series.published.len());
            if cells != columns {
                return Err(wrong(&series.name, "cells", cells));
            }
            if values != 0 && values != columns {
                return Err(wrong(&series.name, "published series", values));
            }
        }
        Ok(())
    }
}
