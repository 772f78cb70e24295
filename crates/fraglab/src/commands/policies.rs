//! `fraglab policies`: what there is to choose from.

use crate::cli::PoliciesArgs;
use crate::column_spec::{ColumnSpec, RECORDED, SpecError};
use crate::describe;
use crate::failure::Failure;
use crate::output::{self, Format};
use pagealloc::Policy;
use pagealloc::policy::{PRESETS, SYSCTLS, Sysctl, SysctlInfo, SysctlRange};
use report::{SCHEMA_VERSION, csv_field};
use serde_json::{Value, json};
use std::fmt::Write;

/// Lists all policies and sysctls, the fields of one policy, or those in which two differ.
pub fn run(args: &PoliciesArgs) -> Result<(), Failure> {
    match (&args.name, &args.other) {
        (None, _) => list(args.format.format),
        (Some(name), None) => show(&policy(name)?, args.format.format),
        (Some(name), Some(other)) => differences(&policy(name)?, &policy(other)?, args.format.format),
    }
}

/// A preset, with changes if there are any.
fn policy(spec: &str) -> Result<Policy, Failure> {
    spec.parse::<ColumnSpec>()?.resolve(|| Err(SpecError::NeedsRecording.into()))
}

fn list(format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&(presets_table() + "\n" + &sysctls_table())),
        Format::Json => output::print_json(&list_json()),
        Format::Csv => output::print(&list_csv()),
    }
}

fn presets_table() -> String {
    let mut text = String::from("Policies\n");
    let recorded = (RECORDED, "the settings in force when the recording was made");
    let presets = PRESETS.iter().map(|preset| (preset.name, preset.summary));
    for (name, summary) in presets.chain([recorded]) {
        let _ = writeln!(text, "  {name:<30}  {summary}");
    }
    text
}

fn sysctls_table() -> String {
    let kernels = SYSCTLS.iter().map(|info| info.kernels.len()).max().unwrap_or(0);
    let mut text = format!("Sysctls{:>39}  {:<14}  {:<kernels$}  unit\n", "default", "range", "kernels");
    for info in SYSCTLS {
        let name = info.full_name();
        let range = format!("{}..{}", info.range.min, info.range.max);
        let has = info.kernels;
        let _ = writeln!(text, "  {name:<34}  {:>8}  {range:<14}  {has:<kernels$}  {}", default(info), info.unit);
    }
    text.push_str("\nDefaults are those of 6.18, ranges the widest; a preset has those of its kernel.\n");
    for info in SYSCTLS {
        if let Some(said) = info.in_replays {
            let _ = writeln!(text, "{} in a replay: {said}.", info.full_name());
        }
    }
    text
}

/// The default of 6.18; a computed one has no number.
fn default(info: &SysctlInfo) -> String {
    info.get(&Sysctl::default()).map_or_else(|| "computed".to_owned(), |value| value.to_string())
}

fn list_json() -> Value {
    let preset = |preset: &pagealloc::policy::Preset| json!({ "name": preset.name, "summary": preset.summary });
    let sysctl = |info: &SysctlInfo| {
        json!({
            "name": info.full_name(),
            "default": info.get(&Sysctl::default()),
            "min": info.range.min,
            "max": info.range.max,
            "unit": info.unit,
            "kernels": info.kernels,
            "in_replays": info.in_replays,
        })
    };
    json!({
        "schema": "fraglab.policies",
        "version": SCHEMA_VERSION,
        "policies": PRESETS.iter().map(preset).collect::<Vec<_>>(),
        "sysctls": SYSCTLS.iter().map(sysctl).collect::<Vec<_>>(),
    })
}

/// Sysctls only: the list that programs want to walk.
fn list_csv() -> String {
    let line = |info: &SysctlInfo| {
        let [unit, kernels, in_replays] = [info.unit, info.kernels, info.in_replays.unwrap_or_default()].map(csv_field);
        let SysctlRange { min, max, .. } = info.range;
        format!("{},{},{min},{max},{unit},{kernels},{in_replays}\n", info.full_name(), default(info))
    };
    std::iter::once("sysctl,default,min,max,unit,kernels,in_replays\n".to_owned())
        .chain(SYSCTLS.iter().map(line))
        .collect()
}

fn show(policy: &Policy, format: Format) -> Result<(), Failure> {
    let fields = describe::fields(policy);
    match format {
        Format::Table => {
            let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            let line = |(name, value): &(String, String)| format!("{name:<width$}  {value}\n");
            output::print(&fields.iter().map(line).collect::<String>())
        }
        Format::Json => {
            let policy = describe::json(policy);
            output::print_json(&json!({ "schema": "fraglab.policy", "version": SCHEMA_VERSION, "policy": policy }))
        }
        Format::Csv => {
            let line = |(name, value): &(String, String)| format!("{name},{}\n", csv_field(value));
            output::print(&("field,value\n".to_owned() + &fields.iter().map(line).collect::<String>()))
        }
    }
}

/// Fields by name, with their values in both; a field that one of them lacks has `-` there.
fn differing(one: &Policy, other: &Policy) -> Vec<[String; 3]> {
    let (ours, theirs) = (describe::fields(one), describe::fields(other));
    let lacks = |fields: &[(String, String)], name: &str| fields.iter().all(|(known, _)| known != name);
    let value = |fields: &[(String, String)], name: &str| {
        fields.iter().find(|(known, _)| known == name).map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
    };
    let names = ours.iter().chain(theirs.iter().filter(|(name, _)| lacks(&ours, name))).map(|(name, _)| name);
    let rows = names.map(|name| [name.clone(), value(&ours, name), value(&theirs, name)]);
    rows.filter(|[_, one, other]| one != other).collect()
}

fn differences(one: &Policy, other: &Policy, format: Format) -> Result<(), Failure> {
    let rows = differing(one, other);
    match format {
        Format::Table if rows.is_empty() => output::print("no field differs\n"),
        Format::Table => {
            let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
            let (name, value) = (width(0), width(1));
            let line = |[field, one, other]: &[String; 3]| format!("{field:<name$}  {one:<value$}  {other}\n");
            output::print(&rows.iter().map(line).collect::<String>())
        }
        Format::Json => {
            let row = |[field, one, other]: &[String; 3]| json!({ "field": field, "one": one, "other": other });
            let rows: Vec<Value> = rows.iter().map(row).collect();
            output::print_json(
                &json!({ "schema": "fraglab.policy-differences", "version": SCHEMA_VERSION, "fields": rows }),
            )
        }
        Format::Csv => {
            let line = |[field, one, other]: &[String; 3]| format!("{field},{},{}\n", csv_field(one), csv_field(other));
            output::print(&("field,one,other\n".to_owned() + &rows.iter().map(line).collect::<String>()))
        }
    }
}
