//! A scenario on one or more machines, real and simulated: the same table for all, with what the workload itself got done.

use crate::json::SCHEMA_VERSION;
use crate::text::{self, NUMBER_WIDTH, duration, heading, line};
use crate::{Column, Facts, Report, Rows, csv, measures};
use lab::outcome::Outcome;
use lab::timeline::Timeline;
use serde_json::{Value, json};
use std::fmt::Write;
use workload::{Measure, RunReport, Scale};

/// A machine that ran the scenario.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What it was asked for as: `sim`, `vm:6.18`, `host`.
    pub name: String,
    /// What it was, in a line: kernel or policy, and settings.
    pub about: String,
    /// Policy or kernel release, sysctls that were set, seed; the event digest is 0 for a real kernel.
    pub facts: Facts,
    /// What its memory management did.
    pub outcome: Outcome,
    /// What the workload's tasks did.
    pub run: RunReport,
    /// Size of its huge pages, bytes.
    pub huge_bytes: u64,
    /// Digest of the operations that every complete run has done.
    pub owed: Option<u64>,
    /// What the experiment measures.
    pub measures: Vec<Measure>,
    /// The run over time, where that was kept.
    pub timeline: Option<Timeline>,
}

/// A scenario and the machines that ran it.
#[derive(Clone, Debug)]
pub struct ScenarioReport {
    /// Name of the scenario.
    pub scenario: String,
    /// Share of its full size.
    pub scale: Scale,
    /// What it is, with its seed, in lines.
    pub about: Vec<String>,
    /// The machines, in print order.
    pub machines: Vec<Ran>,
}

/// A row about the workload: name, and a value for each machine.
struct WorkloadRow {
    name: String,
    /// Values as they are, for programs.
    values: Vec<Option<u64>>,
    /// The values are times.
    is_time: bool,
}

impl ScenarioReport {
    /// The table as plain text.
    pub fn to_table(&self) -> String {
        let mut text = format!("Scenario   {}\n", self.scenario);
        for line in &self.about {
            let _ = writeln!(text, "           {line}");
        }
        for machine in &self.machines {
            let _ = writeln!(text, "Column     {}: {}", machine.name, machine.about);
        }
        text.push_str("           -: not known (not traced, or the model does not count it)\n");
        self.digests(&mut text);
        self.workload(&mut text);
        self.columns(false).body(&mut text);
        text
    }

    /// Whether all have done the same, and all of it.
    fn digests(&self, text: &mut String) {
        if let Some(owed) = self.owed() {
            let _ = writeln!(text, "Workload   {owed:016x} is the digest of all operations owed");
        }
        for machine in &self.machines {
            let _ = match machine.run.digest() {
                Some(digest) if machine.owed.is_none_or(|owed| owed == digest) => {
                    writeln!(text, "           {digest:016x} {}: complete", machine.name)
                }
                Some(digest) => writeln!(text, "           {digest:016x} {}: OTHER OPERATIONS", machine.name),
                None => writeln!(text, "           {:16} {}: cut short", "-", machine.name),
            };
        }
    }

    /// What all machines owe, if that is the same: variants may differ in their workload.
    fn owed(&self) -> Option<u64> {
        let owed = self.machines.first()?.owed?;
        self.machines.iter().all(|machine| machine.owed == Some(owed)).then_some(owed)
    }

    fn workload(&self, text: &mut String) {
        let rows = self.workload_rows();
        for machines in (0..self.machines.len()).collect::<Vec<_>>().chunks(text::columns_per_bank()) {
            text.push('\n');
            text::header(text, &machines.iter().map(|&at| self.machines[at].name.as_str()).collect::<Vec<_>>());
            heading(text, "Workload (the machine's own clock)");
            for row in &rows {
                let cell = |value: Option<u64>| match (value, row.is_time) {
                    (None, _) => "-".to_owned(),
                    (Some(value), true) => duration(value),
                    (Some(value), false) => value.to_string(),
                };
                line(text, &row.name, NUMBER_WIDTH, machines.iter().map(|&at| cell(row.values[at])));
            }
            self.measures(text, machines);
        }
    }

    /// What the experiment measures, on some of the machines.
    fn measures(&self, text: &mut String, machines: &[usize]) {
        let rows = measures::names(machines.iter().map(|&at| self.machines[at].measures.as_slice()));
        if rows.is_empty() {
            return;
        }
        heading(text, "Measured (as the experiment's own document does)");
        for row in rows {
            let value = |at: usize| measures::value(&self.machines[at].measures, &row.name);
            let cell = |&at: &usize| value(at).map_or_else(|| "-".to_owned(), text::number);
            line(text, &row.label(), NUMBER_WIDTH, machines.iter().map(cell));
        }
    }

