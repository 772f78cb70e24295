//! The table: what the kernel recorded, and one column for every policy that was replayed.

mod body;
mod cell;
mod ends;
mod lines;
mod shown;

pub(crate) use body::Body;
pub(crate) use cell::unlike;
pub(crate) use shown::{Shown, first_policy};

use crate::calibration::Calibration;
use crate::window;
use lab::outcome::Outcome;
use lab::timeline::Timeline;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A column: an outcome with its name.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// What stands over it: `kernel`, or the policy as it was asked for.
    pub name: String,
    /// Its figures.
    pub outcome: &'a Outcome,
    /// About the replay that made it; nothing for the recorded kernel.
    pub facts: Option<Facts>,
    /// It over time, where that was kept.
    pub timeline: Option<&'a Timeline>,
}

/// About a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Name of the policy that the engine ran, and its sysctls; `None` where computed from the machine.
    pub preset: String,
    /// Sysctls by name below `vm.`; `None` where the value is computed from the machine.
    pub sysctls: BTreeMap<String, Option<u64>>,
    /// Seed.
    pub seed: u64,
    /// Page events of the log that were replayed.
    pub page_events: u64,
    /// Wall-clock seconds of the replay itself.
    pub replay_seconds: f64,
    /// Digest of the event stream.
    pub digest: u64,
    /// Variant of the scenario that ran; `None` for a replay, and for a scenario's own settings.
    pub variant: Option<String>,
    /// Of a scenario: machine, work and settings beside the sysctls, in words by name. What a replay runs on is the recording's.
    pub setup: BTreeMap<String, String>,
    /// What could not be attributed, with counts.
    pub unattributed: Vec<(String, u64)>,
}

impl<'a> Column<'a> {
    /// The recorded kernel's column.
    pub fn kernel(outcome: &'a Outcome) -> Column<'a> {
        Column { name: "kernel".into(), outcome, facts: None, timeline: None }
    }
}

/// Everything that is known about the replays of one recording. The kernel's column comes first.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Name of the recording.
    pub recording: String,
    /// How far the model is from the recorded kernel; nothing where there is no recorded kernel.
    pub calibration: Option<Calibration>,
    /// Columns in print order.
    pub columns: Vec<Column<'a>>,
}

impl Report<'_> {
    /// The table as plain text of at most 100 columns; more policies than fit side by side continue below.
    pub fn to_table(&self) -> String {
        let mut text = self.legend();
        text.push_str(&self.calibration.as_ref().map(Calibration::to_text).unwrap_or_default());
        self.body(&mut text);
        text
    }

    /// Everything below the head: all sections, for all columns.
    pub(crate) fn body(&self, text: &mut String) {
        Body::of(std::slice::from_ref(self), self.calibration.as_ref()).print(text);
    }

    /// What the columns are, and the window that they cover.
    pub(crate) fn legend(&self) -> String {
        let mut text = format!("Recording  {}\n", self.recording);
        if let Some(seconds) = self.columns.first().and_then(|column| window::seconds(column.outcome)) {
            let _ = writeln!(text, "Window     {seconds:.1} s; counts are over it, `at the end` is its end");
        }
        text.push_str("Columns    kernel: what was recorded; each other one: the model under that policy\n");
        text.push_str("           -: not known (a trace does not tell, or the model does not count it)\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn fits_a_mail() {
        let outcome = Outcome { zones: vec![Default::default()], ..Outcome::default() };
        let name =
            |name: &str| Column { name: name.into(), outcome: &outcome, facts: Some(Facts::default()), timeline: None };
        let columns = vec![
            Column::kernel(&outcome),
            name("recorded"),
            name("recorded,vm.defrag_mode=1"),
            name("linux-4.20+stall"),
            name("linux-6.15+defrag-as-posted"),
            name("linux-3.12"),
        ];
        let table = Report { recording: "demo".into(), calibration: None, columns }.to_table();
        for line in table.lines() {
            assert!(line.len() <= text::LINE_WIDTH && line.is_ascii(), "{line}");
        }
        assert_eq!(table.matches("extfrag_total").count(), 2, "two banks of columns:\n{table}");
        assert_eq!(table.matches("\nReplays\n").count(), 1);
    }

    #[test]
    fn unknown_figures_are_dashes() {
        let mut kernel = Outcome::default();
        kernel.counters.insert("thp_fault_alloc".into(), 7);
        let model = Outcome::default();
        let columns = vec![
            Column::kernel(&kernel),
            Column { name: "recorded".into(), outcome: &model, facts: None, timeline: None },
        ];
        let table = Report { recording: "demo".into(), calibration: None, columns }.to_table();
        let line = table.lines().find(|line| line.starts_with("thp_fault_alloc")).expect("the row is printed");
        assert!(line.ends_with("7             -"), "{line}");
        assert!(!table.contains("pgscan_kswapd"), "nobody knows it");
    }
}
