//! Run directories that are made up.

use report::compare::{Comparison, Options, Selection};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A place for run directories.
pub struct Runs(pub TempDir);

/// What a run directory holds beside its rows.
pub struct Made {
    pub recording: &'static str,
    pub policy: &'static str,
    pub seed: u64,
    pub seconds: f64,
}

pub const DEMO: Made = Made { recording: "demo", policy: "recorded", seed: 1, seconds: 10.0 };

impl Runs {
    pub fn new() -> Runs {
        Runs(tempfile::tempdir().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, file: &str, text: &str) {
        fs::write(self.path(name).join(file), text).expect("written");
    }

    pub fn edit(&self, name: &str, change: impl FnOnce(&mut serde_json::Value)) {
        let text = fs::read_to_string(self.path(name).join("manifest.json")).expect("written before");
        let mut manifest = serde_json::from_str(&text).expect("JSON");
        change(&mut manifest);
        self.write(name, "manifest.json", &manifest.to_string());
    }

    /// A run with these rows. The digest is made from name and seed: runs of different names are different.
    pub fn add(&self, name: &str, made: &Made, rows: &[(&str, u64)]) -> Selection {
        let Made { recording, policy, seed, seconds } = made;
        fs::create_dir_all(self.path(name)).expect("created");
        let manifest = json!({
            "schema": "fraglab.run", "schema_version": 1, "version": "0.1.0", "recording": recording,
            "runs": [{
                "policy": policy, "preset": policy, "sysctls": {"defrag_mode": 0}, "seed": seed,
                "event_digest": format!("{name}-{seed}"),
            }],
        });
        let object: serde_json::Map<_, _> = rows.iter().map(|&(row, value)| (row.to_owned(), value.into())).collect();
        self.write(name, "manifest.json", &manifest.to_string());
        self.write(name, "counters.json", &json!({"kernel": {"extfrag_total": 7}, *policy: object}).to_string());
        let end = (seconds * 1e9) as u64;
        let samples = format!("column,ts_ns,name,value\n{policy},0,pgfree,0\n{policy},{end},pgfree,9\n");
        self.write(name, "vmstat.csv", &samples);
        Selection::Run(self.path(name))
    }
}

pub fn compare(runs: &[Selection], options: Options) -> Comparison {
    Comparison::read(runs, options).unwrap_or_else(|error| panic!("{error}"))
}

pub fn refused(runs: &[Selection], options: Options) -> String {
    Comparison::read(runs, options).expect_err("must be refused").to_string()
}
