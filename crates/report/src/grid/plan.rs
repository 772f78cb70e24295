//! Which cells a grid has, and where their recordings lie: `grid.json` of a grid's directory.

use super::CellId;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fs, io};

/// Name of the plan in the grid's directory.
pub const PLAN_FILE: &str = "grid.json";
const SCHEMA: &str = "fraglab.grid-plan";

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    schema: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its file, so that a grid is never continued with another one; `null` where others made the recordings.
    pub scenario_text: Option<String>,
    /// Variant of the scenario; `null` for its own settings.
    #[serde(default)]
    pub variant: Option<String>,
    /// Scale, as it is written on the command line; `null` for the scenario's default.
    #[serde(default)]
    pub scale: Option<String>,
    /// Cells.
    pub cells: Vec<Planned>,
}

/// A cell and its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// Which.
    #[serde(flatten)]
    pub id: CellId,
    /// Path of the recording, relative to the grid's directory.
    pub recording: PathBuf,
}

/// Values that one setting takes: `NAME=VALUE,VALUE...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the setting.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// What spans a grid.
#[derive(Clone, Debug, Default)]
pub struct Axes {
    /// Kernels.
    pub kernels: Vec<String>,
    /// Settings; a cell for every combination.
    pub settings: Vec<Axis>,
    /// Seeds of the workload.
    pub seeds: Vec<u64>,
    /// Runs with each seed.
    pub runs: u64,
}

/// Why a plan can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It isn't `NAME=VALUE,VALUE...`.
    #[error("`{0}` is not of the form NAME=VALUE,VALUE...")]
    NotAnAxis(String),
    /// The directory holds recordings of something else.
    #[error("{} holds a grid of another scenario ({scenario}, or another version, variant or scale of it): name another directory", directory.display())]
    OtherScenario {
        /// The directory.
        directory: PathBuf,
        /// The scenario that it is of.
        scenario: String,
    },
    /// The file isn't a plan.
    #[error("{}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl FromStr for Axis {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Axis, PlanError> {
        let malformed = || PlanError::NotAnAxis(text.to_owned());
        let (name, values) = text.split_once('=').ok_or_else(malformed)?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        let name = name.trim().to_owned();
        if name.is_empty() || values.iter().any(String::is_empty) {
            return Err(malformed());
        }
        Ok(Axis { name, values })
    }
}

impl Axes {
    /// Every combination of the settings' values: `NAME=VALUE,NAME=VALUE`; without settings, the kernel's own.
    fn combinations(&self) -> Vec<String> {
        let mut all = vec![String::new()];
        for Axis { name, values } in &self.settings {
            let extend = |begun: String| {
                let comma = if begun.is_empty() { "" } else { "," };
                values.iter().map(move |value| format!("{begun}{comma}{name}={value}")).collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(extend).collect();
        }
        all
    }

    fn cells(&self) -> Vec<CellId> {
        let mut cells = Vec::new();
        for kernel in &self.kernels {
            for setting in self.combinations() {
                for &seed in &self.seeds {
                    let id = |run| CellId { kernel: kernel.clone(), setting: setting.clone(), seed, run };
                    cells.extend((1..=self.runs).map(id));
                }
            }
        }
        cells
    }
}

impl CellId {
    /// Settings by name.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.setting.split(',').filter_map(|setting| setting.split_once('='))
    }

    /// Name of the cell's directory.
    pub fn directory(&self) -> String {
        let setting = if self.setting.is_empty() { String::new() } else { format!("-{}", self.setting) };
        let name = format!("{}{setting}-s{}-r{}", self.kernel, self.seed, self.run);
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._=+-".contains(c) { c } else { '_' };
        name.chars().map(plain).collect()
    }
}

impl Plan {
    /// A plan of all cells; recordings lie in `cells/NAME/RECORDING`.
    pub fn new(scenario: &str, scenario_text: &str, axes: &Axes, recording: &str) -> Plan {
        let mut seen = HashSet::new();
        let cells = axes.cells().into_iter().filter(|id| seen.insert(id.clone()));
        let place = |id: &CellId| Path::new("cells").join(id.directory()).join(recording);
        Plan {
            schema: SCHEMA.to_owned(),
            scenario: scenario.to_owned(),
            scenario_text: Some(scenario_text.to_owned()),
            variant: None,
            scale: None,
            cells: cells.map(|id| Planned { recording: place(&id), id }).collect(),
        }
    }

