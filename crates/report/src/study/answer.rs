//! The answer to a question, in sentences that are computed from the runs: which of two is said follows from a test, and the figures
//! in them are the runs'.

use super::check::{Outcome, Test};
use super::expression::Expression;
use super::results::{CellId, Results};
use super::statistic::{Statistic, estimate};
use crate::text::number;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A sentence of the answer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What decides what is said; without one, `says` is.
    pub test: Option<Test>,
    /// What the test looks at, for runs that can't decide.
    pub what: Option<String>,
    /// What is said if the test holds. `{NAME}` stands for a value.
    pub says: String,
    /// What is said if it does not.
    pub otherwise: Option<String>,
    /// The values in the sentences.
    #[serde(default)]
    pub values: BTreeMap<String, Quantity>,
}

/// A figure over the runs of a cell.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Of what.
    pub figure: Expression,
    /// Of whom.
    pub of: CellId,
    /// Which value; the mean unless said.
    #[serde(default)]
    pub statistic: Statistic,
}

impl Answer {
    /// The cells that it needs.
    pub fn cells(&self) -> Vec<CellId> {
        let of_test = self.test.iter().flat_map(Test::cells);
        of_test.chain(self.values.values().map(|value| value.of.clone())).collect()
    }

    /// What the runs say.
    pub fn sentence(&self, results: &Results) -> String {
        let Some(test) = &self.test else { return self.filled(&self.says, results) };
        let finding = test.look(results);
        match finding.outcome {
            Outcome::Holds => self.filled(&self.says, results),
            Outcome::Fails => self.filled(self.otherwise.as_deref().unwrap_or_default(), results),
            Outcome::Open => {
                let what = self.what.as_deref().unwrap_or_default();
                format!("These runs can't tell. {what}: {}.", finding.measured)
            }
        }
    }

    fn filled(&self, template: &str, results: &Results) -> String {
        let mut text = template.to_owned();
        for (name, value) in &self.values {
            let (value, _) = estimate(&results.samples(&value.of, &value.figure), value.statistic);
            text = text.replace(&format!("{{{name}}}"), &value.map_or_else(|| "(not measured)".to_owned(), number));
        }
        text
    }

    /// What is wrong with it, if anything: a test without its other side, a name without a value, a value that nobody names.
    pub(super) fn fault(&self) -> Option<String> {
        if [self.otherwise.is_some(), self.what.is_some()] != [self.test.is_some(); 2] {
            return Some("`test`, `what` and `otherwise` belong together".to_owned());
        }
        if let Some(fault) = self.test.as_ref().and_then(Test::fault) {
            return Some(fault);
        }
        let templates = || std::iter::once(&self.says).chain(&self.otherwise);
        let unknown = templates().flat_map(|text| names(text)).find(|name| !self.values.contains_key(*name));
        let unused = || self.values.keys().find(|value| templates().all(|text| !names(text).contains(&value.as_str())));
        match unknown {
            Some(name) => Some(format!("`{{{name}}}` has no value")),
            None => unused().map(|name| format!("nothing says the value `{name}`")),
        }
    }
}

/// What stands between braces.
fn names(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::RunFigures;

    fn results(values: &[f64]) -> Results {
        let run = |&value: &f64| RunFigures { figures: [("f".to_owned(), value)].into(), ..RunFigures::default() };
        let cell = |name: &str| name.parse::<CellId>().expect("a cell");
        let runs = [(cell("s:a"), vec![run(&1.0); values.len()]), (cell("s:b"), values.iter().map(run).collect())];
        Results { runs: runs.into(), ..Results::default() }
    }

    fn answer(test: &str) -> Answer {
        let text = format!(
            "says = \"Yes: {{n}}.\"\notherwise = \"No: {{n}}.\"\nwhat = \"Events\"\ntest = {test}\n\
            values.n = {{ figure = \"f\", of = \"s:b\", statistic = \"max\" }}"
        );
        toml::from_str(&text).expect("an answer")
    }

    #[test]
    fn what_is_said_follows_from_the_runs() {
        let none = answer("{ kind = \"value\", figure = \"f\", of = \"s:b\", statistic = \"max\", max = 0 }");
        assert_eq!(none.sentence(&results(&[0.0, 0.0])), "Yes: 0.");
        assert_eq!(none.sentence(&results(&[0.0, 7.0])), "No: 7.");
        assert_eq!(none.fault(), None);
    }

    #[test]
    fn too_few_runs_do_not_answer() {
        let rises = answer("{ kind = \"differs\", figure = \"f\", of = \"s:b\", base = \"s:a\", want = \"rises\" }");
        let open = "These runs can't tell. Events: 1 to 8.50; 2 a side are too few runs to tell.";
        assert_eq!(rises.sentence(&results(&[8.0, 9.0])), open);
        assert_eq!(rises.sentence(&results(&[8.0, 9.0, 9.0, 9.0])), "Yes: 9.");
        assert_eq!(rises.sentence(&results(&[1.0, 1.0, 1.0, 1.0])), "No: 1.");
        let unmeasured = answer("{ kind = \"value\", figure = \"g\", of = \"s:b\", max = 0 }");
        assert_eq!(unmeasured.sentence(&results(&[1.0])), "These runs can't tell. Events: not measured.");
    }

    #[test]
    fn a_sentence_and_its_values_belong_together() {
        let fault = |text: &str| toml::from_str::<Answer>(text).expect("an answer").fault();
        assert_eq!(fault("says = \"All {n}.\"").as_deref(), Some("`{n}` has no value"));
        let unused = "says = \"All.\"\nvalues.n = { figure = \"f\", of = \"s:b\" }";
        assert_eq!(fault(unused).as_deref(), Some("nothing says the value `n`"));
        assert!(fault("says = \"All.\"\notherwise = \"None.\"").is_some());
    }
}
