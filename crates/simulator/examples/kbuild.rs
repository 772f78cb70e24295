//! Runs a shipped scenario: `cargo run --release -p simulator --example kbuild -- [scenario] [sysctl=value]...`.

use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulation};
use std::collections::BTreeMap;
use std::error::Error;
use workload::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "kbuild-mix".to_owned());
    let mut scenario = match std::fs::read_to_string(&name) {
        Ok(text) => Scenario::parse(&text)?,
        Err(_) => Scenario::shipped(&name)?,
    };
    let (mut seed, mut check, mut limit, mut preset_name, mut scale) = (1, false, None, None, scenario.default_scale);
    let mut sysctls = Vec::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or(
            "arguments are sysctl=value, seed=N, limit=SECONDS, policy=NAME, variant=NAME, scale=N/M or check=1",
        )?;
        match name {
            "seed" => (seed, scenario.seed) = (value.parse()?, value.parse()?),
            "limit" => limit = Some(value.parse::<u64>()? * 1_000_000_000),
            "check" => check = value == "1",
            "policy" => preset_name = Some(value.to_owned()),
            "variant" => scenario = scenario.variant(value)?,
            "memory_mib" => scenario.machine.memory_mib = value.parse()?,
            "swap_mib" => scenario.machine.swap_mib = value.parse()?,
            "scale" => scale = Some(value.parse()?),
            _ => sysctls.push((name.to_owned(), value.parse()?)),
        }
    }
    if let Some(scale) = scale {
        scenario.scale(scale);
    }
    let preset_name = preset_name.or(scenario.policy.clone()).unwrap_or_else(|| "linux-6.18".to_owned());
    let mut policy = preset(&preset_name).map_err(|error| format!("{error:?}"))?;
    for (name, value) in scenario.sysctls().map(|(name, value)| (name.to_owned(), value)).chain(sysctls) {
        policy.sysctl.set(&name, value).map_err(|error| format!("{error:?}"))?;
    }
    let mut machine = MachineSpec::of(&scenario);
    machine.time_limit = limit;
    let workload = scenario.workload();
    let run = if check { Simulation::run_checked } else { Simulation::run };
    let simulated = run(&*workload, &machine, &policy, seed)?;
    for measure in workload.measures(&simulated.report, 2 << 20) {
        println!("{:>30} {:>14.2} {} {:?}", measure.name, measure.mean().unwrap_or(0.0), measure.unit, measure.samples);
    }
    simulated.hang.iter().for_each(|hang| println!("{hang}"));
    println!("virtual s {:.3}", simulated.virtual_seconds);
    eprintln!("wall s {:.3}", simulated.wall_seconds);
    println!("digest {:#018x}, cpu use {:.2?}", simulated.digest, simulated.cpu_use);
    for role in simulated.report.by_role() {
        println!("{:>10} tasks {:>6} ops {:>8} failed {:>6}", role.role, role.tasks, role.ops, role.failed);
    }
    for label in simulated.report.by_label(2 << 20) {
        println!("{label:?}");
    }
    let mut cells = BTreeMap::new();
    for event in simulated.outcome.extfrag.iter().map(|at| at.event).filter(|event| event.fragmenting()) {
        *cells.entry(format!("{:?} <- {:?}", event.alloc_migratetype, event.fallback_migratetype)).or_insert(0u64) += 1;
    }
    let mut kinds = BTreeMap::new();
    for event in simulated.outcome.extfrag.iter().map(|at| at.event) {
        let kind = match (event.fragmenting(), event.change_ownership) {
            (false, _) => "claimer",
            (true, true) => "steal",
            (true, false) => "pollute",
        };
        let cell = format!("{kind} {:?} from {:?}", event.alloc_migratetype, event.fallback_migratetype);
        *kinds.entry(cell).or_insert(0u64) += 1;
    }
    println!("{kinds:#?}");
    println!("extfrag below the pageblock order {}: {cells:?}", cells.values().sum::<u64>());
    println!("{:?}", simulated.slabinfo);
    for zone in &simulated.outcome.zones {
        println!("{:>6} blocks U/M/R {:?}", zone.name, &zone.blocks[..3]);
    }
    for (name, value) in simulated.outcome.counters.iter().filter(|(_, value)| **value > 0) {
        println!("{name:>40} {value}");
    }
    Ok(())
}