    /// Whether there is a plan in a directory.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(PLAN_FILE).is_file()
    }

    /// The plan of a directory.
    ///
    /// # Errors
    /// When it is missing or damaged.
    pub fn read(directory: &Path) -> Result<Plan, PlanError> {
        let path = directory.join(PLAN_FILE);
        let text = fs::read_to_string(&path).map_err(|source| PlanError::Io { path: path.clone(), source })?;
        let damaged = |why: String| PlanError::Damaged { path: path.clone(), why };
        let plan: Plan = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if plan.schema != SCHEMA {
            return Err(damaged(format!("its schema is `{}`, not `{SCHEMA}`", plan.schema)));
        }
        Ok(plan)
    }

    /// This plan with the cells that the directory's plan has beside it: a grid may grow.
    ///
    /// # Errors
    /// When the directory's plan is of another scenario, or damaged.
    pub fn continuing(mut self, directory: &Path) -> Result<Plan, PlanError> {
        if !Plan::is_in(directory) {
            return Ok(self);
        }
        let earlier = Plan::read(directory)?;
        let what = |plan: &Plan| (plan.scenario_text.clone(), plan.variant.clone(), plan.scale.clone());
        if what(&earlier) != what(&self) {
            return Err(PlanError::OtherScenario { directory: directory.to_owned(), scenario: earlier.scenario });
        }
        let known: HashSet<CellId> = self.cells.iter().map(|cell| cell.id.clone()).collect();
        self.cells.extend(earlier.cells.into_iter().filter(|cell| !known.contains(&cell.id)));
        self.cells.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(self)
    }

    /// Writes the plan into its directory.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, directory: &Path) -> Result<(), PlanError> {
        let path = directory.join(PLAN_FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| PlanError::Damaged { path: path.clone(), why: error.to_string() })?;
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&path, text + "\n"))
            .map_err(|source| PlanError::Io { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(settings: &[&str], seeds: &[u64]) -> Axes {
        let settings = settings.iter().map(|text| text.parse().expect("an axis")).collect();
        Axes { kernels: vec!["6.1".into(), "6.18".into()], settings, seeds: seeds.to_vec(), runs: 1 }
    }

    #[test]
    fn a_cell_for_every_combination() {
        let plan = Plan::new("s", "", &axes(&["vm.defrag_mode=0,1", "lru_gen/enabled=0"], &[1, 2]), "recording");
        assert_eq!(plan.cells.len(), 2 * 2 * 2);
        let first = &plan.cells[0];
        assert_eq!(first.id.setting, "vm.defrag_mode=0,lru_gen/enabled=0");
        assert_eq!(first.recording, Path::new("cells/6.1-vm.defrag_mode=0_lru_gen_enabled=0-s1-r1/recording"));
        let settings: Vec<_> = first.id.settings().collect();
        assert_eq!(settings, [("vm.defrag_mode", "0"), ("lru_gen/enabled", "0")]);
        let plain = Plan::new("s", "", &axes(&[], &[1, 1]), "recording");
        assert_eq!(plain.cells.len(), 2, "a cell is planned once: {plain:?}");
        assert_eq!(plain.cells[0].id.settings().count(), 0);
        assert_eq!(plain.cells[0].id.directory(), "6.1-s1-r1");
    }

    #[test]
    fn malformed_axes_are_refused() {
        for text in ["vm.defrag_mode", "=1", "vm.defrag_mode=", "vm.defrag_mode=0,"] {
            assert!(matches!(text.parse::<Axis>(), Err(PlanError::NotAnAxis(_))), "{text}");
        }
    }

    #[test]
    fn a_grid_grows_but_does_not_change_its_scenario() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plan = |text: &str, seeds: &[u64]| Plan::new("s", text, &axes(&[], seeds), "recording");
        let first = plan("a = 1", &[1]).continuing(dir.path()).expect("nothing is there");
        first.write(dir.path()).expect("written");
        let grown = plan("a = 1", &[2]).continuing(dir.path()).expect("the same scenario");
        let seeds: Vec<_> = grown.cells.iter().map(|cell| (cell.id.kernel.as_str(), cell.id.seed)).collect();
        assert_eq!(seeds, [("6.1", 1), ("6.1", 2), ("6.18", 1), ("6.18", 2)]);
        assert!(matches!(plan("a = 2", &[1]).continuing(dir.path()), Err(PlanError::OtherScenario { .. })));
        fs::write(dir.path().join(PLAN_FILE), "{}").expect("written");
        assert!(matches!(Plan::read(dir.path()), Err(PlanError::Damaged { .. })));
    }
}
