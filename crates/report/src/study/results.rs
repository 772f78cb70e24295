//! The runs of a study: which there are to be, and what came out of each.

use super::expression::Expression;
use super::figures::RunFigures;
use crate::stats;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Name of the share of its full size that a scenario was run at.
const SCALE: &str = "scale";

/// What is run with every seed: a scenario and one of its variants, written `SCENARIO:VARIANT`, or without a variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct CellId {
    /// Name of the scenario, or the path of its file.
    pub scenario: String,
    /// The variant; `None` for the scenario's own settings.
    pub variant: Option<String>,
}

impl FromStr for CellId {
    type Err = String;

    fn from_str(text: &str) -> Result<CellId, String> {
        let (scenario, variant) = match text.split_once(':') {
            Some((scenario, variant)) => (scenario, Some(variant)),
            None => (text, None),
        };
        if scenario.is_empty() || variant.is_some_and(str::is_empty) {
            return Err(format!("`{text}` is neither SCENARIO nor SCENARIO:VARIANT"));
        }
        Ok(CellId { scenario: scenario.to_owned(), variant: variant.map(str::to_owned) })
    }
}

impl TryFrom<String> for CellId {
    type Error = String;

    fn try_from(text: String) -> Result<CellId, String> {
        text.parse()
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variant {
            Some(variant) => write!(f, "{}:{variant}", self.scenario),
            None => f.write_str(&self.scenario),
        }
    }
}

/// A run that left nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRun {
    /// Which.
    pub cell: CellId,
    /// Its seed.
    pub seed: u64,
    /// Why, in a sentence.
    pub why: String,
}

/// How large a scenario was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    /// In words.
    pub words: String,
    /// As a share of its full size.
    pub scale: f64,
}

/// Everything that was run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Runs by cell, in the order of their seeds.
    pub runs: BTreeMap<CellId, Vec<RunFigures>>,
    /// Runs that left nothing.
    pub failed: Vec<FailedRun>,
    /// How each scenario was scaled.
    pub sizes: BTreeMap<String, Size>,
    /// What each cell is run with, in words.
    pub settings: BTreeMap<CellId, String>,
    /// Seeds, in words.
    pub seeds: String,
}

impl Results {
    fn of(&self, cell: &CellId) -> &[RunFigures] {
        self.runs.get(cell).map_or(&[], Vec::as_slice)
    }

    /// A figure in every run of a cell that knows it. `scale` is the share of the full size that was run.
    pub fn samples(&self, cell: &CellId, figure: &Expression) -> Vec<f64> {
        let scale = self.sizes.get(&cell.scenario).map(|size| size.scale);
        let known = |run: &RunFigures, name: &str| if name == SCALE { scale } else { run.figures.get(name).copied() };
        let value = |run: &RunFigures| figure.value(&|name| known(run, name));
        self.of(cell).iter().filter_map(value).collect()
    }

    /// Digest of all runs: of their events and operations.
    pub fn digest(&self) -> String {
        let mut digest = lab::Digest::default();
        for run in self.runs.values().flatten() {
            for text in [Some(&run.event_digest), run.workload_digest.as_ref()] {
                digest.fold(text.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0));
            }
        }
        format!("{:016x}", digest.value())
    }

    /// A series of a cell, point by point the mean over its runs, as long as the shortest.
    pub fn series(&self, cell: &CellId, name: &str) -> Vec<f64> {
        let all: Vec<&Vec<f64>> = self.of(cell).iter().filter_map(|run| run.series.get(name)).collect();
        let length = all.iter().map(|series| series.len()).min().unwrap_or(0);
        let at = |at: usize| stats::mean(&all.iter().map(|series| series[at]).collect::<Vec<_>>());
        (0..length).filter_map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named() {
        let cell: CellId = "thpfioscale:vanilla".parse().expect("a cell");
        assert_eq!((cell.scenario.as_str(), cell.variant.as_deref()), ("thpfioscale", Some("vanilla")));
        assert_eq!(cell.to_string(), "thpfioscale:vanilla");
        assert_eq!("a.toml".parse::<CellId>().expect("a cell").variant, None);
        assert!(":x".parse::<CellId>().is_err() && "x:".parse::<CellId>().is_err());
    }

    #[test]
    fn figures_may_be_brought_to_full_size() {
        let cell: CellId = "s".parse().expect("a cell");
        let run = RunFigures { figures: [("events".to_owned(), 100.0)].into(), ..RunFigures::default() };
        let figure: Expression = "events / scale".parse().expect("well formed");
        let mut results = Results { runs: [(cell.clone(), vec![run])].into(), ..Results::default() };
        assert_eq!(results.samples(&cell, &figure), [0.0; 0], "the size is not known");
        results.sizes.insert("s".to_owned(), Size { words: "a quarter".to_owned(), scale: 0.25 });
        assert_eq!(results.samples(&cell, &figure), [400.0]);
    }

    #[test]
    fn series_are_means_over_the_runs() {
        let cell: CellId = "s".parse().expect("a cell");
        let run = |samples: &[f64]| RunFigures {
            series: [("m".to_owned(), samples.to_vec())].into(),
            ..RunFigures::default()
        };
        let runs = [(cell.clone(), vec![run(&[1.0, 2.0, 9.0]), run(&[3.0, 6.0])])].into();
        let results = Results { runs, ..Results::default() };
        assert_eq!(results.series(&cell, "m"), [2.0, 4.0]);
        assert_eq!(results.series(&cell, "other"), [0.0; 0]);
    }
}
