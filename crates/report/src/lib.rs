//! What does it mean?
//!
//! Turns an [`Outcome`](lab::outcome::Outcome), be it the recorded kernel's or a replay's, into rows with stable
//! names ([`rows`]), and rows into tables, JSON, CSV, error measures and a run directory. Nothing here runs anything:
//! every figure printed is a function of the outcomes that were handed in.
//!
//! ```
//! use lab::outcome::Outcome;
//! use report::{Column, Report};
//!
//! let kernel = Outcome::default();
//! let columns = vec![Column::kernel(&kernel)];
//! let report = Report { recording: "demo".into(), calibration: None, columns };
//! assert!(report.to_table().contains("Fragmentation events"));
//! ```
#![forbid(unsafe_code)]

pub mod activity;
pub mod bars;
pub mod calibration;
pub mod compare;
mod csv;
pub mod export;
pub mod flight;
pub mod grid;
mod json;
pub mod latency;
pub mod manifest;
pub mod matrix;
pub mod measures;
pub mod over_runs;
mod pattern;
pub mod rows;
mod run_dir;
mod scenario;
mod seeds_report;
pub mod stats;
pub mod study;
mod table;
mod text;
pub mod validate;
pub mod view;
pub mod vmstat_block;
pub mod window;

pub use calibration::Calibration;
pub use csv::field as csv_field;
pub use json::SCHEMA_VERSION;
pub use matrix::{Matrix, Weiner};
pub use rows::{Row, Rows};
pub use run_dir::{RunDirError, check_place, runs_in, write_run, write_scenario, write_seeds};
pub use scenario::{Ran, ScenarioReport};
pub use seeds_report::SeedsReport;
pub use table::{Column, Facts, Report};
