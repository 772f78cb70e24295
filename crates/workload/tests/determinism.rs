//! What a scenario asks for is the same in every release, on every platform.

use std::collections::HashMap;
use workload::{Op, RegionId, Scenario, Spawn, TaskId, Workload, on_paper};

/// Digests of all operations owed at seed 1 and the scenario's own scale.
const GOLDEN: [(&str, u64); 4] = [
    ("kbuild-mix", 0x0d9a_a805_9cd2_e751),
    ("kbuild-short", 0x6703_5ea6_5e83_4078),
    ("kbuild-thp", 0x2691_4a9b_8dff_e91c),
    ("oom-loop", 0x0317_565f_c9ca_4747),
];

#[test]
fn digests_are_golden() {
    for (name, golden) in GOLDEN {
        let mut scenario = Scenario::shipped(name).expect("it is shipped");
        scenario.default_scale.into_iter().for_each(|scale| scenario.scale(scale));
        let run = on_paper(&*scenario.workload());
        for role in run.by_role() {
            println!("{name}: {:>10} {:>6} tasks {:>8} operations", role.role, role.tasks, role.ops);
        }
        assert_eq!(run.digest(), Some(golden), "{name}: {:016x?}", run.digest());
    }
}

#[test]
fn seeds_differ() {
    let of_seed = |seed: u64| {
        let mut scenario = Scenario::shipped("kbuild-mix").expect("it is shipped");
        scenario.seed = seed;
        on_paper(&*scenario.workload()).digest()
    };
    assert_ne!(of_seed(1), of_seed(2));
}

/// Checks that a task uses only what it has, and returns the tasks that it forks.
fn walk(workload: &dyn Workload, spawn: &Spawn, quota: usize, regions: &mut HashMap<RegionId, u64>) -> Vec<TaskId> {
    let mut forked = Vec::new();
    for op in workload.program(spawn).take(quota) {
        match op {
            Op::Map { region, bytes } => {
                assert!(bytes > 0 && bytes % 4096 == 0, "{op:?}");
                assert_eq!(regions.insert(region, bytes), None, "{op:?}: the number is in use");
            }
            Op::Touch { region, offset, bytes, .. } => {
                assert!(bytes > 0 && offset + bytes <= regions[&region], "{op:?}: beyond the mapping");
            }
            Op::Unmap { region, offset, bytes } => {
                assert_eq!((offset, Some(bytes)), (0, regions.remove(&region)), "{op:?}");
            }
            Op::Fork(child) => {
                forked.push(child.task);
                forked.extend(walk(workload, &child, usize::MAX, &mut regions.clone()));
            }
            _ => {}
        }
    }
    forked
}

#[test]
fn tasks_use_only_what_they_have() {
    let scenario = Scenario::shipped("kbuild-mix").expect("it is shipped");
    let workload = scenario.workload();
    let mut tasks = Vec::new();
    for root in workload.roots() {
        tasks.push(root.spawn.task);
        tasks.extend(walk(&*workload, &root.spawn, root.quota as usize, &mut HashMap::new()));
    }
    let count = tasks.len();
    tasks.sort_unstable();
    tasks.dedup();
    assert_eq!(tasks.len(), count, "no task is forked twice");
}

#[test]
fn arenas_have_the_recordings_mean() {
    // 14,264 MB in 1128 compilations: 12.6 MB each.
    let scenario = Scenario::shipped("kbuild-mix").expect("it is shipped");
    let workload = scenario.workload();
    let make = workload.roots()[0];
    let children = workload.program(&make.spawn).take(make.quota as usize).filter_map(|op| match op {
        Op::Fork(child) => Some(child),
        _ => None,
    });
    let sizes: Vec<u64> = children
        .map(|child| {
            workload.program(&child).map(|op| if let Op::Map { bytes, .. } = op { bytes } else { 0 }).sum::<u64>()
        })
        .collect();
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64 / f64::from(1 << 20);
    assert!((11.0..14.5).contains(&mean), "{mean} MiB");
    assert!(sizes.iter().all(|&bytes| bytes <= 52 << 20));
}
