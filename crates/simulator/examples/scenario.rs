//! Runs variants of a shipped scenario one after the other, and prints what its document compares:
//! `cargo run --release -p simulator --example scenario -- SCENARIO [policy=A,B,..] [scale=1/8] [seed=N] [sysctl=value]...`.

use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulation};
use std::collections::BTreeMap;
use std::error::Error;
use workload::Scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut scenario = Scenario::shipped(&arguments.next().ok_or("which scenario?")?)?;
    let (mut policies, mut scale, mut sysctls, mut check) = (Vec::new(), scenario.default_scale, Vec::new(), false);
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("arguments are name=value")?;
        match name {
            "policy" => policies = value.split(',').map(str::to_owned).collect(),
            "scale" => scale = Some(value.parse()?),
            "seed" => scenario.seed = value.parse()?,
            "check" => check = true,
            "memory" => scenario.machine.memory_mib = value.parse()?,
            _ => sysctls.push((name.to_owned(), value.parse()?)),
        }
    }
    scale.into_iter().for_each(|scale| scenario.scale(scale));
    if policies.is_empty() {
        policies.extend(scenario.policy.clone());
    }
    for name in policies {
        let mut policy = preset(&name).map_err(|near| format!("{name}? {near:?}"))?;
        for (name, value) in scenario.sysctls().map(|(name, value)| (name.to_owned(), value)).chain(sysctls.clone()) {
            policy.sysctl.set(&name, value).map_err(|error| format!("{error:?}"))?;
        }
        let machine = MachineSpec::of(&scenario);
        let workload = scenario.workload();
        let run = if check { Simulation::run_checked } else { Simulation::run };
        let simulated = run(&*workload, &machine, &policy, scenario.seed)?;
        println!(
            "== {name}: {:.1} virtual s, {:.1} s, digest {:#018x}",
            simulated.virtual_seconds, simulated.wall_seconds, simulated.digest
        );
        println!("cpus {:.2?}", simulated.cpu_use);
        let mut cells = BTreeMap::new();
        for event in simulated.outcome.extfrag.iter().map(|at| at.event).filter(|event| event.fragmenting()) {
            *cells
                .entry(format!("{:?} <- {:?}", event.alloc_migratetype, event.fallback_migratetype))
                .or_insert(0u64) += 1;
        }
        println!("extfrag {}: {cells:?}", cells.values().sum::<u64>());
        let mut over_time = vec![0; 24];
        let end = simulated.report.elapsed.max(1);
        for at in simulated.outcome.extfrag.iter().filter(|at| at.event.fragmenting()) {
            over_time[(at.ts * 24 / (end + 1)) as usize] += 1;
        }
        println!("over time {over_time:?}");
        if std::env::var_os("BURSTS").is_some() {
            let events: Vec<_> = simulated.outcome.extfrag.iter().filter(|at| at.event.fragmenting()).collect();
            for at in events.iter().skip(900).take(60) {
                println!(
                    "at {:.6} pfn {} order {} <- {} {:?} <- {:?} own {}",
                    at.ts as f64 / 1e9,
                    at.event.pfn.0,
                    at.event.alloc_order,
                    at.event.fallback_order,
                    at.event.alloc_migratetype,
                    at.event.fallback_migratetype,
                    at.event.change_ownership
                );
            }
        }
        for measure in workload.measures(&simulated.report, 2 << 20) {
            println!(
                "{:>20} {:?} of {} {} {:.0?}",
                measure.name,
                measure.mean(),
                measure.samples.len(),
                measure.unit,
                &measure.samples[..measure.samples.len().min(16)]
            );
        }
        for task in &simulated.report.tasks {
            for mark in &task.marks {
                println!("mark {} at {:.3}", simulated.report.labels[usize::from(mark.label)], mark.at as f64 / 1e9);
            }
        }
        for role in simulated.report.by_role() {
            println!("{:>10} tasks {:>6} ops {:>8} failed {:>6}", role.role, role.tasks, role.ops, role.failed);
        }
        println!("{:?}", simulated.slabinfo.iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>());
        for zone in &simulated.outcome.zones {
            println!("{} {:>6} blocks U/M/R {:?}", zone.node, zone.name, &zone.blocks[..3]);
        }
        let counters = simulated.outcome.counters.iter().filter(|(_, value)| **value > 0);
        println!("{}", counters.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "));
    }
    Ok(())
}
