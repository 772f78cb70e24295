//! `fraglab scenarios`: what can be run.

use crate::failure::Failure;
use crate::machine_commands::run_args::ScenariosArgs;
use crate::machine_commands::scenarios::{DEFAULT_POLICY, read};
use crate::output::{self, Format};
use report::{SCHEMA_VERSION, csv_field};
use serde_json::{Value, json};
use std::fmt::Write;
use workload::{Scale, Scenario, Variant};

/// Lists the scenarios.
pub fn run(args: &ScenariosArgs) -> Result<(), Failure> {
    let names: Vec<&str> = match &args.scenario {
        Some(name) => vec![name],
        None => Scenario::names().collect(),
    };
    let scenarios: Vec<Scenario> = names.into_iter().map(|name| Ok(read(name)?.1)).collect::<Result<_, Failure>>()?;
    match args.format.format {
        Format::Table => output::print(&table(&scenarios)),
        Format::Json => output::print_json(&as_json(&scenarios)),
        Format::Csv => output::print(&csv(&scenarios)),
    }
}

fn scale(scenario: &Scenario) -> Scale {
    scenario.default_scale.unwrap_or(Scale::FULL)
}

fn variants(scenario: &Scenario) -> Vec<&str> {
    scenario.variants.iter().map(|variant| variant.name.as_str()).collect()
}

fn table(scenarios: &[Scenario]) -> String {
    let mut text = String::new();
    for scenario in scenarios {
        let machine = &scenario.machine;
        let _ = writeln!(text, "{}: {}", scenario.name, scenario.about);
        let _ = writeln!(
            text,
            "    full size: memory {} MiB, CPUs {}, nodes {}, swap {} MiB, disk {} MiB; scale unless told otherwise: {}",
            machine.memory_mib,
            machine.cpus,
            machine.nodes,
            machine.swap_mib,
            machine.disk_mib,
            scale(scenario)
        );
        if machine.fixed_size {
            text.push_str("    a scale is of the work alone: the machine keeps its size\n");
        }
        if let Some(policy) = &scenario.policy {
            let _ = writeln!(text, "    policy of the simulated computer: {policy}");
        }
        for variant in &scenario.variants {
            let _ = writeln!(text, "    --variant {:<22} {}", variant.name, settings(scenario, variant).join(", "));
        }
    }
    text.push_str("All run on `sim`, `vm:VERSION` and `host`; docs/experiments.md says what stands in where user space cannot reach.\n");
    text
}

/// Its policy, and what else it does otherwise than the scenario.
fn settings(scenario: &Scenario, variant: &Variant) -> Vec<String> {
    let Variant { policy, settings, machine, .. } = variant;
    let policy = policy.as_ref().or(scenario.policy.as_ref()).map_or(DEFAULT_POLICY, String::as_str);
    let mut said = vec![policy.to_owned()];
    said.extend(machine.nodes.map(|nodes| format!("nodes {nodes}")));
    said.extend(machine.page_kib.map(|size| format!("pages of {}K", size.kib())));
    said.extend(machine.pageblock_order.map(|order| format!("pageblock_order {order}")));
    said.extend(settings.thp_enabled.map(|value| format!("transparent_hugepage/enabled={}", value.name())));
    said.extend(settings.thp_defrag.map(|value| format!("transparent_hugepage/defrag={}", value.name())));
    said.extend(settings.khugepaged.given().iter().map(|(name, value)| format!("{name}={value}")));
    said.extend(settings.lru_gen.map(|on| format!("lru_gen/enabled={}", if on { 7 } else { 0 })));
    said.extend(variant.sysctls().map(|(name, value)| format!("vm.{name}={value}")));
    said
}

fn as_json(scenarios: &[Scenario]) -> Value {
    let one = |scenario: &Scenario| {
        let machine = &scenario.machine;
        json!({
            "name": scenario.name,
            "about": scenario.about,
            "default_scale": scale(scenario).to_string(),
            "policy": scenario.policy,
            "machine": {
                "memory_mib": machine.memory_mib,
                "cpus": machine.cpus,
                "nodes": machine.nodes,
                "swap_mib": machine.swap_mib,
                "disk_mib": machine.disk_mib,
                "fixed_size": machine.fixed_size,
            },
            "variants": variants(scenario),
        })
    };
    json!({
        "schema": "fraglab.scenarios",
        "version": SCHEMA_VERSION,
        "scenarios": scenarios.iter().map(one).collect::<Vec<_>>(),
    })
}

fn csv(scenarios: &[Scenario]) -> String {
    let mut text = String::from("name,memory_mib,cpus,nodes,default_scale,variants,about\n");
    for scenario in scenarios {
        let machine = &scenario.machine;
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            csv_field(&scenario.name),
            machine.memory_mib,
            machine.cpus,
            machine.nodes,
            scale(scenario),
            variants(scenario).join(" "),
            csv_field(&scenario.about)
        );
    }
    text
}
