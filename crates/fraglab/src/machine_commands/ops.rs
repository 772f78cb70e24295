//! `fraglab ops`: what a scenario asks for.

use crate::failure::Failure;
use crate::machine_commands::run_args::OpsArgs;
use crate::machine_commands::scenarios::{self, Chosen};
use crate::output::{self, Format};
use report::SCHEMA_VERSION;
use serde_json::json;
use std::fmt::Write;
use workload::{RunReport, on_paper};

/// Prints digest and operations by role, and saves the stream if asked to.
pub fn run(args: &OpsArgs) -> Result<(), Failure> {
    let chosen = scenarios::choose(&args.scenario, args.variant.as_deref())?;
    if let Some(path) = &args.save {
        scenarios::save(&chosen, args.beyond, path)?;
    }
    let paper = on_paper(&*chosen.workload);
    match args.format.format {
        Format::Table => output::print(&table(&chosen, &paper)),
        Format::Json => output::print_json(&as_json(&chosen, &paper)),
        Format::Csv => output::print(&csv(&paper)),
    }
}

/// The digest as it is written everywhere.
fn digest(paper: &RunReport) -> String {
    paper.digest().map_or_else(|| "-".to_owned(), |digest| format!("{digest:016x}"))
}

fn table(chosen: &Chosen, paper: &RunReport) -> String {
    let scenario = &chosen.scenario;
    let mut text = format!("Scenario   {}, seed {}: {}\n", scenario.name, scenario.seed, scenario.about);
    let _ = writeln!(text, "           {}", scenarios::size(chosen));
    let _ = writeln!(text, "Digest     {}", digest(paper));
    let _ = writeln!(text, "\n{:<14} {:>8} {:>12}", "role", "tasks", "operations");
    for role in paper.by_role() {
        let _ = writeln!(text, "{:<14} {:>8} {:>12}", role.role, role.tasks, role.ops);
    }
    text
}

fn as_json(chosen: &Chosen, paper: &RunReport) -> serde_json::Value {
    let role = |role: workload::RoleTotal| json!({ "role": role.role, "tasks": role.tasks, "operations": role.ops });
    json!({
        "schema": "fraglab.ops",
        "version": SCHEMA_VERSION,
        "scenario": chosen.scenario.name,
        "variant": chosen.variant,
        "scale": chosen.scale.to_string(),
        "seed": chosen.scenario.seed,
        "workload_digest": digest(paper),
        "roles": paper.by_role().into_iter().map(role).collect::<Vec<_>>(),
    })
}

fn csv(paper: &RunReport) -> String {
    let mut text = String::from("role,tasks,operations\n");
    for role in paper.by_role() {
        let _ = writeln!(text, "{},{},{}", role.role, role.tasks, role.ops);
    }
    text
}
