//! Runs a shipped scenario: `cargo run --release -p simulator --example kbuild -- [scenario] [sysctl=value]...`.

use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulation};
use std::collections::BTreeMap;
use std::error::Error;
use workload::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut scenario = Scenario::shipped(&arguments.next().unwrap_or_else(|| "kbuild-mix".to_owned()))?;
    let mut policy = preset("linux-6.18").map_err(|error| format!("{error:?}"))?;
    let (mut seed, mut check, mut limit) = (1, false, None);
    for argument in arguments {
        let (name, value) =
            argument.split_once('=').ok_or("arguments are sysctl=value, seed=N, limit=SECONDS or check=1")?;
        match name {
            "seed" => seed = value.parse()?,
            "limit" => limit = Some(value.parse::<u64>()? * 1_000_000_000),
            "seed_of_workload" => scenario.seed = value.parse()?,
            "policy" => policy = preset(value).map_err(|error| format!("{error:?}"))?,
            "scale" => scenario.scale(value.parse()?),
            "check" => check = value == "1",
            _ => policy.sysctl.set(name, value.parse()?).map_err(|error| format!("{error:?}"))?,
        }
    }
    let mut machine = MachineSpec::of(&scenario);
    machine.time_limit = limit;
    let workload = scenario.workload();
    let run = if check { Simulation::run_checked } else { Simulation::run };
    let simulated = run(&*workload, &machine, &policy, seed)?;
    println!("virtual s {:.3}", simulated.virtual_seconds);
    eprintln!("wall s {:.3}", simulated.wall_seconds);
    println!("digest {:#018x}, cpu use {:.2?}", simulated.digest, simulated.cpu_use);
    for role in simulated.report.by_role() {
        println!("{:>10} tasks {:>6} ops {:>8} failed {:>6}", role.role, role.tasks, role.ops, role.failed);
    }
    for label in simulated.report.by_label(2 << 20) {
        println!("{label:?}");
    }
    for measure in workload.measures(&simulated.report, 2 << 20) {
        println!("{:>30} {:?} {} {:?}", measure.name, measure.mean(), measure.unit, measure.samples);
    }
    simulated.hang.iter().for_each(|hang| println!("{hang}"));
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
