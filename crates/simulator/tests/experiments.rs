//! Operations that experiments are made of, and the experiments of 2016 and 2018 at a small scale.

use pagealloc::policy::preset;
use simulator::{MachineSpec, Simulated, Simulation};
use std::fmt::Write;
use workload::{
    Access, DeviceSpeed, FileId, Filesystem, GfpClass, HandleId, Op, Program, RegionId, Root, Scenario, Spawn,
    TaskReport, Workload,
};

const DIGESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/experiments.txt");

/// Roots with given operations.
struct Given(Vec<Vec<Op>>);

impl Workload for Given {
    fn roots(&self) -> Vec<Root> {
        let root = |(index, ops): (usize, &Vec<Op>)| {
            let spawn = Spawn::root(index as u16, index as u16, 0, 1);
            Root { spawn, quota: ops.len() as u64 }
        };
        self.0.iter().enumerate().map(root).collect()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        Box::new(self.0[usize::from(spawn.role)].clone().into_iter())
    }

    fn roles(&self) -> Vec<&str> {
        vec!["task"; self.0.len()]
    }

    fn labels(&self) -> Vec<&str> {
        vec!["mark"]
    }
}

fn given(roots: Vec<Vec<Op>>) -> Simulated {
    Simulation::run_checked(&Given(roots), &MachineSpec::guest(128 << 20), &preset("linux-4.20").unwrap(), 1).unwrap()
}

fn task(simulated: &Simulated, role: u16) -> &TaskReport {
    simulated.report.tasks.iter().find(|task| task.role == role).unwrap()
}

#[test]
fn tasks_wait_for_each_other() {
    let meet = Op::Meet { number: 7, tasks: 2 };
    let mark = Op::Mark { label: 0 };
    let simulated = given(vec![vec![meet, mark], vec![Op::Sleep { nanos: 30_000_000 }, meet, mark]]);
    for role in 0..2 {
        assert!(task(&simulated, role).marks[0].at >= 30_000_000, "{:?}", task(&simulated, role).marks);
    }
}

/// A task writes more memory than there is, and then all of it again.
fn outgrow(policy: &str, seek_us: u32) -> Simulated {
    const MIB: u64 = 1 << 20;
    let region = RegionId(1);
    let touch = Op::Touch { region, offset: 0, bytes: 160 * MIB, access: Access::Write };
    let ops = vec![Op::Map { region, bytes: 160 * MIB }, touch, touch];
    let mut machine = MachineSpec::guest(128 << 20);
    // What rotates is told by the seek alone.
    machine.costs.virtio = false;
    machine.disks.swap = Some(DeviceSpeed { mb_s: 250.try_into().unwrap(), latency_us: 100, seek_us });
    Simulation::run_checked(&Given(vec![ops]), &machine, &preset(policy).unwrap(), 1).unwrap()
}

#[test]
fn huge_pages_go_to_swap_whole_where_kernel_and_device_do_that() {
    for (policy, seek_us, whole) in
        [("linux-6.15", 8_000, true), ("linux-6.12", 0, true), ("linux-6.12", 8_000, false), ("linux-4.8", 0, false)]
    {
        let counters = outgrow(policy, seek_us).outcome.counters;
        let count = |name: &str| counters[name];
        assert!(count("pswpout") > 10_000, "{policy}: {counters:?}");
        // What is wanted again before a disk's queue has got to it needs no read.
        assert!(count("pswpin") > 5_000, "{policy}: {} come back page by page", count("pswpin"));
        assert_eq!((count("thp_swpout") > 0, count("thp_split_page") > 0), (whole, !whole), "{policy}, {seek_us} us");
    }
}

#[test]
fn kernel_pages_fail_when_there_are_none_and_are_given_back() {
    let ask = |handle, count| Op::KernelPages { handle: HandleId(handle), order: 4, gfp: GfpClass::Kernel, count };
    let close = |handle| Op::Close { handle: HandleId(handle) };
    let simulated = given(vec![vec![ask(0, 100), ask(1, 100_000), close(0), close(1), ask(2, 100), close(2)]]);
    let report = task(&simulated, 0);
    assert_eq!((report.ops, report.failed), (6, 1), "memory has no 100,000 blocks");
    assert_eq!(simulated.outcome.counters["oom_kill"], 0, "order 4 is not worth a kill");
}

#[test]
fn who_is_killed_leaves_no_report() {
    let (region, bytes) = (RegionId(1), 256 << 20);
    let ops = vec![Op::Map { region, bytes }, Op::Touch { region, offset: 0, bytes, access: Access::Write }];
    let machine = MachineSpec { swap: 0, ..MachineSpec::guest(128 << 20) };
    let simulated = Simulation::run_checked(&Given(vec![ops]), &machine, &preset("linux-6.18").unwrap(), 1).unwrap();
    let report = simulated.report;
    assert_eq!((report.killed, report.tasks.len(), report.digest()), (1, 0, None));
}

