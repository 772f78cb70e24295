//! Studies: what a published document ran and printed, run again, with ours beside it; and questions, answered in the same way
//! without a published side. A study is a file of data; nothing here runs anything.

mod check;
mod definition;
mod expression;
mod figures;
mod judge;
mod layout;
mod page;
mod plot;
mod results;

pub use check::{Check, Finding};
pub use definition::{Percent, Row, Series, Statistic, Study, StudyError, Table};
pub use expression::{Expression, ExpressionError};
pub use figures::RunFigures;
pub use judge::{Kind, Verdict, verdicts};
pub use layout::text;
pub use page::{index, json, page};
pub use plot::{Line, Plot};
pub use results::{CellId, FailedRun, Results};

/// Documents that come with fraglab, by name.
pub const PAPERS: &[(&str, &str)] = &[];

/// Questions that come with fraglab, by name.
pub const QUESTIONS: &[(&str, &str)] = &[];
