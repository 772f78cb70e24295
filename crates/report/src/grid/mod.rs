//! Many validations in one report: a scenario on kernels x settings x seeds, with the errors of every row over the seeds.
//!
//! A cell is one run of a real kernel. What was compared in it comes in as rows of [`crate::validate`]; here they are
//! gathered by kernel and settings, so that an error has a confidence interval and the kernel's own spread beside it.

mod gather;
pub mod plan;
mod table;

use gather::figures;
pub use gather::{Errors, Figure, Gathered, gather};

use crate::json::SCHEMA_VERSION;
use crate::validate::{MirrorRow, PredictionRow, checks};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Which run of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellId {
    /// Kernel, as it was asked for.
    pub kernel: String,
    /// Settings, as they were asked for: `vm.defrag_mode=0`, several joined by commas.
    pub setting: String,
    /// Seed of the workload.
    pub seed: u64,
    /// Which repetition with this seed, from 1.
    #[serde(default = "first_run")]
    pub run: u64,
}

const fn first_run() -> u64 {
    1
}

/// What was found out in a cell.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The model under the recorded settings against the kernel; empty if the recording has no page trace.
    pub mirror: Vec<MirrorRow>,
    /// From this cell's demand to other settings, by their name.
    pub predictions: Vec<(String, Vec<PredictionRow>)>,
    /// The scenario in the simulated computer against the kernel; empty where it was not run.
    pub stream: Vec<MirrorRow>,
    /// What could not be done, in sentences.
    pub problems: Vec<String>,
}

/// A cell with its findings.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which.
    pub id: CellId,
    /// What was found.
    pub findings: Findings,
}

/// The whole.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the set of bars of the mirror.
    pub bars: &'static str,
    /// Replays of each recording whose median was taken.
    pub replay_seeds: usize,
    /// Cells, by kernel, settings, seed and run.
    pub cells: Vec<Cell>,
}

/// One of the comparisons of a report: what the model was given, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Kernel.
    pub kernel: String,
    /// Settings of the cells.
    pub setting: String,
    /// Settings that were predicted; nothing for mirror and stream.
    pub to: Option<String>,
}

impl Grid {
    /// Kernels and settings in the order of the cells.
    pub fn groups(&self) -> Vec<(String, String)> {
        let mut groups: Vec<(String, String)> = Vec::new();
        for Cell { id, .. } in &self.cells {
            let group = (id.kernel.clone(), id.setting.clone());
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        groups
    }

    /// Cells of a kernel and a setting.
    pub fn cells_of<'a>(&'a self, kernel: &'a str, setting: &'a str) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| cell.id.kernel == kernel && cell.id.setting == setting)
    }

    /// The mirror of every kernel and setting.
    pub fn mirrors(&self) -> Vec<Gathered> {
        self.per_group(|findings| &findings.mirror)
    }

    /// The simulated computer against every kernel and setting.
    pub fn streams(&self) -> Vec<Gathered> {
        self.per_group(|findings| &findings.stream)
    }

    fn per_group(&self, rows: impl Fn(&Findings) -> &Vec<MirrorRow>) -> Vec<Gathered> {
        let gather_group = |(kernel, setting): (String, String)| {
            let cells = self.cells_of(&kernel, &setting).map(|cell| rows(&cell.findings));
            let cells: Vec<_> = cells.filter(|rows| !rows.is_empty()).map(|rows| figures(rows)).collect();
            let (count, rows) = (cells.len(), gather(&cells));
            let group = Group { kernel, setting, to: None };
            (count > 0).then_some(Gathered { group, cells: count, rows, checks: Vec::new() })
        };
        self.groups().into_iter().filter_map(gather_group).collect()
    }

    /// The predictions of every kernel, from every setting to every other.
    pub fn predictions(&self) -> Vec<Gathered> {
        let mut all = Vec::new();
        for (kernel, setting) in self.groups() {
            let predictions = || self.cells_of(&kernel, &setting).flat_map(|cell| &cell.findings.predictions);
            let mut targets: Vec<&String> = Vec::new();
            for (to, _) in predictions() {
                if !targets.contains(&to) {
                    targets.push(to);
                }
            }
            for to in targets {
                let cells: Vec<_> = predictions().filter(|(name, _)| name == to).map(|(_, rows)| rows).collect();
                let group = Group { kernel: kernel.clone(), setting: setting.clone(), to: Some(to.clone()) };
                let checks = cells.iter().map(|rows| checks(rows)).collect();
                let figures: Vec<_> = cells.iter().map(|rows| figures(rows)).collect();
                all.push(Gathered { group, cells: cells.len(), rows: gather(&figures), checks });
            }
        }
        all
    }

    /// Everything for programs.
    pub fn to_json(&self) -> Value {
        let comparison = |all: Vec<Gathered>| all.iter().map(Gathered::to_json).collect::<Vec<_>>();
        let cell = |cell: &Cell| {
            json!({
                "kernel": cell.id.kernel, "setting": cell.id.setting, "seed": cell.id.seed, "run": cell.id.run,
                "problems": cell.findings.problems,
            })
        };
        json!({
            "schema": "fraglab.grid", "version": SCHEMA_VERSION, "scenario": self.scenario, "bars": self.bars,
            "replay_seeds": self.replay_seeds, "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
            "mirror": comparison(self.mirrors()), "prediction": comparison(self.predictions()),
            "stream": comparison(self.streams()),
        })
    }
}