#[test]
fn open_files_hold_their_dentries_and_dropping_caches_frees_the_rest() {
    let write = |file| [Op::Create { file: FileId(file) }, Op::Write { file: FileId(file), offset: 0, bytes: 65_536 }];
    let mut ops: Vec<Op> = (0..200).flat_map(write).collect();
    ops.extend((0..50).map(|number| Op::Open { handle: HandleId(number), file: FileId(number) }));
    ops.extend([Op::SyncAll, Op::DropCaches]);
    let simulated = given(vec![ops]);
    let count = |name: &str| simulated.slabinfo.iter().find(|(cache, _)| *cache == name).unwrap().1;
    // Handles are closed at the end, but nothing has looked at the dentries since.
    assert_eq!((count("dentry"), count("filp")), (50, 0));
    assert!(count("radix_tree_node") < 10, "{}", count("radix_tree_node"));
}

#[test]
fn inodes_of_xfs_are_read_through_clusters_that_the_shrinker_frees() {
    let write = |file| [Op::Create { file: FileId(file) }, Op::Write { file: FileId(file), offset: 0, bytes: 65_536 }];
    let ops = || (0..3_000).flat_map(write).chain([Op::SyncAll]);
    let buffers = |more: Vec<Op>, filesystem| {
        let ops = ops().chain(more).collect();
        let mut machine = MachineSpec::guest(128 << 20);
        machine.disks.filesystem = filesystem;
        machine.folio_order = 0;
        let simulated =
            Simulation::run_checked(&Given(vec![ops]), &machine, &preset("linux-4.20").unwrap(), 1).unwrap();
        simulated.slabinfo.iter().find(|(cache, _)| *cache == "xfs_buf").unwrap().1
    };
    // 94 clusters of 32 inodes, 24 blocks of names.
    assert_eq!(buffers(Vec::new(), Filesystem::Ext4), 0);
    let kept = buffers(Vec::new(), Filesystem::Xfs);
    assert!((1..=118).contains(&kept), "{kept}");
    // Memory for nothing but one file: buffers go, and come back one by one.
    let fill = Op::Write { file: FileId(9_999), offset: 0, bytes: 400 << 20 };
    let read = |file| Op::Read { file: FileId(file), offset: 0, bytes: 4096 };
    let create = Op::Create { file: FileId(9_999) };
    let after = buffers(vec![create, fill, Op::SyncAll, fill, Op::SyncAll], Filesystem::Xfs);
    assert!(after < kept, "{after} of {kept} left");
    let again =
        buffers(vec![create, fill, Op::SyncAll, fill, Op::SyncAll, read(0), read(1), read(640)], Filesystem::Xfs);
    assert!(
        (after + 1..=after + 4).contains(&again),
        "one buffer at least, two clusters and two blocks of names at most: {again}, {after}"
    );
}

fn run(scenario: &str, scale: &str, variant: &str) -> Simulated {
    let mut scenario = Scenario::shipped(scenario).unwrap().variant(variant).unwrap();
    scenario.scale(scale.parse().unwrap());
    let mut policy = preset(scenario.policy.as_deref().unwrap()).unwrap();
    for (name, value) in scenario.sysctls() {
        policy.sysctl.set(name, value).unwrap();
    }
    Simulation::run_checked(&*scenario.workload(), &MachineSpec::of(&scenario), &policy, 1).unwrap()
}

fn below_block_order(simulated: &Simulated) -> usize {
    simulated.outcome.extfrag.iter().filter(|at| at.event.fragmenting()).count()
}

#[test]
fn digests_are_those_on_file() {
    let mut found = String::new();
    for (scenario, scale, variant) in [
        ("thpfioscale", "1/512", "vanilla"),
        ("thpfioscale-madvise", "1/512", "patches1-4"),
        ("thpfioscale-2s", "1/512", "patches1-3"),
        ("stress-highalloc", "1/32", "before"),
        ("stress-highalloc", "1/32", "after"),
        ("thpscale-madvise", "1/64", "vanilla"),
    ] {
        let simulated = run(scenario, scale, variant);
        let measures = Scenario::shipped(scenario).unwrap().workload().measures(&simulated.report, 2 << 20);
        assert!(measures.iter().any(|measure| !measure.samples.is_empty()), "{scenario} measures something");
        writeln!(found, "{scenario} {scale} {variant}: {:#018x}", simulated.digest).unwrap();
    }
    if std::env::var_os("FRAGLAB_BLESS").is_some() {
        std::fs::write(DIGESTS, &found).unwrap();
    }
    let kept = std::fs::read_to_string(DIGESTS).unwrap_or_default();
    assert_eq!(found, kept, "if the change is wanted: FRAGLAB_BLESS=1");
}

#[test]
fn stalling_below_the_block_order_leaves_next_to_no_fragmentation() {
    let [vanilla, posted, strict] = ["order0", "patches1-4", "order9"]
        .map(|variant| below_block_order(&run("thpfioscale-madvise", "1/256", variant)));
    println!("{vanilla}, {posted}, {strict}");
    assert!(posted * 4 < vanilla && strict <= posted, "{vanilla}, {posted}, {strict}");
}