    fn workload_rows(&self) -> Vec<WorkloadRow> {
        let mut rows: Vec<WorkloadRow> = Vec::new();
        for (at, machine) in self.machines.iter().enumerate() {
            for (name, is_time, value) in workload_rows(machine) {
                let row = match rows.iter().position(|row| row.name == name) {
                    Some(row) => &mut rows[row],
                    None => {
                        rows.push(WorkloadRow { name, values: vec![None; self.machines.len()], is_time });
                        rows.last_mut().expect("one was just pushed")
                    }
                };
                row.values[at] = value;
            }
        }
        rows
    }

    /// The machines as the columns of a report, for everything that is not the workload's; with what is known of how each came
    /// about, or without, for a table that says so in its head.
    pub(crate) fn columns(&self, with_facts: bool) -> Report<'_> {
        let columns = self.machines.iter().map(|ran| Column {
            name: ran.name.clone(),
            outcome: &ran.outcome,
            facts: with_facts.then(|| ran.facts.clone()),
            timeline: ran.timeline.as_ref(),
        });
        Report { recording: self.name(), calibration: None, columns: columns.collect() }
    }

    /// What runs are told apart by: another scale is another scenario.
    fn name(&self) -> String {
        match self.scale {
            Scale::FULL => self.scenario.clone(),
            scale => format!("{} at {scale}", self.scenario),
        }
    }

    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        let report = self.columns(false).to_json();
        let machine = |(at, ran): (usize, &Ran)| {
            let mut machine = report["columns"][at].clone();
            machine["about"] = ran.about.as_str().into();
            machine["workload_digest"] = ran.run.digest().map(|digest| format!("{digest:016x}")).into();
            let rows = workload_rows(ran).into_iter().map(|(name, _, value)| (row_name(&name), value.into()));
            machine["workload"] = Value::Object(rows.collect());
            machine["variant"] = ran.facts.variant.as_deref().into();
            machine["workload_digest_owed"] = ran.owed.map(|digest| format!("{digest:016x}")).into();
            machine["measures"] = measures::json(&ran.measures);
            machine
        };
        json!({
            "schema": "fraglab.scenario",
            "version": SCHEMA_VERSION,
            "scenario": self.scenario,
            "about": self.about,
            "scale": self.scale.to_string(),
            "workload_digest_owed": self.owed().map(|digest| format!("{digest:016x}")),
            "machines": self.machines.iter().enumerate().map(machine).collect::<Vec<_>>(),
        })
    }

    /// All rows as CSV, those of the workload first; an unknown value is empty.
    pub fn to_csv(&self) -> String {
        let mut text = String::from("row");
        for machine in &self.machines {
            text.push(',');
            text.push_str(&csv::field(&machine.name));
        }
        text.push('\n');
        let rows: Vec<Rows> = self.machines.iter().map(|machine| Rows::of(&machine.outcome)).collect();
        let of_workload = self.workload_rows().into_iter().map(|row| (row_name(&row.name), row.values));
        let of_memory = Rows::names(&rows).into_iter().map(|name| {
            let values = rows.iter().map(|rows| rows.get(&name)).collect();
            (name, values)
        });
        for (name, values) in of_workload.chain(of_memory) {
            text.push_str(&csv::field(&name));
            for value in values {
                text.push(',');
                text.push_str(&value.map(|value| value.to_string()).unwrap_or_default());
            }
            text.push('\n');
        }
        for row in measures::names(self.machines.iter().map(|machine| machine.measures.as_slice())) {
            text.push_str(&csv::field(&row.name));
            for machine in &self.machines {
                let value = measures::value(&machine.measures, &row.name);
                text.push(',');
                text.push_str(&value.map(|value| value.to_string()).unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }
}

/// A row's name for programs.
fn row_name(label: &str) -> String {
    format!("workload.{}", label.replace(": ", ".").replace(' ', "_"))
}

/// The same for programs: times are nanoseconds.
pub(crate) fn workload_figures(ran: &Ran) -> impl Iterator<Item = (String, u64)> {
    workload_rows(ran).into_iter().filter_map(|(name, _, value)| Some((row_name(&name), value?)))
}

/// Rows about the workload on one machine: name, whether it is a time, value.
fn workload_rows(machine: &Ran) -> Vec<(String, bool, Option<u64>)> {
    let run = &machine.run;
    let number = |name: &str, value: u64| (name.to_owned(), false, Some(value));
    let mut rows = vec![
        number("complete", u64::from(run.digest().is_some())),
        ("elapsed".to_owned(), true, Some(run.elapsed)),
        number("tasks killed", run.killed),
    ];
    for role in run.by_role() {
        rows.push(number(&format!("{}: tasks", role.role), role.tasks));
        rows.push(number(&format!("{}: operations", role.role), role.ops));
        rows.push(number(&format!("{}: failed", role.role), role.failed));
    }
    for label in run.by_label(machine.huge_bytes) {
        let name = |what: &str| format!("{}: {what}", label.label);
        rows.push((name("timed touches"), false, Some(label.touches)));
        let times = [("mean", label.mean), ("median", label.median), ("p95", label.p95)];
        rows.extend(times.map(|(what, nanos)| (name(what), true, (label.touches > 0).then_some(nanos))));
        rows.push((name("huge percent"), false, label.huge_percent));
    }
    rows
}

/// What a run directory has of the workload: every machine's own report.
pub(crate) fn workloads(report: &ScenarioReport) -> Value {
    // Numbers, names and lists of them: they can always be written down.
    let machine = |ran: &Ran| (ran.name.clone(), serde_json::to_value(&ran.run).unwrap_or_default());
    Value::Object(report.machines.iter().map(machine).collect())
}

/// What a run directory has of what was measured, with all samples.
pub(crate) fn measures(report: &ScenarioReport) -> Value {
    Value::Object(report.machines.iter().map(|ran| (ran.name.clone(), measures::json(&ran.measures))).collect())
}

/// The manifest's part about a scenario.
pub(crate) fn describe(report: &ScenarioReport, manifest: &mut Value) {
    let all = report.to_json();
    for key in ["scenario", "scale", "about", "workload_digest_owed"] {
        manifest[key] = all[key].clone();
    }
    let machine = |ran: &Ran| {
        let digest = ran.run.digest().map(|digest| format!("{digest:016x}"));
        let variant = &ran.facts.variant;
        json!({ "name": ran.name, "variant": variant, "about": ran.about, "workload_digest": digest, "killed": ran.run.killed })
    };
    manifest["machines"] = report.machines.iter().map(machine).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Better, Scenario, on_paper};

    fn report() -> ScenarioReport {
        let scenario = Scenario::shipped("kbuild-mix").expect("it is shipped");
        let run = on_paper(&*scenario.workload());
        let (owed, cut) = (run.digest(), RunReport { tasks: Vec::new(), ..run.clone() });
        let machine = |name: &str, run: RunReport| Ran {
            name: name.into(),
            about: "made up".into(),
            facts: Facts::default(),
            outcome: Outcome::default(),
            run,
            huge_bytes: 2 << 20,
            owed,
            measures: vec![Measure {
                name: "ops".into(),
                unit: "1/s",
                better: Better::Higher,
                samples: vec![1.0, 4.0],
            }],
            timeline: None,
        };
        ScenarioReport {
            scenario: scenario.name.clone(),
            scale: Scale::FULL,
            about: vec![scenario.about.clone()],
            machines: vec![machine("sim", run), machine("vm:6.18", cut)],
        }
    }

    #[test]
    fn complete_and_cut_runs_are_told_apart() {
        let table = report().to_table();
        assert!(table.contains("sim: complete"), "{table}");
        assert!(table.contains("vm:6.18: cut short"), "{table}");
        let line = table.lines().find(|line| line.starts_with("slab: operations")).expect("a row");
        assert!(line.ends_with("             0"), "{line}");
        assert!(table.lines().all(|line| line.len() <= text::LINE_WIDTH && line.is_ascii()), "{table}");
    }

    #[test]
    fn programs_get_the_same_rows() {
        let report = report();
        let json = report.to_json();
        assert_eq!(json["machines"][0]["workload"]["workload.complete"], 1);
        assert_eq!(json["machines"][1]["workload_digest"], Value::Null);
        assert_eq!(json["machines"][0]["measures"]["measure.ops"]["samples"][1], 4.0);
        let csv = report.to_csv();
        assert!(csv.contains("\nworkload.make.tasks,3,0\n"), "{csv}");
        assert!(csv.contains("\nmeasure.ops,2.5,2.5\n") && csv.contains("\nmeasure.ops.max,4,4\n"), "{csv}");
    }
}
