//! Studies: what a published document ran and printed, run again, with ours beside it; and questions, answered in the same way
//! without a published side. A study is a file of data; nothing here runs anything.

mod answer;
mod check;
mod definition;
mod expression;
mod figures;
mod judge;
mod layout;
mod page;
mod plot;
mod results;
mod statistic;
mod tally;

pub use answer::{Answer, Quantity};
pub use check::{Check, Finding, Outcome, Test};
pub use definition::{Percent, Row, Series, Study, StudyError, Table};
pub use expression::{Expression, ExpressionError};
pub use figures::RunFigures;
pub use judge::{Kind, Verdict, verdicts};
pub use layout::text;
pub use page::{FULL_SIZE, Listed, index, json, page};
pub use plot::{Line, Plot};
pub use results::{CellId, FailedRun, Results, Size};
pub use statistic::Statistic;
pub use tally::{Share, Tally};

/// Documents that come with fraglab, by name.
pub const PAPERS: &[(&str, &str)] = &[
    ("gorman2018", include_str!("../../papers/gorman2018.toml")),
    ("weiner2013", include_str!("../../papers/weiner2013.toml")),
    ("weiner2025", include_str!("../../papers/weiner2025.toml")),
    ("hocko2016", include_str!("../../papers/hocko2016.toml")),
    ("babka2016", include_str!("../../papers/babka2016.toml")),
];

/// Questions that come with fraglab, by name.
pub const QUESTIONS: &[(&str, &str)] = &[
    ("Q1", include_str!("../../questions/Q1.toml")),
    ("Q2", include_str!("../../questions/Q2.toml")),
    ("Q3", include_str!("../../questions/Q3.toml")),
    ("Q4", include_str!("../../questions/Q4.toml")),
    ("Q5", include_str!("../../questions/Q5.toml")),
    ("Q6", include_str!("../../questions/Q6.toml")),
    ("Q7", include_str!("../../questions/Q7.toml")),
    ("Q8", include_str!("../../questions/Q8.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shipped_can_be_read_and_its_scenarios_are_there() {
        for (name, text) in PAPERS.iter().chain(QUESTIONS) {
            let study = Study::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(study.name, *name);
            for cell in study.cells() {
                let scenario =
                    workload::Scenario::shipped(&cell.scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
                let variant = cell.variant.as_deref().map_or(Ok(scenario.clone()), |variant| scenario.variant(variant));
                variant.unwrap_or_else(|error| panic!("{name}: {cell}: {error}"));
            }
            assert!(!study.cells().is_empty() && !study.tables.is_empty(), "{name}");
        }
    }
}
